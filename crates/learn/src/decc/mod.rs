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
//! same options give the same weights, bit for bit, on any number of threads. A stage begins with nothing but the
//! networks of the one before ([`Reached`]), so one that is resumed comes to the same.

mod compress;
mod driver;
mod model;
mod on_policy;
mod replay;
mod rule;
mod state;
mod td3;
mod tune;

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::layers::Network;
use paceline_kernel::rng::{Purpose, Rng};
pub use paceline_lab::run::Control;

pub use crate::course::{EVALUATION, SELECTION, Stage, TRAINING};
use crate::{Error, course};
pub use compress::{Asked, Compressed};
use driver::{Decider, Driver, Manner, judge, last};
pub use model::{Reached, files, files_of_compressed, policy_of};
use replay::{Replay, Transition};
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
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// What is being done: `clone`, `critics`, or a stage's name.
    pub stage: &'static str,
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
    watch: &'a mut dyn FnMut(&Update) -> Control,
    stopped: bool,
}

/// Trains; `watch` is told how far it is, and `reached` what a training may be resumed with.
///
/// # Errors
/// A scenario does not run.
pub fn train(
    options: &Options,
    from: Option<Reached>,
    watch: &mut dyn FnMut(&Update) -> Control,
    reached: &mut dyn FnMut(&Reached) -> Result<(), Error>,
) -> Result<TrainedPolicy, Error> {
    let mut training = Training {
        learner: Learner::new(&mut stream(options.seed, 0, 0)),
        clone: Vec::new(),
        options,
        step: 0,
        decisions: 0,
        updates: Vec::new(),
        watch,
        stopped: false,
    };
    let begun = from.as_ref().map_or(0, |from| from.stage);
    if let Some(from) = from {
        training.take_over(from)?;
    }
    for number in begun..=options.stages.len() {
        match number.checked_sub(1) {
            None => training.begin()?,
            Some(place) => training.stage(number, options.stages[place])?,
        }
        if training.stopped {
            break;
        }
        reached(&training.reached(number + 1))?;
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
    fn take_over(&mut self, from: Reached) -> Result<(), Error> {
        self.learner = Learner::of_values(&from.values)
            .ok_or_else(|| Error::Options("the checkpoint has networks of another size".to_string()))?;
        (self.step, self.decisions, self.clone) = (from.step, from.decisions, from.clone);
        Ok(())
    }

    fn reached(&self, stage: usize) -> Reached {
        Reached {
            seed: self.options.seed,
            by: self.options.by,
            stage,
            step: self.step,
            decisions: self.decisions,
            values: self.learner.values(),
            clone: self.clone.clone(),
        }
    }

    fn drivers(&self, number: usize, stage: Stage) -> Result<Vec<Driver>, Error> {
        let driver = |place: usize| Driver::new(stage, stream(self.options.seed, number, 16 + place as u64));
        (0..DRIVERS).map(driver).collect()
    }

    /// Tells how far it is.
    fn tell(&mut self, update: Update) {
        let control = (self.watch)(&update);
        self.updates.push(update);
        self.stopped |= control == Control::Stop;
    }

    /// Clones the rule, then teaches the critics.
    fn begin(&mut self) -> Result<(), Error> {
        let options = self.options;
        let mut rng = stream(options.seed, 0, 1);
        let mut drivers = self.drivers(0, FIRST)?;
        let mut replay = Replay::new(DRIVERS, ROOM);
        let mut done = 0;
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
        }
        if self.stopped {
            return Ok(());
        }
        self.clone = self.learner.actor().values().to_vec();
        self.learner.settle();
        match options.by {
            By::Gradients => self.teach(0, FIRST, options.critics),
            By::Proximal => Ok(()),
        }
    }

    /// A stage of the curriculum.
    fn stage(&mut self, number: usize, stage: Stage) -> Result<(), Error> {
        let clone = Network::new(self.learner.actor().layers(), self.clone.clone());
        let threads = self.options.threads;
        let of = |policy: &Network| trial(stage, Decider::Policy(policy), threads);
        if of(&clone)? > of(self.learner.actor())? {
            self.learner.act_as(clone);
        }
        self.learner.settle();
        match self.options.by {
            By::Gradients => self.teach(number, stage, stage.steps),
            By::Proximal => self.refine(number, stage),
        }
    }

    /// A round: flows are driven while the learner learns from what was there before.
    fn round(
        &mut self,
        drivers: &mut [Driver],
        replay: &mut Replay,
        manner: Manner<'_>,
        learn: &mut dyn FnMut(&mut Learner, &Replay) -> f64,
    ) -> Result<f64, Error> {
        let (learner, threads) = (&mut self.learner, self.options.threads);
        let drive = |drivers: &mut [Driver]| -> Result<Vec<Vec<Transition>>, Error> {
            let each = drivers.iter_mut().map(|driver| driver.drive(manner, DECISIONS));
            each.map(|driven| driven.map(|(transitions, _)| transitions))
                .collect()
        };
        let (driven, loss) = if replay.is_empty() {
            (drive(drivers)?, None)
        } else if threads < 2 {
            (drive(drivers)?, Some(learn(learner, replay)))
        } else {
            std::thread::scope(|scope| {
                let driving = scope.spawn(|| drive(drivers));
                let loss = learn(learner, replay);
                let driven = driving
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                driven.map(|driven| (driven, Some(loss)))
            })?
        };
        for (source, transitions) in driven.into_iter().enumerate() {
            self.decisions += transitions.len() as u64;
            transitions.into_iter().for_each(|one| replay.push(source, one));
        }
        Ok(match loss {
            Some(loss) => loss,
            None => learn(&mut self.learner, replay),
        })
    }

    /// Learns for so many steps; with the number 0 the policy stays as it is.
    fn teach(&mut self, number: usize, stage: Stage, steps: usize) -> Result<(), Error> {
        let (options, moves) = (self.options, number > 0);
        let name = if moves { stage.name } else { "critics" };
        let mut rng = stream(options.seed, number, 2);
        let mut drivers = self.drivers(number, stage)?;
        let mut replay = Replay::new(DRIVERS, ROOM);
        let mut best = Best::beside(0.0);
        if moves {
            best.rule = trial(stage, Decider::Rule, options.threads)?;
            let first = trial(stage, Decider::Policy(self.learner.actor()), options.threads)?;
            best.offer(first, &self.learner);
            best.streak = 0;
            self.report(name, 0, 0.0, Some((first, &best)));
        }
        let last = number == options.stages.len();
        let mut done = 0;
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
        }
        if let Some(kept) = best.kept {
            self.learner = kept;
        }
        Ok(())
    }

    /// Tells of every trial, and every so many steps.
    fn report(
        &mut self,
        stage: &'static str,
        done: usize,
        loss: f64,
        tried: Option<(f64, &Best<impl Clone>)>,
    ) {
        if tried.is_none() && !done.is_multiple_of(TOLD) {
            return;
        }
        self.tell(Update {
            stage,
            step: self.step,
            loss,
            trial: tried.map(|(reward, best)| (reward, best.rule)),
            best: tried.map(|(_, best)| best.reward),
        });
    }
}

/// The best policy of a stage so far, and all that goes with it.
struct Best<T> {
    kept: Option<T>,
    reward: f64,
    /// The rule's reward, and how often in a row the policy's was above it.
    rule: f64,
    streak: usize,
}

impl<T: Clone> Best<T> {
    /// None yet.
    const fn beside(rule: f64) -> Self {
        Self {
            kept: None,
            reward: 0.0,
            rule,
            streak: 0,
        }
    }

    fn offer(&mut self, reward: f64, learner: &T) {
        if self.kept.is_none() || reward > self.reward {
            (self.kept, self.reward) = (Some(learner.clone()), reward);
        }
        self.streak = if reward > self.rule { self.streak + 1 } else { 0 };
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
