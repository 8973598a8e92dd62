//! Training rounds of policies by proximal policy optimisation: flows decide by the policy with a random
//! part, and the policy is updated towards actions with higher returns than the critic expected. At regular
//! intervals the policy is tested without the random part in separate networks, and the best one is kept.
//!
//! # Determinism
//! Results of flows are combined in a fixed order. The same options give bit-identical weights on any number
//! of threads, including after a restart from a checkpoint.

use paceline_congestion::learned::card::{Card, Metrics, RoundMetrics, Training};
use paceline_congestion::learned::kind::ModelKind;
use paceline_congestion::learned::layers::Network;
use paceline_kernel::rng::{Purpose, Rng};
pub use paceline_lab::run::Control;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoints, Floats};
use crate::pass::network;
use crate::policy::{self, card, data, training};
use crate::ppo::{BATCH, Chance, Course, Explorer, Learner, LearnerState};
use crate::write::ModelFiles;
use crate::{Error, course};

/// Settings of a policy's training.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of training rounds.
    pub rounds: usize,
    /// Rounds between two trials.
    pub trial: usize,
    /// Number of threads; the weights do not depend on it.
    pub threads: usize,
}

/// Result of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Round number from 1; 0 for the trial before the first round.
    pub round: usize,
    /// Mean reward per decision in the round.
    pub reward: f64,
    /// Critic's mean squared error relative to the variance of returns: 1 means that it explains nothing.
    pub unexplained: f64,
    /// Standard deviation of actions.
    pub deviation: f64,
    /// Fraction of decisions that triggered, for policies with a trigger.
    pub triggered: Option<f64>,
    /// Mean reward in the trials after this round, if there were any.
    pub trial: Option<f64>,
    /// Highest mean trial reward up to this round.
    pub best: f64,
    /// Number of decisions in the round.
    pub decisions: usize,
}

/// Result of a policy's training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// Settings of the training.
    pub options: Options,
    /// Policy with the highest mean reward in trials.
    pub policy: Network,
    /// Results of all rounds, beginning with round 0.
    pub updates: Vec<Update>,
    /// True if the training was stopped early.
    pub stopped: bool,
}

impl TrainedPolicy {
    /// Returns the total number of decisions it learned from.
    pub fn decisions(&self) -> usize {
        self.updates.iter().map(|update| update.decisions).sum()
    }
}

/// Environment of a policy with `SEEN` inputs and `ACTS` outputs and a critic with `KNOWN` inputs.
pub(crate) trait Practice<const SEEN: usize, const KNOWN: usize, const ACTS: usize> {
    /// Name of the training's checkpoint.
    const NAME: &'static str;
    /// Serialisable state between two rounds.
    type State: Serialize + DeserializeOwned;

    /// Runs the episodes of a round, and returns the flows' decisions.
    fn drive(
        &mut self,
        policy: Explorer<'_>,
        options: &Options,
    ) -> Result<Vec<Course<SEEN, KNOWN, ACTS>>, Error>;
    /// Returns the mean reward in trial networks, without random actions.
    fn trial(&self, policy: &Network, threads: usize) -> Result<f64, Error>;
    /// Returns its state for a checkpoint.
    fn state(&self) -> Self::State;
    /// Restores the state from a checkpoint.
    fn go_on_from(&mut self, state: Self::State) -> Result<(), Error>;
}

/// Checkpoint of a training between two rounds.
#[derive(Serialize, Deserialize)]
struct State<P> {
    learner: LearnerState,
    rng: Rng,
    practice: P,
    best: (f64, Floats),
    updates: Vec<Update>,
}

/// Returns the random stream `part` of a training.
pub(crate) fn stream(seed: u64, part: u64) -> Rng {
    Rng::stream(seed, Purpose::Training, (1 << 17) | part)
}

/// Trains a policy, from its checkpoint if there is one; `watch` is called after each round.
pub(crate) fn train<
    P: Practice<SEEN, KNOWN, ACTS>,
    const SEEN: usize,
    const KNOWN: usize,
    const ACTS: usize,
