//! One run.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use paceline_lab::files::{
    Folder, RunData, Series, Writing, clear_leftovers, flow_columns, series_columns, table_columns,
    write_file,
};
use paceline_lab::results::{FlowRow, RunStatus, Summary};
use paceline_lab::run::{Finished, Resources, account_for_slowest, execute_on};
use paceline_lab::sweep::metrics;
use paceline_lab::table;
use paceline_lab::why::Blames;
use paceline_report::{render, write_run};
use paceline_scenario::Resolved;
use paceline_scenario::warning::lines;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tempfile::TempDir;

use crate::failure::{Failure, detached};
use crate::input::{Changes, Input, path};
use crate::json::{from_text, to_python};
use crate::table::Table;
use crate::watch::{Watch, watched};

/// Rows of a part of the table of flows.
const PART: usize = 1 << 17;

/// What the folder of a run is made of.
pub(crate) type Made = (Resolved, Finished);

/// A run that is over.
#[pyclass(frozen, module = "paceline")]
pub(crate) struct Run {
    pub(crate) data: Arc<RunData>,
    /// `summary.json`: Python reads its numbers to the last digit.
    summary: String,
    /// What a folder is made of, where there is none.
    made: Option<Arc<Made>>,
    folder: Option<PathBuf>,
    /// Where it is looked for that asks for files of a run without a folder.
    temporary: OnceLock<TempDir>,
    flows: Py<Table>,
}

impl Run {
    pub(crate) fn new(
        py: Python<'_>,
        data: RunData,
        made: Option<Made>,
        folder: Option<PathBuf>,
    ) -> PyResult<Self> {
        let summary =
            serde_json::to_string(&data.summary).map_err(|error| Failure::run(error).exception(py))?;
        let flows = data.flows.clone();
        let flows = Table::new(move || {
            let mut rows = flows.rows();
            let mut parts = Vec::new();
            loop {
                let part: Vec<FlowRow<'_>> = rows.by_ref().take(PART).collect();
                if part.is_empty() && !parts.is_empty() {
                    break;
                }
                let last = part.len() < PART;
                parts.push(flow_columns(&part));
                if last {
                    break;
                }
            }
            flows.check().map_err(Failure::run)?;
            Ok(parts)
        });
        Ok(Self {
            data: Arc::new(data),
            summary,
            made: made.map(Arc::new),
            folder,
            temporary: OnceLock::new(),
            flows: Py::new(py, flows)?,
        })
    }

    /// What a folder of it would be made of, where it has none.
    pub(crate) fn made(&self) -> Option<Arc<Made>> {
        self.made.clone()
    }

    /// Its folder; of a run that has none a temporary one, for as long as the run is there.
    pub(crate) fn any_folder(&self, py: Python<'_>) -> PyResult<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        if self.temporary.get().is_none() {
            let folder = detached(py, || {
                let folder = tempfile::tempdir().map_err(Failure::run)?;
                self.write(
                    &folder.path().join(&self.data.summary.scenario),
                    Writing::default(),
                )?;
                Ok(folder)
            })?;
            let _ = self.temporary.set(folder);
        }
        let folder = self.temporary.get().map(TempDir::path).unwrap_or(Path::new("."));
        Ok(folder.join(&self.data.summary.scenario))
    }

    fn write(&self, folder: &Path, how: Writing) -> Result<(), Failure> {
        let Some(made) = &self.made else {
            let there = self.folder.clone().unwrap_or_default();
            let message = format!("this run has a folder: {} (copy it)", there.display());
            return Err(Failure::Argument(message));
        };
        clear_leftovers(folder);
        write_run(folder, &made.0, &made.1, how)?;
        Ok(())
    }

    fn summaries(&self) -> [&Summary; 1] {
        [&self.data.summary]
    }

    fn table(&self) -> String {
        let summaries = self.summaries();
        let details = table::details(&summaries, &table::row_names(&summaries), table::ROWS_OF_TERMINAL);
        table::job_headline(summaries[0], table::DEFAULT_WIDTH)
            + &table::comparison(&summaries, table::DEFAULT_WIDTH)
            + &table::details_text(&details)
    }
}

