//! Policies that learn by proximal policy optimisation, round by round: flows decide by the policy and some chance, and the
//! policy goes towards what was better than a critic expected. Every so often it decides without chance in networks that it
//! never learns in, and of all that it has been the best there is kept.
//!
//! # What is deterministic
//! Flows are put together in one order: the same options give the same weights, bit for bit, on any number of threads,
//! also if the training was stopped and goes on from its checkpoint.

use paceline_congestion::learned::card::{Card, Metrics, RoundMetrics, Training};
use paceline_congestion::learned::kind::Kind;
use paceline_congestion::learned::layers::Network;
use paceline_kernel::rng::{Purpose, Rng};
pub use paceline_lab::run::Control;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoints, Floats};
use crate::pass::network;
use crate::policy::{self, card, data, training};
use crate::ppo::{BATCH, Chance, Course, Learner, LearnerState};
use crate::write::ModelFiles;
use crate::{Error, course};

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Rounds.
    pub rounds: usize,
    /// Rounds between two trials.
    pub trial: usize,
    /// Threads; the weights do not hang on them.
    pub threads: usize,
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
    /// The share of decisions that triggered, of policies that do not always.
    pub triggered: Option<f64>,
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

/// What flows go through in the rounds of a policy that reads `SEEN` numbers and does `ACTS`, with a critic that reads `KNOWN`.
pub(crate) trait Practice<const SEEN: usize, const KNOWN: usize, const ACTS: usize> {
    /// The name of its checkpoint.
    const NAME: &'static str;
    /// Where it is between two rounds.
    type State: Serialize + DeserializeOwned;

    /// What flows go through in a round, by a policy and a deviation from it.
    fn drive(
        &mut self,
        manner: (&Network, f64),
        options: &Options,
    ) -> Result<Vec<Course<SEEN, KNOWN, ACTS>>, Error>;
    /// The mean reward in networks that nobody learns in, without chance.
    fn trial(&self, policy: &Network, threads: usize) -> Result<f64, Error>;
    /// As a checkpoint has it.
    fn state(&self) -> Self::State;
    /// Goes on from what a checkpoint has.
    fn go_on_from(&mut self, state: Self::State) -> Result<(), Error>;
}

/// Where a training is, between two rounds.
#[derive(Serialize, Deserialize)]
struct State<P> {
    learner: LearnerState,
    rng: Rng,
    practice: P,
    best: (f64, Floats),
    updates: Vec<Update>,
}

/// Random numbers of a part of a training.
pub(crate) fn stream(seed: u64, part: u64) -> Rng {
    Rng::stream(seed, Purpose::Training, (1 << 17) | part)
}

/// Trains, from its checkpoint if there is one; `watch` is told what came of each round.
pub(crate) fn train<
    P: Practice<SEEN, KNOWN, ACTS>,
    const SEEN: usize,
    const KNOWN: usize,
    const ACTS: usize,
>(
    options: &Options,
    (mut learner, mut practice): (Learner<SEEN, KNOWN, ACTS>, P),
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
        let courses = practice.drive((learner.actor(), learner.deviation()), options)?;
        let decisions = courses.iter().map(|course| course.steps.len()).sum::<usize>();
        let mean = |of: &dyn Fn(&crate::ppo::Step<SEEN, KNOWN, ACTS>) -> f32| {
            let each = courses.iter().flat_map(|course| &course.steps);
            each.map(|step| f64::from(of(step))).sum::<f64>() / decisions.max(1) as f64
        };
        let reward = mean(&|step| step.reward);
        let triggered =
            (learner.chance() == Chance::Triggered).then(|| mean(&|step| step.action[0].min(1.0)));
        let part = (round - 1) as f64 / options.rounds as f64;
        let unexplained = learner.learn(&courses, (1.0 - part, true), &mut rng);
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

/// The weights of a policy of this kind, and its card.
pub(crate) fn files(
    kind: Kind,
    (name, command): (&str, &str),
    (learning_rate, loss): (f64, &str),
    trained: &TrainedPolicy,
) -> Result<ModelFiles, Error> {
    let rounds = trained.updates.len().saturating_sub(1) as u64;
    let seed = trained.options.seed;
    let card = Card {
        data: data(trained.decisions() as u64, &[course::MANY_TO_ONE], seed),
        training: Training {
            rounds,
            learning_rate,
            loss: format!("proximal policy optimisation (PPO), {loss}"),
            ..training(command, BATCH, seed)
        },
        metrics: metrics(&trained.updates),
        ..card(kind, name)
    };
    policy::files(card, None, Some(&trained.policy))
}

/// The reward in trials, as a loss.
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
