//! Summary of decisions that take time at NICs.

use paceline_fabric::outcome::DecisionStats;
use serde::{Deserialize, Serialize};

/// Cost of computing decisions; see [`DecisionStats`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionTimes {
    /// Decisions that took effect.
    pub made: u64,
    /// Decisions that changed parameters, for schemes whose decisions mostly watch (SPINE); `None` for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triggers: Option<u64>,
    /// Decisions whose flow ended before they took effect.
    pub flow_ended: u64,
    /// Mean wait for a processor of the NIC, in microseconds.
    pub wait_us_mean: f64,
    /// Longest wait, in microseconds.
    pub wait_us_max: f64,
    /// Share of time in which processors worked, from each NIC's first decision to its last; null if a NIC has
    /// unlimited processors.
    pub busy: Option<f64>,
}

impl DecisionTimes {
    pub(super) fn of(stats: &DecisionStats) -> Self {
        Self {
            made: stats.made,
            triggers: (stats.triggers > 0).then_some(stats.triggers),
            flow_ended: stats.flow_ended,
            wait_us_mean: stats.waited_ps as f64 / stats.started.max(1) as f64 / 1e6,
            wait_us_max: stats.waited_max.as_us_f64(),
            busy: stats.busy_share(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Machine;
    use crate::{sample, table};
    use paceline_kernel::Span;

    #[test]
    fn decisions_are_in_the_summary_and_the_table_where_there_are_any() {
        let (input, mut outcome) = sample::incast();
        let text = |outcome: &paceline_fabric::Outcome| {
            let summary = sample::summarised(&input, outcome, Machine::default());
            (
                serde_json::to_string(&summary).unwrap(),
                table::comparison(&[&summary], 400),
            )
        };
        let (json, shown) = text(&outcome);
        assert!(!json.contains("decisions") && !shown.contains("decisions"));
        outcome.decisions = Some(DecisionStats {
            made: 7,
            flow_ended: 1,
            started: 8,
            waited_ps: 20_000_000,
            waited_max: Span::from_us(9),
            busy_ps: 300,
            available_ps: 400,
            ..DecisionStats::default()
        });
        let (json, shown) = text(&outcome);
        let expected =
            r#""decisions":{"made":7,"flow_ended":1,"wait_us_mean":2.5,"wait_us_max":9.0,"busy":0.75}"#;
        assert!(json.contains(expected), "{json}");
        assert!(
            shown.contains("decisions") && shown.contains("2.50 µs"),
            "{shown}"
        );
    }
}
