//! Search for the best values of any parameters of a scenario.
//!
//! 1. The scenario as written and each candidate run with the same seeds. A candidate's score is the mean over the
//!    seeds of the logarithm of the objective's ratio to the scenario as written, so each seed has the same weight.
//! 2. CMA-ES ([`crate::cma`]) searches the ranges, mapped to 0 to 1 each. Only the order of candidates matters to it.
//!    Candidates within all limits come first, then those over a limit by their excess, then refused ones and failed
//!    ones (Deb, *An efficient constraint handling method for genetic algorithms*, 2000).
//! 3. The best candidate, the scenario as written and profiles along each parameter run with seeds that the search
//!    never had. These show if the gain is real ([`Verdict`]), and which parameters do not matter.
//!
//! Runs are kept as rows by their ids, as in a [sweep](crate::sweep). The search is a pure function of their results, so
//! that the same command resumes an interrupted search and ends with the same bytes, on any number of threads.

mod bench;
mod files;
mod found;
mod objective;
mod search;
mod space;
mod verdict;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

use paceline_scenario::{Overrides, Resolved};
use serde::{Deserialize, Serialize};

pub use files::write;
pub use found::{Counts, Found, HeldOut, ParameterResult, ProfilePoint, Standing, Trial};
pub use objective::{Bound, Limit, Objective};
pub use space::{Domain, Parameter, Range, Unit};
pub use verdict::{Verdict, change};

use crate::files::{OutputError, check_destination, clear_leftovers, sealed, unsealed, write_file};
use crate::run::Control;
use crate::sweep::{Store, SweepError, run_ids};
use bench::Bench;
use objective::Asked;

/// Definition of a search, as a command line has it.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Scenario, as in [`paceline_scenario::load`].
    pub input: String,
    /// Changes to the scenario; they are part of the scenario as written.
    pub overrides: Overrides,
    /// Parameters, as in [`Parameter::parse`].
    pub over: Vec<String>,
    /// Measure to improve, such as `fct_slowdown.p99` or `rate_while_active_gbps:max`.
    pub objective: String,
    /// Conditions, as in [`Limit::parse`].
    pub limits: Vec<String>,
    /// Second measure of the trade-off; `None` for mean slowdown, or the longest queue if that is the objective.
    pub against: Option<String>,
    /// Consecutive seeds of each candidate, at least 1.
    pub repeats: u32,
    /// Seeds of the check after the search, at least 2.
    pub held_out: u32,
    /// Candidates of the search; `None` for 60 per parameter.
    pub trials: Option<usize>,
    /// Arguments of the command, for the page.
    pub arguments: Vec<String>,
}

/// Checked search that can run: the content of `tune.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the program with the hash of its code.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Scheme of the scenario as written.
    pub scheme: String,
    /// Id of the scenario as written with its first seed.
    pub id: String,
    /// Parameters of the search.
    pub parameters: Vec<Parameter>,
    /// Value of each parameter in the scenario as written, if it could be found there.
    pub written: Vec<Option<String>>,
    /// Measure to improve.
    pub objective: Objective,
    /// Second measure, for the trade-off.
    pub against: Objective,
    /// Conditions that candidates have to keep.
    pub limits: Vec<Limit>,
    /// Seeds of the search.
    pub seeds: Vec<u64>,
    /// Seeds of the check after the search.
    pub held_out: Vec<u64>,
    /// Candidates of the search.
    pub trials: usize,
    /// Arguments of the command.
    pub arguments: Vec<String>,
}

/// Observer of a search.
pub trait Watch: crate::sweep::Watch {
    /// Called at the start, with the largest number of runs; `resumes` if the folder has some already.
    fn start(&self, runs: usize, resumes: bool);
    /// Called after each generation, with the trials so far and the best ratio to the scenario as written.
    fn trials(&self, made: usize, of: usize, best: Option<f64>);
}

/// Candidates per parameter by default.
const TRIALS: usize = 60;
/// Largest number of candidates.
const TRIALS_MAX: usize = 100_000;
/// Largest number of seeds.
const SEEDS_MAX: u32 = 10_000;

