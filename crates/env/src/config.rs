//! Configuration of an environment.

use paceline_congestion::agent::{Action, Feature};
use paceline_scenario::{Diagnostics, EXTERNAL, Overrides, Resolved};

use crate::agents::Agents;
use crate::error::Error;
use crate::reward::Reward;

/// Observations, actions and rewards of agents.
#[derive(Clone, Debug)]
pub struct Config {
    /// Features of an observation, in this order.
    pub features: Vec<&'static Feature>,
    /// Number of last questions in an observation, latest last. At an agent's first question all are equal to
    /// that one.
    pub history: usize,
    /// Effect of an action on a flow.
    pub action: Action,
    /// Largest relative change by a multiplier.
    pub step: f64,
    /// Reward function for the time between two questions.
    pub reward: Reward,
    /// Grouping of flows into agents.
    pub agents: Agents,
    /// True if batches contain measurements, for the caller's own reward functions.
    pub measures: bool,
}

impl Default for Config {
    /// Returns a configuration with a multiplier of the rate, DECC's reward, and features that need no
    /// support by switches.
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
    /// Returns the numbers per observation.
    pub fn width(&self) -> usize {
        self.features.len() * self.history
    }

    /// Returns the lower and upper bound of each number in an observation.
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

/// Source of an environment's scenarios.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name or path of the scenario, as for [`paceline_lab::load`].
    pub name: String,
    /// Changes to the scenario's settings.
    pub overrides: Overrides,
}

impl Source {
    /// Returns the source of a scenario without changes.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            overrides: Overrides::default(),
        }
    }

    /// Resolves the scenario with a list of all flows instead of streams. If no flow is under `external`, it
    /// replaces the scheme in `[cc]`.
    pub(crate) fn resolve(&self, seed: Option<u64>) -> Result<Resolved, Diagnostics> {
        let overrides = Overrides {
            // Agents are assigned to listed flows.
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
        // A scheme that the caller has chosen is not replaced.
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
