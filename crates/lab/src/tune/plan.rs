//! Definition of a search, and its checks before any candidate runs.

use paceline_scenario::{Overrides, Resolved};
use serde::{Deserialize, Serialize};

use super::bench;
use super::objective::{self, Asked, Limit, Objective};
use super::space::{Domain, Parameter, Range, Unit};
use crate::run::Control;
use crate::sweep::{SweepError, run_ids};

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
    /// Measure to improve, with its direction.
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

/// Candidates per parameter by default.
const TRIALS: usize = 60;
/// Largest number of candidates.
const TRIALS_MAX: usize = 100_000;
/// Largest number of seeds.
const SEEDS_MAX: u32 = 10_000;

/// Creates the error of an option or folder that does not fit.
pub(super) fn refused(why: impl Into<String>) -> SweepError {
    SweepError::Refused(why.into())
}

/// Returns the number of candidates per generation: Hansen's default, and no fewer than 6, so that three survive.
pub(super) fn candidates(parameters: usize) -> usize {
    (4 + libm::floor(3.0 * libm::log(parameters as f64)) as usize).max(6)
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
        let least = candidates(parameters.len()) + 1;
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

impl Plan {
    /// Returns the largest number of runs of the search and of the check after it.
    pub(super) fn most_runs(&self) -> usize {
        let profiles: usize = self.parameters.iter().map(|one| one.profile().len()).sum();
        self.seeds.len() * (self.trials + 1) + self.held_out.len() * (2 + profiles)
    }

    /// Returns true if another plan has the same runs, perhaps more or fewer of them.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let key = |plan: &Self| Self {
            held_out: Vec::new(),
            trials: 0,
            arguments: Vec::new(),
            ..plan.clone()
        };
        key(self) == key(other)
    }
}
