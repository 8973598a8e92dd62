//! Result of a poll in flat arrays.

use paceline_congestion::agent::Measured;

/// Agents that wait for an action, with their observations, as rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Numbers per row of `observations`.
    pub width: usize,
    /// Environment index of each row.
    pub environments: Vec<u32>,
    /// Agent number of each row.
    pub agents: Vec<u32>,
    /// Time of each agent's question, in ps of its run.
    pub times: Vec<u64>,
    /// Observations in row-major order.
    pub observations: Vec<f32>,
    /// Reward since the agent's last action; 0 with its first question.
    pub rewards: Vec<f32>,
    /// True for an agent's first question, before which it had no action.
    pub firsts: Vec<bool>,
    /// Measurements since the agent's last question; empty unless [`crate::Config::measures`].
    pub measured: Vec<Measured>,
    /// Agents that have left since the last poll.
    pub left: Vec<Left>,
    /// Environments whose episode is over.
    pub over: Vec<u32>,
}

/// Agent that has left an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Index of its environment.
    pub environment: u32,
    /// Number of the agent.
    pub agent: u32,
    /// True if all flows of the agent (with connections: all messages) are complete; false if the episode
    /// ended first.
    pub complete: bool,
}

impl Batch {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Returns true if no agent waits for an action.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// Returns the observation in a row.
    pub fn observation(&self, row: usize) -> &[f32] {
        &self.observations[row * self.width..(row + 1) * self.width]
    }

    pub(crate) fn clear(&mut self, width: usize) {
        self.width = width;
        self.environments.clear();
        self.agents.clear();
        self.times.clear();
        self.observations.clear();
        self.rewards.clear();
        self.firsts.clear();
        self.measured.clear();
        self.left.clear();
        self.over.clear();
    }
}
