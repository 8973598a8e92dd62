//! Datasets: what senders measured in recorded runs, as pairs of features and what came next.
//!
//! The way of a round-trip time through this module:
//!
//! 1. [`record()`] runs [`Source`]s and keeps each flow's samples, one per completion window: a [`Trace`].
//! 2. [`Trace::candidates`] smooths them and makes a [`Pair`] of every four that follow one another:
//!    `K[t-2], K[t-1], K[t]` and `L[t]`.
//! 3. [`Dataset::draw`] draws from them by [`stratum`], so that the many calm moments do not drown the
//!    few restless ones. The order of its pairs is drawn too: rounds of training are chunks of it.
//! 4. [`Dataset::write`] and [`Dataset::read`]: Parquet, with everything that says where it is from.

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

/// Version of the form of datasets: which features, in which order, with which columns.
pub const FORMAT: u32 = 2;

/// Weight of a new sample in the smoothed round-trip time: the scheme's default, for which models are.
pub const SMOOTHING: f64 = 0.2;

/// Upper edges of the strata of `|K[t]|`; what is not below the last is in one more.
pub const EDGES: [f32; 3] = [0.02, 0.08, 0.15];

/// Number of strata.
pub const STRATA: usize = EDGES.len() + 1;

/// Pairs of the published training: 19 rounds of 1000, and 58 that nobody uses.
pub const THESIS_PAIRS: usize = 19_058;

/// Runs of the controller before it was tuned in [`Source::thesis`].
pub const UNTUNED_RUNS: u64 = 16;

/// Which stratum a newest feature is in.
pub fn stratum(k: f32) -> u8 {
    EDGES.iter().filter(|&&edge| k.abs() >= edge).count() as u8
}

/// Orders of simultaneous events in which the controller runs before it was tuned, alongside the usual one.
const UNTUNED_ORDERS: std::ops::Range<u64> = 1..UNTUNED_RUNS;

/// The first of the orders of [`Source::held_out`].
pub const HELD_OUT: u64 = 101;

/// A run to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// As on the command line: the name of a scenario that ships, or a path.
    pub scenario: String,
    /// The scheme; `None` for the scenario's own.
    pub scheme: Option<String>,
    /// `path.to.key=value`, as with `--set`.
    pub settings: Vec<String>,
    /// The seed; `None` for the scenario's own.
    pub seed: Option<u64>,
    /// Whose behaviour the run has; `None` for the scenario's own.
    pub fidelity: Option<Fidelity>,
    /// Seed of a random order of simultaneous events; `None` for the scenario's own order.
    pub order: Option<u64>,
    /// The model that predicts in it, with the name by which the resolved scenario speaks of it; `None` for
    /// the scenario's own.
    pub model: Option<ModelRef>,
}

/// The gains of the controller before it is trained (thesis, §3.5.3), as settings of a run.
pub const UNTUNED: &[&str] = &[
    "cc.lstm-pid.k-p=-0.2",
    "cc.lstm-pid.k-i=-0.05",
    "cc.lstm-pid.k-d=0.1",
];

impl Source {
    /// The 20-to-1 incast of the thesis, in the manner of its simulator.
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

    /// The same incast under the tuned controller: the loop in which a predictor works.
    pub fn tuned() -> Self {
        Self::incast("lstm-pid", &[])
    }

    /// The runs of the thesis's data: its incast under TIMELY, and under its controller before that was
    /// tuned. Its data of the controller are from the runs in which that was trained, several; how many is
    /// not said. Here there are [`UNTUNED_RUNS`], each with simultaneous events in another order. With one
    /// of each a quarter of the pairs would be TIMELY's, whose round-trip times run away to 100 µs and
    /// collapse: no predictor comes near the thesis's errors then.
    pub fn thesis() -> Vec<Self> {
        let mut sources = vec![Self::incast("timely", &[]), Self::incast("pidnn", UNTUNED)];
        for order in UNTUNED_ORDERS {
            sources.push(Self::incast("pidnn", UNTUNED).shuffled(order));
        }
        sources
    }

    /// Runs like those of [`Self::thesis`] that are none of them, in as many orders: what a predictor that was
    /// trained on those is judged by.
    pub fn held_out() -> Vec<Self> {
        let sources = Self::thesis().into_iter().zip(HELD_OUT..);
        sources.map(|(source, order)| source.shuffled(order)).collect()
    }

    /// The same run with simultaneous events in another order: another course of the same events.
    pub fn shuffled(mut self, order: u64) -> Self {
        self.order = Some(order);
        self
    }

    /// The same run with this model as its predictor.
    pub fn predicted_by(mut self, model: ModelRef) -> Self {
        self.model = Some(model);
        self
    }

    /// Refuses a key that is set twice: the last would win, and the run be another than its settings say.
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

    /// What changes the scenario: the settings, and the model that senders decide with.
    ///
    /// # Errors
    /// A setting is not one that a source may have.
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

/// Where pairs are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// What was set alongside the scenario; what a recorded folder's was is in its own scenario.
    pub settings: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// Whose behaviour the run had.
    pub fidelity: Fidelity,
    /// Seed of its random order of simultaneous events, if it had one.
    pub order: Option<u64>,
    /// SHA-256 of the weights of the model that predicted in it, if one did.
    pub model_sha256: Option<String>,
    /// SHA-256 of the resolved scenario, without what does not move a run: names, and what is recorded.
    pub scenario_sha256: String,
    /// The version that ran it.
    pub version: String,
    /// Samples that were recorded.
    pub samples: u64,
    /// SHA-256 of them: flow, time, round-trip time.
    pub sha256: String,
}

impl Origin {
    /// The course that it is a run of: runs of one course differ in the order of simultaneous events, and in
    /// which model predicted, alone.
    pub fn course(&self) -> String {
        let mut text = format!("{} under {}", self.scenario, self.scheme);
        if !self.settings.is_empty() {
            text.push_str(&format!(" ({})", self.settings.join(", ")));
        }
        text
    }
}

/// One example: what a sender knew, and the round-trip time that it measured next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// `K[t-2], K[t-1], K[t]`.
    pub k: [f32; 3],
    /// `L[t]`: what is to be predicted.
    pub l: f32,
    /// The smoothed round-trip time `S[t]`, in µs.
    pub s: f64,
    /// The round-trip time `R[t+1]` that `l` stands for, in µs.
    pub r: f64,
    /// Which of the [`STRATA`] `K[t]` is in.
    pub stratum: u8,
    /// Index in [`Dataset::origins`].
    pub source: u16,
    /// Which flow of the run.
    pub flow: u32,
    /// When `R[t]` was measured.
    pub at: Time,
}

impl Pair {
    /// The relative error of the round-trip time that the output `out` predicts:
    /// `|(1 + out) S - R| / R = |out - L| / (1 + L)`.
    pub fn error(&self, out: f32) -> f64 {
        f64::from((out - self.l).abs()) / (1.0 + f64::from(self.l))
    }
}

/// Pairs, in the order in which training takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// Where they are from.
    pub origins: Vec<Origin>,
    /// The scenarios of the origins, every parameter with its value (TOML).
    pub scenarios: Vec<String>,
    /// The seed with which they were drawn.
    pub seed: u64,
}

impl Dataset {
    /// How many pairs are in each stratum.
    pub fn strata(&self) -> [usize; STRATA] {
        let mut counts = [0; STRATA];
        for pair in &self.pairs {
            counts[usize::from(pair.stratum)] += 1;
        }
        counts
    }
}
