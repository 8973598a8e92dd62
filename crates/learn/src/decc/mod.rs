//! DECC's policies based on a rate law ([`paceline_congestion::decc::law`]): a residual network added to it,
//! its clone as a network, and that network pruned and quantised.
//!
//! 1. A residual ([`train`]) starts at zero, so it initially equals the law. It learns by multi-agent
//!    deterministic policy gradients with critics that see all flows (`td3.rs`), or by proximal policy
//!    optimisation with such a critic (`on_policy.rs`), in networks drawn as those of the search
//!    ([`crate::search`]). A flow's reward is its own part of the cost (`practice.rs`). The policy as the
//!    paper prints it ([`By::Printed`], `paper/`) learns from scratch in the same rounds, without a law.
//! 2. A clone ([`clone`]) learns to imitate a law and its residual, first in their states, then in its own.
//! 3. A clone is compressed ([`tuned`]): small weights are removed, the rest rounded, and the remaining ones
//!    trained once more.
//!
//! Each is judged in trials: by its cost in the fixed networks of the search, relative to an oracle. The best
//! version of a policy in trials is kept, including the initial one, so a training that makes it worse costs
//! only time.
//!
//! The same options give the same weights, bit for bit, on any number of threads, even if the training was
//! stopped and resumed from its checkpoint.

mod clone;
mod compress;
mod model;
mod on_policy;
mod paper;
mod practice;
mod replay;
mod start;
mod state;
mod td3;
mod tune;

use std::sync::Arc;

use paceline_congestion::decc::law::Law;
use paceline_congestion::learned::Model;
use paceline_congestion::learned::kind::DECC;
use paceline_congestion::learned::layers::Network;
use paceline_kernel::rng::{Purpose, Rng};
pub use paceline_lab::run::Control;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::{Checkpoints, Floats};
pub use crate::course::{EVALUATION, SELECTION, TRAINING};
use crate::pass::first;
use crate::search::{SWIFT_SEARCHED, Subject, Trials, model_of};
pub use clone::{Cloned, Cloning, Round, clone};
pub use compress::{Asked, Compressed};
pub use model::{files, files_of_clone, files_of_compressed};
pub(crate) use model::{of_values, same};
use practice::PracticePolicy;
pub(crate) use practice::{Manner, delivered, episodes, fixed, practise_all};
pub(crate) use replay::Transition;
pub use start::{LawClone, base, clone_of};
pub use tune::{Apart, Tuned, Tuning, WatchTuning, difference, in_trials, tuned};

/// Learning algorithm; a residual uses the first two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Multi-agent deterministic policy gradients, with the additions of TD3.
    #[default]
    Gradients,
    /// Proximal policy optimisation, with a critic of the same inputs.
    Proximal,
    /// The paper's own network, without a law, by its rewards and multi-agent deterministic policy gradients.
    Printed,
    /// As `Printed`, without the network's recurrent layer.
    Memoryless,
    /// As `Printed`, with a separate reward for each flow instead of the common one.
    OwnReward,
}

impl By {
    /// Returns the short name: `td3`, `ppo`, `paper`, `paper-no-memory` or `paper-own-reward`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gradients => "td3",
            Self::Proximal => "ppo",
            Self::Printed => "paper",
            Self::Memoryless => "paper-no-memory",
            Self::OwnReward => "paper-own-reward",
        }
    }

    /// Returns true for the paper's policy and its variants.
    pub const fn is_printed(self) -> bool {
        matches!(self, Self::Printed | Self::Memoryless | Self::OwnReward)
    }

    /// Returns the default name of the model.
    pub const fn model(self) -> &'static str {
        match self {
            Self::Gradients | Self::Proximal => "decc-residual",
            Self::Printed => "decc-paper",
            Self::Memoryless => "decc-paper-no-memory",
            Self::OwnReward => "decc-paper-own-reward",
        }
    }
}

/// Settings of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of all random choices.
    pub seed: u64,
    /// Learning algorithm of the policy.
    pub by: By,
    /// Number of rounds: in each, flows practise in some networks, then the policy learns.
    pub rounds: usize,
    /// Rounds between two trials.
    pub trial: usize,
    /// Number of trial networks, 0 for all.
    pub networks: usize,
    /// Upper limit of the flows in a training network.
    pub flows: u32,
    /// Steps per round of the gradient-based learners.
    pub steps: usize,
    /// Number of threads; the weights do not depend on it.
    pub threads: usize,
}

