//! What an environment is made of.

use paceline_congestion::agent::{Action, Feature};
use paceline_scenario::{Diagnostics, EXTERNAL, Overrides, Resolved};

use crate::agents::Agents;
use crate::error::Error;
use crate::reward::Reward;

/// What agents see, do and get.
#[derive(Clone, Debug)]
pub struct Config {
    /// What an agent sees of each of its last questions, in this order.
    pub features: Vec<&'static Feature>,
    /// Of how many questions, the latest last; those before the first are as that.
    pub history: usize,
    /// What an action does.
    pub action: Action,
    /// The largest relative change of a multiplier.
    pub step: f64,
    /// What an action was worth.
    pub reward: Reward,
    /// Who is an agent.
    pub agents: Agents,
    /// Whether batches have what was measured, for rewards of the caller's own.
    pub measures: bool,
}

impl Default for Config {
    /// A multiplier of the rate, DECC's reward, and what can be measured without switches' help.
    fn default() -> Self {
        let names = [
            "rtt",
            "rtt-min",
            "delivered",
            "marks",
            "loss",
            "rate-log2",
            "action",
        ];
        let features = Feature::all().iter();
        Self {
            features: features.filter(|feature| names.contains(&feature.name)).collect(),
            history: 3,
            action: Action::RateMultiplier,
            step: 0.2,
            reward: Reward::Decc,
            agents: Agents::Flow,
            measures: false,
        }
    }
}

impl Config {
    /// Numbers that an agent sees.
    pub fn width(&self) -> usize {
        self.features.len() * self.history
    }

    /// The least and the largest value of each of them.
    pub fn bounds(&self) -> Vec<(f32, f32)> {
        let once = self.features.iter().map(|feature| feature.range);
        std::iter::repeat_n(once, self.history).flatten().collect()
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |key, message: String| Err(Error::Config { key, message });
        if self.features.is_empty() {
            return refuse(
                "observation",
                "there is none; expected at least one name".to_string(),
            );
        }
        if !(1..=64).contains(&self.history) {
            return refuse("history", format!("{}; expected 1 to 64 questions", self.history));
        }
        if !(self.step > 0.0 && self.step <= 10.0) {
            return refuse(
                "step",
                format!("{}; expected a number above 0, at most 10", self.step),
            );
        }
        Ok(())
    }
}

/// Where scenarios come from.
#[derive(Clone, Debug)]
pub struct Source {
    /// As [`paceline_lab::load`] takes it.
    pub name: String,
    /// Changes.
    pub overrides: Overrides,
}

impl Source {
    /// A scenario by its name, as it is.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            overrides: Overrides::default(),
        }
    }

    /// The scenario, with flows one by one. Where none of them is under `external`, that is its scheme in place of the
    /// one of `[cc]`.
    pub(crate) fn resolve(&self, seed: Option<u64>) -> Result<Resolved, Diagnostics> {
        let overrides = Overrides {
            streams: false,
            decided_outside: true,
            seed: seed.or(self.overrides.seed),
            ..self.overrides.clone()
        };
        let input = paceline_lab::load(&self.name, &overrides)?;
        let asks = input
            .run
            .schemes
            .iter()
            .any(|scheme| scheme.config.name() == EXTERNAL);
        if asks || overrides.scheme.is_some() {
            return Ok(input);
        }
        let overrides = Overrides {
            scheme: Some(EXTERNAL.to_string()),
            ..overrides
        };
        paceline_lab::load(&self.name, &overrides)
    }
}
