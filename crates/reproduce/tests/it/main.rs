//! Publications compared with the recorded files.

mod bolt;
mod bolt_measures;
mod quotes;
mod recorded;
mod registry;
mod shown;
mod wrong_outcomes;

/// Adds the simulators that a program has, before anything is looked up.
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