impl Options {
    /// Returns the settings of a full training.
    pub const fn new(by: By) -> Self {
        Self {
            seed: 1,
            by,
            rounds: match by {
                By::Gradients | By::Proximal => 60,
                By::Printed | By::Memoryless | By::OwnReward => PRINTED_ROUNDS,
            },
            trial: 6,
            networks: 0,
            flows: 512,
            steps: 300,
            threads: 2,
        }
    }

    /// Returns the number of initial rounds in which only the critics learn: a tenth of all, but never all of
    /// them. The paper has none.
    pub fn critics(&self) -> usize {
        match self.by {
            By::Gradients | By::Proximal => (self.rounds / 10).max(1).min(self.rounds.saturating_sub(1)),
            By::Printed | By::Memoryless | By::OwnReward => 0,
        }
    }

    /// Returns settings for a training of seconds, which shows that it works, but not how well it ends.
    pub const fn quick(self) -> Self {
        Self {
            rounds: 4,
            trial: 2,
            networks: 2,
            flows: 64,
            steps: 100,
            ..self
        }
    }
}

/// Progress: a round, and a trial if one was due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Number of completed rounds.
    pub round: usize,
    /// Mean loss of the critics in the round.
    pub loss: f64,
    /// Mean reward per decision in the round, from -3 to 0; the paper's is from -0.1 to 0.1.
    pub reward: f64,
    /// Distance of the policy's values from the initial ones, relative to the length of these.
    pub moved: f64,
    /// Cost in trials of the policy, and of the best so far.
    pub trial: Option<(f64, f64)>,
}

/// Trained policy with its history.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// Settings of the training.
    pub options: Options,
    /// Values of the law.
    pub law: Vec<f32>,
    /// Values of the network that was kept.
    pub values: Vec<f32>,
    /// Values of the network after the last round, kept or not.
    pub last: Vec<f32>,
    /// Cost in trials of the law alone, and of Swift as tuned by search.
    pub lines: (f64, f64),
    /// Cost in trials of the policy before training; for a residual, that of the law.
    pub first: f64,
    /// Reports of progress, in order.
    pub updates: Vec<Update>,
    /// Decisions used for learning.
    pub decisions: u64,
    /// True if the training was stopped early.
    pub stopped: bool,
}

impl TrainedPolicy {
    /// Returns the cost in trials of the kept policy.
    pub fn best(&self) -> f64 {
        let trials = self.updates.iter().filter_map(|update| update.trial);
        trials.fold(self.first, |_, (_, best)| best)
    }
}

/// Rows per sample of the replay memory.
pub const BATCH: usize = 192;
/// Capacity of the replay memory.
const ROOM: usize = 200_000;
/// Upper limit of networks per round.
const SOURCES: usize = 6;
/// Rounds of the paper's policy: five minutes on one core.
const PRINTED_ROUNDS: usize = 80;

/// State of a training between two rounds.
#[derive(Serialize, Deserialize)]
struct State {
    round: usize,
    lines: (f64, f64),
    first: f64,
    best: (f64, Floats),
    decisions: u64,
    updates: Vec<Update>,
    learner: LearnerState,
}

#[derive(Serialize, Deserialize)]
enum LearnerState {
    Gradients(Box<td3::LearnerState>, replay::ReplayState),
    Proximal(crate::ppo::LearnerState),
    Printed(Box<paper::LearnerState>),
}

/// Name of the checkpoint.
const NAME: &str = "decc";

/// Learner of one of the algorithms.
enum Learner {
    Gradients(Box<td3::Learner>, replay::Replay),
    Proximal(Box<on_policy::Learner>),
    Printed(Box<paper::Learner>),
}

/// Result of a round: decisions, sum of their rewards, and mean loss of the critics.
type Went = (usize, f64, f64);

