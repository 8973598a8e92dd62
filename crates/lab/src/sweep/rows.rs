//! Results of a sweep's runs, one file each.

use serde::{Deserialize, Serialize};

use crate::results::Summary;

/// Result of a run: the content of `rows/<id>.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Id of the run, as in the plan.
    pub id: String,
    /// Version of the program that ran it.
    pub version: String,
    /// Seed of the run.
    pub seed: u64,
    /// Success or failure of the run.
    pub status: Status,
    /// Error of a failed run.
    pub message: Option<String>,
    /// Extent of the files in the run's folder.
    pub keep: Keep,
    /// Metrics of the run, if it succeeded.
    pub summary: Option<Summary>,
    /// True if the run drew no random numbers after its start.
    #[serde(default)]
    pub draws_nothing: bool,
}

/// Final state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The run ended without an error.
    Completed,
    /// The run failed: see [`Row::message`].
    Failed,
}

/// Extent of the files that are written per run; each level includes the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Only the row, with the summary in it; there is no folder.
    Row,
    /// The files `summary.json`, `scenario.toml`, `flows.csv`.
    Summary,
    /// All files that `paceline run` writes.
    All,
}

impl Row {
    /// Returns the row of another seed, if nothing but the seed differs.
    pub(super) fn with_seed(mut self, id: &str, seed: u64) -> Self {
        self.id = id.to_string();
        self.seed = seed;
        if let Some(summary) = &mut self.summary {
            summary.seed = seed;
        }
        self
    }
}
