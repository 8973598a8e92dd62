//! Policies of DECC on top of a rate law ([`paceline_congestion::decc::law`]): a residual network alongside it, its clone as a
//! network, and that network pruned and quantised.
//!
//! 1. A residual ([`train`]) begins at zero, so at first it is the law. It learns by multi-agent deterministic policy
//!    gradients with critics that see all flows (`td3.rs`), or by proximal policy optimisation with such a critic
//!    (`on_policy.rs`), in networks drawn as those of the search ([`crate::search`]). A flow's reward is its own part of the
//!    cost (`practice.rs`).
//!    The policy as the paper prints it ([`By::Printed`], `paper/`) learns from nothing in the same rounds, without a law.
//! 2. A clone ([`clone`]) learns to do what a law, and a residual alongside it, do: in states that these meet, then in those that it
//!    meets itself.
//! 3. A clone is compressed ([`tuned`]): small weights are removed, the rest rounded, and what is left learns once more.
//!
//! Each is judged in trials: what it costs in the fixed networks of the search, over an oracle. Of all that a policy has been, the
//! best in trials is kept, what it began with included: so a training that spoils it costs nothing but time.
//!
//! The same options give the same weights, bit for bit, on any number of threads, also if the training was stopped and goes
//! on from its checkpoint.

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
use practice::Who;
pub(crate) use practice::{Manner, delivered, episodes, fixed, practise_all};
pub(crate) use replay::Transition;
pub use start::{base, clone_of};
pub use tune::{Apart, Tuned, Tuning, WatchTuning, difference, in_trials, tuned};

/// By what a policy learns: a residual by the first two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Multi-agent deterministic policy gradients, with what TD3 adds.
    #[default]
    Gradients,
    /// Proximal policy optimisation, with a critic that sees as much.
    Proximal,
    /// The paper's own network, without a law, by its rewards and multi-agent deterministic policy gradients.
    Printed,
    /// The same without the network's memory.
    Memoryless,
    /// The same with rewards of each flow's own in place of the common one.
    OwnReward,
}

impl By {
    /// Its short name: `td3`, `ppo`, `paper`, `paper-no-memory` or `paper-own-reward`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gradients => "td3",
            Self::Proximal => "ppo",
            Self::Printed => "paper",
            Self::Memoryless => "paper-no-memory",
            Self::OwnReward => "paper-own-reward",
        }
    }

    /// Whether it is the paper's, or that without a part of it.
    pub const fn is_printed(self) -> bool {
        matches!(self, Self::Printed | Self::Memoryless | Self::OwnReward)
    }

    /// The name of what it makes.
    pub const fn model(self) -> &'static str {
        match self {
            Self::Gradients | Self::Proximal => "decc-residual",
            Self::Printed => "decc-paper",
            Self::Memoryless => "decc-paper-no-memory",
            Self::OwnReward => "decc-paper-own-reward",
        }
    }
}

/// How to train a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// By what it learns.
    pub by: By,
    /// Rounds: flows practise in some networks, then the policy learns.
    pub rounds: usize,
    /// Rounds between two trials.
    pub trial: usize,
    /// Networks of trials: the first so many, 0 for all.
    pub networks: usize,
    /// Flows of a network that teaches, at most.
    pub flows: u32,
    /// Steps of the gradients' learners in a round.
    pub steps: usize,
    /// Threads; the weights do not depend on them.
    pub threads: usize,
}

impl Options {
    /// A whole training.
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

    /// Rounds at first in which critics learn alone: the tenth part of all, and never all of them. The paper has none.
    pub fn critics(&self) -> usize {
        match self.by {
            By::Gradients | By::Proximal => (self.rounds / 10).max(1).min(self.rounds.saturating_sub(1)),
            By::Printed | By::Memoryless | By::OwnReward => 0,
        }
    }

    /// A training that ends within seconds: it shows that it goes, not where it ends.
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

/// How far it is: a round, and a trial where one was due.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Rounds done.
    pub round: usize,
    /// The critics' mean loss in the round.
    pub loss: f64,
    /// The mean reward of a decision in the round, of -3 to 0; the paper's is of -0.1 to 0.1.
    pub reward: f64,
    /// How far the policy's numbers are from the first ones, over their length.
    pub moved: f64,
    /// The cost in trials of the policy, and of the best so far.
    pub trial: Option<(f64, f64)>,
}

/// A policy that was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// How.
    pub options: Options,
    /// The law's numbers.
    pub law: Vec<f32>,
    /// The numbers of the network that was kept.
    pub values: Vec<f32>,
    /// The same after the last round, kept or not.
    pub last: Vec<f32>,
    /// The cost in trials of the law alone, and of Swift as tuned by search.
    pub lines: (f64, f64),
    /// The cost in trials of the policy before it has learned; of a residual that is the law's.
    pub first: f64,
    /// What it was told on the way.
    pub updates: Vec<Update>,
    /// Decisions that it learned from.
    pub decisions: u64,
    /// Whether it was stopped early.
    pub stopped: bool,
}

