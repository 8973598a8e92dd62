//! Packets, links, switches and NICs of a lossless network, and the loop that runs them.
//!
//! Each folder holds one part of a simulation: `world` (constant while events run), `core` (clock, packets, links),
//! `switch`, `host`, `traffic`. The loop in `run` lends each part the others that it needs. A switch cannot name a
//! queue pair, and a host cannot name a buffer.

// Unit tests use the harness of the integration tests too.
#[cfg(test)]
extern crate self as paceline_fabric;
#[cfg(test)]
#[path = "../tests/it/common/mod.rs"]
mod common;
#[cfg(test)]
#[path = "../tests/it/networks/lanes.rs"]
mod common_lanes;

mod core;
mod host;
mod ids;
mod lanes;
pub mod model;
mod run;
mod switch;
mod traffic;
mod watch;
mod world;

pub use host::Question;
pub use paceline_run::outcome::{self, Outcome, account, blame, flow_probe};
pub use paceline_run::spec::{self, RunSpec};
pub use paceline_run::stream;
pub use paceline_run::{made, named_value, recorded, table};
pub use run::build::{Factories, RoundTrip, check_credits, longest_round_trip, round_trips};
pub use run::ideal;
pub use run::simulation::{BuildError, Progress, Simulation, Until};
pub use run::team::{Exchange, ThreadRanks, gather};
pub use run::windows::WindowCounts;
/// Recorders of events at ports.
pub mod probes {
    pub use crate::core::credits::CbfcLane;
    pub use crate::core::isolated::IsolatedFlow;
    pub use crate::core::lost::Lost;
    pub use crate::core::retry::LlrPort;
    pub use crate::watch::TABLES;
    pub use crate::watch::drops::LostPacket;
}
pub use traffic::find_cycle;
pub use world::routing;
