//! Networks and runs of other simulators, compared with their output.

mod bolt_ns3;
mod bolt_reference;
#[path = "../../examples/validate"]
#[allow(dead_code, reason = "shared with the validation command")]
mod command {
    pub(crate) mod bolt;
    pub(crate) mod infiniband;
    pub(crate) mod reference;
    pub(crate) mod tcd;
    pub(crate) mod traces;
    pub(crate) mod verdict;
}
#[path = "../../../fabric/tests/it/common/mod.rs"]
mod common;
mod ib_omnet;
mod ib_omnet_records;
mod networks_ib;
mod random_uet;
mod reference;
mod runs_uet;
mod scenarios_bolt;
mod scenarios_ib;
mod scenarios_tcd;
mod scenarios_uet;
mod tables;
mod tcd_reference;
mod traces_reference;
mod uet_htsim;
mod validate;

/// Adds the simulators before anything is looked up, as a program does.
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