impl Learner {
    fn new(by: By, rng: &mut Rng) -> Self {
        match by {
            By::Gradients => {
                let replay = replay::Replay::new(SOURCES, ROOM);
                Self::Gradients(Box::new(td3::Learner::new(nothing(rng), rng)), replay)
            }
            By::Proximal => Self::Proximal(Box::new(on_policy::learner(nothing(rng), rng))),
            By::Printed | By::Memoryless | By::OwnReward => Self::Printed(Box::new(paper::Learner::new(
                by != By::Memoryless,
                by == By::OwnReward,
                SOURCES,
                rng,
            ))),
        }
    }

    /// Returns the policy's values.
    fn values(&self) -> Vec<f32> {
        match self {
            Self::Gradients(learner, _) => learner.actor().values().to_vec(),
            Self::Proximal(learner) => learner.actor().values().to_vec(),
            Self::Printed(learner) => learner.values(),
        }
    }

    /// Returns the standard deviation of the noise after this share of all rounds.
    fn noise(&self, part: f64) -> f64 {
        match self {
            Self::Gradients(..) | Self::Printed(_) => 0.3 - 0.2 * part,
            Self::Proximal(learner) => learner.deviation(),
        }
    }

    /// Practises for a round and learns from it.
    fn round(&mut self, options: &Options, law: Law, round: usize, rng: &mut Rng) -> Result<Went, Error> {
        let part = round as f64 / options.rounds as f64;
        let (noise, moves) = (self.noise(part), round >= options.critics());
        let episodes = episodes(rng, options.flows);
        let beside = match self {
            Self::Gradients(learner, _) => learner.actor(),
            Self::Proximal(learner) => learner.actor(),
            Self::Printed(learner) => {
                let model = model_of(&learner.files()?)?;
                let (count, rewards) = learner.practise(episodes, noise, options.threads, &model)?;
                return Ok((count, rewards, learner.learn(options.steps, rng)));
            }
        };
        let manner = Manner {
            law,
            decider: PracticePolicy::Residual(Arc::new(beside.clone())),
            residual: None,
            noise,
            kept: usize::MAX,
        };
        let met = practise_all(&episodes, &manner, options.threads)?;
        let count: usize = met.iter().map(Vec::len).sum();
        let rewards: f64 = met.iter().flatten().map(Transition::worth).sum();
        let loss = self.learn(met, 1.0 - part, moves, options.steps, rng);
        Ok((count, rewards, loss))
    }

    /// Trains a residual with a round's experience, at the fraction `rate` of the learning rate; returns the mean loss of the critics.
    fn learn(
        &mut self,
        met: Vec<Vec<Transition>>,
        rate: f64,
        moves: bool,
        steps: usize,
        rng: &mut Rng,
    ) -> f64 {
        match self {
            Self::Gradients(learner, replay) => {
                for (source, transitions) in met.into_iter().enumerate() {
                    transitions.into_iter().for_each(|one| replay.push(source, one));
                }
                let one = |_| learner.step(&replay.draw(BATCH, rng), moves, rng);
                (0..steps).map(one).sum::<f64>() / steps.max(1) as f64
            }
            Self::Proximal(learner) => {
                let explorer = learner.explorer();
                let courses = met.into_iter().flat_map(|one| on_policy::courses(one, explorer));
                let courses: Vec<_> = courses.collect();
                learner.learn(&courses, rate, moves, rng)
            }
            Self::Printed(_) => 0.0,
        }
    }

    fn state(&self) -> LearnerState {
        match self {
            Self::Gradients(learner, replay) => {
                LearnerState::Gradients(Box::new(learner.state()), replay.state())
            }
            Self::Proximal(learner) => LearnerState::Proximal(learner.state()),
            Self::Printed(learner) => LearnerState::Printed(Box::new(learner.state())),
        }
    }

    fn go_on_from(&mut self, state: LearnerState) -> Result<(), Error> {
        match (self, state) {
            (Self::Gradients(learner, replay), LearnerState::Gradients(kept, was)) => {
                **learner = td3::Learner::of_state(*kept)?;
                replay.go_on_from(was)
            }
            (Self::Proximal(learner), LearnerState::Proximal(kept)) => learner.go_on_from(kept),
            (Self::Printed(learner), LearnerState::Printed(kept)) => learner.go_on_from(*kept),
            _ => Err(Error::Options("a checkpoint is of another training".into())),
        }
    }
}

