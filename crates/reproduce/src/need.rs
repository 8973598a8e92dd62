//! Which runs reproductions need, and what came of them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use paceline_fabric::Progress;
use paceline_scenario::{Diagnostics, EXACT, Fidelity, Overrides, Resolved, WarningKind};

use super::kept::Kept;
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

/// What a run is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A scenario that ships, with a seed.
    Shipped(&'static str, u64),
    /// A scenario's file, with a seed.
    File(String, u64),
    /// A scenario of an experiment that ships, with a seed.
    Embedded(Embedded, u64),
    /// A reference run of HPCC's ns-3 simulator: its own configuration and flows.
    Reference(&'static Reference),
}

/// A scenario that ships with an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedded {
    /// What its file is called, and what stands in it.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    /// Files next to it: names and texts.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

/// What an experiment asks of a run in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its name.
    pub name: String,
    /// In SQL.
    pub sql: String,
    /// What its answer is.
    pub form: Form,
    /// The measures that it gives; unless the answer has their names, in the order of its columns.
    pub measures: Vec<String>,
}

/// What the answer to a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One row, with a number in each column.
    Row,
    /// Rows of a measure's name and its number.
    Named,
    /// Rows of a place and the values of curves there.
    Curves,
}

impl Question {
    /// Takes the answer, as far as there is one.
    fn ask(&self, run: &Run, metrics: &mut Metrics) {
        let Ok(answer) = run.ask(&self.sql) else {
            // It was checked when the experiment was read: what is left depends on the run, such as an overflow.
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

    /// Whether both have a measure of one name, and are not the same.
    fn contradicts(&self, other: &Self) -> bool {
        self != other && self.measures.iter().any(|name| other.measures.contains(name))
    }
}

/// A run that a reproduction needs.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRequest {
    /// What it is made from.
    pub input: Input,
    /// Under which scheme.
    pub scheme: String,
    /// Whether its flows will do, without running it.
    pub flows_only: bool,
    /// Whose behaviour it has.
    pub fidelity: Fidelity,
    /// What tells it from other runs of the same scenario under the same scheme; may be empty.
    pub variant: String,
    /// What is different in them, as `--set` has it.
    pub settings: Vec<String>,
    /// What is computed of it when it ends, so that a trace need not be kept.
    pub measures: Option<&'static MeasureSet>,
    /// What is asked of its tables when it ends.
    pub questions: Vec<Arc<Question>>,
    /// What is taken of its summary besides: paths.
    pub summary: Vec<String>,
    /// Whether its folder is written; otherwise nothing but its numbers is kept.
    pub folder: bool,
}

impl RunRequest {
    /// A run of `input` under `scheme` as it stands there.
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

    /// A name that a folder can have; different for different runs.
    pub fn name(&self) -> String {
        // A variant's settings are in its name.
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

    /// Whether numbers are taken of it; otherwise its summary is kept.
    pub(super) fn wants_numbers(&self) -> bool {
        self.measures.is_some() || !self.questions.is_empty() || !self.summary.is_empty()
    }

    /// What is wanted of a run that has ended by itself.
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

    /// What is wanted of what was kept of a run, perhaps for others.
    pub(super) fn kept(&self, kept: &Kept, summary: &Summary) -> Option<Metrics> {
        self.wants_numbers().then(|| {
            let mut metrics = kept.numbers();
            metrics.extend(self.of_summary(summary));
            metrics
        })
    }

    /// What is wanted of a summary.
    fn of_summary(&self, summary: &Summary) -> Vec<(String, f64)> {
        if self.summary.is_empty() {
            return Vec::new();
        }
        let mut all = metrics(summary);
        all.retain(|(path, _)| self.summary.contains(path));
        all
    }

    /// Whether it is the same run as another, whatever is wanted of it.
    fn is_run_of(&self, other: &Self) -> bool {
        (&self.input, &self.scheme, self.fidelity) == (&other.input, &other.scheme, other.fidelity)
            && (&self.settings, self.measures) == (&other.settings, other.measures)
    }

    /// Whether it is the same run, and can answer both's questions.
    fn can_be(&self, other: &Self) -> bool {
        let clash = |one: &Arc<Question>| other.questions.iter().any(|another| one.contradicts(another));
        self.is_run_of(other) && !self.questions.iter().any(clash)
    }

    /// Whether it is the same run, and answers the other's questions.
    fn answers(&self, other: &Self) -> bool {
        self.is_run_of(other) && other.questions.iter().all(|one| self.questions.contains(one))
    }

    /// Reads its input.
    ///
    /// # Errors
    /// What is wrong with it: a fault of the program.
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
                    // The order with which outcomes were recorded, also of what loses packets.
                    set.push("ties=structural".to_string());
                }
                paceline_scenario::load_shipped(name, &overrides(*seed, set))
            }
            Input::File(path, seed) => paceline_scenario::load(path, &overrides(*seed, set)),
            Input::Embedded(embedded, seed) => {
                let Embedded { name, text, files } = *embedded;
                paceline_scenario::load_text_with(name, text, files, &overrides(*seed, set))
            }
            Input::Reference(reference) => reference.load(&self.scheme, self.fidelity, &set),
        }
    }
}

