//! Publications and reference simulators, each against the files that are kept of it.

mod bolt;
mod bolt_measures;
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
mod quotes;
mod recorded;
mod reference;
mod registry;
mod shown;
mod tcd_reference;
mod traces_reference;
mod validate;
mod wrong_outcomes;

/// Tests have the simulators that a program adds before anything is looked up.
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
