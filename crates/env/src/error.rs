//! What can go wrong, for people.

use paceline_congestion::agent::Unknown;
use paceline_fabric::BuildError;
use paceline_lab::run::RunError;
use paceline_scenario::Diagnostics;

/// Why there is no environment, or it refuses.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario is wrong.
    #[error("{0}")]
    Scenario(#[from] Diagnostics),
    /// The network cannot be built.
    #[error("cannot build scenario `{scenario}`: {source}")]
    Build {
        /// The scenario's name.
        scenario: String,
        /// Why.
        source: BuildError,
    },
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Nobody asks in this scenario.
    #[error(
        "scenario `{scenario}` has no agents: {why}; expected at least one flow under the scheme `external`"
    )]
    NoAgents {
        /// The scenario's name.
        scenario: String,
        /// Why not.
        why: String,
    },
    /// There is nothing of that name.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The configuration contradicts itself, or the scenario.
    #[error("{key}: {message}")]
    Config {
        /// Which entry.
        key: &'static str,
        /// What is wrong, and what was expected.
        message: String,
    },
    /// Not as many actions as agents that wait.
    #[error(
        "{found} actions for {expected} agents that wait: expected one for each, in the order of the poll"
    )]
    Shape {
        /// How many came.
        found: usize,
        /// How many wait.
        expected: usize,
    },
    /// An action is not a number.
    #[error("the action for agent {agent} is {value}; expected a number from {low} to {high}")]
    NotANumber {
        /// Whose.
        agent: u32,
        /// What came.
        value: f32,
        /// The least.
        low: f32,
        /// The largest.
        high: f32,
    },
    /// An action for somebody who does not wait.
    #[error("agent {agent} {why}: expected actions for the agents of the last poll")]
    NotWaiting {
        /// Who.
        agent: u32,
        /// Why not.
        why: &'static str,
    },
    /// Nothing was asked.
    #[error("there is nothing to answer: expected a poll before")]
    NotPolled,
    /// The episode is over.
    #[error("the episode is over, at {now}: expected a reset")]
    Over {
        /// When it ended.
        now: paceline_kernel::Time,
    },
    /// The environment is closed.
    #[error("the environment is closed: make another")]
    Closed,
    /// There is no such environment.
    #[error("there is no environment {found}: expected one of 0 to {last}")]
    NoEnvironment {
        /// What was asked for.
        found: usize,
        /// The last.
        last: usize,
    },
    /// Actions that are replayed are not of this environment.
    #[error("the rollout does not fit: at poll {poll} {message}")]
    Rollout {
        /// Where, from 1.
        poll: usize,
        /// What is different.
        message: String,
    },
}
