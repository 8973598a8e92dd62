//! Runs that reproductions need, and their outcomes.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use paceline_fabric::Progress;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::{Diagnostics, EXACT, Fidelity, Overrides, Resolved, WarningKind};

use super::kept::StoredValues;
use super::reference::Reference;
use paceline_lab::files::OutputError;
use paceline_lab::measures::MeasureSet;
pub use paceline_lab::measures::Metrics;
use paceline_lab::results::{RunStatus, Summary};
use paceline_lab::run::{self, Control, Finished, RunError};
use paceline_lab::sweep::metrics;
use paceline_query::{Cell, Ended, Run};
use paceline_report::scheme_folder;

fn name_by_file(path: &str, scheme: &str, seed: u64) -> String {
    let stem = Path::new(path).file_stem().unwrap_or_default();
    format!("{}-{scheme}-{seed}", stem.to_string_lossy())
}

/// Input of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Built-in scenario, with a seed.
    Shipped(&'static str, u64),
    /// File of a scenario, with a seed.
    File(String, u64),
    /// Scenario of a built-in experiment, with a seed.
    Embedded(Embedded, u64),
    /// Reference run of another simulator, with its configuration and flows.
    Reference(&'static Reference),
}

/// Scenario that belongs to a built-in experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// Name of its file; the next field is the text.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    /// Files next to it: names and texts.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// Question in SQL that an experiment asks about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Name in the experiment.
    pub name: String,
    /// Query in the SQL of SQLite.
    pub sql: String,
    /// Format of the answer.
    pub form: Form,
    /// Measures that it returns, in the order of the answer's columns unless the answer names them.
    pub measures: Vec<String>,
}

/// Format of the answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One row, with a number in each column.
    Row,
    /// Rows of a measure's name and its number.
    Named,
    /// Rows of x and the y values of curves there.
    Curves,
}

impl Question {
    /// Adds the answer to `metrics`, if there is one.
    fn ask(&self, run: &Run, metrics: &mut Metrics) {
        let Ok(answer) = run.ask(&self.sql) else {
            // The query was checked when the experiment was read: other errors depend on the run, such as an
            // overflow.
            return;
        };
        let number = |row: &[Cell], column: usize| row.get(column)?.number();
        match self.form {
            Form::Row => {
                let row = answer.rows.first().map_or(&[][..], Vec::as_slice);
                let values = self.measures.iter().enumerate();
                metrics
                    .extend(values.filter_map(|(column, name)| Some((name.clone(), number(row, column)?))));
            }
            Form::Named => {
                let named = |row: &Vec<Cell>| match &row[..] {
                    [Cell::Text(name), value] => Some((name.clone(), value.number()?)),
                    _ => None,
                };
                metrics.extend(answer.rows.iter().filter_map(named));
            }
            Form::Curves => {
                for (name, column) in self.measures.iter().zip(1..) {
                    let points = answer.rows.iter();
                    let points = points.filter_map(|row| Some((number(row, 0)?, number(row, column)?)));
                    metrics.draw(name.clone(), points);
                }
            }
        }
    }

    /// Returns true if the questions differ but define a measure with the same name.
    fn contradicts(&self, other: &Self) -> bool {
        self != other && self.measures.iter().any(|name| other.measures.contains(name))
    }
}

/// Run that a reproduction needs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRequest {
    /// Input of the run.
    pub input: Input,
    /// Name of the scheme.
    pub scheme: String,
    /// True if its flows are enough, without running it.
    pub flows_only: bool,
    /// Simulator whose behaviour it reproduces.
    pub fidelity: Fidelity,
    /// Text that distinguishes it from other runs of the same scenario under the same scheme; may be empty.
    pub variant: String,
    /// Settings of the variant, in the notation of `--set`.
    pub settings: Vec<String>,
    /// Measures that are computed when it ends, so that its trace need not be kept.
    pub measures: Option<&'static MeasureSet>,
    /// Questions about its tables that are answered when it ends.
    pub questions: Vec<Arc<Question>>,
    /// Paths of values to extract from its summary.
    pub summary: Vec<String>,
    /// True if its folder is written; otherwise only its numbers are kept.
    pub folder: bool,
}

impl RunRequest {
    /// Creates a run of `input` under `scheme` without changes.
    pub fn of(input: Input, scheme: impl Into<String>) -> Self {
        Self {
            input,
            scheme: scheme.into(),
            flows_only: false,
            fidelity: EXACT,
            variant: String::new(),
            settings: Vec::new(),
            measures: None,
            questions: Vec::new(),
            summary: Vec::new(),
            folder: true,
        }
    }

    /// Returns a name that a folder can have; different runs have different names.
    pub fn name(&self) -> String {
        // The settings of a variant in the scheme's name are part of the folder's name.
        let scheme = scheme_folder(&self.scheme);
        let mut name = match &self.input {
            Input::Shipped(name, seed) => format!("{name}-{scheme}-{seed}"),
            Input::File(path, seed) => name_by_file(path, &scheme, *seed),
            Input::Embedded(embedded, seed) => name_by_file(embedded.name, &scheme, *seed),
            Input::Reference(reference) => format!("{}-{scheme}", reference.name),
        };
        if !self.variant.is_empty() {
            name = format!("{name}-{}", self.variant);
        }
        name
    }

