//! Running.

use paceline_fabric::Outcome;

use crate::results::Summary;

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// What it left behind.
    pub outcome: Outcome,
    /// In numbers.
    pub summary: Summary,
}
