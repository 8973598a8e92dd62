//! Sweeps: a scenario over a grid of values and several seeds.
//!
//! A sweep's folder:
//!
//! | file | content |
//! |---|---|
//! | `sweep.json` | the [`Plan`]: axes, points, seeds, the id of every run |
//! | `scenario/` | the scenario as it was written, with the files that it names |
//! | `rows/<id>.json` | a [`Row`] per finished run |
//! | `runs/<id>/` | its folder |
//! | `results.csv`, `results.parquet` | a row per run of the plan, with all metrics of its summary |
//! | `points.csv`, `points.parquet` | a row per point and metric: its mean over the seeds with a confidence interval |
//! | `notes.json` | [`Note`]s on seeds and values of an axis without effect, with reasons |
//!
//! Each of these appears whole or not at all. A run's id is a digest of everything that determines its result, so a
//! finished run is never repeated.

mod arguments;
mod block;
mod collect;
mod data;
mod dispatch;
mod error;
mod estimate;
mod id;
mod metrics;
mod notes;
mod plan;
mod points;
mod results;
mod rows;
mod run;
mod sealed_plan;
mod shard;
mod spool;
mod store;
mod stored;
mod stream;
mod table;

pub use block::{BlockPoint, BlockRan, Errand};
pub use collect::{Collected, collect};
pub use data::{Seeds, SweepData, describe, read_plan, warnings};
pub use dispatch::Dispatch;
pub use error::SweepError;
pub use id::run_id;
pub(crate) use id::run_ids;
pub use metrics::{Metric, metrics};
pub(crate) use metrics::{labels, of_collectives};
pub use notes::{Note, NoteKind, notes};
pub use plan::{Plan, Point, Study};
pub use points::{Estimate, estimates, points};
pub use results::{results, write_results};
pub use rows::{Keep, Row, Status};
pub use run::{Job, Ran, Watch, WriteRun};
pub use shard::Shard;
pub use store::goes_on;
pub(crate) use store::{Store, read_dir};
pub use stored::Stored;
pub use stream::{IN_MEMORY_MAX, Overview, Tables, count_rows, write_tables};
pub use table::table;

#[cfg(test)]
mod tests;
