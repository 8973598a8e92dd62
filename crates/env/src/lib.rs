//! Simulations as environments for learning, in the process of the one who learns.
//!
//! Flows under the scheme `external` ask what to do; a run with such flows is an [`Environment`]:
//! 1. [`Environment::poll`] lets the run go on until answers are needed, and tells which agents wait and what each of
//!    them sees ([`Feature`]), and what came of its last action ([`Reward`]);
//! 2. [`Environment::submit`] takes an action for each ([`Action`]), in the same order.
//!
//! # How time works
//! The run stands still between the two calls, however long the answer takes in this world. In the run's own time an
//! answer takes effect `decision-latency` (L) after its question. With L above 0 nobody who asks at t needs an answer
//! before t + L, so the run goes on up to there: all that is asked in [t, t + L) is one batch, and to answer it at once
//! is exact, not an approximation. With L = 0 the run stops at each instant in which somebody asks; with
//! `clock = "aligned"` all flows ask at the same instants.
//!
//! # Agents
//! An agent is a flow, or all flows to one receiver ([`Agents`]). It appears with the first question of its flow, and
//! leaves when that is complete ([`Batch::left`]). Over persistent connections it is the queue pair that asks, not the
//! message: its scheme lives on, so what it counts goes on from message to message, the time between two of them
//! included, and it leaves with its last. (With `idle-reset` its sender may begin again; the agent stays.)
//!
//! # What is deterministic
//! All of it: the same scenario, seed and actions give the same observations and rewards, to the bit, on any number of
//! threads ([`Vector`]). A [`Rollout`] is the actions of an episode; with them the episode is made again, and looked at
//! as any run is ([`Rollout::replay`]).

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
