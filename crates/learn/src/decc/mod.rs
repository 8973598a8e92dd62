//! Training DECC's policy: multi-agent deterministic policy gradients with central critics, in the simulator; or proximal
//! policy optimisation with such a critic (`on_policy.rs`).
//!
//! 1. The policy clones a rule (`rule.rs`), in states that the rule meets, then in those that it meets itself.
//! 2. The critics learn what the clone is worth; the clone stays as it is.
//! 3. Both learn, stage after stage (`course.rs`), in networks that are drawn anew for each episode. An agent's reward is
//!    that of its bottleneck and a part of its own (`rule::shaping`), which fades in the last third of each stage.
//!
//! Every so often the policy drives flows of networks that it never learns in, and of all that it has been, the best
//! there is kept, the clone included: so a stage that spoils it costs nothing but time. A stage begins with the policy of
//! the one before, or with the clone where that is better there. A stage but the last
//! ends early when the policy was better than the rule three times in a row.
//!
//! # What is deterministic
//! The learner has a thread of its own; flows are driven beside it, by the policy as it was when the round began. So the
//! same options give the same weights, bit for bit, on any number of threads, also if it was stopped and goes on from its
//! checkpoint (`resume.rs`).

mod compress;
mod driver;
mod model;
mod on_policy;
mod replay;
mod resume;
mod round;
mod rule;
mod state;
mod td3;
mod tune;

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::layers::Network;
use paceline_kernel::rng::{Purpose, Rng};
pub use paceline_lab::run::Control;

use crate::checkpoint::Checkpoints;
pub use crate::course::{EVALUATION, SELECTION, Stage, TRAINING};
use crate::{Error, course};
pub use compress::{Asked, Compressed};
use driver::{Decider, Driver, Manner, judge, last};
pub use model::{files, files_of_compressed, policy_of};
use replay::Replay;
use resume::{Best, Part, State, UnderWay};
use serde::{Deserialize, Serialize};
use td3::Learner;
pub use tune::{Apart, Tuned, Tuning, tuned};

/// By what a policy learns, once it has cloned the rule.
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

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// By what it learns.
    pub by: By,
    /// Steps in which the policy clones the rule.
    pub clone: usize,
    /// Steps in which only the critics learn.
    pub critics: usize,
    /// What follows.
    pub stages: Vec<Stage>,
    /// Steps between two trials.
    pub trial: usize,
    /// Threads; the weights do not hang on them.
    pub threads: usize,
}

/// Rows of a sample.
pub const BATCH: usize = 192;
/// Transitions that are kept.
const ROOM: usize = 400_000;
/// Environments of a stage.
const DRIVERS: usize = 8;
/// Steps after which it is told how far it is.
const TOLD: usize = 500;
/// Steps of a round, and decisions of each environment in it.
const ROUND: usize = 50;
const DECISIONS: usize = 400;
/// Step of the optimiser that clones, at its beginning.
const CLONE_RATE: f64 = 1e-3;

const STAGES: [Stage; 2] = [
    Stage {
        name: "many to one",
        flows: (2, 16),
        wide: false,
        steps: 16_000,
    },
    Stage {
        name: "wide",
        flows: (2, 256),
        wide: true,
        steps: 8000,
    },
];

/// Where the rule is cloned.
const FIRST: Stage = Stage {
    name: "clone",
    flows: (2, 64),
    wide: true,
    steps: 0,
};

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            by: By::default(),
            clone: 20_000,
            critics: 6000,
            stages: STAGES.to_vec(),
            trial: 2000,
            threads: 2,
        }
    }
}

impl Options {
    /// A training that ends within seconds: it shows that it learns, not where it ends.
    pub fn quick(self) -> Self {
        let stage = Stage {
            steps: 200,
            ..STAGES[0]
        };
        Self {
            clone: 600,
            critics: 200,
            stages: vec![stage],
            trial: 200,
            ..self
        }
    }

    /// Steps in all.
    pub fn steps(&self) -> usize {
        let critics = match self.by {
            By::Gradients => self.critics,
            By::Proximal => 0,
        };
        self.clone + critics + self.stages.iter().map(|stage| stage.steps).sum::<usize>()
    }
}

/// How far it is: some steps, or a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// What is being done: `clone`, `critics`, or a stage's name.
    pub stage: String,
    /// Steps done, of all.
    pub step: usize,
    /// The mean loss since the last one.
    pub loss: f64,
    /// The mean reward in trials, of the policy and of the rule, where there was one.
    pub trial: Option<(f64, f64)>,
    /// The best policy's, among those of this stage.
    pub best: Option<f64>,
}

/// A policy that was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// How.
    pub options: Options,
    /// The policy.
    pub policy: Network,
    /// What it was told on the way.
    pub updates: Vec<Update>,
    /// Steps of it, and decisions that it learned from.
    pub steps: usize,
    /// See above.
    pub decisions: u64,
    /// Whether it was stopped early.
    pub stopped: bool,
}

