//! Training of SPINE's watcher and generator by proximal policy optimisation (PPO) in the simulator, round by
//! round (`rounds.rs`).
//!
//! Decisions are made inside the run by senders that record their inputs and rewards (`practice.rs`), because
//! the executor acts between decisions. Networks are drawn as for Aurora (`course.rs`). A flow's reward
//! contains its own delay, losses and triggers, and the throughput of all flows of the line: with its own
//! throughput flows learned to outbid each other, and queues grew.

mod practice;

use std::sync::Arc;

use paceline_congestion::learned::ModelKind;
use paceline_congestion::learned::kind::SPINE;
use paceline_congestion::learned::layers::{Layer, Network, Units};
use paceline_congestion::spine::{INPUTS, OUTPUTS, SubPolicy};
use paceline_kernel::rng::Rng;
use paceline_lab::run::side_by_side;

use crate::Error;
use crate::checkpoint::Checkpoints;
use crate::course::{SELECTION, TRAINING, draw, trials};
use crate::pass::first;
use crate::ppo::{self, Chance, Explorer, Manner};
use crate::rounds::{About, Practice, stream};
use crate::rounds::{Control, Options, TrainedPolicy, Update};
use crate::write::ModelFiles;
use practice::episode;

/// Number of the critic's inputs: those of the policy, and three about all flows.
const KNOWN: usize = INPUTS + 3;

/// Decision of a flow, and a flow's sequence of decisions.
type Step = ppo::Step<INPUTS, KNOWN, OUTPUTS>;
type Course = ppo::Course<INPUTS, KNOWN, OUTPUTS>;

/// Discount factor of a monitor interval.
const GAMMA: f64 = 0.97;
/// Logarithm of the initial standard deviation of the generator's outputs: small parameters vary by a third.
const SPREAD: f32 = -1.2;
/// Generator's output before training: a sub-policy that settles a tenth of a round trip above the empty
/// network's.
const START: SubPolicy = SubPolicy {
    alpha: 40,
    beta: 800,
    gamma: 60,
    delta: 717,
};

const MANNER: Manner = Manner {
    chance: Chance::Triggered,
    entropy: 0.0,
    rate: 1e-3,
    scale: 0.02,
};

/// Watcher's output before training: four of five intervals trigger, so the generator learns before triggers
/// become rare. (With one of two, two of three policies stopped triggering after the first interval.)
const EAGER: f32 = 1.5;

/// Layers of the critic, which estimates the return of an interval.
const CRITIC: [Layer; 3] = [
    Layer::new(KNOWN, 32, Units::Tanh),
    Layer::new(32, 16, Units::Tanh),
    Layer::new(16, 1, Units::Linear),
];

/// Training episodes in a round.
const EPISODES: usize = 12;

/// Returns the settings with which the built-in model was trained.
pub fn options() -> Options {
    Options {
        seed: 1,
        rounds: 90,
        trial: 10,
        threads: 2,
    }
}

/// Returns settings that end within seconds, as a test of the training itself.
pub fn quick() -> Options {
    Options {
        rounds: 4,
        trial: 2,
        ..options()
    }
}

/// Training episodes, drawn for each round.
struct Episodes {
    /// Random stream of the networks.
    rng: Rng,
}

impl Practice<INPUTS, KNOWN, OUTPUTS> for Episodes {
    const NAME: &'static str = "spine";
    type State = Rng;

    fn drive(&mut self, explorer: Explorer<'_>, options: &Options) -> Result<Vec<Course>, Error> {
        let rng = &mut self.rng;
        // Drawn before the threads start, whose order must not matter.
        let one = |_| {
            (
                draw(rng),
                TRAINING.start + rng.below(TRAINING.end - TRAINING.start),
            )
        };
        let drawn: Vec<_> = (0..EPISODES).map(one).collect();
        let policy = Arc::new(explorer.policy.clone());
        let driven = side_by_side(drawn.len(), options.threads, &|index| {
            let (drawn, seed) = &drawn[index];
            episode(drawn, *seed, &policy, Some(explorer.deviation))
        });
        Ok(driven.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn trial(&self, policy: &Network, threads: usize) -> Result<f64, Error> {
        trial(policy, threads)
    }

    fn state(&self) -> Rng {
        self.rng.clone()
    }

    fn go_on_from(&mut self, state: Rng) -> Result<(), Error> {
        self.rng = state;
        Ok(())
    }
}

/// Trains SPINE's agent, from its checkpoint if there is one; `watch` is called after each round.
///
/// # Errors
/// A scenario fails, or a checkpoint cannot be read or written.
pub fn train(
    options: &Options,
    checkpoints: &Checkpoints,
    watch: &mut dyn FnMut(&Update) -> Control,
) -> Result<TrainedPolicy, Error> {
    let mut weights = stream(options.seed, 2);
    let mut policy = first(&SPINE, &mut weights);
    // At first it mostly triggers, with nearly the same sub-policy for all inputs.
    let heads = SPINE[0].size();
    policy.values_mut()[heads] = EAGER;
    policy.values_mut()[heads + 1..heads + OUTPUTS].copy_from_slice(&START.said());
    let learner = ppo::Learner::new(MANNER, policy, first(&CRITIC, &mut weights), SPREAD);
    let episodes = Episodes {
        rng: stream(options.seed, 3),
    };
    crate::rounds::train(options, learner, episodes, checkpoints, watch)
}

/// Returns the mean reward in trial networks, which are not used for learning.
fn trial(policy: &Network, threads: usize) -> Result<f64, Error> {
    let (networks, policy) = (trials(), Arc::new(policy.clone()));
    let each = side_by_side(networks.len(), threads, &|index| {
        let seed = SELECTION.start + index as u64;
        let courses = episode(&networks[index], seed, &policy, None)?;
        let steps = courses.iter().flat_map(|course| &course.steps);
        let (sum, count) = steps.fold((0.0, 0), |(sum, count), step| {
            (sum + f64::from(step.reward), count + 1)
        });
        Ok(sum / f64::from(count.max(1)))
    });
    let rewards = each.into_iter().collect::<Result<Vec<f64>, Error>>()?;
    Ok(rewards.iter().sum::<f64>() / rewards.len() as f64)
}

/// Returns the agent's model files.
///
/// # Errors
/// The card or the weights cannot be serialised.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    let about = About {
        kind: ModelKind::Spine,
        name,
        command,
        learning_rate: MANNER.rate,
        rewards: "flows of a line together",
    };
    crate::rounds::files(about, trained)
}

#[cfg(test)]
mod tests;
