//! Training ADPG's policy: analytic deterministic policy gradients, in the simulator.
//!
//! The policy controls flows of several scenarios; a window holds a flow's observations and actions since the
//! last update. The loss of a window of T decisions of a flow is
//! ```text
//! L = mean_t a_t G_t + (1/T) sum_i mean_j (a_i - a_j)^2 / 2,   G_t = mean over k >= t of gamma^(k-t) z_k   (1)
//! ```
//! with z the error of [`paceline_congestion::adpg`]: above 0 the flow should have been slower. The only
//! knowledge of the network is that z falls with a, which is the "analytic" of the name; no derivative goes
//! through the simulation. Gradients are means over flows, then over scenarios; Adam, each component clamped.
//!
//! # What is deterministic
//! Scenarios run in parallel on any number of threads, and their results are combined in a fixed order: the
//! same options give the same weights, bit for bit, on the same machine.

mod gradient;
mod model;

use std::sync::{Mutex, PoisonError};

use paceline_congestion::learned::mlp::{INPUTS, Mlp, UNITS};
use paceline_env::{Action, Agents, Batch, Config, Environment, Feature, Reward, Source};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::run::{Control, side_by_side};
use paceline_scenario::Overrides;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::{Actions, Checkpoints, Floats, expect_length};
use crate::rng::Stream;
pub use gradient::{Adam, Discount, Window, gradient};
pub use model::files;
pub(crate) use model::sources;

/// Settings of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of the initial weights and of the scenarios.
    pub seed: u64,
    /// Number of weight updates.
    pub updates: usize,
    /// Number of initial updates, which use [`Options::first_decisions`] of each scenario.
    pub first: usize,
    /// Decisions of a scenario per initial update.
    pub first_decisions: usize,
    /// Decisions of each flow per later update.
    pub steps: usize,
    /// Upper limit of a scenario's decisions per update.
    pub most: usize,
    /// Discount factor γ of (1).
    pub gamma: f64,
    /// Cap on z in (1): behind a full buffer z is a hundred times its equilibrium value.
    pub largest: f64,
    /// Step size of the optimiser.
    pub learning_rate: f64,
    /// Bound of each component of a gradient.
    pub clip: f64,
    /// Number of threads; the weights do not depend on it.
    pub threads: usize,
}

impl Default for Options {
    /// Returns the settings of RL-CC's code, except for the discount, which is ours.
    fn default() -> Self {
        Self {
            seed: 1,
            updates: 1000,
            first: 50,
            first_decisions: 1024,
            steps: 15,
            most: 8000,
            gamma: 0.99,
            largest: 5.0,
            learning_rate: 1e-2,
            clip: 0.5,
            threads: 2,
        }
    }
}

impl Options {
    /// Returns settings for a training of seconds, which shows that the loss falls, but not how far.
    pub fn quick(self) -> Self {
        Self {
            updates: 60,
            first: 10,
            ..self
        }
    }

    const fn discount(&self) -> Discount {
        Discount {
            gamma: self.gamma,
            largest: self.largest,
        }
    }
}

/// Scenario of the training.
pub struct Case {
    /// Name in the card.
    pub label: &'static str,
    /// Name of the scenario file.
    pub scenario: &'static str,
    /// Settings that differ from the file.
    pub set: &'static [&'static str],
}

/// Scenarios of the training: RL-CC's 4_1, 8_1 and 32_1 many-to-one, 4_8 and 4_16 all-to-all (with 9 and 15
/// flows per host).
pub const CASES: [Case; 5] = [
    Case {
        label: "4_1 many-to-one",
        scenario: "rl-cc",
        set: &[],
    },
    Case {
        label: "8_1 many-to-one",
        scenario: "rl-cc",
        set: &[
            "topology.star.hosts=9",
            "workload.many-to-one.incast.fan-in=8",
            "workload.many-to-one.incast.receiver=9",
        ],
    },
    Case {
        label: "32_1 many-to-one",
        scenario: "rl-cc",
        set: &[
            "topology.star.hosts=33",
            "workload.many-to-one.incast.fan-in=32",
            "workload.many-to-one.incast.receiver=33",
        ],
    },
    Case {
        label: "4_9 all-to-all",
        scenario: "rl-cc-all-to-all",
        set: &[],
    },
    Case {
        label: "4_15 all-to-all",
        scenario: "rl-cc-all-to-all",
        set: &[
            "workload.to-1.incast.rounds=5",
            "workload.to-2.incast.rounds=5",
            "workload.to-3.incast.rounds=5",
            "workload.to-4.incast.rounds=5",
        ],
    },
];