    /// Returns the seed of the run; a reference run has no other than its own.
    pub(super) fn seed(&self) -> u64 {
        match &self.input {
            Input::Shipped(_, seed) | Input::File(_, seed) | Input::Embedded(_, seed) => *seed,
            Input::Reference(_) => 1,
        }
    }

    /// Returns true if numbers are extracted from it; otherwise its summary is kept.
    pub(super) fn wants_numbers(&self) -> bool {
        self.measures.is_some() || !self.questions.is_empty() || !self.summary.is_empty()
    }

    /// Returns the wanted numbers of a run that completed.
    fn metrics(&self, run: &Arc<Ended>) -> Option<Metrics> {
        let Ended { input, finished } = &**run;
        let ended = finished.summary.status == RunStatus::Completed;
        if !ended || !self.wants_numbers() {
            return None;
        }
        let of_set = self.measures.map(|set| (set.of)(input, &finished.outcome));
        let mut metrics = of_set.unwrap_or_default();
        if !self.questions.is_empty() {
            let run = Run::new(Arc::clone(run));
            self.questions
                .iter()
                .for_each(|question| question.ask(&run, &mut metrics));
        }
        metrics.extend(self.of_summary(&finished.summary));
        Some(metrics)
    }

    /// Returns the wanted numbers from stored ones, which may have been stored for others too.
    pub(super) fn kept(&self, kept: &StoredValues, summary: &Summary) -> Option<Metrics> {
        self.wants_numbers().then(|| {
            let mut metrics = kept.numbers();
            metrics.extend(self.of_summary(summary));
            metrics
        })
    }

    /// Returns the wanted numbers from a summary.
    fn of_summary(&self, summary: &Summary) -> Vec<(String, f64)> {
        if self.summary.is_empty() {
            return Vec::new();
        }
        let mut all = metrics(summary);
        all.retain(|(path, _)| self.summary.contains(path));
        all
    }

    /// Returns true if it is the same run as another, regardless of the wanted numbers.
    fn is_run_of(&self, other: &Self) -> bool {
        (&self.input, &self.scheme, self.fidelity) == (&other.input, &other.scheme, other.fidelity)
            && (&self.settings, self.measures) == (&other.settings, other.measures)
    }

    /// Returns true if it is the same run, and one run can answer the questions of both.
    fn can_be(&self, other: &Self) -> bool {
        let clash = |one: &Arc<Question>| other.questions.iter().any(|another| one.contradicts(another));
        self.is_run_of(other) && !self.questions.iter().any(clash)
    }

    /// Returns true if it is the same run, and answers the other's questions.
    fn answers(&self, other: &Self) -> bool {
        self.is_run_of(other) && other.questions.iter().all(|one| self.questions.contains(one))
    }

    /// Reads its input.
    ///
    /// # Errors
    /// If the input is invalid, which is a fault of the program.
    pub fn load(&self) -> Result<Resolved, Diagnostics> {
        let overrides = |seed: u64, set: Vec<String>| Overrides {
            scheme: (!self.fidelity.has_own_transport()).then(|| self.scheme.clone()),
            seed: Some(seed),
            fidelity: Some(self.fidelity),
            set,
            ..Overrides::default()
        };
        let mut set = self.settings.clone();
        match &self.input {
            Input::Shipped(name, seed) => {
                if self.fidelity == EXACT {
                    // Outcomes were recorded with this order, including those of networks that drop packets.
                    set.push("ties=structural".to_string());
                }
                paceline_scenario::load_shipped(name, &overrides(*seed, set))
            }
            Input::File(path, seed) => paceline_lab::load(path, &overrides(*seed, set)),
            Input::Embedded(embedded, seed) => {
                let Embedded { name, text, files } = *embedded;
                paceline_scenario::load_text_with(name, text, files, &overrides(*seed, set))
            }
            Input::Reference(reference) => reference.load(&self.scheme, self.fidelity, &set),
        }
    }
}

/// Runs that several reproductions need, each once.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Runs in the order of first need.
    pub needs: Vec<RunRequest>,
}

impl Plan {
    /// Creates a plan from `needs`, which may repeat runs.
    pub fn of<'a>(needs: impl IntoIterator<Item = &'a RunRequest>) -> Self {
        let mut unique: Vec<RunRequest> = Vec::new();
        for need in needs {
            match unique.iter_mut().find(|known| known.can_be(need)) {
                // If one of them needs the run, it cannot be limited to its flows.
                Some(known) => {
                    known.flows_only &= need.flows_only;
                    known.folder |= need.folder;
                    let new = need.questions.iter().filter(|one| !known.questions.contains(one));
                    let new: Vec<Arc<Question>> = new.cloned().collect();
                    known.questions.extend(new);
                    known.summary.extend_from_slice(&need.summary);
                }
                None => unique.push(need.clone()),
            }
        }
        Self { needs: unique }
    }
}