fn refused(why: impl Into<String>) -> SweepError {
    SweepError::Refused(why.into())
}

impl Options {
    /// Checks the search: parses the options, loads the scenario, runs it once as written for the names of its
    /// measures, and checks that each parameter takes some value. `None` if `watch` stopped the run.
    ///
    /// # Errors
    /// The scenario or one of the options is wrong.
    pub fn plan(&self, watch: &dyn crate::sweep::Watch) -> Result<Option<Plan>, SweepError> {
        let mut parameters = Vec::new();
        for text in &self.over {
            let parameter = Parameter::parse(text).map_err(refused)?;
            let known = parameters.iter().flat_map(|known: &Parameter| &known.keys);
            if let Some(twice) = known.into_iter().find(|key| parameter.keys.contains(key)) {
                return Err(refused(format!("--over: `{twice}` is named twice")));
            }
            parameters.push(parameter);
        }
        if parameters.is_empty() {
            return Err(refused(
                "there is nothing to tune: use --over KEY=LOW..HIGH or --over KEY=VALUE,VALUE,..",
            ));
        }
        let asked = Asked::parse(&self.objective).map_err(|why| refused(format!("--objective: {why}")))?;
        let limits = self.limits.iter().map(|text| Limit::parse(text).map_err(refused));
        let limits: Vec<Limit> = limits.collect::<Result<_, _>>()?;
        let against = self.against.as_ref().map(|text| Asked::parse(text));
        let against = against
            .transpose()
            .map_err(|why| refused(format!("--against: {why}")))?;
        let least = search::candidates(parameters.len()) + 1;
        let trials = self.trials.unwrap_or(TRIALS * parameters.len());
        if trials < least || trials > TRIALS_MAX {
            let count = parameters.len();
            let s = if count == 1 { "" } else { "s" };
            return Err(refused(format!(
                "--trials {trials}: expected {least} to {TRIALS_MAX} for {count} parameter{s}"
            )));
        }
        for (option, seeds, least) in [("--repeats", self.repeats, 1), ("--held-out", self.held_out, 2)] {
            if !(least..=SEEDS_MAX).contains(&seeds) {
                return Err(refused(format!(
                    "{option} {seeds}: expected {least} to {SEEDS_MAX} seeds"
                )));
            }
        }
        let input = crate::load(&self.input, &self.overrides)?;
        for parameter in &mut parameters {
            self.check(parameter)?;
        }
        let last = input
            .seed
            .checked_add(u64::from(self.repeats) + u64::from(self.held_out));
        let Some(last) = last.filter(|last| i64::try_from(*last).is_ok()) else {
            let seeds = u64::from(self.repeats) + u64::from(self.held_out);
            return Err(refused(format!(
                "there are no {seeds} seeds from {} on",
                input.seed
            )));
        };
        let middle = input.seed + u64::from(self.repeats);
        let run = crate::run::execute(&input, &mut |now| match watch.stopped() {
            true => Control::Stop,
            false => watch.progress(0, &input, now),
        });
        let summary = run.map_err(|error| refused(error.to_string()))?.summary;
        if watch.stopped() {
            return Ok(None);
        }
        let against = against.unwrap_or_else(|| {
            let name = match asked.measure == "fct_slowdown.mean" {
                true => "queue_bytes.max",
                false => "fct_slowdown.mean",
            };
            Asked::parse(name).expect("it is a name")
        });
        objective::check("--objective", &asked.measure, &summary).map_err(refused)?;
        objective::check("--against", &against.measure, &summary).map_err(refused)?;
        for limit in &limits {
            objective::check("--limit", &limit.measure, &summary).map_err(refused)?;
        }
        let version = crate::identity::version();
        Ok(Some(Plan {
            version: version.to_string(),
            id: run_ids(&input, &[input.seed], version).remove(0),
            scheme: input.scheme.clone(),
            written: parameters.iter().map(|one| written(self, &input, one)).collect(),
            scenario: input.name,
            parameters,
            objective: asked.resolve(&summary),
            against: against.resolve(&summary),
            limits,
            seeds: (input.seed..middle).collect(),
            held_out: (middle..last).collect(),
            trials,
            arguments: self.arguments.clone(),
        }))
    }