/// Returns a network whose actions are all zero, but whose weights can learn.
fn nothing(rng: &mut Rng) -> Network {
    let mut policy = first(&DECC, rng);
    let last = DECC
        .last()
        .map_or(0, paceline_congestion::learned::layers::Layer::size);
    let values = policy.values_mut();
    let from = values.len() - last;
    values[from..].fill(0.0);
    policy
}

/// Callback after every round, which may stop the training.
pub type Watch<'a> = &'a mut dyn FnMut(&(f64, f64), Option<&Update>) -> Control;

/// Trains a policy or a law's residual, from the checkpoint if there is one.
///
/// # Errors
/// The model is no law, a network fails, or a checkpoint cannot be read or written.
pub fn train(
    options: &Options,
    law: &Model,
    checkpoints: &Checkpoints,
    watch: Watch<'_>,
) -> Result<TrainedPolicy, Error> {
    let law = start::law_of(law)?;
    let trials = Trials::new(options.networks, options.threads)?;
    let cost = |values: &[f32]| {
        trials.cost_of(&model::of_values(
            options.by,
            "candidate",
            &law.values(),
            values,
            "",
        )?)
    };
    let mut learner = Learner::new(options.by, &mut stream(options.seed, 0, 0));
    let begun = learner.values();
    let mut state = match checkpoints.take::<State>(NAME)? {
        Some(mut state) => {
            // The state is moved out, since a copy of the replay memory would be large.
            let fresh = learner.state();
            learner.go_on_from(std::mem::replace(&mut state.learner, fresh))?;
            state
        }
        None => {
            let swift = trials.cost(&|network| Subject::Swift.config(&SWIFT_SEARCHED, network))?;
            let first = cost(&begun)?;
            State {
                round: 0,
                lines: (trials.cost_of(&model::same(&law, None)?)?, swift),
                first,
                best: (first, Floats(begun.clone())),
                decisions: 0,
                updates: Vec::new(),
                learner: learner.state(),
            }
        }
    };
    let mut stopped = watch(&state.lines, None) == Control::Stop;
    while state.round < options.rounds && !stopped {
        // A stream per round, so that a resumed training draws the same numbers.
        let mut rng = stream(options.seed, 1, state.round as u64);
        let (count, rewards, loss) = learner.round(options, law, state.round, &mut rng)?;
        let values = learner.values();
        state.round += 1;
        state.decisions += count as u64;
        let due = state.round.is_multiple_of(options.trial) || state.round == options.rounds;
        // While only the critics learn the policy is still the first one, whose cost is known.
        let trial = match due && state.round > options.critics() {
            true => {
                let now = cost(&values)?;
                if now < state.best.0 {
                    state.best = (now, Floats(values.clone()));
                }
                Some((now, state.best.0))
            }
            false => None,
        };
        let update = Update {
            round: state.round,
            loss,
            reward: rewards / count.max(1) as f64,
            moved: apart(&values, &begun),
            trial,
        };
        stopped = watch(&state.lines, Some(&update)) == Control::Stop;
        state.updates.push(update);
        if checkpoints.are_due() || stopped && checkpoints.are_quick() {
            state.learner = learner.state();
            checkpoints.keep(NAME, &state)?;
        }
    }
    Ok(TrainedPolicy {
        options: options.clone(),
        law: law.values(),
        values: state.best.1.expect(begun.len())?,
        last: learner.values(),
        lines: state.lines,
        first: state.first,
        updates: state.updates,
        decisions: state.decisions,
        stopped,
    })
}

/// Returns the distance between two lists of values, relative to the length of the second.
fn apart(one: &[f32], other: &[f32]) -> f64 {
    let length = |values: &mut dyn Iterator<Item = f32>| {
        libm::sqrt(
            values
                .map(|value| f64::from(value) * f64::from(value))
                .sum::<f64>(),
        )
    };
    let off = length(&mut one.iter().zip(other).map(|(one, other)| one - other));
    off / length(&mut other.iter().copied()).max(f64::MIN_POSITIVE)
}

/// Returns the random stream of a part of a training.
fn stream(seed: u64, part: u64, number: u64) -> Rng {
    Rng::stream(seed, Purpose::Training, (4 << 20) | (part << 16) | number)
}

#[cfg(test)]
mod tests;
