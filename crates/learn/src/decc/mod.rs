//! Policies of DECC on top of a rate law ([`paceline_congestion::decc::law`]): a residual network alongside it, its clone as a
//! network, and that network pruned and quantised.
//!
//! 1. A residual ([`train`]) begins at zero, so at first it is the law. It learns by multi-agent deterministic policy
//!    gradients with critics that see all flows (`td3.rs`), or by proximal policy optimisation with such a critic
//!    (`on_policy.rs`), in networks drawn as those of the search ([`crate::search`]). A flow's reward is its own part of the
//!    cost (`practice.rs`).
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
mod practice;
mod replay;
mod start;
mod state;
mod td3;
mod tune;

use std::sync::Arc;

use paceline_congestion::learned::kind::DECC;
use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::{Kind, Model};
use paceline_kernel::rng::{Purpose, Rng};
pub use paceline_lab::run::Control;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::{Checkpoints, Floats};
pub use crate::course::{EVALUATION, SELECTION, TRAINING};
use crate::pass::{first, network};
use crate::search::{SWIFT_SEARCHED, Subject, Trials};
pub use clone::{Cloned, Cloning, Round, clone};
pub use compress::{Asked, Compressed};
pub use model::{files, files_of_clone, files_of_compressed};
use practice::Who;
pub(crate) use practice::{Manner, delivered, episodes, fixed, practise_all};
pub(crate) use replay::Transition;
pub use start::{base, clone_of};
pub use tune::{Apart, Tuned, Tuning, WatchTuning, difference, in_trials, tuned};

/// By what a residual learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Multi-agent deterministic policy gradients, with what TD3 adds.
    #[default]
    Gradients,
    /// Proximal policy optimisation, with a critic that sees as much.
    Proximal,
}

impl By {
    /// Its short name: `td3` or `ppo`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gradients => "td3",
            Self::Proximal => "ppo",
        }
    }
}

/// How to train a residual.
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
    /// Threads; the weights do not depend on them.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            by: By::default(),
            rounds: 60,
            trial: 6,
            networks: 0,
            flows: 512,
            threads: 2,
        }
    }
}

impl Options {
    /// A training that ends within seconds: it shows that it goes, not where it ends.
    pub const fn quick(self) -> Self {
        Self {
            rounds: 4,
            trial: 2,
            networks: 2,
            flows: 64,
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
    /// The mean reward of a decision in the round, of -3 to 0.
    pub reward: f64,
    /// The cost in trials of the policy, and of the best so far.
    pub trial: Option<(f64, f64)>,
}

/// A residual that was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// How.
    pub options: Options,
    /// The law's numbers.
    pub law: Vec<f32>,
    /// The network alongside it.
    pub policy: Network,
    /// The cost in trials of the law alone, and of Swift as tuned by search.
    pub lines: (f64, f64),
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
        trials.fold(self.lines.0, |_, (_, best)| best)
    }
}

/// Rows of a sample.
pub const BATCH: usize = 192;
/// Transitions that are kept.
const ROOM: usize = 200_000;
/// Networks of a round at most.
const SOURCES: usize = 6;
/// Steps of the gradients' learner in a round, and the rounds in which only critics learn.
const STEPS: usize = 300;
const CRITICS: usize = 6;

/// Where a training is between two rounds.
#[derive(Serialize, Deserialize)]
struct State {
    round: usize,
    lines: (f64, f64),
    best: (f64, Floats),
    decisions: u64,
    updates: Vec<Update>,
    learner: LearnerState,
}

#[derive(Serialize, Deserialize)]
enum LearnerState {
    Gradients(Box<td3::LearnerState>, replay::ReplayState),
    Proximal(crate::ppo::LearnerState),
}

/// The name of the checkpoint.
const NAME: &str = "decc";

/// What learns.
enum Learner {
    Gradients(Box<td3::Learner>, replay::Replay),
    Proximal(Box<on_policy::Learner>),
}

impl Learner {
    fn new(by: By, rng: &mut Rng) -> Self {
        let policy = nothing(rng);
        match by {
            By::Gradients => {
                let replay = replay::Replay::new(SOURCES, ROOM);
                Self::Gradients(Box::new(td3::Learner::new(policy, rng)), replay)
            }
            By::Proximal => Self::Proximal(Box::new(on_policy::learner(policy, rng))),
        }
    }

    fn policy(&self) -> &Network {
        match self {
            Self::Gradients(learner, _) => learner.actor(),
            Self::Proximal(learner) => learner.actor(),
        }
    }

