//! Simulations as environments for reinforcement learning, in the learner's process.
//!
//! Flows under the scheme `external` ask for actions. A run with such flows is an [`Environment`]:
//! 1. [`Environment::poll`] advances the run until actions are needed and returns the waiting agents, with
//!    their observations ([`Feature`]) and the rewards of their last actions ([`Reward`]);
//! 2. [`Environment::submit`] takes an action for each ([`Action`]), in the same order.
//!
//! # Time
//! The run is stopped between the two calls, and the real time to compute an action does not matter. In the
//! run's time an action takes effect `decision-latency` (L) after its question. With L above 0 a question at
//! time t needs no answer before t + L, so the run continues up to then. All questions in [t, t + L) form a
//! batch, and answering them together is exact, not an approximation. With L = 0 the run stops at each
//! instant with a question; with `clock = "aligned"` all flows ask at the same instants.
//!
//! # Agents
//! An agent is a flow, or all flows to one receiver ([`Agents`]). It appears with the first question of its
//! flow, and leaves when the flow is complete ([`Batch::left`]). With persistent connections the agent is the
//! queue pair, not the message: its scheme persists, so its counters continue from message to message,
//! including the time in between, and it leaves after its last message. (With `idle-reset` its sender may
//! restart; the agent stays.)
//!
//! # Determinism
//! The same scenario, seed and actions give bit-identical observations and rewards on any number of threads
//! ([`Vector`]). A [`Rollout`] contains the actions of an episode. With them the episode can be repeated and
//! examined like any run ([`Rollout::replay`]).

mod agents;
mod batch;
mod config;
mod environment;
mod episode;
mod error;
mod reward;
mod rollout;
mod vector;

pub use agents::Agents;
pub use batch::{Batch, Left};
pub use config::{Config, Source};
pub use environment::Environment;
pub use error::Error;
pub use paceline_congestion::agent::{Action, Feature, Measured};
pub use reward::Reward;
pub use rollout::Rollout;
pub use vector::Vector;
