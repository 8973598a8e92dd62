//! Sweeps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_fabric::Progress;
use paceline_lab::run::{Control, Cut, cores};
use paceline_lab::sweep as lab;
use paceline_lab::sweep::{
    Job, Keep, Plan, Row, Shard, Status, Study, SweepData, points, results, write_results,
};
use paceline_report::{render_sweep, write_run_into, write_sweep_page};
use paceline_scenario::Resolved;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::failure::Failure;
use crate::input::{Changes, Input, axes};
use crate::json::to_python;
use crate::run::{Run, open, page, preformatted};
use crate::table::Table;
use crate::watch::{Watch, watched};

/// A sweep, as far as it is.
#[pyclass(frozen, module = "paceline")]
pub(crate) struct Sweep {
    data: Arc<SweepData>,
    folder: PathBuf,
}

impl Sweep {
    /// Creates a sweep from the content of a folder.
    pub(crate) fn new(data: Arc<SweepData>, folder: PathBuf) -> Self {
        Self { data, folder }
    }
}

#[pymethods]
impl Sweep {
    /// Its folder.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// `sweep.json`: axes, seeds, points, the id of each run.
    #[getter]
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.data.plan)
    }

    /// A row per run, as in `results.csv`.
    #[getter]
    fn results(&self) -> Table {
        let data = self.data.clone();
        Table::new(move || Ok(vec![results(&data)]))
    }

    /// A row per point and number over its seeds, as in `points.csv`.
    #[getter]
    fn points(&self) -> Table {
        let data = self.data.clone();
        Table::new(move || Ok(vec![points(&data)]))
    }

    /// Where seeds or values of an axis change nothing, and why: `notes.json`.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &lab::notes(&self.data))
    }

    /// Warnings of all runs, each once, with the number of runs that have it.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        lab::warnings(&self.data, |_| true)
    }

    /// Whether no run is left to be made.
    #[getter]
    fn complete(&self) -> bool {
        self.data.rows.len() == self.data.plan.runs().len()
    }

    /// The runs that failed: the values of their axes, seed and message.
    #[getter]
    fn failures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        #[derive(Serialize)]
        struct Failed<'a> {
            id: &'a str,
            point: String,
            seed: u64,
            message: &'a str,
        }
        let rows = self
            .data
            .in_order()
            .filter(|(_, row)| row.status == Status::Failed);
        let all: Vec<Failed<'_>> = rows
            .map(|(point, row)| Failed {
                id: &row.id,
                point: self.data.describe(point),
                seed: row.seed,
                message: row.message.as_deref().unwrap_or_default(),
            })
            .collect();
        to_python(py, &all)
    }

    /// The run with this id, from its folder.
    fn run(&self, py: Python<'_>, id: &str) -> PyResult<Run> {
        if !self.data.rows.contains_key(id) {
            let message = format!("there is no finished run `{id}` in {}", self.folder.display());
            return Err(Failure::Argument(message).exception(py));
        }
        open(py, self.folder.join("runs").join(id))
    }

    /// The page about it: its text, or the path of the file into which it is written.
    #[pyo3(signature = (path=None))]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Py<PyAny>> {
        let data = self.data.clone();
        page(py, path, move || render_sweep(&data).map_err(Failure::run))
    }

    fn __len__(&self) -> usize {
        self.data.plan.runs().len()
    }

    fn __str__(&self) -> String {
        lab::table(&self.data)
    }

    fn __repr__(&self) -> String {
        format!(
            "<paceline.Sweep of {}: {} of {} runs finished, in {}>",
            self.data.plan.scenario,
            self.data.rows.len(),
            self.data.plan.runs().len(),
            self.folder.display()
        )
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        preformatted(py, &lab::table(&self.data))
    }
}

/// Tells the one who waits how far a sweep is.
struct Told<'a>(&'a Watch);

