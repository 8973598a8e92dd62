//! The command as users run it: help, runs, sweeps, trainings and errors, and its descriptions in README and book.

#![cfg_attr(
    not(all(feature = "parity", feature = "training")),
    allow(
        dead_code,
        unused_imports,
        reason = "tests of guests share it with nothing else"
    )
)]

mod anywhere;
mod bench;
mod blame;
mod book;
mod comments;
mod common;
#[cfg(feature = "training")]
mod continual;
mod critical_path;
mod errors;
#[cfg(feature = "training")]
mod figures;
mod forests;
mod help;
mod interruptions;
mod jobs;
mod killed;
#[cfg(not(any(feature = "parity", feature = "training")))]
mod left_out;
/// Tests of the example crate with a scheme of its own.
#[path = "../../../../examples/own-scheme/src"]
#[allow(dead_code, unreachable_pub, reason = "it is of another crate")]
mod own_scheme_src {
    mod bcn;
}
mod metadata;
mod other_code;
mod papers;
mod plot;
mod printing;
mod query;
mod readme;
mod recomputed;
mod relatives;
mod reproduce;
mod roles;
mod runs;
mod statistics;
mod structure;
mod sweeps;
mod swept_again;
mod threads;
mod timeline;
mod traces;
#[cfg(feature = "training")]
mod training;
#[cfg(feature = "training")]
mod training_rounds;
mod tunes;
mod variants;
mod view;
mod warnings;
mod why;
mod workloads;
mod writes;

/// Adds the simulators before anything is looked up, as a program does.
#[cfg(feature = "parity")]
#[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
#[ctor::ctor(unsafe)]
fn add_simulators() {
    paceline_parity::install();
}
