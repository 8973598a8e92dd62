//! Networks of other simulators, event by event: what the engine runs in place of its own ports and hosts.
//!
//! Each is a [`paceline_fabric::model::NetworkModel`], with files of its own.

pub mod bolt_ns3;
pub mod ib_omnet;
pub mod tcd_ns3;
pub mod uet_htsim;
