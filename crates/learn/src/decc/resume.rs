//! Where a training is between two rounds, as its checkpoint has it.

use std::sync::{Mutex, PoisonError};

use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use super::driver::{Driver, DriverState};
use super::replay::ReplayState;
use super::td3::{Learner, LearnerState};
use super::{Training, Update};
use crate::checkpoint::Floats;
use crate::{Error, ppo};

/// The name of the checkpoint.
pub(super) const NAME: &str = "decc";

/// All that a training needs to go on.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    /// The stage that is under way.
    pub(super) stage: usize,
    step: usize,
    decisions: u64,
    updates: Vec<Update>,
    /// The clone's numbers.
    clone: Floats,
    learner: LearnerState,
    pub(super) under_way: UnderWay,
}

/// Where a stage is.
#[derive(Serialize, Deserialize)]
pub(super) struct UnderWay {
    /// Steps, or rounds, that are done.
    pub(super) done: usize,
    pub(super) rng: Rng,
    drivers: Vec<DriverState>,
    pub(super) part: Part,
}

/// What it is at.
#[derive(Serialize, Deserialize)]
pub(super) enum Part {
    /// The policy clones the rule.
    Clone(ReplayState),
    /// Critics learn, and the policy by them.
    Teach(ReplayState, Best<LearnerState>),
    /// Proximal policy optimisation.
    Refine(ppo::LearnerState, Best<Floats>),
}

impl UnderWay {
    /// Of environments that are one behind the other.
    pub(super) fn new(done: usize, rng: &Rng, drivers: &[Driver], part: Part) -> Self {
        Self {
            done,
            rng: rng.clone(),
            drivers: drivers.iter().map(Driver::state).collect(),
            part,
        }
    }

    /// The same of environments that are driven at a time.
    pub(super) fn of_locked(done: usize, rng: &Rng, drivers: &[Mutex<Driver>], part: Part) -> Self {
        let state = |driver: &Mutex<Driver>| driver.lock().unwrap_or_else(PoisonError::into_inner).state();
        Self {
            done,
            rng: rng.clone(),
            drivers: drivers.iter().map(state).collect(),
            part,
        }
    }

    /// Brings new environments of the stage to where those were.
    pub(super) fn restore(&mut self, drivers: &mut [Driver]) -> Result<(), Error> {
        let states = std::mem::take(&mut self.drivers);
        let mut each = drivers.iter_mut().zip(states);
        each.try_for_each(|(driver, state)| driver.go_on_from(state))
    }
}

impl Training<'_> {
    /// Writes a checkpoint if it is time for one.
    pub(super) fn keep_if_due(
        &self,
        stage: usize,
        under_way: impl FnOnce() -> UnderWay,
    ) -> Result<(), Error> {
        if !(self.checkpoints.are_due() || self.stopped && self.checkpoints.are_quick()) {
            return Ok(());
        }
        let state = State {
            stage,
            step: self.step,
            decisions: self.decisions,
            updates: self.updates.clone(),
            clone: Floats(self.clone.clone()),
            learner: self.learner.state(),
            under_way: under_way(),
        };
        self.checkpoints.keep(NAME, &state)
    }

    /// Takes over a checkpoint; what is left is for its stage.
    pub(super) fn go_on_from(&mut self, state: State) -> Result<UnderWay, Error> {
        self.learner = Learner::of_state(state.learner)?;
        (self.step, self.decisions, self.updates) = (state.step, state.decisions, state.updates);
        self.clone = state.clone.0;
        Ok(state.under_way)
    }
}

/// The best policy of a stage so far, and all that goes with it.
#[derive(Serialize, Deserialize)]
pub(super) struct Best<T> {
    pub(super) kept: Option<T>,
    pub(super) reward: f64,
    /// The rule's reward, and how often in a row the policy's was above it.
    pub(super) rule: f64,
    pub(super) streak: usize,
}

impl<T> Best<T> {
    /// None yet.
    pub(super) const fn beside(rule: f64) -> Self {
        Self {
            kept: None,
            reward: 0.0,
            rule,
            streak: 0,
        }
    }

    /// The same with another form of what is kept.
    pub(super) fn with<U>(&self, kept: Option<U>) -> Best<U> {
        Best {
            kept,
            reward: self.reward,
            rule: self.rule,
            streak: self.streak,
        }
    }

    /// Takes what `offered` makes if that is better.
    pub(super) fn offer(&mut self, reward: f64, offered: &T)
    where
        T: Clone,
    {
        if self.kept.is_none() || reward > self.reward {
            (self.kept, self.reward) = (Some(offered.clone()), reward);
        }
        self.streak = if reward > self.rule { self.streak + 1 } else { 0 };
    }
}
