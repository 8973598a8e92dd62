//! What the command line changes in a scenario.

use std::num::NonZeroU32;

use paceline_congestion::learned::ModelRef;
use paceline_kernel::Span;

use crate::diagnostics::Problem;
use crate::document::{Point, Setting};
use crate::ns3::format::InputFormat;
use crate::resolved::Memoise;
use crate::schema::Fidelity;

/// What the command line changes in a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// `path.to.key=value`, with the types and checks of the file; a value that is not TOML is a text.
    pub set: Vec<String>,
    /// `cc.scheme`.
    pub scheme: Option<String>,
    /// `seed`.
    pub seed: Option<u64>,
    /// `duration`.
    pub duration: Option<Span>,
    /// `fidelity`.
    pub fidelity: Option<Fidelity>,
    /// The program that a configuration was written for, where its keys do not tell.
    pub input_format: Option<InputFormat>,
    /// Shuffles simultaneous events with this seed.
    pub shuffle_ties: Option<u64>,
    /// Checks every invariant while running.
    pub check: bool,
    /// `threads`.
    pub threads: Option<NonZeroU32>,
    /// Whether phases that come again are taken from memory.
    pub memoise: Memoise,
    /// Flows that wait for nothing come as a stream ([`paceline_fabric::spec::RunSpec::arrivals`]) instead of a list: the run is the same,
    /// and holds those that are under way.
    pub streams: bool,
    /// `path.to.key=v1,v2,..`: axes of a sweep, each instead of that of the `[sweep]` table.
    pub over: Vec<String>,
    /// A point of the sweep's grid: for each of [`crate::Grid::axes`] the number of its value. None: the
    /// scenario without its sweep.
    pub point: Vec<usize>,
    /// The text of a scenario that is at hand: it is not looked for, and the input is only what errors call it. Files
    /// that it names are looked for in the working directory.
    pub text: Option<String>,
    /// Whoever runs it decides for flows under [`crate::EXTERNAL`]: decisions that the scenario names are not read.
    pub decided_outside: bool,
    /// The iteration of jobs by traces whose critical path is kept, from 0: nothing for the slowest.
    pub path_of: Option<u32>,
    /// Models that are at hand, by the paths by which the scenario may name them: those are not read.
    pub models: Vec<ModelRef>,
}

impl Overrides {
    /// With `--set fidelity=`, `--set input-format=` and `--set cc.scheme=` (or a sweep's) as the options that they are:
    /// an ns-3 configuration reads differently with them. And the other settings.
    pub(crate) fn with_own_settings(&self) -> Result<(Self, Vec<Setting>), Problem> {
        let point = Point {
            overs: &self.over,
            values: &self.point,
        };
        let (_, written) = point.alone()?;
        let chosen = written
            .axes
            .iter()
            .zip(&self.point)
            .map(|(axis, &value)| Setting {
                option: "--over",
                text: format!("{}={}", axis.key(), axis.values[value].0),
            });
        let mut own = self.clone();
        let mut others = Vec::new();
        for setting in settings(&self.set).into_iter().chain(chosen) {
            let (key, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
            let value = value.trim().trim_matches(['"', '\'']).to_string();
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

    /// Everything as settings of a TOML scenario.
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