impl TrainedPolicy {
    /// The cost in trials of what was kept.
    pub fn best(&self) -> f64 {
        let trials = self.updates.iter().filter_map(|update| update.trial);
        trials.fold(self.first, |_, (_, best)| best)
    }
}

/// Rows of a sample.
pub const BATCH: usize = 192;
/// Transitions that are kept.
const ROOM: usize = 200_000;
/// Networks of a round at most.
const SOURCES: usize = 6;
/// Rounds of the paper's policy: five minutes of one core.
const PRINTED_ROUNDS: usize = 80;

/// Where a training is between two rounds.
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

/// The name of the checkpoint.
const NAME: &str = "decc";

/// What learns.
enum Learner {
    Gradients(Box<td3::Learner>, replay::Replay),
    Proximal(Box<on_policy::Learner>),
    Printed(Box<paper::Learner>),
}

/// What came of a round: decisions, the sum of their rewards, and the critics' mean loss.
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
                (by != By::Memoryless, by == By::OwnReward),
                SOURCES,
                rng,
            ))),
        }
    }

    /// The policy's numbers.
    fn values(&self) -> Vec<f32> {
        match self {
            Self::Gradients(learner, _) => learner.actor().values().to_vec(),
            Self::Proximal(learner) => learner.actor().values().to_vec(),
            Self::Printed(learner) => learner.values(),
        }
    }

    /// The deviation of noise after this part of all rounds.
    fn noise(&self, part: f64) -> f64 {
        match self {
            Self::Gradients(..) | Self::Printed(_) => 0.3 - 0.2 * part,
            Self::Proximal(learner) => learner.deviation(),
        }
    }

    /// Goes through a round and learns from it.
    fn round(&mut self, options: &Options, law: Law, round: usize, rng: &mut Rng) -> Result<Went, Error> {
        let part = round as f64 / options.rounds as f64;
        let (noise, moves) = (self.noise(part), round >= options.critics());
        let episodes = episodes(rng, options.flows);
        let beside = match self {
            Self::Gradients(learner, _) => learner.actor(),
            Self::Proximal(learner) => learner.actor(),
            Self::Printed(learner) => {
                let model = model_of(&learner.files()?)?;
                let (count, rewards) = learner.practise(episodes, (noise, options.threads), &model)?;
                return Ok((count, rewards, learner.learn(options.steps, rng)));
            }
        };
        let manner = Manner {
            law,
            who: Who::Beside(Arc::new(beside.clone())),
            residual: None,
            noise,
            kept: usize::MAX,
        };
        let met = practise_all(&episodes, &manner, options.threads)?;
        let count: usize = met.iter().map(Vec::len).sum();
        let rewards: f64 = met.iter().flatten().map(Transition::worth).sum();
        Ok((
            count,
            rewards,
            self.learn(met, (part, moves), (options.steps, rng)),
        ))
    }

    /// A residual learns from what flows went through in a round: the mean loss of critics.
    fn learn(
        &mut self,
        met: Vec<Vec<Transition>>,
        (part, moves): (f64, bool),
        (steps, rng): (usize, &mut Rng),
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
                let spread = (&learner.actor().clone(), learner.deviation());
                let courses = met.into_iter().flat_map(|one| on_policy::courses(one, spread));
                let courses: Vec<_> = courses.collect();
                learner.learn(&courses, (1.0 - part, moves), rng)
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

/// A network whose actions are all zero, and can be learned from there.
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

/// Called after every round; may stop the training.
pub type Watch<'a> = &'a mut dyn FnMut(&(f64, f64), Option<&Update>) -> Control;

/// Trains a policy, a residual alongside a law, from the checkpoint if there is one.
///
/// # Errors
/// The model is no law, a network does not run, or a checkpoint cannot be read or written.
pub fn train(
    options: &Options,
    law: &Model,
    checkpoints: &Checkpoints,
    watch: Watch<'_>,
) -> Result<TrainedPolicy, Error> {
    let law = start::law_of(law)?;
    let trials = Trials::new(options.networks, options.threads)?;
    let cost = |values: &[f32]| {
        let candidate = (options.by, "candidate");
        trials.cost_of(&model::of_values(candidate, &law.values(), values, "")?)
    };
    let mut learner = Learner::new(options.by, &mut stream(options.seed, 0, 0));
    let begun = learner.values();
    let mut state = match checkpoints.take::<State>(NAME)? {
        Some(mut state) => {
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
        let mut rng = stream(options.seed, 1, state.round as u64);
        let (count, rewards, loss) = learner.round(options, law, state.round, &mut rng)?;
        let values = learner.values();
        state.round += 1;
        state.decisions += count as u64;
        let due = state.round.is_multiple_of(options.trial) || state.round == options.rounds;
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

/// How far numbers are from others, over the length of these.
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

/// Random numbers of a part of a training.
fn stream(seed: u64, part: u64, number: u64) -> Rng {
    Rng::stream(seed, Purpose::Training, (4 << 20) | (part << 16) | number)
}

#[cfg(test)]
mod tests;
