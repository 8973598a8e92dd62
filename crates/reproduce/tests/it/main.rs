//! Publications, each against the files that are kept of it.

mod bolt;
mod bolt_measures;
mod quotes;
mod recorded;
mod registry;
mod shown;
mod wrong_outcomes;

/// Tests have the simulators that a program adds before anything is looked up.
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
