//! Changes that the command line makes to a scenario.

use std::num::NonZeroU32;

use paceline_congestion::learned::ModelRef;
use paceline_kernel::Span;

use crate::diagnostics::Problem;
use crate::document::{Point, Setting, dotted};
use crate::ns3::format::InputFormat;
use crate::resolved::Memoise;
use crate::schema::Fidelity;

/// Options of the command line that change a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// Assignments `path.to.key=value`, with the types and checks of the file; a value that is not TOML is a string.
    pub set: Vec<String>,
    /// Value for `cc.scheme`; `None` keeps the scenario's.
    pub scheme: Option<String>,
    /// Value for `seed`; `None` keeps the scenario's.
    pub seed: Option<u64>,
    /// Value for `duration`; `None` keeps the scenario's.
    pub duration: Option<Span>,
    /// Value for `fidelity`; `None` keeps the scenario's.
    pub fidelity: Option<Fidelity>,
    /// Program that a configuration was written for, if its keys do not tell.
    pub input_format: Option<InputFormat>,
    /// Seed for shuffling simultaneous events; `None` keeps their order.
    pub shuffle_ties: Option<u64>,
    /// True to check all invariants during the run.
    pub check: bool,
    /// Value for `threads`; `None` keeps the scenario's.
    pub threads: Option<NonZeroU32>,
    /// Reuse of results when an iteration repeats an earlier one.
    pub memoise: Memoise,
    /// True to generate flows without dependencies as a stream ([`paceline_fabric::spec::RunSpec::arrivals`]) instead
    /// of a list. The run is the same, but holds only active flows in memory.
    pub streams: bool,
    /// Axes of a sweep, `path.to.key=v1,v2,..`, each replacing the axis with the same key in `[sweep]`.
    pub over: Vec<String>,
    /// Point of the sweep's grid: for each of [`crate::Grid::axes`] the index of its value. Empty for the scenario
    /// without its sweep.
    pub point: Vec<usize>,
    /// Text of a scenario in memory; the input is then only its name in errors. Files that it names are looked up in
    /// the working directory.
    pub text: Option<String>,
    /// True if the caller controls flows under [`crate::EXTERNAL`]: decisions that the scenario names are then not
    /// read.
    pub decided_outside: bool,
    /// Iteration of trace-driven jobs whose critical path is kept, from 0; `None` for the slowest one.
    pub path_of: Option<u32>,
    /// Models in memory, by the paths under which the scenario may name them; these files are not read.
    pub models: Vec<ModelRef>,
}

impl Overrides {
    /// Returns the overrides with `--set fidelity=`, `--set input-format=` and `--set cc.scheme=` (or a sweep's)
    /// moved to their fields, since they decide how an ns-3 configuration is read, and the remaining settings.
    pub(crate) fn with_own_settings(&self) -> Result<(Self, Vec<Setting>), Problem> {
        let point = Point {
            overs: &self.over,
            values: &self.point,
        };
        let (_, written) = point.alone()?;
        let chosen = written.chosen(&self.point);
        let chosen = chosen.into_iter().map(|(path, (text, _))| Setting {
            option: "--over",
            text: format!("{}={text}", dotted(path)),
        });
        let mut own = self.clone();
        let mut others = Vec::new();
        for setting in settings(&self.set).into_iter().chain(chosen) {
            let (key, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
            let value = value.trim().trim_matches(['"', '\'']).to_string();
            // A point of a sweep has its own value, which replaces that of an option.
            let swept = setting.option == "--over";
            match key.trim() {
                "fidelity" if own.fidelity.is_none() || swept => {
                    own.fidelity = Some(value.parse().map_err(Problem::new)?);
                }
                "input-format" if own.input_format.is_none() => {
                    own.input_format = Some(value.parse().map_err(Problem::new)?);
                }
                "cc.scheme" if own.scheme.is_none() || swept => own.scheme = Some(value),
                _ => others.push(setting),
            }
        }
        Ok((own, others))
    }

    /// Returns all overrides as settings of a TOML scenario.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let mut all = settings(&self.set);
        let mut add = |option, text: Option<String>| all.extend(text.map(|text| Setting { option, text }));
        add(
            "--scheme",
            self.scheme.as_ref().map(|scheme| format!("cc.scheme={scheme:?}")),
        );
        add("--seed", self.seed.map(|seed| format!("seed={seed}")));
        add(
            "--duration",
            self.duration.map(|duration| format!("duration=\"{duration}\"")),
        );
        add(
            "--fidelity",
            self.fidelity
                .map(|fidelity| format!("fidelity=\"{}\"", fidelity.name())),
        );
        add(
            "--shuffle-ties",
            self.shuffle_ties.map(|seed| format!("shuffle-ties={seed}")),
        );
        add("--check", self.check.then(|| "check=true".to_string()));
        add(
            "--threads",
            self.threads.map(|threads| format!("threads={threads}")),
        );
        all
    }
}

pub(super) fn settings(set: &[String]) -> Vec<Setting> {
    let setting = |text: &String| Setting {
        option: "--set",
        text: text.clone(),
    };
    set.iter().map(setting).collect()
}