/// The training under way.
struct Training<'a> {
    options: &'a Options,
    learner: Learner,
    /// The clone's numbers.
    clone: Vec<f32>,
    step: usize,
    decisions: u64,
    updates: Vec<Update>,
    checkpoints: &'a Checkpoints,
    watch: Watch<'a>,
    stopped: bool,
}

/// Called after every round, with an update where there is something to tell; may stop the training.
pub type Watch<'a> = &'a mut dyn FnMut(Option<&Update>) -> Control;

/// Trains, from its checkpoint if there is one.
///
/// # Errors
/// A scenario does not run, or a checkpoint cannot be read or written.
pub fn train(options: &Options, checkpoints: &Checkpoints, watch: Watch<'_>) -> Result<TrainedPolicy, Error> {
    let mut training = Training {
        learner: Learner::new(&mut stream(options.seed, 0, 0)),
        clone: Vec::new(),
        options,
        step: 0,
        decisions: 0,
        updates: Vec::new(),
        checkpoints,
        watch,
        stopped: false,
    };
    let state = checkpoints.take::<State>(resume::NAME)?;
    let begun = state.as_ref().map_or(0, |state| state.stage);
    let mut from = state.map(|state| training.go_on_from(state)).transpose()?;
    for number in begun..=options.stages.len() {
        match number.checked_sub(1) {
            None => training.begin(from.take())?,
            Some(place) => training.stage(number, options.stages[place], from.take())?,
        }
        if training.stopped {
            break;
        }
    }
    Ok(TrainedPolicy {
        options: options.clone(),
        policy: training.learner.actor().clone(),
        updates: training.updates,
        steps: training.step,
        decisions: training.decisions,
        stopped: training.stopped,
    })
}

/// Random numbers of a part of a stage.
fn stream(seed: u64, stage: usize, part: u64) -> Rng {
    Rng::stream(seed, Purpose::Training, (1 << 16) | ((stage as u64) << 8) | part)
}

