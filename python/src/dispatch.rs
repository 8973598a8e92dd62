//! Sweeps on executors: the native half of `paceline/_executor.py`.
//!
//! The caller owns the folder and cuts blocks ([`Dispatched`]); workers make a block each ([`_block`]). What goes
//! between them is text, so that any executor carries it.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use paceline_fabric::Progress;
use paceline_lab::run::{Control, Cut};
use paceline_lab::sweep::{self as lab, BlockPoint, BlockRan, Dispatch, Errand, Row, Shard, Study};
use paceline_report::write_run_into;
use paceline_scenario::{Fidelity, InputFormat, Overrides, Resolved};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, detached};
use crate::input::{Changes, Input, axes};
use crate::sweep::{Sweep, default_folder, extent};
use crate::watch::{self, Watch, watched};

/// Scenario and its changes, as another process can read them.
#[derive(Debug, Deserialize, Serialize)]
struct Definition {
    input: String,
    text: Option<String>,
    over: Vec<String>,
    set: Vec<String>,
    scheme: Option<String>,
    seed: Option<u64>,
    duration: Option<String>,
    fidelity: Option<Fidelity>,
    input_format: Option<InputFormat>,
    shuffle_ties: Option<u64>,
    check: bool,
    threads: Option<std::num::NonZeroU32>,
}

impl Definition {
    fn of(study: &Study) -> Self {
        let from = study.overrides.clone();
        Self {
            input: study.input.clone(),
            text: from.text,
            over: from.over,
            set: from.set,
            scheme: from.scheme,
            seed: from.seed,
            duration: from.duration.map(|duration| duration.to_string()),
            fidelity: from.fidelity,
            input_format: from.input_format,
            shuffle_ties: from.shuffle_ties,
            check: from.check,
            threads: from.threads,
        }
    }

    fn study(self) -> Result<Study, Failure> {
        let duration = self.duration.as_deref().map(str::parse).transpose();
        let overrides = Overrides {
            text: self.text,
            over: self.over,
            set: self.set,
            scheme: self.scheme,
            seed: self.seed,
            duration: duration.map_err(Failure::argument)?,
            fidelity: self.fidelity,
            input_format: self.input_format,
            shuffle_ties: self.shuffle_ties,
            check: self.check,
            threads: self.threads,
            streams: true,
            ..Overrides::default()
        };
        Ok(Study::new(self.input, overrides, None))
    }
}

/// Text of an errand: all that the blocks of a sweep have in common.
#[derive(Debug, Deserialize, Serialize)]
struct Sent {
    #[serde(flatten)]
    errand: Errand,
    definition: Definition,
}

/// Sweep in progress whose runs are made by workers.
#[pyclass(name = "_Dispatched", frozen, module = "paceline")]
pub(crate) struct Dispatched {
    /// `None` once the folder is released.
    inner: Mutex<Option<Dispatch>>,
    sent: String,
    folder: PathBuf,
    shard: Shard,
}

impl Dispatched {
    fn inner(&self) -> MutexGuard<'_, Option<Dispatch>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Dispatch) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        detached(py, || match self.inner().as_mut() {
            Some(inner) => work(inner),
            None => Err(Failure::argument("the sweep is over")),
        })
    }
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::argument(format!("a worker and its caller differ: {error}")))
}

fn written(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(Failure::run)
}

#[pymethods]
impl Dispatched {
    /// Plans a sweep, and opens its folder.
    #[new]
    #[pyo3(signature = (
        scenario, *, over=None, repeats=None, scheme=None, set=None, seed=None, duration=None, fidelity=None,
        threads=None, out=None, keep="summary", jobs=None, shard=None, force=false
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are the call's keywords")]
    fn new(
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
    ) -> PyResult<Self> {
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
        let jobs = jobs.unwrap_or_else(paceline_lab::run::cores).max(1);
        let (inner, sent) = watched(py, None, move |watch| {
            let study = Study::of(&name, overrides, repeats)?;
            let definition = Definition::of(&study);
            let plan = study.plan(jobs)?;
            watch.wanted()?;
            let folder = out.unwrap_or_else(|| default_folder(&plan));
            let inner = Dispatch::open(study, plan, folder, (shard, keep, force), write_run_into)?;
            let sent = Sent {
                errand: inner.errand(),
                definition,
            };
            let sent = written(&sent)?;
            Ok((inner, sent))
        })?;
        Ok(Self {
            folder: inner.folder().to_path_buf(),
            inner: Mutex::new(Some(inner)),
            sent,
            shard,
        })
    }