>(
    options: &Options,
    mut learner: Learner<SEEN, KNOWN, ACTS>,
    mut practice: P,
    checkpoints: &Checkpoints,
    watch: &mut dyn FnMut(&Update) -> Control,
) -> Result<TrainedPolicy, Error> {
    let mut rng = stream(options.seed, 1);
    let layers = learner.actor().layers().to_vec();
    let (mut best, mut updates, mut stopped);
    if let Some(state) = checkpoints.take::<State<P::State>>(P::NAME)? {
        learner.go_on_from(state.learner)?;
        practice.go_on_from(state.practice)?;
        rng = state.rng;
        best = (state.best.0, network(&layers, state.best.1)?);
        (updates, stopped) = (state.updates, false);
    } else {
        let first = practice.trial(learner.actor(), options.threads)?;
        best = (first, learner.actor().clone());
        updates = vec![Update {
            round: 0,
            reward: first,
            unexplained: 1.0,
            deviation: learner.deviation(),
            triggered: None,
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
        let courses = practice.drive(learner.explorer(), options)?;
        let decisions = courses.iter().map(|course| course.steps.len()).sum::<usize>();
        let mean = |of: &dyn Fn(&crate::ppo::Step<SEEN, KNOWN, ACTS>) -> f32| {
            let each = courses.iter().flat_map(|course| &course.steps);
            each.map(|step| f64::from(of(step))).sum::<f64>() / decisions.max(1) as f64
        };
        let reward = mean(&|step| step.reward);
        let triggered =
            (learner.chance() == Chance::Triggered).then(|| mean(&|step| step.action[0].min(1.0)));
        // The learning rate falls linearly over the rounds.
        let part = (round - 1) as f64 / options.rounds as f64;
        let unexplained = learner.learn(&courses, 1.0 - part, true, &mut rng);
        // Rewards in training include random actions and other networks, so only trials are compared.
        let tried = match round % options.trial == 0 || round == options.rounds {
            true => Some(practice.trial(learner.actor(), options.threads)?),
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
            triggered,
            trial: tried,
            best: best.0,
            decisions,
        };
        updates.push(update);
        stopped = watch(&update) == Control::Stop && round < options.rounds;
        if checkpoints.are_due() || stopped && checkpoints.are_quick() {
            let state = State {
                learner: learner.state(),
                rng: rng.clone(),
                practice: practice.state(),
                best: (best.0, Floats(best.1.values().to_vec())),
                updates: updates.clone(),
            };
            checkpoints.keep(P::NAME, &state)?;
        }
    }
    Ok(TrainedPolicy {
        options: options.clone(),
        policy: best.1,
        updates,
        stopped,
    })
}

/// Parts of a model's card that differ between schemes and trainings.
pub(crate) struct About<'a> {
    pub(crate) kind: ModelKind,
    pub(crate) name: &'a str,
    pub(crate) command: &'a str,
    pub(crate) learning_rate: f64,
    /// Flows whose rewards count together.
    pub(crate) rewards: &'a str,
}

/// Returns the model files of a trained policy.
pub(crate) fn files(about: About<'_>, trained: &TrainedPolicy) -> Result<ModelFiles, Error> {
    let rounds = trained.updates.len().saturating_sub(1) as u64;
    let seed = trained.options.seed;
    let card = Card {
        data: data(trained.decisions() as u64, &[course::MANY_TO_ONE], seed),
        training: Training {
            rounds,
            learning_rate: about.learning_rate,
            loss: format!("proximal policy optimisation (PPO), {}", about.rewards),
            ..training(about.command, BATCH, seed)
        },
        metrics: metrics(&trained.updates),
        ..card(about.kind, about.name)
    };
    policy::files(card, None, Some(&trained.policy))
}

/// Returns the negative trial rewards as the losses of a card.
fn metrics(updates: &[Update]) -> Metrics {
    let round = |update: &Update| {
        Some(RoundMetrics {
            round: update.round as u64,
            loss: -update.trial?,
            ..RoundMetrics::default()
        })
    };
    Metrics {
        rounds: updates.iter().filter_map(round).collect(),
        ..Metrics::default()
    }
}