impl lab::Watch for Told<'_> {
    fn begin(&self, runs: usize, _: usize, _: bool) {
        self.0.begin(runs);
    }
    fn progress(&self, run: usize, input: &Resolved, now: &Progress) -> Control {
        self.0.update(run, input, now)
    }
    fn share(&self, _beside: usize, _each: usize) {}

    fn cut(&self, _: usize, _: Cut) {}
    fn end(&self, run: usize, _: &Row) {
        self.0.end(run);
    }
    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

/// How a sweep is run.
struct How {
    folder: Option<PathBuf>,
    keep: Keep,
    jobs: usize,
    shard: Shard,
    force: bool,
}

/// Runs a grid of values, each with the same seeds, on all cores; goes on where it was interrupted.
///
/// The folder is that of `paceline sweep` with the same arguments. A run that fails is a row with its message, and
/// one of `failures`.
#[pyfunction]
#[pyo3(signature = (
    scenario, *, over=None, repeats=None, scheme=None, set=None, seed=None, duration=None, fidelity=None, threads=None,
    out=None, keep="summary", jobs=None, shard=None, force=false, progress=None
))]
#[expect(clippy::too_many_arguments, reason = "they are the call's keywords")]
pub(crate) fn sweep(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    over: Option<Bound<'_, PyDict>>,
    repeats: Option<u32>,
    scheme: Option<String>,
    set: Option<Bound<'_, PyDict>>,
    seed: Option<u64>,
    duration: Option<String>,
    fidelity: Option<String>,
    threads: Option<u32>,
    out: Option<PathBuf>,
    keep: &str,
    jobs: Option<usize>,
    shard: Option<&str>,
    force: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Sweep> {
    let changes = Changes {
        scheme,
        set,
        seed,
        duration,
        fidelity,
        threads,
    };
    let Input { name, mut overrides } = Input::of(scenario, &changes)?;
    overrides.over = over.map_or(Ok(Vec::new()), |over| axes(&over))?;
    let (keep, shard) = extent(py, keep, shard)?;
    let how = How {
        folder: out,
        keep,
        jobs: jobs.unwrap_or_else(cores).max(1),
        shard,
        force,
    };
    let study = Study::new(name, overrides, repeats);
    let (data, folder) = watched(py, progress.as_ref(), move |watch| carry_out(&study, how, watch))?;
    Ok(Sweep {
        data: Arc::new(data),
        folder,
    })
}

/// Returns the extent of the files and the part of the sweep that a call names.
pub(crate) fn extent(py: Python<'_>, keep: &str, shard: Option<&str>) -> PyResult<(Keep, Shard)> {
    let keep = match keep {
        "summary" => Ok(Keep::Summary),
        "all" => Ok(Keep::All),
        _ => Err(Failure::argument(format!(
            "keep: expected `summary` or `all`, found `{keep}`"
        ))),
    };
    let shard = shard.map_or(Ok(Shard::WHOLE), str::parse);
    let shard = shard.map_err(|error: String| Failure::argument(format!("shard: {error}")));
    let both = keep.and_then(|keep| Ok((keep, shard?)));
    both.map_err(|failure| failure.exception(py))
}

fn carry_out(study: &Study, how: How, watch: &Watch) -> Result<(SweepData, PathBuf), Failure> {
    let plan = study.plan(how.jobs)?;
    let folder = how.folder.unwrap_or_else(|| default_folder(&plan));
    let job = Job {
        study,
        plan: &plan,
        folder: &folder,
        shard: how.shard,
        keep: how.keep,
        write: write_run_into,
        jobs: how.jobs,
        force: how.force,
    };
    job.run(&Told(watch))?;
    watch.wanted()?;
    let data = SweepData::read(&folder)?;
    if data.rows.len() == data.plan.runs().len() || how.shard == Shard::WHOLE {
        write_results(&folder, &data)?;
        write_sweep_page(&folder, &data)?;
    }
    Ok((data, folder))
}

/// Returns the folder that the command would choose.
pub(crate) fn default_folder(plan: &Plan) -> PathBuf {
    Path::new("results").join(format!("{}-sweep-{}", plan.scenario, plan.seeds[0]))
}
