//! Networks of other simulators against what these print.

mod bolt_ns3;
#[path = "../../../fabric/tests/it/common/mod.rs"]
mod common;
mod ib_omnet;
mod ib_omnet_records;
mod networks_ib;
mod random_uet;
mod runs_uet;
mod scenarios_bolt;
mod scenarios_ib;
mod scenarios_tcd;
mod scenarios_uet;
mod uet_htsim;

/// Tests have the simulators that a program adds before anything is looked up.
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