#[pymethods]
impl Run {
    /// `summary.json`: the run in numbers.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_text(py, &self.summary)
    }

    /// Every number of the summary under the name that `points.csv` gives it: jobs and collectives by their labels,
    /// such as `jobs.llm.iteration_us.mean`.
    #[getter]
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let numbers = PyDict::new(py);
        for (name, value) in metrics(&self.data.summary) {
            numbers.set_item(name, value)?;
        }
        Ok(numbers)
    }

    /// Who made whom wait, as `paceline why --matrix --json` tells it; `None` of a run without `record.blame`.
    #[getter]
    fn blame<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &Blames::of_run(&self.data))
    }

    /// Tables of recorders by name, each as in the file of its name (`flow_time`, `blame`, `collectives` ..).
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for name in self.data.tables.iter().map(|table| table.declared().name) {
            let data = self.data.clone();
            let table =
                Table::new(move || Ok(data.tables.get(name).map(table_columns).into_iter().collect()));
            tables.set_item(name, table)?;
        }
        Ok(tables)
    }

    /// A row per flow, as in `flows.csv`.
    #[getter]
    fn flows(&self, py: Python<'_>) -> Py<Table> {
        self.flows.clone_ref(py)
    }

    /// What `[record]` asked for, over time: a table for each quantity, as `series.parquet` has it.
    #[getter]
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for one in &self.data.series {
            if tables.contains(&one.metric)? {
                continue;
            }
            let (data, metric) = (self.data.clone(), one.metric.clone());
            let table = Table::new(move || {
                let of_metric = |one: &&Series| one.metric == metric;
                Ok(vec![series_columns(data.series.iter().filter(of_metric))])
            });
            tables.set_item(&one.metric, table)?;
        }
        Ok(tables)
    }

    /// Where its files are, if it has been written.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    /// The scenario with every default filled in, as TOML.
    #[getter]
    fn scenario(&self) -> &str {
        &self.data.scenario
    }

    /// The scenario's name.
    #[getter]
    fn name(&self) -> &str {
        &self.data.summary.scenario
    }

    /// The scheme's name.
    #[getter]
    fn scheme(&self) -> &str {
        &self.data.summary.scheme
    }

    /// The seed of every random stream.
    #[getter]
    fn seed(&self) -> u64 {
        self.data.summary.seed
    }

    /// Whether it was ended early.
    #[getter]
    fn partial(&self) -> bool {
        self.data.summary.status == RunStatus::Partial
    }

    /// What to know before trusting it.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        lines(&self.data.summary.warnings)
    }

    /// The page about it: its text, or the path of the file into which it is written.
    #[pyo3(signature = (path=None))]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Py<PyAny>> {
        let data = self.data.clone();
        page(py, path, move || {
            let page = render(std::slice::from_ref(&*data)).map_err(Failure::run)?;
            data.flows.check().map_err(Failure::run)?;
            Ok(page)
        })
    }

    /// Writes its folder, as `paceline run` does.
    #[pyo3(signature = (folder, *, force=false))]
    fn save(&self, py: Python<'_>, folder: PathBuf, force: bool) -> PyResult<PathBuf> {
        let how = Writing {
            force,
            ..Writing::default()
        };
        detached(py, || self.write(&folder, how))?;
        Ok(folder)
    }

    fn __str__(&self) -> String {
        self.table()
    }

    fn __repr__(&self) -> String {
        let Summary {
            scenario,
            scheme,
            seed,
            flows,
            ..
        } = &self.data.summary;
        let partial = if self.partial() { ", ended early" } else { "" };
        format!(
            "<paceline.Run of {scenario} under {scheme}, seed {seed}: {} of {} flows completed{partial}>",
            flows.completed, flows.total
        )
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        preformatted(py, &self.table())
    }
}

/// Text as a notebook shows it.
pub(crate) fn preformatted(py: Python<'_>, text: &str) -> PyResult<String> {
    let text: String = py.import("html")?.getattr("escape")?.call1((text,))?.extract()?;
    Ok(format!("<pre>{text}</pre>"))
}

