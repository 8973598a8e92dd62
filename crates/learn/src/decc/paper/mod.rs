//! The policy as the paper prints it: its network, its state, its reward, and multi-agent deterministic
//! policy gradients (MADDPG) with one policy for all flows and a critic that sees the whole network.
//!
//! Where the paper contradicts itself:
//! * (10) has the gradient of a policy's log-likelihood; the text and its source have the deterministic
//!   gradient, which is used here: the policy ascends the critic's derivative with respect to its action.
//! * (11) has `Q - r + gamma Q'`; here the critic's target for Q is `r + gamma Q'`.
//! * (4), (5), (6) and (8): `practice.rs`.
//!
//! Choices where the paper is silent: noise and target updates are those of deep deterministic policy
//! gradients; the critic's recurrent state starts at zero for each decision; a window of five decisions is
//! read at once; and inputs are logarithms, because a flow's share may be 1 or 1/8192 of a line.

mod actor;
mod practice;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use paceline_congestion::external::Feedback;
use paceline_congestion::learned::Model;
use paceline_congestion::learned::layers::{Layer, Network, Units};
use paceline_kernel::Span;
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

pub(super) use self::actor::files;
use self::actor::{Actor, MEMORY, READ, follow};
use self::practice::{Manner, practise};
use super::practice::{Episode, all_of};
use super::replay::{self, Sample};
use crate::Error;
use crate::checkpoint::Floats;
use crate::pass::{Fitted, FittedState, backward, first, forward, network};
use crate::write::ModelFiles;

/// Inputs of a flow: those of its policy, and the recurrent state.
const SEEN: usize = READ + MEMORY;
/// Global features of the network and its flows: table 1.
const ALL: usize = 12;

pub(super) type Transition = replay::Transition<SEEN, ALL>;
type Replay = replay::Replay<SEEN, ALL>;

/// Inputs of the critic: all flows, one flow's features, its action.
const JOINT: usize = ALL + READ + 1;
/// Layers of the critic: the policy's, with the first step of a recurrent layer.
const CRITIC: [Layer; 6] = [
    Layer::new(JOINT, 128, Units::Rectified),
    Layer::new(128, 64, Units::Rectified),
    Layer::new(64, 32, Units::Rectified),
    Layer::new(32, 32, Units::Cell),
    Layer::new(32, 16, Units::Rectified),
    Layer::new(16, 1, Units::Linear),
];

/// Rows per sample; `RATE` is the step size of both optimisers (table 5).
const BATCH: usize = 192;
pub(super) const RATE: f64 = 1e-3;
/// Share by which targets follow per step.
const FOLLOW: f32 = 0.005;
/// Capacity of the replay memory; `KEPT` is the limit per episode.
const ROOM: usize = 60_000;
const KEPT: usize = 2000;

/// Policy, critic, their target copies, and the replay memory.
pub(super) struct Learner {
    actor: Actor,
    critic: Fitted,
    slow_actor: Actor,
    slow_critic: Network,
    replay: Replay,
    /// True if each flow has its own reward.
    own_reward: bool,
}

/// State of a learner in a checkpoint.
#[derive(Serialize, Deserialize)]
pub(super) struct LearnerState {
    actor: Vec<FittedState>,
    critic: FittedState,
    slow_actor: Vec<FittedState>,
    slow_critic: Floats,
    replay: replay::ReplayState,
}

impl Learner {
    /// Creates a learner, with or without a recurrent layer, for separate or common rewards.
    pub(super) fn new(remembers: bool, own_reward: bool, sources: usize, rng: &mut Rng) -> Self {
        let (actor, critic) = (Actor::new(remembers, rng), first(&CRITIC, rng));
        Self {
            slow_actor: actor.clone(),
            slow_critic: critic.clone(),
            actor,
            critic: Fitted::new(critic),
            replay: Replay::new(sources, ROOM),
            own_reward,
        }
    }

    pub(super) fn values(&self) -> Vec<f32> {
        self.actor.values()
    }

    /// Returns the policy's model files.
    pub(super) fn files(&self) -> Result<ModelFiles, Error> {
        files("candidate", &self.values(), self.actor.remembers, "")
    }