/// Settings common to all scenarios.
pub const SET: [&str; 5] = [
    "cc.scheme=external",
    "cc.external.initial-rate=10Gbps",
    "cc.external.min-rate=100Mbps",
    "cc.external.ecn=false",
    "record.accounts=off",
];

/// Result of an update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Number of the update, from 1.
    pub number: usize,
    /// Loss before the update.
    pub loss: f64,
    /// Mean square of z.
    pub error: f64,
    /// Mean square of z in each of [`CASES`].
    pub errors: [f64; CASES.len()],
    /// Decisions used by the update.
    pub decisions: usize,
}

/// Trained policy with its history.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// Settings of the training.
    pub options: Options,
    /// Network of the policy.
    pub policy: Mlp,
    /// Updates of the policy in order.
    pub updates: Vec<Update>,
    /// True if the training was stopped early.
    pub stopped: bool,
}

impl TrainedPolicy {
    /// Returns the number of decisions used in total.
    pub fn decisions(&self) -> usize {
        self.updates.iter().map(|update| update.decisions).sum()
    }
}

/// First stream number of the scenarios' seeds.
const SCENARIOS: u64 = 16;

/// Upper bound of the scenarios' seeds; evaluations use this and higher ones.
pub const SEEDS: u64 = 1 << 32;

/// State of a training between two updates.
#[derive(Serialize, Deserialize)]
struct State {
    policy: Floats,
    adam: Adam,
    updates: Vec<Update>,
    drivers: Vec<DriverState>,
}

/// Name of the checkpoint.
const NAME: &str = "adpg";

/// Trains a policy, from the checkpoint if there is one; `watch` is called after each update.
///
/// # Errors
/// A scenario fails, or a checkpoint cannot be read or written.
pub fn train(
    options: &Options,
    checkpoints: &Checkpoints,
    watch: &mut dyn FnMut(&Update) -> Control,
) -> Result<TrainedPolicy, Error> {
    let mut rng = Stream::Weights.rng(options.seed);
    let mut policy = first_weights(&mut rng);
    let drivers = CASES
        .iter()
        .zip(0..)
        .map(|(case, number)| Driver::new(case, options.seed, number));
    let drivers: Vec<Mutex<Driver>> = drivers
        .map(|driver| driver.map(Mutex::new))
        .collect::<Result<_, _>>()?;
    let mut adam = Adam::new(policy.weights().count(), options.learning_rate);
    let (mut updates, mut stopped) = (Vec::new(), false);
    if let Some(state) = checkpoints.take::<State>(NAME)? {
        let count = policy.weights().count();
        // Lengths that do not fit would panic in a later step.
        for length in state.adam.lengths() {
            expect_length(length, count)?;
        }
        expect_length(state.drivers.len(), drivers.len())?;
        policy = Mlp::of(state.policy.expect(count)?);
        (adam, updates) = (state.adam, state.updates);
        for (driver, state) in drivers.iter().zip(state.drivers) {
            let mut driver = driver.lock().unwrap_or_else(PoisonError::into_inner);
            driver.go_on_from(state)?;
        }
    }
    let keep = |policy: &Mlp, adam: &Adam, updates: &[Update]| {
        let driver = |driver: &Mutex<Driver>| driver.lock().unwrap_or_else(PoisonError::into_inner).state();
        let state = State {
            policy: Floats(policy.weights().collect()),
            adam: adam.clone(),
            updates: updates.to_vec(),
            drivers: drivers.iter().map(driver).collect(),
        };
        checkpoints.keep(NAME, &state)
    };
    for number in updates.len() + 1..=options.updates.max(1) {
        // Each driver has a random stream of its own, so the number of threads changes nothing.
        let seen = side_by_side(drivers.len(), options.threads, &|index| {
            let mut driver = drivers[index].lock().unwrap_or_else(PoisonError::into_inner);
            driver.drive(&policy, options, number)
        });
        let seen = seen.into_iter().collect::<Result<Vec<_>, _>>()?;
        let (update, slope) = put_together(&policy, &seen, options, number);
        policy = adam.step(&policy, &slope, options.clip);
        updates.push(update);
        stopped = watch(&update) == Control::Stop && number < options.updates;
        // Between two updates the drivers are in the middle of their episodes, which is part of the state.
        if checkpoints.are_due() || stopped && checkpoints.are_quick() {
            keep(&policy, &adam, &updates)?;
        }
        if stopped {
            break;
        }
    }
    Ok(TrainedPolicy {
        options: options.clone(),
        policy,
        updates,
        stopped,
    })
}

