//! What a poll tells, in flat memory.

use paceline_congestion::agent::Measured;

/// Who waits for an action, and what they see: row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Numbers in a row of `observations`.
    pub width: usize,
    /// Each row's environment.
    pub environments: Vec<u32>,
    /// Each row's agent.
    pub agents: Vec<u32>,
    /// When it asked, in ps of its run.
    pub times: Vec<u64>,
    /// What it sees, row after row.
    pub observations: Vec<f32>,
    /// What came of its last action; 0 with its first question.
    pub rewards: Vec<f32>,
    /// Whether it is the agent's first question, which no action came before.
    pub firsts: Vec<bool>,
    /// What was measured since its last question; empty unless [`crate::Config::measures`].
    pub measured: Vec<Measured>,
    /// Who has left since the last poll.
    pub left: Vec<Left>,
    /// Environments whose episode is over.
    pub over: Vec<u32>,
}

/// An agent that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its environment.
    pub environment: u32,
    /// Who.
    pub agent: u32,
    /// Whether all of its flows are complete, of connections all messages; otherwise the episode is over.
    pub complete: bool,
}

impl Batch {
    /// Rows.
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// What the agent of a row sees.
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