/// The runs that several reproductions need, each once.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The runs, in order of first need.
    pub needs: Vec<RunRequest>,
}

impl Plan {
    /// Of `needs`, with repetitions.
    pub fn of<'a>(needs: impl IntoIterator<Item = &'a RunRequest>) -> Self {
        let mut unique: Vec<RunRequest> = Vec::new();
        for need in needs {
            match unique.iter_mut().find(|known| known.can_be(need)) {
                // What one needs run, others need not load again.
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

/// Settings of runs that the alias of their scheme overrules: each once, with the number of runs.
pub fn overruled<'a>(inputs: impl IntoIterator<Item = &'a Resolved>) -> Vec<String> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
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

/// A run, or its input alone.
#[derive(Clone, Debug)]
pub struct DoneRun {
    /// What was asked for.
    pub need: RunRequest,
    /// Its input.
    pub input: Resolved,
    /// What came of it, if it was run and is kept.
    pub finished: Option<Finished>,
    /// What was taken of it, if it ended by itself.
    pub numbers: Option<Metrics>,
    /// What it came to, if it was run.
    pub summary: Option<Summary>,
    /// How it ended, if it was run.
    pub status: Option<RunStatus>,
}

impl DoneRun {
    /// Of an input that is not run.
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

    /// Of a run that has ended: keeps what is wanted of it.
    ///
    /// # Panics
    /// Never: nobody else has the run by then.
    pub fn of(need: RunRequest, input: Resolved, finished: Finished) -> Self {
        let status = Some(finished.summary.status);
        let run = Arc::new(Ended { input, finished });
        let numbers = need.metrics(&run);
        let Ended { input, mut finished } = Arc::into_inner(run).expect("questions have been answered");
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

/// Why there is nothing of a run.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// It failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It was not started: others had been stopped.
    #[error("not begun")]
    Stopped,
    /// What came of it cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Runs `needs`, with their inputs, on at most `jobs` threads; otherwise as [`run::compare`]. A run of which
/// nothing is kept but numbers is kept no longer than it takes to compute them. Each is given to `keep` as soon as it is
/// over. When one has been stopped no other is started.
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

/// What came of a plan.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The runs, in the plan's order; those that failed are missing.
    pub runs: Vec<DoneRun>,
    /// What came of steps, by their names.
    pub steps: BTreeMap<&'static str, Metrics>,
    /// Where runs are, by their names: filled when one is first looked for.
    pub places: OnceLock<HashMap<String, usize>>,
}

impl Done {
    /// A run, if it was run and ended by itself: the numbers of others stand for nothing.
    pub(super) fn ended(&self, need: &RunRequest) -> Option<&DoneRun> {
        let named = |(place, run): (usize, &DoneRun)| (run.need.name(), place);
        let places = || self.runs.iter().enumerate().map(named).collect();
        let place = self.places.get_or_init(places).get(&need.name());
        let there = place.and_then(|&place| self.runs.get(place));
        let there = there.filter(|run| run.need.answers(need));
        let run = there.or_else(|| self.runs.iter().find(|run| run.need.answers(need)))?;
        (run.status == Some(RunStatus::Completed)).then_some(run)
    }

    /// What was taken of a run.
    pub fn numbers(&self, need: &RunRequest) -> Option<&Metrics> {
        self.ended(need)?.numbers.as_ref()
    }

    /// What a run came to.
    pub fn summary_of(&self, need: &RunRequest) -> Option<&Summary> {
        self.ended(need)?.summary.as_ref()
    }

    /// What came of a step.
    pub fn step(&self, name: &str) -> Option<&Metrics> {
        self.steps.get(name)
    }
}
