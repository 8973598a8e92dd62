//! Training Aurora's policy: proximal policy optimisation (PPO), in the simulator.
//!
//! Round by round, flows of many networks, drawn again for each episode (`course.rs`), decide by the policy and some chance;
//! then the policy goes towards what was better than a critic expected, as far as a round allows. Each flow learns for
//! itself, in the company of others that do: its reward is its own. Every so often the policy decides without chance in
//! networks that it never learns in, and of all that it has been the best there is kept.
//!
//! # What is deterministic
//! Environments are put together in one order: the same options give the same weights, bit for bit, on any number of
//! threads.

mod driver;
mod model;

use std::sync::{Mutex, PoisonError};

use paceline_congestion::aurora::INPUTS;
use paceline_congestion::learned::card::AURORA;
use paceline_congestion::learned::layers::Network;
use paceline_kernel::rng::{Purpose, Rng};
pub use paceline_lab::run::Control;
use paceline_lab::run::side_by_side;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::{Checkpoints, Floats, expect_length};
use crate::course::trials;
use crate::pass::{first, network};
use crate::ppo::{self, LearnerState, Manner};
use driver::{Driver, DriverState, judge};
pub use model::files;

/// A decision, what a flow goes through, and who learns from it: the critic reads what the policy reads.
type Step = ppo::Step<INPUTS, INPUTS>;
type Course = ppo::Course<INPUTS, INPUTS>;
type Learner = ppo::Learner<INPUTS, INPUTS>;

/// Discount of a decision.
const GAMMA: f64 = 0.99;
/// The logarithm of the first deviation: actions of 2 change a rate by 5 %.
const SPREAD: f32 = std::f32::consts::LN_2;

const MANNER: Manner = Manner {
    entropy: 0.01,
    rate: 1e-3,
    scale: 0.02,
};

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Rounds.
    pub rounds: usize,
    /// Rounds between two trials.
    pub trial: usize,
    /// Threads; the weights do not depend on them.
    pub threads: usize,
}

/// Environments at a time.
const DRIVERS: usize = 8;
/// Decisions of each in a round.
const DECISIONS: usize = 1024;

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            rounds: 200,
            trial: 10,
            threads: 2,
        }
    }
}

impl Options {
    /// A training that ends within seconds: it shows that it learns, not where it ends.
    pub fn quick(self) -> Self {
        Self {
            rounds: 8,
            trial: 4,
            ..self
        }
    }
}

/// What came of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Its number, from 1; 0 for the trial before the first.
    pub round: usize,
    /// The mean reward of a decision in it.
    pub reward: f64,
    /// The critic's mean square error over that of the returns' mean: 1 says that it knows nothing.
    pub unexplained: f64,
    /// The deviation of actions.
    pub deviation: f64,
    /// The mean reward in trials, where there was one.
    pub trial: Option<f64>,
    /// The best so far.
    pub best: f64,
    /// Decisions of the round.
    pub decisions: usize,
}

/// A policy that was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// How.
    pub options: Options,
    /// The policy: the best in trials.
    pub policy: Network,
    /// Round by round.
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

/// Where a training is, between two rounds.
#[derive(Serialize, Deserialize)]
struct State {
    learner: LearnerState,
    rng: Rng,
    drivers: Vec<DriverState>,
    best: (f64, Floats),
    updates: Vec<Update>,
}

/// The name of its checkpoint.
const NAME: &str = "aurora";

