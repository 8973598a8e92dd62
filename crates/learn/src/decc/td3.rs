//! Learner with one policy for all agents and two critics that see all agents of a bottleneck (MADDPG with
//! shared parameters), plus the additions of TD3: the smaller of two critics, noise on the target's action,
//! and policy updates in every other step.

use paceline_congestion::decc::features::INPUTS;
use paceline_congestion::learned::kind::DECC;
use paceline_congestion::learned::layers::{Layer, Network, Units};
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use super::replay::Sample;
use super::state::GLOBAL;
use crate::Error;
use crate::checkpoint::Floats;
use crate::pass::{Fitted, FittedState, Pass, backward, first, forward, network};
use crate::rng::normal;

/// Inputs of a critic: all agents, one agent's features, its action.
const JOINT: usize = GLOBAL + INPUTS + 1;

/// Layers of a critic.
const CRITIC: [Layer; 4] = [
    Layer::new(JOINT, 128, Units::Rectified),
    Layer::new(128, 64, Units::Rectified),
    Layer::new(64, 32, Units::Rectified),
    Layer::new(32, 1, Units::Linear),
];

/// Step sizes of the optimisers.
const CRITIC_RATE: f64 = 1e-3;
const ACTOR_RATE: f64 = 3e-4;
/// Standard deviation of the noise on the target's action, from -1 to 1, and its bound.
const NOISE: (f64, f64) = (0.1, 0.2);
/// Share by which targets follow per step.
const FOLLOW: f32 = 0.005;

/// Policy, critics, and their target copies.
#[derive(Clone)]
pub(super) struct Learner {
    actor: Fitted,
    critics: [Fitted; 2],
    slow_actor: Network,
    slow_critics: [Network; 2],
    updates: u64,
}

/// State of a learner in a checkpoint.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct LearnerState {
    actor: FittedState,
    critics: [FittedState; 2],
    slow_actor: Floats,
    slow_critics: [Floats; 2],
    updates: u64,
}

impl Learner {
    pub(super) fn new(actor: Network, rng: &mut Rng) -> Self {
        let critics = [first(&CRITIC, rng), first(&CRITIC, rng)];
        Self::of(actor, critics)
    }

    fn of(actor: Network, critics: [Network; 2]) -> Self {
        Self {
            slow_actor: actor.clone(),
            slow_critics: critics.clone(),
            actor: Fitted::new(actor),
            critics: critics.map(Fitted::new),
            updates: 0,
        }
    }

    pub(super) fn state(&self) -> LearnerState {
        let values = |network: &Network| Floats(network.values().to_vec());
        LearnerState {
            actor: self.actor.state(),
            critics: self.critics.each_ref().map(Fitted::state),
            slow_actor: values(&self.slow_actor),
            slow_critics: self.slow_critics.each_ref().map(values),
            updates: self.updates,
        }
    }

    /// Restores a learner from [`Self::state`].
    pub(super) fn of_state(state: LearnerState) -> Result<Self, Error> {
        let ([one, two], [slow_one, slow_two]) = (state.critics, state.slow_critics);
        Ok(Self {
            actor: Fitted::of(&DECC, state.actor)?,
            critics: [Fitted::of(&CRITIC, one)?, Fitted::of(&CRITIC, two)?],
            slow_actor: network(&DECC, state.slow_actor)?,
            slow_critics: [network(&CRITIC, slow_one)?, network(&CRITIC, slow_two)?],
            updates: state.updates,
        })
    }

    pub(super) fn actor(&self) -> &Network {
        &self.actor.network
    }