    /// Runs episodes under the policy with noise; returns the number of stored decisions and the sum of their
    /// rewards. In half of the episodes switches send replies.
    pub(super) fn practise(
        &mut self,
        episodes: Vec<Episode>,
        noise: f64,
        threads: usize,
        model: &Arc<Model>,
    ) -> Result<(usize, f64), Error> {
        let manner = |feedback| Manner {
            model: Arc::clone(model),
            feedback,
            noise,
            kept: KEPT,
            own_reward: self.own_reward,
        };
        let episodes: Vec<Episode> = episodes
            .into_iter()
            .map(|episode| Episode {
                latency: Span::ZERO,
                ..episode
            })
            .collect();
        let met = all_of(&episodes, threads, &|episode| {
            let feedback = if episode.seed % 2 == 0 {
                Feedback::SwitchAck
            } else {
                Feedback::Ack
            };
            practise(episode, &manner(feedback))
        })?;
        let (mut count, mut rewards) = (0, 0.0);
        for (source, transitions) in met.into_iter().enumerate() {
            for one in transitions {
                (count, rewards) = (count + 1, rewards + f64::from(one.reward));
                self.replay.push(source, one);
            }
        }
        Ok((count, rewards))
    }

    /// Learns for a round; returns the critic's mean loss.
    pub(super) fn learn(&mut self, steps: usize, rng: &mut Rng) -> f64 {
        let one = |_| {
            let sample = self.replay.draw(BATCH, rng);
            self.step(&sample)
        };
        (0..steps).map(one).sum::<f64>() / steps.max(1) as f64
    }

    /// Makes a step of critic and policy; returns the critic's mean square error.
    fn step(&mut self, sample: &Sample) -> f64 {
        let rows = sample.rewards.len();
        // Targets of the critic, by (11).
        let next = self.slow_actor.forward(rows, &sample.next_seen);
        let joint = joined(&sample.next_all, &sample.next_seen, next.actions());
        let later = forward(&self.slow_critic, rows, joint).output;
        let goals = sample.rewards.iter().zip(&sample.discounts).zip(later);
        let goals = goals.map(|((reward, discount), later)| reward + discount * later);
        let pass = forward(
            &self.critic.network,
            rows,
            joined(&sample.all, &sample.seen, &sample.actions),
        );
        let off: Vec<f32> = pass
            .output
            .iter()
            .zip(goals)
            .map(|(said, goal)| said - goal)
            .collect();
        let loss = off.iter().map(|off| f64::from(off * off)).sum::<f64>() / rows as f64;
        let mut slope = vec![0.0; self.critic.network.values().len()];
        let by = off.iter().map(|off| 2.0 * off / rows as f32).collect();
        backward(&self.critic.network, &pass, by, Some(&mut slope));
        self.critic.step(&slope, RATE);
        // (10), deterministic: ascend the critic's derivative with respect to the action.
        let passes = self.actor.forward(rows, &sample.seen);
        let critic = &self.critic.network;
        let said = forward(critic, rows, joined(&sample.all, &sample.seen, passes.actions()));
        let by = backward(critic, &said, vec![-1.0 / rows as f32; rows], None);
        let by_action = by.chunks_exact(JOINT).map(|row| row[JOINT - 1]).collect();
        self.actor.step(&passes, by_action, RATE);
        // Targets that follow slowly keep the critic's goals stable.
        self.slow_actor.follow(&self.actor, FOLLOW);
        follow(&mut self.slow_critic, &self.critic.network, FOLLOW);
        loss
    }

    pub(super) fn state(&self) -> LearnerState {
        LearnerState {
            actor: self.actor.state(),
            critic: self.critic.state(),
            slow_actor: self.slow_actor.state(),
            slow_critic: Floats(self.slow_critic.values().to_vec()),
            replay: self.replay.state(),
        }
    }

    pub(super) fn go_on_from(&mut self, state: LearnerState) -> Result<(), Error> {
        self.actor.go_on_from(state.actor)?;
        self.critic = Fitted::of(&CRITIC, state.critic)?;
        self.slow_actor.go_on_from(state.slow_actor)?;
        self.slow_critic = network(&CRITIC, state.slow_critic)?;
        self.replay.go_on_from(state.replay)
    }
}

/// Returns the rows of the critic's input.
fn joined(all: &[f32], seen: &[f32], actions: &[f32]) -> Vec<f32> {
    let rows = all.chunks_exact(ALL).zip(seen.chunks_exact(SEEN)).zip(actions);
    let rows = rows.flat_map(|((all, seen), action)| all.iter().chain(&seen[..READ]).chain([action]));
    rows.copied().collect()
}