    /// The deviation of noise after this part of all rounds.
    fn noise(&self, part: f64) -> f64 {
        match self {
            Self::Gradients(..) => 0.3 - 0.2 * part,
            Self::Proximal(learner) => learner.deviation(),
        }
    }

    /// Learns from what flows went through in a round: the mean loss of critics.
    fn learn(
        &mut self,
        met: Vec<Vec<replay::Transition>>,
        (round, part): (usize, f64),
        rng: &mut Rng,
    ) -> f64 {
        match self {
            Self::Gradients(learner, replay) => {
                for (source, transitions) in met.into_iter().enumerate() {
                    transitions.into_iter().for_each(|one| replay.push(source, one));
                }
                let moves = round >= CRITICS;
                let one = |_| learner.step(&replay.draw(BATCH, rng), moves, rng);
                (0..STEPS).map(one).sum::<f64>() / STEPS as f64
            }
            Self::Proximal(learner) => {
                let spread = (&learner.actor().clone(), learner.deviation());
                let courses = met.into_iter().flat_map(|one| on_policy::courses(one, spread));
                let courses: Vec<_> = courses.collect();
                learner.learn(&courses, (1.0 - part, round >= CRITICS), rng)
            }
        }
    }

    fn state(&self) -> LearnerState {
        match self {
            Self::Gradients(learner, replay) => {
                LearnerState::Gradients(Box::new(learner.state()), replay.state())
            }
            Self::Proximal(learner) => LearnerState::Proximal(learner.state()),
        }
    }

    fn go_on_from(&mut self, state: LearnerState) -> Result<(), Error> {
        match (self, state) {
            (Self::Gradients(learner, replay), LearnerState::Gradients(kept, was)) => {
                **learner = td3::Learner::of_state(*kept)?;
                replay.go_on_from(was)
            }
            (Self::Proximal(learner), LearnerState::Proximal(kept)) => learner.go_on_from(kept),
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

/// Trains a residual alongside a law, from the checkpoint if there is one.
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
    let cost = |policy: &Network| {
        let candidate = (Kind::Residual, "candidate");
        trials.cost_of(&model::on_law(candidate, &law.values(), policy, |card| card)?)
    };
    let mut learner = Learner::new(options.by, &mut stream(options.seed, 0, 0));
    let mut state = match checkpoints.take::<State>(NAME)? {
        Some(mut state) => {
            let fresh = learner.state();
            learner.go_on_from(std::mem::replace(&mut state.learner, fresh))?;
            state
        }
        None => {
            let swift = trials.cost(&|network| Subject::Swift.config(&SWIFT_SEARCHED, network))?;
            let lines = (cost(learner.policy())?, swift);
            State {
                round: 0,
                lines,
                best: (lines.0, Floats(learner.policy().values().to_vec())),
                decisions: 0,
                updates: Vec::new(),
                learner: learner.state(),
            }
        }
    };
    let mut stopped = watch(&state.lines, None) == Control::Stop;
    while state.round < options.rounds && !stopped {
        let part = state.round as f64 / options.rounds as f64;
        let mut rng = stream(options.seed, 1, state.round as u64);
        let manner = Manner {
            law,
            who: Who::Beside(Arc::new(learner.policy().clone())),
            residual: None,
            noise: learner.noise(part),
            kept: usize::MAX,
        };
        let met = practise_all(&episodes(&mut rng, options.flows), &manner, options.threads)?;
        let count: usize = met.iter().map(Vec::len).sum();
        let rewards: f64 = met.iter().flatten().map(replay::Transition::worth).sum();
        let loss = learner.learn(met, (state.round, part), &mut rng);
        state.round += 1;
        state.decisions += count as u64;
        let due = state.round.is_multiple_of(options.trial) || state.round == options.rounds;
        let trial = match due && state.round > CRITICS.min(options.rounds - 1) {
            true => {
                let now = cost(learner.policy())?;
                if now < state.best.0 {
                    state.best = (now, Floats(learner.policy().values().to_vec()));
                }
                Some((now, state.best.0))
            }
            false => None,
        };
        let update = Update {
            round: state.round,
            loss,
            reward: rewards / count.max(1) as f64,
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
        policy: network(&DECC, state.best.1)?,
        lines: state.lines,
        updates: state.updates,
        decisions: state.decisions,
        stopped,
    })
}

/// Random numbers of a part of a training.
fn stream(seed: u64, part: u64, number: u64) -> Rng {
    Rng::stream(seed, Purpose::Training, (4 << 20) | (part << 16) | number)
}

#[cfg(test)]
mod tests;
