//! Datasets: measurements of senders in recorded runs, as pairs of features and the next sample.
//!
//! Stages of a round-trip time in this module:
//!
//! 1. [`record()`] runs [`Source`]s and keeps each flow's samples, one per completion window: a [`Trace`].
//! 2. [`Trace::candidates`] smooths them and makes a [`Pair`] of every four that follow one another: `K[t-2],
//!    K[t-1], K[t]` and `L[t]`.
//! 3. [`Dataset::draw`] samples them by [`stratum`], so that the few changes are not lost among many constant
//!    samples. The order of pairs is random too: training rounds are chunks of it.
//! 4. [`Dataset::write`] and [`Dataset::read`]: Parquet, including all origins.

mod disjoint;
mod draw;
mod file;
mod record;
#[cfg(test)]
mod tests;
mod trace;

use paceline_congestion::learned::ModelRef;
use paceline_kernel::Time;
use paceline_scenario::{Fidelity, NS3_HPCC, Overrides};
use serde::{Deserialize, Serialize};

use crate::Error;

pub use disjoint::{apart_from_orders, disjoint};
pub use record::{Recorded, Watch, record, record_runs};
pub use trace::{FlowTrace, Trace};

/// Version of the format of datasets: features, their order and columns.
pub const FORMAT: u32 = 2;

/// Weight of a new sample in the smoothed round-trip time: the scheme's default, for which models are
/// trained.
pub const SMOOTHING: f64 = 0.2;

/// Upper edges of the strata of `|K[t]|`; values from the last edge on form another stratum.
pub const EDGES: [f32; 3] = [0.02, 0.08, 0.15];

/// Number of strata in a dataset.
pub const STRATA: usize = EDGES.len() + 1;

/// Pairs of the published training: 19 rounds of 1000, and 58 unused ones.
pub const THESIS_PAIRS: usize = 19_058;

/// Number of runs under the untuned controller in [`Source::thesis`].
pub const UNTUNED_RUNS: u64 = 16;

/// Returns the stratum of a newest feature.
pub fn stratum(k: f32) -> u8 {
    EDGES.iter().filter(|&&edge| k.abs() >= edge).count() as u8
}

/// Orders of simultaneous events of the untuned controller's runs, in addition to the usual one.
const UNTUNED_ORDERS: std::ops::Range<u64> = 1..UNTUNED_RUNS;

/// First order of simultaneous events in [`Source::held_out`].
pub const HELD_OUT: u64 = 101;

/// Run to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Name of a built-in scenario or a path, as on the command line.
    pub scenario: String,
    /// Scheme; `None` for the scenario's own.
    pub scheme: Option<String>,
    /// Settings in the form `path.to.key=value`, as with `--set`.
    pub settings: Vec<String>,
    /// Seed; `None` for the scenario's own.
    pub seed: Option<u64>,
    /// Fidelity; `None` for the scenario's own.
    pub fidelity: Option<Fidelity>,
    /// Seed of a random order of simultaneous events; `None` for the scenario's own order.
    pub order: Option<u64>,
    /// Model of its predictor, with the name that the resolved scenario shows; `None` for the scenario's own.
    pub model: Option<ModelRef>,
}

/// Gains of the controller before training (thesis, §3.5.3), as settings of a run.
pub const UNTUNED: &[&str] = &[
    "cc.lstm-pid.k-p=-0.2",
    "cc.lstm-pid.k-i=-0.05",
    "cc.lstm-pid.k-d=0.1",
];

impl Source {
    /// Returns the thesis's 20-to-1 incast, with the behaviour of its simulator.
    pub fn incast(scheme: &str, settings: &[&str]) -> Self {
        Self {
            scenario: "incast-20".into(),
            scheme: Some(scheme.into()),
            settings: settings.iter().map(ToString::to_string).collect(),
            seed: None,
            fidelity: Some(NS3_HPCC),
            order: None,
            model: None,
        }
    }

    /// Returns the incast under the tuned controller: the loop in which a predictor works.
    pub fn tuned() -> Self {
        Self::incast("lstm-pid", &[])
    }

    /// Returns runs like those of the thesis's data: its incast under TIMELY, and under its untuned
    /// controller. The thesis takes the controller's data from several runs of its training, without a
    /// number. Here there are [`UNTUNED_RUNS`], each with another order of simultaneous events. With one run
    /// of each, a quarter of the pairs would be TIMELY's, whose round-trip times grow to 100 µs and collapse:
    /// no predictor comes near the thesis's errors then.
    pub fn thesis() -> Vec<Self> {
        let mut sources = vec![Self::incast("timely", &[]), Self::incast("pidnn", UNTUNED)];
        for order in UNTUNED_ORDERS {
            sources.push(Self::incast("pidnn", UNTUNED).shuffled(order));
        }
        sources
    }

    /// Returns runs like those of [`Self::thesis`] in other orders of simultaneous events: they judge
    /// predictors trained on those.
    pub fn held_out() -> Vec<Self> {
        let sources = Self::thesis().into_iter().zip(HELD_OUT..);
        sources.map(|(source, order)| source.shuffled(order)).collect()
    }

    /// Returns the run with another random order of simultaneous events.
    pub fn shuffled(mut self, order: u64) -> Self {
        self.order = Some(order);
        self
    }

