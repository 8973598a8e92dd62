//! Slowdown by flow size, as publications compute it.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::{MeasureSet, Metrics, element, measure};
use crate::results::{FCT_ANALYSIS, FlowRow, flow_rows};

pub(super) const SET: MeasureSet = MeasureSet {
    name: "slowdowns",
    about: "Slowdown of the background's flows in 20 groups of equally many by size, as the script of HPCC's simulator takes \
            it: curves over the group, from 0; of flows labelled `incast` all together.",
    values: &[
        measure("incast_p50", "median slowdown of incasts", "×", 3),
        measure("incast_p95", "p95 of slowdown of incasts", "×", 3),
        measure("incast_p99", "p99 of slowdown of incasts", "×", 3),
    ],
    series: &[
        measure("p50", "median slowdown", "×", 3),
        measure("p95", "p95 of slowdown", "×", 3),
        measure("p99", "p99 of slowdown", "×", 3),
    ],
    of: slowdowns,
};

/// Percentiles, each with the names of the curve over size groups and of the value for incasts.
const TAKEN: [(usize, &str, &str); 3] = [
    (50, "p50", "incast_p50"),
    (95, "p95", "incast_p95"),
    (99, "p99", "incast_p99"),
];

/// Computes slowdowns of the background by size, like the script of HPCC's simulator, and order statistics of the
/// incasts.
fn slowdowns(input: &Resolved, outcome: &Outcome) -> Metrics {
    let rows: Vec<FlowRow<'_>> = flow_rows(input, outcome).collect();
    let groups = FCT_ANALYSIS.of(&rows);
    let incast = rows.iter().filter(|row| row.label == "incast");
    let mut incasts: Vec<f64> = incast.filter_map(|row| row.slowdown).collect();
    incasts.sort_by(f64::total_cmp);
    let mut numbers = Metrics::default();
    for (percent, of_groups, of_incasts) in TAKEN {
        let indices = groups.iter().enumerate();
        let points = indices.filter_map(|(index, group)| {
            let value = match percent {
                50 => group.p50,
                95 => group.p95,
                _ => group.p99,
            };
            Some((index as f64, value?))
        });
        numbers.draw(of_groups, points);
        if let Some(value) = element(&incasts, percent) {
            numbers.set(of_incasts, value);
        }
    }
    numbers
}
