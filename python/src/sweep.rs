//! Sweeps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_fabric::Progress;
use paceline_lab::files::columns::read_parquet;
use paceline_lab::run::{Control, Cut, cores};
use paceline_lab::sweep as lab;
use paceline_lab::sweep::{
    Job, Keep, Overview, Plan, Row, Shard, Status, Study, SweepData, Tables, points, results,
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
    tables: Arc<Tables>,
    folder: PathBuf,
}

impl Sweep {
    /// Writes the tables of a folder and the page, unless it is a part of a sweep whose other parts are missing.
    pub(crate) fn written(folder: PathBuf, shard: Shard) -> Result<Self, Failure> {
        let plan = lab::read_plan(&folder)?;
        let runs = plan.runs().len();
        let ended = lab::count_rows(&folder, &plan);
        let is_large = plan.points.len() * plan.seeds.len() > lab::IN_MEMORY_MAX;
        let tables = if ended == runs || shard == Shard::WHOLE {
            drop(plan);
            lab::write_tables(&folder)?
        } else if is_large {
            Tables::Large(Overview {
                plan,
                completed: ended,
                failed: 0,
                missing: runs - ended,
                failures: Vec::new(),
                warnings: Vec::new(),
            })
        } else {
            return Ok(Self {
                tables: Arc::new(Tables::Whole(SweepData::read(&folder)?)),
                folder,
            });
        };
        if let Tables::Whole(data) = &tables {
            write_sweep_page(&folder, data)?;
        }
        Ok(Self {
            tables: Arc::new(tables),
            folder,
        })
    }

    /// Returns the table of a large sweep from its file.
    fn read_table(&self, name: &str) -> Table {
        let file = self.folder.join(name);
        Table::new(move || {
            let columns = read_parquet(&file).map_err(|error| format!("{}: {error}", file.display()));
            Ok(vec![columns.map_err(Failure::argument)?])
        })
    }

    fn text(&self) -> String {
        match &*self.tables {
            Tables::Whole(data) => lab::table(data),
            Tables::Large(overview) => format!("{}\n", overview.line()),
        }
    }

    /// Returns the number of runs with a row.
    fn ended(&self) -> usize {
        match &*self.tables {
            Tables::Whole(data) => data.rows.len(),
            Tables::Large(overview) => overview.completed + overview.failed,
        }
    }
}

/// A failed run.
#[derive(Serialize)]
struct Failed<'a> {
    id: &'a str,
    point: String,
    seed: u64,
    message: &'a str,
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
        to_python(py, self.tables.plan())
    }

    /// A row per run, as in `results.csv`.
    #[getter]
    fn results(&self) -> Table {
        let tables = self.tables.clone();
        match &*self.tables {
            Tables::Whole(_) => Table::new(move || Ok(tables.whole().map(results).into_iter().collect())),
            Tables::Large(_) => self.read_table("results.parquet"),
        }
    }

    /// A row per point and number over its seeds, as in `points.csv`.
    #[getter]
    fn points(&self) -> Table {
        let tables = self.tables.clone();
        match &*self.tables {
            Tables::Whole(_) => Table::new(move || Ok(tables.whole().map(points).into_iter().collect())),
            Tables::Large(_) => self.read_table("points.parquet"),
        }
    }

    /// Where seeds or values of an axis change nothing, and why: `notes.json`.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Tables::Whole(data) = &*self.tables else {
            let file = self.folder.join("notes.json");
            let text = paceline_scenario::read_text(&file).map_err(|error| {
                Failure::argument(format!("cannot read {}: {error}", file.display())).exception(py)
            })?;
            let notes: serde_json::Value =
                serde_json::from_str(&text).map_err(|error| Failure::argument(error).exception(py))?;
            return to_python(py, &notes);
        };
        to_python(py, &lab::notes(data))
    }

    /// Warnings of all runs, each once, with the number of runs that have it.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        match &*self.tables {
            Tables::Whole(data) => lab::warnings(data, |_| true),
            Tables::Large(overview) => (overview.warnings.iter())
                .map(|(warning, runs)| format!("{warning} ({runs} runs)"))
                .collect(),
        }
    }

    /// Whether no run is left to be made.
    #[getter]
    fn complete(&self) -> bool {
        match &*self.tables {
            Tables::Whole(data) => data.rows.len() == data.plan.runs().len(),
            Tables::Large(overview) => overview.missing == 0,
        }
    }

    /// The runs that failed: the values of their axes, seed and message; of a large sweep the first thousand.
    #[getter]
    fn failures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let data = match &*self.tables {
            Tables::Whole(data) => data,
            Tables::Large(overview) => {
                let plan = &overview.plan;
                let failed = overview.failures.iter().map(|(point, seed, message)| {
                    let repeat = plan.seeds.iter().position(|known| known == seed).unwrap_or(0);
                    Failed {
                        id: &plan.points[*point].runs[repeat],
                        point: lab::describe(plan, *point),
                        seed: *seed,
                        message,
                    }
                });
                return to_python(py, &failed.collect::<Vec<_>>());
            }
        };
        let rows = data.in_order().filter(|(_, row)| row.status == Status::Failed);
        let all: Vec<Failed<'_>> = rows
            .map(|(point, row)| Failed {
                id: &row.id,
                point: data.describe(point),
                seed: row.seed,
                message: row.message.as_deref().unwrap_or_default(),
            })
            .collect();
        to_python(py, &all)
    }

    /// The run with this id, from its folder.
    fn run(&self, py: Python<'_>, id: &str) -> PyResult<Run> {
        let folder = self.folder.join("runs").join(id);
        let known = match &*self.tables {
            Tables::Whole(data) => data.rows.contains_key(id),
            Tables::Large(overview) => {
                let runs = overview.plan.points.iter().flat_map(|point| &point.runs);
                runs.into_iter().any(|known| known == id) && folder.is_dir()
            }
        };
        if !known {
            let message = format!("there is no finished run `{id}` in {}", self.folder.display());
            return Err(Failure::Argument(message).exception(py));
        }
        open(py, folder)
    }

    /// The page about it: its text, or the path of the file into which it is written.
    #[pyo3(signature = (path=None))]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Py<PyAny>> {
        let tables = self.tables.clone();
        page(py, path, move || match &*tables {
            Tables::Whole(data) => render_sweep(data).map_err(Failure::run),
            Tables::Large(_) => Err(Failure::argument(format!(
                "more than {} runs have no page: all numbers are in results.parquet",
                lab::IN_MEMORY_MAX
            ))),
        })
    }

    fn __len__(&self) -> usize {
        self.tables.plan().runs().len()
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        let plan = self.tables.plan();
        format!(
            "<paceline.Sweep of {}: {} of {} runs finished, in {}>",
            plan.scenario,
            self.ended(),
            plan.runs().len(),
            self.folder.display()
        )
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        preformatted(py, &self.text())
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
/// The scenario may be the folder of a sweep, which is then done again, with what the other arguments name changed. The
/// folder is that of `paceline sweep` with the same arguments. A run that fails is a row with its message, and
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
    watched(py, progress.as_ref(), move |watch| {
        carry_out(&Study::of(&name, overrides, repeats)?, how, watch)
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

fn carry_out(study: &Study, how: How, watch: &Watch) -> Result<Sweep, Failure> {
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
    drop(plan);
    Sweep::written(folder, how.shard)
}

/// Returns the folder that the command would choose.
pub(crate) fn default_folder(plan: &Plan) -> PathBuf {
    Path::new("results").join(format!("{}-sweep-{}", plan.scenario, plan.seeds[0]))
}