    /// Returns the run with this model as its predictor.
    pub fn predicted_by(mut self, model: ModelRef) -> Self {
        self.model = Some(model);
        self
    }

    /// Refuses a key that is set twice: the last value would win, and the run would not match its settings.
    fn check_settings(&self) -> Result<(), Error> {
        let key = |setting: &str| setting.split('=').next().unwrap_or_default().trim().to_string();
        let own = [
            (
                "shuffle-ties",
                self.order.map(|order| format!("shuffle-ties={order}")),
            ),
            ("seed", self.seed.map(|seed| format!("seed={seed}"))),
            (
                "cc.scheme",
                self.scheme.as_ref().map(|scheme| format!("cc.scheme={scheme}")),
            ),
            (
                "fidelity",
                self.fidelity
                    .map(|fidelity| format!("fidelity={}", fidelity.name())),
            ),
            (
                "cc.lstm-pid.model",
                self.model
                    .as_ref()
                    .map(|model| format!("cc.lstm-pid.model={model}")),
            ),
        ];
        let mut seen: Vec<(String, String)> = Vec::new();
        let own = own
            .into_iter()
            .filter_map(|(key, setting)| Some((key.to_string(), setting?)));
        let given = self
            .settings
            .iter()
            .map(|setting| (key(setting), setting.clone()));
        for (key, setting) in own.chain(given) {
            if let Some((_, first)) = seen.iter().find(|(known, _)| *known == key) {
                return Err(Error::SetTwice {
                    scenario: self.scenario.clone(),
                    key,
                    first: first.clone(),
                    second: setting,
                });
            }
            seen.push((key, setting));
        }
        Ok(())
    }

    /// Returns the overrides of the scenario: its settings, and the model of its senders.
    ///
    /// # Errors
    /// A setting is not allowed in a source.
    pub fn overrides(&self) -> Result<Overrides, Error> {
        self.check_settings()?;
        let mut set = self.settings.clone();
        if let Some(model) = &self.model {
            let kind = model.model().map(|model| model.card().kind);
            set.push(format!("cc.lstm-pid.model={model}"));
            set.extend(kind.map(|kind| format!("cc.lstm-pid.predictor={kind}")));
        }
        Ok(Overrides {
            set,
            scheme: self.scheme.clone(),
            seed: self.seed,
            fidelity: self.fidelity,
            shuffle_ties: self.order,
            models: self.model.iter().cloned().collect(),
            ..Overrides::default()
        })
    }
}

/// Run from which pairs originate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Settings that differ from the scenario; those of a recorded folder are in its own scenario.
    pub settings: Vec<String>,
    /// Seed of the run.
    pub seed: u64,
    /// Fidelity of the run.
    pub fidelity: Fidelity,
    /// Seed of its random order of simultaneous events, if it had one.
    pub order: Option<u64>,
    /// SHA-256 of the weights of the model that predicted in it, if any.
    pub model_sha256: Option<String>,
    /// SHA-256 of the resolved scenario, without names and recording, which do not change a run.
    pub scenario_sha256: String,
    /// Version that ran it.
    pub version: String,
    /// Number of recorded samples.
    pub samples: u64,
    /// SHA-256 of the samples: flow, time, round-trip time.
    pub sha256: String,
}

impl Origin {
    /// Returns a name for runs that differ only in the order of simultaneous events and in the predicting
    /// model.
    pub fn course(&self) -> String {
        let mut text = format!("{} under {}", self.scenario, self.scheme);
        if !self.settings.is_empty() {
            text.push_str(&format!(" ({})", self.settings.join(", ")));
        }
        text
    }
}

/// Training example: features of a sender, and the round-trip time that it measured next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Features `K[t-2], K[t-1], K[t]`.
    pub k: [f32; 3],
    /// Label `L[t]`, which is to be predicted.
    pub l: f32,
    /// Smoothed round-trip time `S[t]`, in µs.
    pub s: f64,
    /// Round-trip time `R[t+1]` of the label, in µs.
    pub r: f64,
    /// Index of the stratum of `K[t]`, below [`STRATA`].
    pub stratum: u8,
    /// Index in [`Dataset::origins`] of its run.
    pub source: u16,
    /// Index of the flow in the run.
    pub flow: u32,
    /// Time of the measurement of `R[t]`.
    pub at: Time,
}

impl Pair {
    /// Returns the relative error of the round-trip time for the output `out`: `|(1 + out) S - R| / R = |out
    /// - L| / (1 + L)`.
    pub fn error(&self, out: f32) -> f64 {
        f64::from((out - self.l).abs()) / (1.0 + f64::from(self.l))
    }
}

/// Pairs with their origins.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Pairs, in the order of training.
    pub pairs: Vec<Pair>,
    /// Runs from which the pairs come.
    pub origins: Vec<Origin>,
    /// Resolved scenarios of the origins, with every parameter (TOML).
    pub scenarios: Vec<String>,
    /// Seed of the selection.
    pub seed: u64,
}

impl Dataset {
    /// Returns the number of pairs in each stratum.
    pub fn strata(&self) -> [usize; STRATA] {
        let mut counts = [0; STRATA];
        for pair in &self.pairs {
            counts[usize::from(pair.stratum)] += 1;
        }
        counts
    }
}
