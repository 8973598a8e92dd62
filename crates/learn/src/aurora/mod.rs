//! Training of Aurora's policy by proximal policy optimisation (PPO) in the simulator, round by round
//! (`rounds.rs`).
//!
//! Flows of random networks, drawn for each episode (`course.rs`), decide by the policy with exploration.
//! Each flow learns for itself among others that learn: its reward is its own.

mod driver;

use std::sync::{Mutex, PoisonError};

use paceline_congestion::aurora::INPUTS;
use paceline_congestion::learned::ModelKind;
use paceline_congestion::learned::kind::AURORA;
use paceline_congestion::learned::layers::Network;
use paceline_lab::run::side_by_side;

use crate::Error;
use crate::checkpoint::{Checkpoints, expect_length};
use crate::course::trials;
use crate::pass::first;
use crate::ppo::{self, Chance, Explorer, Manner};
use crate::rounds::{About, Practice, stream};
use crate::rounds::{Control, Options, TrainedPolicy, Update};
use crate::write::ModelFiles;
use driver::{Driver, DriverState, judge};

/// Step of a flow, whose critic has the same inputs as the policy; `Course` is a sequence of steps.
type Step = ppo::Step<INPUTS, INPUTS, 1>;
type Course = ppo::Course<INPUTS, INPUTS, 1>;

/// Discount factor of a decision.
const GAMMA: f64 = 0.99;
/// Logarithm of the initial standard deviation: actions of 2 change a rate by 5 %.
const SPREAD: f32 = std::f32::consts::LN_2;

const MANNER: Manner = Manner {
    chance: Chance::Spread,
    entropy: 0.01,
    rate: 1e-3,
    scale: 0.02,
};

/// Environments that run in parallel.
const DRIVERS: usize = 8;
/// Decisions of each environment per round.
const DECISIONS: usize = 1024;

/// Returns the settings of the training that makes the built-in model.
pub fn options() -> Options {
    Options {
        seed: 1,
        rounds: 200,
        trial: 10,
        threads: 2,
    }
}

/// Returns settings for a training of seconds, which shows that it learns, but not how well.
pub fn quick() -> Options {
    Options {
        rounds: 8,
        trial: 4,
        ..options()
    }
}

/// Environments that continue from one round to the next.
struct Drivers(Vec<Mutex<Driver>>);

impl Practice<INPUTS, INPUTS, 1> for Drivers {
    const NAME: &'static str = "aurora";
    type State = Vec<DriverState>;

    fn drive(&mut self, policy: Explorer<'_>, options: &Options) -> Result<Vec<Course>, Error> {
        let driven = side_by_side(self.0.len(), options.threads, &|index| {
            let mut driver = self.0[index].lock().unwrap_or_else(PoisonError::into_inner);
            driver.drive(policy, DECISIONS)
        });
        Ok(driven.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn trial(&self, policy: &Network, threads: usize) -> Result<f64, Error> {
        trial(policy, threads)
    }

    fn state(&self) -> Vec<DriverState> {
        let state = |driver: &Mutex<Driver>| driver.lock().unwrap_or_else(PoisonError::into_inner).state();
        self.0.iter().map(state).collect()
    }

    fn go_on_from(&mut self, states: Vec<DriverState>) -> Result<(), Error> {
        expect_length(states.len(), self.0.len())?;
        for (driver, state) in self.0.iter_mut().zip(states) {
            let driver = driver.get_mut().unwrap_or_else(PoisonError::into_inner);
            driver.go_on_from(state)?;
        }
        Ok(())
    }
}

/// Trains a policy, from the checkpoint if there is one; `watch` is called with the result of each round.
///
/// # Errors
/// A scenario fails, or a checkpoint cannot be read or written.
pub fn train(
    options: &Options,
    checkpoints: &Checkpoints,
    watch: &mut dyn FnMut(&Update) -> Control,
) -> Result<TrainedPolicy, Error> {
    // The critic has the same layers as the policy, with separate weights.
    let mut weights = stream(options.seed, 0);
    let (actor, critic) = (first(&AURORA, &mut weights), first(&AURORA, &mut weights));
    let learner = ppo::Learner::new(MANNER, actor, critic, SPREAD);
    let drivers = (0..DRIVERS as u64).map(|index| Driver::new(stream(options.seed, 16 + index)));
    let drivers = drivers.map(|driver| driver.map(Mutex::new));
    let drivers = Drivers(drivers.collect::<Result<Vec<_>, _>>()?);
    crate::rounds::train(options, learner, drivers, checkpoints, watch)
}

/// Returns the mean reward in the trial networks, which are not used for learning.
fn trial(policy: &Network, threads: usize) -> Result<f64, Error> {
    let networks = trials();
    let each = side_by_side(networks.len(), threads, &|index| {
        judge(&networks[index], policy, index as u64)
    });
    let rewards = each.into_iter().collect::<Result<Vec<f64>, Error>>()?;
    Ok(rewards.iter().sum::<f64>() / rewards.len() as f64)
}

/// Returns the policy's weights and card.
///
/// # Errors
/// The weights cannot be serialised.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    let about = About {
        kind: ModelKind::Aurora,
        name,
        command,
        learning_rate: MANNER.rate,
        rewards: "each flow for itself",
    };
    crate::rounds::files(about, trained)
}

#[cfg(test)]
mod tests;