    /// Learns from a sample, and moves the policy only if `moves`; returns the mean loss of the critics.
    pub(super) fn step(&mut self, sample: &Sample, moves: bool, rng: &mut Rng) -> f64 {
        let goals = self.goals(sample, rng);
        let joint = joined(&sample.all, &sample.seen, &sample.actions);
        let mut loss = 0.0;
        for critic in &mut self.critics {
            let pass = forward(&critic.network, goals.len(), joint.clone());
            let (by, own) = huber(&pass, &goals);
            loss += own / 2.0;
            let mut slope = vec![0.0; critic.network.values().len()];
            backward(&critic.network, &pass, by, Some(&mut slope));
            critic.step(&slope, CRITIC_RATE);
        }
        self.updates += 1;
        // TD3 delays the policy's updates, so that it follows critics that have improved.
        if self.updates.is_multiple_of(2) {
            if moves {
                self.move_actor(sample);
            }
            self.follow();
        }
        loss
    }

    /// Returns the targets of the critics.
    fn goals(&self, sample: &Sample, rng: &mut Rng) -> Vec<f32> {
        let rows = sample.rewards.len();
        let mut actions = forward(&self.slow_actor, rows, sample.next_seen.clone()).output;
        for action in &mut actions {
            // Noise on the target's action smooths the critics' estimates (TD3).
            let noise = (NOISE.0 * normal(rng)).clamp(-NOISE.1, NOISE.1);
            *action = (*action + noise as f32).clamp(-1.0, 1.0);
        }
        let joint = joined(&sample.next_all, &sample.next_seen, &actions);
        let said = (self.slow_critics.each_ref()).map(|critic| forward(critic, rows, joint.clone()).output);
        // The smaller of two estimates counteracts overestimation (TD3).
        let later = said[0].iter().zip(&said[1]).map(|(one, two)| one.min(*two));
        let each = sample.rewards.iter().zip(&sample.discounts).zip(later);
        each.map(|((reward, discount), later)| reward + discount * later)
            .collect()
    }

    /// Moves the policy up the first critic's slope.
    fn move_actor(&mut self, sample: &Sample) {
        let rows = sample.rewards.len();
        let pass = forward(&self.actor.network, rows, sample.seen.clone());
        let joint = joined(&sample.all, &sample.seen, &pass.output);
        let critic = &self.critics[0].network;
        let said = forward(critic, rows, joint);
        // Only the action's derivative is needed: the critic itself is not changed.
        let by = backward(critic, &said, vec![-1.0 / rows as f32; rows], None);
        let by_action = by.chunks_exact(JOINT).map(|row| row[JOINT - 1]).collect();
        let mut slope = vec![0.0; self.actor.network.values().len()];
        backward(&self.actor.network, &pass, by_action, Some(&mut slope));
        self.actor.step(&slope, ACTOR_RATE);
    }

    fn follow(&mut self) {
        let ([slow_one, slow_two], [one, two]) = (&mut self.slow_critics, &self.critics);
        let pairs = [
            (&mut self.slow_actor, &self.actor),
            (slow_one, one),
            (slow_two, two),
        ];
        for (slow, fast) in pairs {
            let values = slow.values_mut().iter_mut().zip(fast.network.values());
            values.for_each(|(slow, fast)| *slow += FOLLOW * (fast - *slow));
        }
    }
}

/// Returns the rows of a critic's input.
fn joined(all: &[f32], seen: &[f32], actions: &[f32]) -> Vec<f32> {
    let mut joint = Vec::with_capacity(actions.len() * JOINT);
    let rows = all.chunks_exact(GLOBAL).zip(seen.chunks_exact(INPUTS));
    for ((all, seen), action) in rows.zip(actions) {
        joint.extend_from_slice(all);
        joint.extend_from_slice(seen);
        joint.push(*action);
    }
    joint
}

/// Returns the derivatives of the mean Huber loss with respect to the outputs, and the loss.
fn huber(pass: &Pass, goals: &[f32]) -> (Vec<f32>, f64) {
    let rows = goals.len() as f32;
    let off = pass.output.iter().zip(goals).map(|(said, goal)| said - goal);
    let loss = off.clone().map(|off| {
        let size = f64::from(off.abs());
        if size <= 1.0 {
            0.5 * size * size
        } else {
            size - 0.5
        }
    });
    let loss = loss.sum::<f64>() / f64::from(rows);
    (off.map(|off| off.clamp(-1.0, 1.0) / rows).collect(), loss)
}
