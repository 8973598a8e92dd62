//! Packets, links, switches and NICs of a lossless network, and the loop that runs them.
//!
//! A packet's way through the files: a flow starts (`traffic/start`), its NIC picks it and stamps a
//! packet (`host/nic`), the link carries it (`link`), a switch admits it (`buffer`), queues it, lets it
//! go, marks and stamps it (`switch`, `telemetry`), the receiver answers (`host/receiver`), and the answer
//! comes back to the sender's scheme (`host/sender`).

// The harness of the integration tests serves unit tests too.
#[cfg(test)]
extern crate self as paceline_fabric;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;

mod core;
mod host;
pub mod outcome;
mod reference;
mod run;
pub mod spec;
mod switch;
mod traffic;
mod watch;
mod world;

pub use outcome::Outcome;
pub use run::build::{RoundTrip, round_trips};
pub use run::ideal;
pub use run::simulation::{BuildError, Progress, Simulation};
pub use spec::RunSpec;
pub use traffic::find_cycle;
pub use watch::{account, closeup};
pub use world::routing;