    /// Checks that the scenario takes some value of a parameter, and finds out if it takes only whole numbers.
    fn check(&self, parameter: &mut Parameter) -> Result<(), SweepError> {
        let load = |value: &str| {
            let one = std::slice::from_ref(&*parameter);
            bench::study(&self.input, &self.overrides, one, &[value.to_string()]).load(&[], None)
        };
        let probes: Vec<f64> = match &parameter.domain {
            Domain::Choices(all) => {
                // A listed value that is refused on its own is a slip, not a constraint between parameters.
                for value in all {
                    load(value)?;
                }
                return Ok(());
            }
            Domain::Range(range) if range.low.fract() == 0.0 && range.high.fract() == 0.0 => {
                [range.low, libm::floor((range.low + range.high) / 2.0), range.high].to_vec()
            }
            Domain::Range(_) => Vec::new(),
        };
        let Domain::Range(range) = &parameter.domain else {
            return Ok(());
        };
        let mut whole = range.whole;
        if range.unit == Unit::Number {
            let taken = |value: &f64| load(&format!("{value:.0}")).is_ok();
            let fraction = |value: &f64| load(&format!("{:.1}", value + 0.5)).is_err();
            whole = probes.iter().any(taken) && probes[..probes.len() - 1].iter().all(fraction);
        }
        let range = Range {
            whole,
            ..range.clone()
        };
        let whole = Parameter {
            domain: Domain::Range(range),
            keys: parameter.keys.clone(),
        };
        let mut errors = whole.profile().into_iter().map(|at| load(&whole.value(at)).err());
        // A value may be refused because of another parameter, so one that is taken is enough.
        let first = errors.next().flatten();
        if let Some(error) = first
            && errors.all(|error| error.is_some())
        {
            return Err(error.into());
        }
        *parameter = whole;
        Ok(())
    }
}

/// Returns the value of a parameter in a resolved scenario: of the values under its last key, the one that changes
/// nothing if it is set. `None` if there is none, such as for keys that differ.
///
/// A resolved scenario may have a value at another path than the scenario's, such as thresholds for each rate.
fn written(options: &Options, input: &Resolved, parameter: &Parameter) -> Option<String> {
    /// Largest number of values that are tried.
    const MOST: usize = 8;
    let table: toml::Table = input.toml.parse().ok()?;
    let mut values = Vec::new();
    for key in &parameter.keys {
        let name = key.rsplit('.').next().unwrap_or(key);
        under(&toml::Value::Table(table.clone()), name, &mut values);
    }
    // Keys that stand in the scenario are no defaults any more, which is no other run.
    let same = |other: &Resolved| {
        let lines = |text: &str| -> Vec<String> {
            let kept = text.lines().filter(|line| !line.starts_with("keys = "));
            kept.map(str::to_string).collect()
        };
        lines(&other.toml) == lines(&input.toml) && other.files == input.files
    };
    let one = std::slice::from_ref(parameter);
    values.into_iter().take(MOST).find(|value| {
        let study = bench::study(
            &options.input,
            &options.overrides,
            one,
            std::slice::from_ref(value),
        );
        study.load(&[], None).is_ok_and(|other| same(&other))
    })
}

/// Collects the distinct values that stand under `name` anywhere in a table.
fn under(value: &toml::Value, name: &str, found: &mut Vec<String>) {
    match value {
        toml::Value::Table(inner) => {
            for (key, value) in inner {
                let text = match value {
                    toml::Value::Table(_) => None,
                    toml::Value::String(text) => Some(text.clone()),
                    other => Some(other.to_string()),
                };
                found.extend(text.filter(|text| key == name && !found.contains(text)));
                under(value, name, found);
            }
        }
        toml::Value::Array(list) => list.iter().for_each(|one| under(one, name, found)),
        _ => {}
    }
}