impl Training<'_> {
    /// The environments of a stage, from its beginning or where they were.
    fn drivers(
        &self,
        number: usize,
        stage: Stage,
        from: Option<&mut UnderWay>,
    ) -> Result<Vec<Driver>, Error> {
        let driver = |place: usize| Driver::new(stage, stream(self.options.seed, number, 16 + place as u64));
        let mut drivers = (0..DRIVERS).map(driver).collect::<Result<Vec<_>, _>>()?;
        from.map_or(Ok(()), |from| from.restore(&mut drivers))?;
        Ok(drivers)
    }

    /// Tells how far it is.
    fn tell(&mut self, update: Update) {
        let control = (self.watch)(Some(&update));
        self.updates.push(update);
        self.stopped |= control == Control::Stop;
    }

    /// Clones the rule, then teaches the critics.
    fn begin(&mut self, from: Option<UnderWay>) -> Result<(), Error> {
        let teaches = |from: &UnderWay| matches!(from.part, Part::Teach(..));
        let (teaching, cloning) = match from {
            Some(from) if teaches(&from) => (Some(from), None),
            other => (None, other),
        };
        if teaching.is_none() {
            self.clone_rule(cloning)?;
            if self.stopped {
                return Ok(());
            }
            self.clone = self.learner.actor().values().to_vec();
            self.learner.settle();
        }
        match self.options.by {
            By::Gradients => self.teach(0, FIRST, self.options.critics, teaching),
            By::Proximal => Ok(()),
        }
    }

    fn clone_rule(&mut self, mut from: Option<UnderWay>) -> Result<(), Error> {
        let options = self.options;
        let mut rng = stream(options.seed, 0, 1);
        let mut drivers = self.drivers(0, FIRST, from.as_mut())?;
        let mut replay = Replay::new(DRIVERS, ROOM);
        let mut done = 0;
        if let Some(UnderWay {
            part: Part::Clone(kept),
            rng: was,
            done: steps,
            ..
        }) = from
        {
            (rng, done) = (was, steps);
            replay.go_on_from(kept)?;
        }
        while done < options.clone && !self.stopped {
            let steps = ROUND.min(options.clone - done);
            let policy = self.learner.actor().clone();
            // In states of the rule first, then in the policy's own, with some noise in both.
            let decider = match done < options.clone / 4 {
                true => Decider::Rule,
                false => Decider::Policy(&policy),
            };
            let manner = Manner {
                decider,
                noise: 0.2,
                shaping: 0.0,
            };
            let rate = CLONE_RATE * (1.0 - done as f64 / options.clone as f64);
            let loss = self.round(&mut drivers, &mut replay, manner, &mut |learner, replay| {
                let mut loss = 0.0;
                for _ in 0..steps {
                    let seen = replay.draw(BATCH, &mut rng).seen;
                    let rows = seen.as_chunks::<INPUTS>().0.iter();
                    let labels: Vec<f32> = rows.map(|row| rule::action(last(row))).collect();
                    loss += learner.clone_step(seen, &labels, rate) / steps as f64;
                }
                loss
            })?;
            done += steps;
            self.step += steps;
            self.report("clone", done, loss, None::<(f64, &Best<Network>)>);
            self.keep_if_due(0, || {
                UnderWay::new(done, &rng, &drivers, Part::Clone(replay.state()))
            })?;
        }
        Ok(())
    }

    /// A stage of the curriculum.
    fn stage(&mut self, number: usize, stage: Stage, from: Option<UnderWay>) -> Result<(), Error> {
        if from.is_some() {
            return self.learn(number, stage, from);
        }
        let clone = Network::new(self.learner.actor().layers(), self.clone.clone());
        let threads = self.options.threads;
        let of = |policy: &Network| trial(stage, Decider::Policy(policy), threads);
        if of(&clone)? > of(self.learner.actor())? {
            self.learner.act_as(clone);
        }
        self.learner.settle();
        self.learn(number, stage, None)
    }

    fn learn(&mut self, number: usize, stage: Stage, from: Option<UnderWay>) -> Result<(), Error> {
        match self.options.by {
            By::Gradients => self.teach(number, stage, stage.steps, from),
            By::Proximal => self.refine(number, stage, from),
        }
    }

    /// Learns for so many steps; with the number 0 the policy stays as it is.
    fn teach(
        &mut self,
        number: usize,
        stage: Stage,
        steps: usize,
        mut from: Option<UnderWay>,
    ) -> Result<(), Error> {
        let (options, moves) = (self.options, number > 0);
        let name = if moves { stage.name } else { "critics" };
        let mut rng = stream(options.seed, number, 2);
        let mut drivers = self.drivers(number, stage, from.as_mut())?;
        let mut replay = Replay::new(DRIVERS, ROOM);
        let mut best = Best::beside(0.0);
        let mut done = 0;
        if let Some(UnderWay {
            part: Part::Teach(kept, was_best),
            rng: was,
            done: steps,
            ..
        }) = from
        {
            (rng, done) = (was, steps);
            replay.go_on_from(kept)?;
            best = was_best.with(None);
            best.kept = was_best.kept.map(Learner::of_state).transpose()?;
        } else if moves {
            best.rule = trial(stage, Decider::Rule, options.threads)?;
            let first = trial(stage, Decider::Policy(self.learner.actor()), options.threads)?;
            best.offer(first, &self.learner);
            best.streak = 0;
            self.report(name, 0, 0.0, Some((first, &best)));
        }
        let last = number == options.stages.len();
        while done < steps && !self.stopped && (last || best.streak < 3) {
            let (now, part) = (ROUND.min(steps - done), done as f64 / steps as f64);
            let policy = self.learner.actor().clone();
            let manner = Manner {
                decider: Decider::Policy(&policy),
                noise: 0.15 - 0.1 * part,
                shaping: (3.0 - 3.0 * part).clamp(0.0, 1.0) as f32,
            };
            let loss = self.round(&mut drivers, &mut replay, manner, &mut |learner, replay| {
                let one = |_| learner.step(&replay.draw(BATCH, &mut rng), moves, &mut rng);
                (0..now).map(one).sum::<f64>() / now as f64
            })?;
            let before = done / options.trial;
            done += now;
            self.step += now;
            let tried = match moves && (done / options.trial > before || done == steps) {
                true => Some(trial(
                    stage,
                    Decider::Policy(self.learner.actor()),
                    options.threads,
                )?),
                false => None,
            };
            if let Some(reward) = tried {
                best.offer(reward, &self.learner);
            }
            self.report(name, done, loss, tried.map(|reward| (reward, &best)));
            self.keep_if_due(number, || {
                let kept = best.with(best.kept.as_ref().map(Learner::state));
                UnderWay::new(done, &rng, &drivers, Part::Teach(replay.state(), kept))
            })?;
        }
        if let Some(kept) = best.kept {
            self.learner = kept;
        }
        Ok(())
    }

    /// Tells of every trial, and every so many steps.
    fn report(&mut self, stage: &str, done: usize, loss: f64, tried: Option<(f64, &Best<impl Clone>)>) {
        if tried.is_none() && !done.is_multiple_of(TOLD) {
            self.stopped |= (self.watch)(None) == Control::Stop;
            return;
        }
        self.tell(Update {
            stage: stage.to_string(),
            step: self.step,
            loss,
            trial: tried.map(|(reward, best)| (reward, best.rule)),
            best: tried.map(|(_, best)| best.reward),
        });
    }
}

/// The mean reward over a stage's trials.
fn trial(stage: Stage, decider: Decider<'_>, threads: usize) -> Result<f64, Error> {
    let trials = course::trials(&stage);
    let each = paceline_lab::run::side_by_side(trials.len(), threads, &|place| {
        judge(&trials[place], decider, place as u64, &mut |_| ())
    });
    let rewards = each.into_iter().collect::<Result<Vec<f64>, Error>>()?;
    Ok(rewards.iter().sum::<f64>() / rewards.len() as f64)
}

#[cfg(test)]
mod tests;
