//! Training ADPG's policy: analytic deterministic policy gradients, in the simulator.
//!
//! The policy drives flows of several scenarios; what each of them saw and did since the last update is a window. The
//! loss of a window of T decisions of a flow is
//! ```text
//! L = mean_t a_t G_t + (1/T) sum_i mean_j (a_i - a_j)^2 / 2,   G_t = mean over k >= t of gamma^(k-t) z_k   (1)
//! ```
//! with z the error of [`paceline_congestion::adpg`]: above 0 the flow should have been slower. That z falls with a is
//! all that is known of the network, and is the "analytic" of the name; no derivative goes through the simulation.
//! Gradients are means over flows, then over scenarios; Adam, each component cut.
//!
//! # What is deterministic
//! Scenarios go on at the same time on as many threads as there are to be, and what they gave is put together in their
//! order: the same options give the same weights, bit for bit, on the same machine.

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
pub use gradient::{Adam, Window, gradient};
pub use model::files;
pub(crate) use model::sources;

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of the first weights, and of the scenarios.
    pub seed: u64,
    /// Updates of the weights.
    pub updates: usize,
    /// The first updates, which see [`Options::first_decisions`] of each scenario.
    pub first: usize,
    /// Decisions of a scenario between two of the first updates.
    pub first_decisions: usize,
    /// Decisions of each flow between two later ones.
    pub steps: usize,
    /// Decisions of a scenario at most.
    pub most: usize,
    /// Discount of (1).
    pub gamma: f64,
    /// The largest z that (1) counts: behind a full buffer it is a hundred times what it is at rest.
    pub largest: f64,
    /// Step of the optimiser.
    pub learning_rate: f64,
    /// Bound of each component of a gradient.
    pub clip: f64,
    /// Threads; the weights do not depend on them.
    pub threads: usize,
}

impl Default for Options {
    /// As RL-CC's code; the discount is ours.
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
    /// A training that ends within seconds: it shows that the loss falls, not where it ends.
    pub fn quick(self) -> Self {
        Self {
            updates: 60,
            first: 10,
            ..self
        }
    }
}

/// A scenario of the training: its name, what is set, and what it is called.
pub struct Case {
    /// As the card calls it.
    pub label: &'static str,
    /// The scenario.
    pub scenario: &'static str,
    /// What is set.
    pub set: &'static [&'static str],
}

/// The scenarios: RL-CC's 4_1, 8_1 and 32_1 many-to-one, 4_8 and 4_16 all-to-all (with 9 and 15 flows per host).
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

/// What is set in all of them.
pub const SET: [&str; 5] = [
    "cc.scheme=external",
    "cc.external.initial-rate=10Gbps",
    "cc.external.min-rate=100Mbps",
    "cc.external.ecn=false",
    "record.accounts=off",
];

/// An update.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Its number, from 1.
    pub number: usize,
    /// The loss before it.
    pub loss: f64,
    /// The mean square of z.
    pub error: f64,
    /// The same in each of [`CASES`].
    pub errors: [f64; CASES.len()],
    /// Decisions that it learned from.
    pub decisions: usize,
}

/// A policy that was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// How.
    pub options: Options,
    /// The policy.
    pub policy: Mlp,
    /// Update by update.
    pub updates: Vec<Update>,
    /// Whether it was stopped early.
    pub stopped: bool,
}

impl TrainedPolicy {
    /// Decisions that it learned from.
    pub fn decisions(&self) -> usize {
        self.updates.iter().map(|update| update.decisions).sum()
    }
}

/// The streams of the scenarios' seeds, from this on.
const SCENARIOS: u64 = 16;

/// Seeds of scenarios are drawn below this: the evaluation's are at or above it.
pub const SEEDS: u64 = 1 << 32;

/// Where a training is, between two updates.
#[derive(Serialize, Deserialize)]
struct State {
    policy: Floats,
    adam: Adam,
    updates: Vec<Update>,
    drivers: Vec<DriverState>,
}

/// The name of its checkpoint.
const NAME: &str = "adpg";

/// Trains, from its checkpoint if there is one; `watch` is called after each update.
///
/// # Errors
/// A scenario does not run, or a checkpoint cannot be read or written.
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
        let seen = side_by_side(drivers.len(), options.threads, &|place| {
            let mut driver = drivers[place].lock().unwrap_or_else(PoisonError::into_inner);
            driver.drive(&policy, options, number)
        });
        let seen = seen.into_iter().collect::<Result<Vec<_>, _>>()?;
        let (update, slope) = put_together(&policy, &seen, options, number);
        policy = adam.step(&policy, &slope, options.clip);
        updates.push(update);
        stopped = watch(&update) == Control::Stop && number < options.updates;
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

/// Means over flows, then over scenarios.
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
        let share = 1.0 / (seen.len() * windows.len().max(1)) as f64;
        for window in windows {
            update.loss += share
                * gradient(
                    policy,
                    window,
                    (options.gamma, options.largest),
                    share,
                    &mut slope,
                );
            let squares = window.errors().map(|z| z * z).sum::<f64>();
            update.error += share * squares / window.len().max(1) as f64;
            *error += squares / (windows.len() * window.len().max(1)) as f64;
            update.decisions += window.len();
        }
    }
    (update, slope)
}

/// Orthogonal rows, times the square root of two.
fn first_weights(rng: &mut Rng) -> Mlp {
    let mut layer = |rows: usize, columns: usize| gradient::orthogonal(rng, rows, columns);
    let weights = [layer(UNITS, INPUTS), layer(UNITS, UNITS), layer(1, UNITS)].concat();
    Mlp::of(weights)
}

/// What the policy sees, does and gets: as the scheme's.
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

/// A scenario of the training, episode after episode.
struct Driver {
    environment: Environment,
    seeds: Rng,
    batch: Batch,
    windows: Vec<Window>,
    actions: Vec<f32>,
}

/// Where a scenario is, between two updates.
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

    /// Lets the policy decide until there is enough to learn from: the windows of all flows.
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
        Ok(windows.into_iter().filter(|window| window.len() > 1).collect())
    }
}

#[cfg(test)]
mod tests;
