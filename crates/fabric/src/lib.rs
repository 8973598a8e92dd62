//! Packets, links, switches and NICs of a lossless network, and the loop that runs them.
//!
//! A packet's way through the files: a flow starts (`traffic/start`), its NIC picks it and stamps a
//! packet (`host/nic`), the link carries it (`link`), a switch admits it (`buffer`), queues it, lets it
//! go, marks and stamps it (`switch`, `telemetry`), the receiver answers (`host/receiver`), and the answer
//! comes back to the sender's scheme (`host/sender`).

// The harness of the integration tests serves unit tests too.
#[cfg(test)]
extern crate self as paceline_fabric;

pub mod account;
mod bolt;
mod bolt_ns3;
mod buffer;
mod build;
mod chance;
mod check;
pub mod closeup;
mod event;
mod failure;
mod flow_path;
mod host;
pub mod ideal;
mod link;
pub mod outcome;
mod packet;
mod pcn;
mod pint;
mod port;
mod qcn;
mod random;
mod record;
pub mod routing;
mod sim;
pub mod spec;
mod spread;
mod standstill;
mod switch;
mod telemetry;
mod traffic;
mod verify;

pub use build::{RoundTrip, round_trips};
pub use outcome::Outcome;
pub use sim::{BuildError, Progress, Simulation};
pub use spec::RunSpec;
pub use traffic::find_cycle;
