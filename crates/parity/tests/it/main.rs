//! Networks of other simulators against what these print.

mod bolt_ns3;
#[path = "../../../fabric/tests/it/common/mod.rs"]
mod common;
mod ib_omnet;
mod ib_omnet_records;
mod networks_ib;
mod uet_htsim;
