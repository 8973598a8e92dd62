//! Training SPINE's watcher and generator: proximal policy optimisation (PPO), in the simulator, round by round
//! (`rounds.rs`).
//!
//! Decisions are made inside the run, by senders that write down what they see and what comes of it (`practice.rs`): the
//! executor acts between them. Networks are drawn as Aurora's are (`course.rs`). A flow's reward has its own delay, losses and
//! triggers, and what all flows of the line are delivered: with its own share there instead, flows learned to outbid each
//! other, and queues grew.

mod practice;

use std::sync::Arc;

use paceline_congestion::learned::Kind;
use paceline_congestion::learned::kind::SPINE;
use paceline_congestion::learned::layers::{Layer, Network, Units};
use paceline_congestion::spine::{INPUTS, OUTPUTS, SubPolicy};
use paceline_kernel::rng::Rng;
use paceline_lab::run::side_by_side;

use crate::Error;
use crate::checkpoint::Checkpoints;
use crate::course::{SELECTION, TRAINING, draw, trials};
use crate::pass::first;
use crate::ppo::{self, Chance, Manner};
use crate::rounds::{Control, Options, TrainedPolicy, Update};
use crate::rounds::{Practice, stream};
use crate::write::ModelFiles;
use practice::episode;

/// Numbers that the critic reads: those of the policy, and three of all flows together.
const KNOWN: usize = INPUTS + 3;

/// A decision, and what a flow goes through.
type Step = ppo::Step<INPUTS, KNOWN, OUTPUTS>;
type Course = ppo::Course<INPUTS, KNOWN, OUTPUTS>;

/// Discount of a monitor interval.
const GAMMA: f64 = 0.97;
/// The logarithm of the first deviation of what the generator says: small parameters differ by a third.
const SPREAD: f32 = -1.2;
/// What the generator says before it has learned: a rule that rests a tenth of a round trip above the empty network's.
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

/// What the watcher says before it has learned: four of five intervals trigger, so the generator learns before triggers
/// become rare. (From one of two on, two of three policies triggered no more after the first interval.)
const EAGER: f32 = 1.5;

/// What says how much better an interval is than others.
const CRITIC: [Layer; 3] = [
    Layer::new(KNOWN, 32, Units::Tanh),
    Layer::new(32, 16, Units::Tanh),
    Layer::new(16, 1, Units::Linear),
];

/// Episodes of a round.
const EPISODES: usize = 12;

/// How a training goes that makes the built-in model.
pub fn options() -> Options {
    Options {
        seed: 1,
        rounds: 90,
        trial: 10,
        threads: 2,
    }
}

/// One that ends within seconds: it shows that it learns, not where it ends.
pub fn quick() -> Options {
    Options {
        rounds: 4,
        trial: 2,
        ..options()
    }
}

/// Episodes, each round others.
struct Episodes {
    /// What networks are drawn by.
    rng: Rng,
}

impl Practice<INPUTS, KNOWN, OUTPUTS> for Episodes {
    const NAME: &'static str = "spine";
    type State = Rng;

    fn drive(
        &mut self,
        (policy, deviation): (&Network, f64),
        options: &Options,
    ) -> Result<Vec<Course>, Error> {
        let rng = &mut self.rng;
        let one = |_| {
            (
                draw(rng),
                TRAINING.start + rng.below(TRAINING.end - TRAINING.start),
            )
        };
        let drawn: Vec<_> = (0..EPISODES).map(one).collect();
        let manner = (&Arc::new(policy.clone()), Some(deviation));
        let driven = side_by_side(drawn.len(), options.threads, &|place| {
            let (drawn, seed) = &drawn[place];
            episode((drawn, *seed), manner)
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

/// Trains, from its checkpoint if there is one; `watch` is told what came of each round.
///
/// # Errors
/// A scenario does not run, or a checkpoint cannot be read or written.
pub fn train(
    options: &Options,
    checkpoints: &Checkpoints,
    watch: &mut dyn FnMut(&Update) -> Control,
) -> Result<TrainedPolicy, Error> {
    let mut weights = stream(options.seed, 2);
    let mut policy = first(&SPINE, &mut weights);
    // At first it mostly triggers, and generates about the same everywhere.
    let heads = SPINE[0].size();
    policy.values_mut()[heads] = EAGER;
    policy.values_mut()[heads + 1..heads + OUTPUTS].copy_from_slice(&START.said());
    let learner = ppo::Learner::new(MANNER, (policy, first(&CRITIC, &mut weights)), SPREAD);
    let episodes = Episodes {
        rng: stream(options.seed, 3),
    };
    crate::rounds::train(options, (learner, episodes), checkpoints, watch)
}

/// The mean reward in networks that nobody learns in.
fn trial(policy: &Network, threads: usize) -> Result<f64, Error> {
    let (networks, policy) = (trials(), Arc::new(policy.clone()));
    let each = side_by_side(networks.len(), threads, &|place| {
        let courses = episode(
            (&networks[place], SELECTION.start + place as u64),
            (&policy, None),
        )?;
        let steps = courses.iter().flat_map(|course| &course.steps);
        let (sum, count) = steps.fold((0.0, 0), |(sum, count), step| {
            (sum + f64::from(step.reward), count + 1)
        });
        Ok(sum / f64::from(count.max(1)))
    });
    let rewards = each.into_iter().collect::<Result<Vec<f64>, Error>>()?;
    Ok(rewards.iter().sum::<f64>() / rewards.len() as f64)
}

/// The agent's weights and its card.
///
/// # Errors
/// The format refuses.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    crate::rounds::files(
        Kind::Spine,
        (name, command),
        (MANNER.rate, "flows of a line together"),
        trained,
    )
}

#[cfg(test)]
mod tests;
