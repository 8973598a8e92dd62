//! Packets, links, switches and NICs of a lossless network, and the loop that runs them.
//!
//! A packet's way through the files: a flow starts ([`flows`](self)), its NIC picks it and stamps a
//! packet (`nic`), the link carries it (`link`), a switch admits it (`buffer`), queues it, lets it
//! go, marks and stamps it (`switch`, `telemetry`), the receiver answers (`host`), and the answer
//! comes back to the sender's scheme.

// The harness of the integration tests serves unit tests too.
#[cfg(test)]
extern crate self as paceline_fabric;

pub mod account;
mod acks;
mod bolt;
mod bolt_ns3;
mod buffer;
mod build;
mod chance;
mod check;
pub mod closeup;
mod crowd;
mod decision;
mod depend;
mod endpoint;
mod event;
mod failure;
mod flow_path;
mod flows;
mod foresight;
mod hash_order;
mod host;
pub mod ideal;
mod link;
mod nic;
mod notice;
mod observe;
pub mod outcome;
mod packet;
mod pcn;
mod pint;
mod port;
mod qcn;
mod qp;
mod random;
mod receiver;
mod record;
mod recovery;
mod reports;
pub mod routing;
mod sim;
pub mod spec;
mod spread;
mod standstill;
mod switch;
mod telemetry;
mod verify;

pub use build::{RoundTrip, round_trips};
pub use depend::find_cycle;
pub use outcome::Outcome;
pub use sim::{BuildError, Progress, Simulation};
pub use spec::RunSpec;
