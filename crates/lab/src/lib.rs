//! Execution of runs and processing of their results: statistics, files, tables. (The pages are `paceline-report`.)
//!
//! Stages of a run in this crate:
//!
//! 1. [`paceline_scenario::Resolved`] is a scenario with every default filled in: a [`paceline_fabric::RunSpec`] with
//!    its names.
//! 2. [`run::execute`] runs it in slices, so that progress can be shown and the run stopped, and
//!    returns a [`run::Finished`]: the outcome, its [`results::Summary`], and its cost on the machine.
//!    [`run::compare`] does so for several inputs in parallel, [`compare`] for several schemes and seeds.
//! 3. [`files::write_run_into`] writes the files of a run into a [`files::Folder`], which appears whole or not
//!    at all; [`files::RunData`] is such a folder read back.
//! 4. [`table::comparison`] renders summaries for a terminal.
//!
//! A run is a pure function of its input. Of all that is written, only the fields of
//! [`results::Machine`] differ between two runs of the same input.

pub mod cma;
pub mod compare;
pub mod diff;
pub mod files;
mod identity;
mod input;
mod input_warnings;
pub mod layout;
pub mod measures;
pub mod metrics;
pub mod repeats;
pub mod results;
pub mod run;
pub mod stats;
pub mod sweep;
pub mod table;
pub mod text;
pub mod tune;
pub mod why;

pub use identity::{release, version, with_added};
pub use input::load;
pub use input_warnings::InputWarnings;

#[cfg(any(test, feature = "sample"))]
pub mod sample;