/// A page's text, or the path of the file into which it has been written.
pub(crate) fn page(
    py: Python<'_>,
    path: Option<PathBuf>,
    make: impl FnOnce() -> Result<String, Failure> + Send,
) -> PyResult<Py<PyAny>> {
    let text = detached(py, || {
        let page = make()?;
        match &path {
            None => Ok(Some(page)),
            Some(path) => {
                write_file(path, |out| out.write_all(page.as_bytes()))?;
                Ok(None)
            }
        }
    })?;
    match (text, path) {
        (Some(text), _) => Ok(text.into_pyobject(py)?.into_any().unbind()),
        (None, path) => Ok(path.into_pyobject(py)?.unbind()),
    }
}

/// Runs a scenario.
///
/// `scenario` is what the command takes (a file, a run's folder, the name of a scenario that ships), or a dict.
/// `progress` is called with a `Progress` now and then; if it returns `False` the run ends there and is partial.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, scheme=None, set=None, seed=None, duration=None, fidelity=None, threads=None, out=None, force=false,
    progress=None
))]
#[expect(clippy::too_many_arguments, reason = "they are the call's keywords")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    scheme: Option<String>,
    set: Option<Bound<'_, PyDict>>,
    seed: Option<u64>,
    duration: Option<String>,
    fidelity: Option<String>,
    threads: Option<u32>,
    out: Option<PathBuf>,
    force: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Run> {
    let changes = Changes {
        scheme,
        set,
        seed,
        duration,
        fidelity,
        threads,
    };
    let input = Input::of(scenario, &changes)?;
    let folder = out.clone();
    let how = Writing {
        force,
        ..Writing::default()
    };
    let (data, made) = watched(py, progress.as_ref(), move |watch| {
        let input = paceline_lab::load(&input.name, &input.overrides)?;
        if let Some(out) = &out {
            check_folder(out, force)?;
        }
        let finished = execute(&input, out.as_deref(), watch)?;
        watch.wanted()?;
        let data = RunData::new(&input, &finished);
        let Some(out) = out else {
            return Ok((data, Some((input, finished))));
        };
        write_run(&out, &input, &finished, how)?;
        Ok((data, None))
    })?;
    Run::new(py, data, made, folder)
}

/// Whether results can be written there: asked before a run, which may be long.
pub(crate) fn check_folder(folder: &Path, force: bool) -> Result<(), Failure> {
    clear_leftovers(folder);
    drop(Folder::create(folder, force)?);
    Ok(())
}

/// Where what does not fit in memory is kept: alongside the results.
pub(crate) fn scratch(folder: Option<&Path>) -> Option<&Path> {
    let parent = folder?.parent();
    Some(
        parent
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new(".")),
    )
}

/// Runs `input` with accounts of its slowest flows.
fn execute(input: &Resolved, out: Option<&Path>, watch: &Watch) -> Result<Finished, Failure> {
    watch.begin(1);
    let resources = Resources {
        threads: input.threads,
        on_cut: &|_| {},
        ranks: None,
        scratch: scratch(out),
    };
    let mut finished = execute_on(input, resources, &mut |now| watch.update(0, input, now))?;
    watch.end(0);
    watch.wanted()?;
    account_for_slowest(input, &mut finished, resources, &mut |_| watch.control())?;
    Ok(finished)
}

/// Reads the folder of a run.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, folder: &Bound<'_, PyAny>) -> PyResult<Run> {
    open(py, path(folder)?)
}

/// The run of this folder.
pub(crate) fn open(py: Python<'_>, folder: PathBuf) -> PyResult<Run> {
    let (data, summary) = detached(py, || {
        let data = RunData::read(&folder)?;
        let summary = fs::read_to_string(folder.join("summary.json")).map_err(Failure::run)?;
        Ok((data, summary))
    })?;
    let run = Run::new(py, data, None, Some(folder))?;
    Ok(Run { summary, ..run })
}
