//! Stored values of a run or a step.

use paceline_kernel::sorted::SortedMap;
use paceline_lab::results::Summary;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::need::Metrics;

/// Stored values of a run or a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredValues {
    /// Extracted values, by name.
    #[serde(default, skip_serializing_if = "SortedMap::is_empty")]
    pub values: SortedMap<String, f64>,
    /// Extracted lists, except long ones for charts.
    #[serde(default, skip_serializing_if = "SortedMap::is_empty")]
    pub series: SortedMap<String, Vec<(f64, f64)>>,
    /// Summary of a run from which nothing was extracted.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub summary: Value,
}

/// Longest list that is stored; longer ones are only drawn.
const LIST_MAX: usize = 512;

impl StoredValues {
    pub(crate) fn of(numbers: Option<&Metrics>, summary: Option<&Summary>) -> Self {
        let mut kept = Self::whole(numbers, summary);
        kept.series.retain(|_, list| list.len() <= LIST_MAX);
        kept
    }

    /// Stores all values including every list.
    pub(crate) fn whole(numbers: Option<&Metrics>, summary: Option<&Summary>) -> Self {
        let Metrics { values, series } = numbers.cloned().unwrap_or_default();
        let summary = summary.and_then(|summary| serde_json::to_value(summary).ok());
        Self {
            values,
            series,
            summary: summary.unwrap_or_default(),
        }
    }

    /// Returns the stored summary; `None` if it was written by a version with another format.
    pub(crate) fn summary(&self) -> Option<Summary> {
        serde_json::from_value(self.summary.clone()).ok()
    }

    /// Returns the numbers and lists.
    pub(crate) fn numbers(&self) -> Metrics {
        Metrics {
            values: self.values.clone(),
            series: self.series.clone(),
        }
    }
}
