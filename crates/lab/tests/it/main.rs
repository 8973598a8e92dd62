//! Whole runs of scenarios, and the files that they write.

mod acc;
mod connections;
mod critical_paths;
mod detection;
mod hpcc_two_flows;
mod identity;
mod iterations;
mod library_collectives;
mod local;
mod measures;
mod memo;
mod rails;
mod simai;
mod ties;
mod timeouts;
mod trace_rules;
mod traces;
mod vendors;

/// Registers the simulators that a program adds before tests look anything up.
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