/// Search to be run.
pub struct Job<'a> {
    /// Definition of the search.
    pub options: &'a Options,
    /// Plan made from the options.
    pub plan: &'a Plan,
    /// Folder of the results.
    pub folder: &'a Path,
    /// Number of parallel runs.
    pub jobs: usize,
    /// True if an earlier search in the folder is discarded.
    pub force: bool,
}

impl Job<'_> {
    /// Makes the missing runs and returns the result; `None` if the observer stopped it.
    ///
    /// # Errors
    /// The folder does not fit or cannot be written, or the scenario cannot run as written.
    pub fn run(&self, watch: &dyn Watch) -> Result<Option<Found>, SweepError> {
        let plan = self.plan;
        let (store, _lock, resumes) = self.open()?;
        watch.start(plan.most_runs(), resumes);
        let mut measures = vec![plan.objective.measure.clone(), plan.against.measure.clone()];
        measures.extend(plan.limits.iter().map(|limit| limit.measure.clone()));
        let bench = Bench {
            input: &self.options.input,
            overrides: &self.options.overrides,
            parameters: &plan.parameters,
            measures,
            folder: self.folder,
            store,
            jobs: self.jobs,
            watch,
            next: AtomicUsize::new(0),
        };
        let found = match search::search(plan, &bench)? {
            Some(searched) => verdict::judge(plan, &bench, searched)?,
            None => None,
        };
        bench.store.sync();
        Ok(found)
    }

    fn open(&self) -> Result<(Store, Option<File>, bool), SweepError> {
        let file = plan_file(self.folder);
        let there = file.is_file();
        if !there {
            check_destination(self.folder, false)?;
        } else if !self.force && !goes_on(self.folder, self.plan) {
            return Err(refused(format!(
                "{} holds another search, or one by other code: choose another folder with --out, or start again there \
                 with --force",
                self.folder.display()
            )));
        }
        let store = Store::of_rows(self.folder)?;
        let lock = lock(self.folder)?;
        if self.force && there {
            for entry in crate::sweep::read_dir(&self.folder.join("rows"))? {
                // A file that cannot be removed is read again, and has the same results.
                let _ = std::fs::remove_file(entry.path());
            }
        }
        for name in files::NAMES {
            clear_leftovers(&self.folder.join(name));
        }
        write_file(&file, sealed(self.plan))?;
        Ok((store, lock, there && !self.force))
    }
}

impl Plan {
    /// Returns the largest number of runs of the search and of the check after it.
    fn most_runs(&self) -> usize {
        let profiles: usize = self.parameters.iter().map(|one| one.profile().len()).sum();
        self.seeds.len() * (self.trials + 1) + self.held_out.len() * (2 + profiles)
    }

    /// Returns true if another plan has the same runs, perhaps more or fewer of them.
    fn is_like(&self, other: &Self) -> bool {
        let key = |plan: &Self| Self {
            held_out: Vec::new(),
            trials: 0,
            arguments: Vec::new(),
            ..plan.clone()
        };
        key(self) == key(other)
    }
}

fn plan_file(folder: &Path) -> PathBuf {
    folder.join("tune.json")
}

/// Returns true if `plan` resumes the search in a folder, or may start there.
pub fn goes_on(folder: &Path, plan: &Plan) -> bool {
    let text = match paceline_scenario::read_text(plan_file(folder)) {
        Ok(text) => text,
        Err(_) => return check_destination(folder, false).is_ok(),
    };
    unsealed::<Plan>(&text).is_ok_and(|old| old.is_like(plan))
}

/// Locks the folder against other processes, where the file system can.
fn lock(folder: &Path) -> Result<Option<File>, SweepError> {
    let path = folder.join(".lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = file.map_err(|source| OutputError::Io {
        action: "create",
        path,
        source,
    })?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(refused(format!(
            "another `paceline tune` is running in {}",
            folder.display()
        ))),
        Err(TryLockError::Error(_)) => Ok(None),
        Ok(()) => Ok(Some(file)),
    }
}

#[cfg(test)]
mod tests;
