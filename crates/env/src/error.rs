//! Errors, as texts for users.

use paceline_congestion::agent::Unknown;
use paceline_fabric::BuildError;
use paceline_lab::run::RunError;
use paceline_scenario::Diagnostics;

/// Reason for which an environment cannot be made or rejects a call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Scenario with errors in its text or settings.
    #[error("{0}")]
    Scenario(#[from] Diagnostics),
    /// Network that cannot be built.
    #[error("cannot build scenario `{scenario}`: {source}")]
    Build {
        /// Name of the scenario.
        scenario: String,
        /// Reason from the fabric.
        source: BuildError,
    },
    /// Failed run of the laboratory.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Scenario without flows that ask for actions.
    #[error(
        "scenario `{scenario}` has no agents: {why}; expected at least one flow under the scheme `external`"
    )]
    NoAgents {
        /// Name of the scenario.
        scenario: String,
        /// Reason in words for users.
        why: String,
    },
    /// Unknown name of a feature, action, reward or grouping.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// Configuration that is inconsistent or does not fit the scenario.
    #[error("{key}: {message}")]
    Config {
        /// Name of the entry.
        key: &'static str,
        /// Error and expected value.
        message: String,
    },
    /// Number of actions that differs from the number of waiting agents.
    #[error(
        "{found} actions for {expected} agents that wait: expected one for each, in the order of the poll"
    )]
    Shape {
        /// Number of submitted actions.
        found: usize,
        /// Number of waiting agents.
        expected: usize,
    },
    /// Action that is not a finite number.
    #[error("the action for agent {agent} is {value}; expected a number from {low} to {high}")]
    NotANumber {
        /// Agent of the action.
        agent: u32,
        /// Value of the action.
        value: f32,
        /// Lower limit of actions.
        low: f32,
        /// Upper limit of actions.
        high: f32,
    },
    /// Action for an agent that does not wait.
    #[error("agent {agent} {why}: expected actions for the agents of the last poll")]
    NotWaiting {
        /// Number of the agent.
        agent: u32,
        /// Reason for which it does not wait.
        why: &'static str,
    },
    /// Actions without a preceding poll.
    #[error("there is nothing to answer: expected a poll before")]
    NotPolled,
    /// Call after the end of the episode.
    #[error("the episode is over, at {now}: expected a reset")]
    Over {
        /// End of the episode.
        now: paceline_kernel::Time,
    },
    /// Call of a closed environment.
    #[error("the environment is closed: make another")]
    Closed,
    /// Index without an environment.
    #[error("there is no environment {found}: expected one of 0 to {last}")]
    NoEnvironment {
        /// Index in the call.
        found: usize,
        /// Highest index in use.
        last: usize,
    },
    /// Replayed actions that do not fit this environment.
    #[error("the rollout does not fit: at poll {poll} {message}")]
    Rollout {
        /// Number of the poll, from 1.
        poll: usize,
        /// Difference between rollout and environment.
        message: String,
    },
}
