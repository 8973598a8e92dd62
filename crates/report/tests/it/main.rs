//! Folders and pages of real runs.

mod common;
mod recorders;
mod runs;
mod scripts;
mod streams;

/// Adds the simulators that a program has, before anything is looked up.
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
