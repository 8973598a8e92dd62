//! What came of each run.

use serde::{Deserialize, Serialize};

use crate::results::Summary;

/// What came of a run: the content of `rows/<id>.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The run's id.
    pub id: String,
    /// The program's version.
    pub version: String,
    /// The run's seed.
    pub seed: u64,
    /// Whether it succeeded.
    pub status: Status,
    /// Why not.
    pub message: Option<String>,
    /// What its folder holds.
    pub keep: Keep,
    /// The run in numbers, if it succeeded.
    pub summary: Option<Summary>,
    /// Whether the run drew nothing at random while it ran.
    #[serde(default)]
    pub draws_nothing: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// By itself.
    Completed,
    /// With an error: see [`Row::message`].
    Failed,
}

/// How much of each run is written; each holds what the one before holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// `summary.json`, `scenario.toml`, `flows.csv`.
    Summary,
    /// Everything that `paceline run` writes.
    All,
}

impl Row {
    /// That of the run of another seed, of which nothing but the seed is different.
    pub(super) fn with_seed(mut self, id: &str, seed: u64) -> Self {
        self.id = id.to_string();
        self.seed = seed;
        if let Some(summary) = &mut self.summary {
            summary.seed = seed;
        }
        self
    }
}
