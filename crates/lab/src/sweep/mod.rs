//! Sweeps: a scenario over a grid of values and several seeds.
//!
//! A sweep's folder:
//!
//! | file | content |
//! |---|---|
//! | `sweep.json` | the [`Plan`]: axes, points, seeds, the id of every run |
//! | `rows/<id>.json` | a [`Row`] per finished run |
//! | `runs/<id>/` | its folder |
//! | `results.csv`, `results.parquet` | a row per run of the plan, all numbers of its summary |
//! | `points.csv`, `points.parquet` | a row per point and number: its mean over the seeds, and how sure that is |
//!
//! Each of these appears whole or not at all. A run's id is a digest of all that it is a function
//! of, so a row that is there is never computed again.

mod collect;
mod data;
mod id;
mod metrics;
mod plan;
mod points;
mod results;
mod rows;
mod run;
mod shard;
mod store;
mod table;

pub use collect::{Collected, collect};
pub use data::{SweepData, read_plan, warnings};
pub use id::run_id;
pub use metrics::{Metric, metrics};
pub use plan::{Plan, Point, Study};
pub use points::{Estimate, estimates, points};
pub use results::{results, write_results};
pub use rows::{Keep, Row, Status};
pub use run::{Job, Ran, Watch, WriteRun};
pub use shard::Shard;
pub use store::goes_on;
pub use table::table;

use crate::files::OutputError;
use paceline_scenario::Diagnostics;

/// Why a sweep cannot begin or go on. (A run that fails is a row.)
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The scenario or the grid is wrong.
    #[error("{0}")]
    Input(Diagnostics),
    /// What was asked for does not fit what is there.
    #[error("{0}")]
    Refused(String),
    /// A row is not what was computed.
    #[error(
        "{} was edited after `paceline sweep` wrote it (remove it to repeat the run, or remove its `digest` line to \
         accept the change)",
        .0.display()
    )]
    Edited(std::path::PathBuf),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<Diagnostics> for SweepError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Input(diagnostics)
    }
}

#[cfg(test)]
mod tests;
