//! Collectives by label, with all iterations of one together.

use paceline_kernel::sorted::SortedMap;
use serde::Serialize;

use super::collectives::{CollectiveSum, CollectiveTime, bus_bandwidth};
use super::groups::FlowCount;
use super::summary::Summary;
use crate::stats::Distribution;

/// All iterations of the collectives that have one label.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollectiveTotals {
    /// Label of their flows.
    pub label: String,
    /// Number of iterations, and of those that completed.
    pub iterations: FlowCount,
    /// Duration of the completed iterations, in microseconds.
    pub time_us: Distribution,
    /// Bandwidth over all of them; see [`CollectiveTime::busbw_gbps`].
    pub busbw_gbps: Option<f64>,
    /// True if any of them started.
    #[serde(skip)]
    pub begun: bool,
}

/// Returns the collectives of a run by label, in the order in which the labels first appear; those of traces by job and
/// kind.
pub fn collective_totals(summary: &Summary) -> Vec<CollectiveTotals> {
    let mut by_label: Vec<(&str, Vec<&CollectiveTime>)> = Vec::new();
    let mut indices: SortedMap<&str, usize> = SortedMap::new();
    // For a trace the list has only the slowest collectives.
    for one in summary.collectives.iter().filter(|one| one.name.is_none()) {
        let index = *indices.entry(&one.label).or_insert_with(|| {
            by_label.push((&one.label, Vec::new()));
            by_label.len() - 1
        });
        by_label[index].1.push(one);
    }
    let of_label = |(label, all): (&str, Vec<&CollectiveTime>)| CollectiveTotals {
        label: label.to_string(),
        iterations: FlowCount {
            total: all.len() as u64,
            completed: all.iter().filter(|one| one.end_s.is_some()).count() as u64,
        },
        time_us: Distribution::of(all.iter().filter_map(|one| one.time_us).collect::<Vec<_>>()),
        busbw_gbps: bus_bandwidth(all.iter().copied()),
        begun: all.iter().any(|one| one.start_s.is_some()),
    };
    let of_sum = |sum: &CollectiveSum| CollectiveTotals {
        label: sum.label.clone(),
        iterations: sum.collectives,
        time_us: sum.time_us,
        busbw_gbps: sum.busbw_gbps,
        begun: true,
    };
    let listed = by_label.into_iter().map(of_label);
    listed.chain(summary.collective_sums.iter().map(of_sum)).collect()
}