    /// The text that every block needs.
    #[getter]
    fn errand(&self) -> &str {
        &self.sent
    }

    /// The folder of the sweep.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// Runs that this call has to make, and runs that have a result from before.
    fn counts(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        self.with(py, |inner| Ok(inner.counts()))
    }

    /// Estimated seconds of the runs that are in no block.
    fn seconds_left(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |inner| Ok(inner.seconds_left()))
    }

    /// Takes runs of about so many seconds: their text, and their number; `None` if none can start now.
    fn take(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<(String, usize)>> {
        self.with(py, |inner| {
            let Some(block) = inner.take(seconds) else {
                return Ok(None);
            };
            let runs = block.iter().map(|point| point.runs.len()).sum();
            Ok(Some((written(&block)?, runs)))
        })
    }

    /// Writes a run that came as bytes: the text of its row, and its files by name.
    fn accept(&self, py: Python<'_>, row: String, files: Vec<(String, Vec<u8>)>) -> PyResult<()> {
        self.with(py, |inner| Ok(inner.accept(&row, &files)?))
    }

    /// Takes in the result of a block, by its text and that of the block. Returns the number of runs that were made
    /// here.
    fn ended(&self, py: Python<'_>, block: String, ran: String) -> PyResult<usize> {
        self.with(py, |inner| {
            let block: Vec<BlockPoint> = parsed(&block)?;
            let ran: BlockRan = parsed(&ran)?;
            let seconds = ran.wall_s;
            Ok(inner.ended(&block, &ran, seconds)?)
        })
    }

    /// The number of this call's runs without a row, and descriptions of the first few.
    fn missing(&self, py: Python<'_>) -> PyResult<(usize, Vec<String>)> {
        /// Number of runs that a message names.
        const SHOWN: usize = 5;
        self.with(py, |inner| {
            let missing = inner.missing();
            let described = missing.iter().take(SHOWN).map(|&(point, seed)| {
                let point = lab::describe(inner.plan(), point);
                format!("{point}{}seed {seed}", if point.is_empty() { "" } else { " " })
            });
            Ok((missing.len(), described.collect()))
        })
    }

    /// Progress of so many runs, as `sweep` gives it to its caller.
    fn progress(&self, runs: usize, done: usize, events: u64, packet_hops: u64) -> watch::Progress {
        watch::Progress::of_runs(runs, done, events, packet_hops)
    }

    /// Writes the tables and the page, and releases the folder.
    fn finish(&self, py: Python<'_>) -> PyResult<Sweep> {
        detached(py, || {
            let Some(inner) = self.inner().take() else {
                return Err(Failure::argument("the sweep is over"));
            };
            let (plan, folder) = inner.close();
            drop(plan);
            Sweep::written(folder, self.shard)
        })
    }

    /// Releases the folder; what is finished stays.
    fn close(&self) {
        drop(self.inner().take());
    }
}

/// Observer of a block, which ends it when its worker is interrupted.
struct Worker<'a>(&'a Watch);

impl lab::Watch for Worker<'_> {
    fn begin(&self, _: usize, _: usize, _: bool) {}
    fn progress(&self, _: usize, _: &Resolved, _: &Progress) -> Control {
        self.0.control()
    }
    fn share(&self, _: usize, _: usize) {}
    fn cut(&self, _: usize, _: Cut) {}
    fn end(&self, _: usize, _: &Row) {}
    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

/// Makes the runs of a block and writes them into `folder`; `input` is the scenario's path if it is another one here.
/// Returns the result as text.
#[pyfunction]
#[pyo3(signature = (errand, block, folder, input=None))]
pub(crate) fn _block(
    py: Python<'_>,
    errand: String,
    block: String,
    folder: PathBuf,
    input: Option<String>,
) -> PyResult<String> {
    watched(py, None, move |watch| {
        let Sent {
            errand,
            mut definition,
        } = parsed(&errand)?;
        if let Some(input) = input {
            (definition.input, definition.text) = (input, None);
        }
        let block: Vec<BlockPoint> = parsed(&block)?;
        let study = definition.study()?;
        let ran = errand.make(&study, &block, &folder, write_run_into, &Worker(watch))?;
        written(&ran)
    })
}
