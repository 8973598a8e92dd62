//! What is kept of a run or a step.

use std::collections::BTreeMap;

use paceline_lab::results::Summary;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::need::Metrics;

/// What is kept of a run or a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// What was taken of it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// Lists that were taken of it, unless they are the lines of a chart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<(f64, f64)>>,
    /// What a run came to, of which nothing was taken: its summary.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub summary: Value,
}

/// Longer lists are there to be drawn.
const LIST_MAX: usize = 512;

impl Kept {
    pub(crate) fn of(numbers: Option<&Metrics>, summary: Option<&Summary>) -> Self {
        let mut kept = Self::whole(numbers, summary);
        kept.series.retain(|_, list| list.len() <= LIST_MAX);
        kept
    }

    /// With every list.
    pub(crate) fn whole(numbers: Option<&Metrics>, summary: Option<&Summary>) -> Self {
        let Metrics { values, series } = numbers.cloned().unwrap_or_default();
        let summary = summary.and_then(|summary| serde_json::to_value(summary).ok());
        Self {
            values,
            series,
            summary: summary.unwrap_or_default(),
        }
    }

    /// What the run came to. Of another version it may be another thing: then it is missing.
    pub(crate) fn summary(&self) -> Option<Summary> {
        serde_json::from_value(self.summary.clone()).ok()
    }

    /// The numbers.
    pub(crate) fn numbers(&self) -> Metrics {
        Metrics {
            values: self.values.clone(),
            series: self.series.clone(),
        }
    }
}