/// Averages the gradients over flows, then over scenarios.
fn put_together(policy: &Mlp, seen: &[Vec<Window>], options: &Options, number: usize) -> (Update, Vec<f64>) {
    let mut slope = vec![0.0; policy.weights().count()];
    let mut update = Update {
        number,
        loss: 0.0,
        error: 0.0,
        errors: [0.0; CASES.len()],
        decisions: 0,
    };
    for (windows, error) in seen.iter().zip(&mut update.errors) {
        // Scenarios have equal weights, regardless of their numbers of flows.
        let share = 1.0 / (seen.len() * windows.len().max(1)) as f64;
        for window in windows {
            update.loss += share * gradient(policy, window, options.discount(), share, &mut slope);
            let squares = window.errors().map(|z| z * z).sum::<f64>();
            update.error += share * squares / window.len().max(1) as f64;
            *error += squares / (windows.len() * window.len().max(1)) as f64;
            update.decisions += window.len();
        }
    }
    (update, slope)
}

/// Returns initial weights: orthogonal rows of length square root of two.
fn first_weights(rng: &mut Rng) -> Mlp {
    let mut layer = |rows: usize, columns: usize| gradient::orthogonal(rng, rows, columns);
    let weights = [layer(UNITS, INPUTS), layer(UNITS, UNITS), layer(1, UNITS)].concat();
    Mlp::of(weights)
}

/// Returns the agents' observations, actions and rewards: those of the scheme.
pub(crate) fn config() -> Result<Config, Error> {
    let features = ["action", "adpg"].map(Feature::find);
    Ok(Config {
        features: features
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(paceline_env::Error::from)?,
        history: 2,
        action: Action::RateMultiplier,
        step: paceline_congestion::adpg::STEP,
        reward: Reward::Adpg,
        agents: Agents::Flow,
        ..Config::default()
    })
}

/// Environment of one scenario, reset episode after episode.
struct Driver {
    environment: Environment,
    seeds: Rng,
    batch: Batch,
    windows: Vec<Window>,
    actions: Vec<f32>,
}

/// State of an environment between two updates.
#[derive(Serialize, Deserialize)]
struct DriverState {
    seeds: Rng,
    actions: Actions,
}

impl Driver {
    fn new(case: &Case, seed: u64, number: u64) -> Result<Self, Error> {
        let set = SET.iter().chain(case.set);
        let source = Source {
            name: case.scenario.to_string(),
            overrides: Overrides {
                set: set.map(|text| (*text).to_string()).collect(),
                ..Overrides::default()
            },
        };
        let mut driver = Self {
            environment: Environment::new(source, config()?)?,
            seeds: Rng::stream(seed, Purpose::Training, SCENARIOS + number),
            batch: Batch::default(),
            windows: Vec::new(),
            actions: Vec::new(),
        };
        driver.begin()?;
        Ok(driver)
    }

    fn begin(&mut self) -> Result<(), Error> {
        Ok(self.environment.reset(Some(self.seeds.below(SEEDS)))?)
    }

    fn state(&self) -> DriverState {
        DriverState {
            seeds: self.seeds.clone(),
            actions: Actions::of(&self.environment),
        }
    }

    fn go_on_from(&mut self, state: DriverState) -> Result<(), Error> {
        self.seeds = state.seeds;
        state.actions.replay(&mut self.environment)
    }

    /// Runs the environment with the policy until there are enough decisions; returns the windows of all
    /// flows.
    fn drive(&mut self, policy: &Mlp, options: &Options, number: usize) -> Result<Vec<Window>, Error> {
        self.windows.clear();
        self.windows.resize(self.environment.agents(), Window::default());
        let (mut decisions, mut short) = (0, self.windows.len());
        let enough = |decisions: usize, short: usize| match number <= options.first {
            true => decisions >= options.first_decisions,
            false => short == 0 || decisions >= options.most,
        };
        while !enough(decisions, short) {
            self.environment.poll(&mut self.batch)?;
            if self.batch.is_empty() {
                self.begin()?;
                continue;
            }
            self.actions.clear();
            for (row, &agent) in self.batch.agents.iter().enumerate() {
                let mut seen = [0.0; INPUTS];
                seen.copy_from_slice(self.batch.observation(row));
                let pass = policy.pass(&seen);
                self.actions.push(pass.output);
                let window = &mut self.windows[agent as usize];
                window.push(seen, pass);
                short -= usize::from(window.len() == options.steps);
            }
            decisions += self.batch.len();
            self.environment.submit(&self.actions)?;
        }
        let windows = std::mem::take(&mut self.windows);
        // A single decision has no later one to be judged by.
        Ok(windows.into_iter().filter(|window| window.len() > 1).collect())
    }
}

#[cfg(test)]
mod tests;