/// Trains, from its checkpoint if there is one; `watch` is told what came of each round.
///
/// # Errors
/// A scenario does not run, or a checkpoint cannot be read or written.
pub fn train(
    options: &Options,
    checkpoints: &Checkpoints,
    watch: &mut dyn FnMut(&Update) -> Control,
) -> Result<TrainedPolicy, Error> {
    // The critic has the policy's layers, with other weights.
    let mut weights = stream(options.seed, 0);
    let networks = (first(&AURORA, &mut weights), first(&AURORA, &mut weights));
    let mut learner = Learner::new(MANNER, networks, SPREAD);
    let mut rng = stream(options.seed, 1);
    let drivers = (0..DRIVERS as u64).map(|place| Driver::new(stream(options.seed, 16 + place)));
    let drivers = drivers.map(|driver| driver.map(Mutex::new));
    let drivers = drivers.collect::<Result<Vec<_>, _>>()?;
    let (mut best, mut updates, mut stopped);
    if let Some(state) = checkpoints.take::<State>(NAME)? {
        expect_length(state.drivers.len(), drivers.len())?;
        learner.go_on_from(state.learner)?;
        rng = state.rng;
        best = (state.best.0, network(&AURORA, state.best.1)?);
        (updates, stopped) = (state.updates, false);
        for (driver, state) in drivers.iter().zip(state.drivers) {
            let mut driver = driver.lock().unwrap_or_else(PoisonError::into_inner);
            driver.go_on_from(state)?;
        }
    } else {
        let first = trial(learner.actor(), options.threads)?;
        best = (first, learner.actor().clone());
        updates = vec![Update {
            round: 0,
            reward: first,
            unexplained: 1.0,
            deviation: learner.deviation(),
            trial: Some(first),
            best: first,
            decisions: 0,
        }];
        stopped = watch(&updates[0]) == Control::Stop;
    }
    for round in updates.len()..=options.rounds {
        if stopped {
            break;
        }
        let manner = (learner.actor(), learner.deviation());
        let driven = side_by_side(drivers.len(), options.threads, &|place| {
            let mut driver = drivers[place].lock().unwrap_or_else(PoisonError::into_inner);
            driver.drive(manner, DECISIONS)
        });
        let courses: Vec<_> = driven.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        let decisions = courses.iter().map(|course| course.steps.len()).sum::<usize>();
        let rewards = courses.iter().flat_map(|course| &course.steps);
        let reward = rewards.map(|step| f64::from(step.reward)).sum::<f64>() / decisions.max(1) as f64;
        let part = (round - 1) as f64 / options.rounds as f64;
        let unexplained = learner.learn(&courses, (1.0 - part, true), &mut rng);
        let tried = match round % options.trial == 0 || round == options.rounds {
            true => Some(trial(learner.actor(), options.threads)?),
            false => None,
        };
        if let Some(reward) = tried.filter(|reward| *reward > best.0) {
            best = (reward, learner.actor().clone());
        }
        let update = Update {
            round,
            reward,
            unexplained,
            deviation: learner.deviation(),
            trial: tried,
            best: best.0,
            decisions,
        };
        updates.push(update);
        stopped = watch(&update) == Control::Stop && round < options.rounds;
        if checkpoints.are_due() || stopped && checkpoints.are_quick() {
            let driver =
                |driver: &Mutex<Driver>| driver.lock().unwrap_or_else(PoisonError::into_inner).state();
            let state = State {
                learner: learner.state(),
                rng: rng.clone(),
                drivers: drivers.iter().map(driver).collect(),
                best: (best.0, Floats(best.1.values().to_vec())),
                updates: updates.clone(),
            };
            checkpoints.keep(NAME, &state)?;
        }
    }
    Ok(TrainedPolicy {
        options: options.clone(),
        policy: best.1,
        updates,
        stopped,
    })
}

/// Random numbers of a part.
fn stream(seed: u64, part: u64) -> Rng {
    Rng::stream(seed, Purpose::Training, (1 << 17) | part)
}

/// The mean reward in networks that nobody learns in.
fn trial(policy: &Network, threads: usize) -> Result<f64, Error> {
    let networks = trials();
    let each = side_by_side(networks.len(), threads, &|place| {
        judge(&networks[place], policy, place as u64)
    });
    let rewards = each.into_iter().collect::<Result<Vec<f64>, Error>>()?;
    Ok(rewards.iter().sum::<f64>() / rewards.len() as f64)
}

#[cfg(test)]
mod tests;