/// Returns warnings about settings that the alias of a run's scheme overrides: each once, with the number of runs.
pub fn overruled<'a>(inputs: impl IntoIterator<Item = &'a Resolved>) -> Vec<String> {
    let mut found: SortedMap<&str, usize> = SortedMap::new();
    let warnings = inputs.into_iter().flat_map(|input| &input.warnings);
    for warning in warnings.filter(|one| one.id == WarningKind::OverruledParameter) {
        *found.entry(&warning.text).or_default() += 1;
    }
    let text = |(text, runs): (&str, usize)| match runs {
        1 => format!("{text} (in a run)"),
        runs => format!("{text} (in {runs} runs)"),
    };
    found.into_iter().map(text).collect()
}

/// Completed run, or only its input.
#[derive(Clone, Debug)]
pub struct DoneRun {
    /// Request for the run.
    pub need: RunRequest,
    /// Resolved input of the run.
    pub input: Resolved,
    /// Results, if it was run and they are kept.
    pub finished: Option<Finished>,
    /// Extracted numbers, if it completed.
    pub numbers: Option<Metrics>,
    /// Summary, if it was run.
    pub summary: Option<Summary>,
    /// Final status, if it was run.
    pub status: Option<RunStatus>,
}

impl DoneRun {
    /// Creates the record of an input that is not run.
    pub fn input_of(need: RunRequest) -> Result<Self, Diagnostics> {
        let input = need.load()?;
        Ok(Self {
            need,
            input,
            finished: None,
            numbers: None,
            summary: None,
            status: None,
        })
    }

    /// Creates the record of a run that ended, with the wanted numbers.
    ///
    /// # Panics
    /// Never: no other owner of the run is left by then.
    pub fn of(need: RunRequest, input: Resolved, finished: Finished) -> Self {
        let status = Some(finished.summary.status);
        let run = Arc::new(Ended { input, finished });
        let numbers = need.metrics(&run);
        let Ended { input, mut finished } = Arc::into_inner(run).expect("questions have been answered");
        // The numbers are extracted: traces of all runs together would fill the memory.
        if need.measures.is_some() || !need.questions.is_empty() {
            finished.outcome.trace = Vec::new();
        }
        Self {
            summary: Some(finished.summary.clone()),
            finished: need.folder.then_some(finished),
            need,
            input,
            numbers,
            status,
        }
    }
}

/// Reason why a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// Error of the run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Interruption before it started.
    #[error("not begun")]
    Stopped,
    /// Results that cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Runs `needs` with their inputs on at most `jobs` threads; otherwise like [`run::compare`]. A run of which only
/// numbers are kept is dropped once they are computed. Each is passed to `keep` as soon as it ends. After an
/// interruption no further run starts.
pub fn run_each(
    needs: &[RunRequest],
    inputs: &[Resolved],
    jobs: usize,
    progress: &(dyn Fn(usize, &Progress) -> Control + Sync),
    keep: &(dyn Fn(DoneRun) -> Result<DoneRun, OutputError> + Sync),
) -> Vec<Result<DoneRun, NotRun>> {
    let stopped = AtomicBool::new(false);
    run::side_by_side(needs.len(), jobs, &|i| {
        if stopped.load(Ordering::Relaxed) {
            return Err(NotRun::Stopped);
        }
        let finished = run::execute(&inputs[i], &mut |now| progress(i, now))?;
        if finished.summary.status == RunStatus::Partial {
            stopped.store(true, Ordering::Relaxed);
        }
        Ok(keep(DoneRun::of(needs[i].clone(), inputs[i].clone(), finished))?)
    })
}

/// Outcomes of a plan.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Runs in the plan's order; failed ones are missing.
    pub runs: Vec<DoneRun>,
    /// Results of steps, by name.
    pub steps: SortedMap<&'static str, Metrics>,
    /// Indices of runs by name, filled at the first look-up.
    pub indices: OnceLock<HashMap<String, usize>>,
}

impl Done {
    /// Returns a run if it completed: the numbers of others have no meaning.
    pub(super) fn ended(&self, need: &RunRequest) -> Option<&DoneRun> {
        let named = |(index, run): (usize, &DoneRun)| (run.need.name(), index);
        let indices = || self.runs.iter().enumerate().map(named).collect();
        let index = self.indices.get_or_init(indices).get(&need.name());
        let there = index.and_then(|&index| self.runs.get(index));
        let there = there.filter(|run| run.need.answers(need));
        let run = there.or_else(|| self.runs.iter().find(|run| run.need.answers(need)))?;
        (run.status == Some(RunStatus::Completed)).then_some(run)
    }

    /// Returns the extracted numbers of a run.
    pub fn numbers(&self, need: &RunRequest) -> Option<&Metrics> {
        self.ended(need)?.numbers.as_ref()
    }

    /// Returns the summary of a run.
    pub fn summary_of(&self, need: &RunRequest) -> Option<&Summary> {
        self.ended(need)?.summary.as_ref()
    }

    /// Returns the results of a step.
    pub fn step(&self, name: &str) -> Option<&Metrics> {
        self.steps.get(name)
    }
}
