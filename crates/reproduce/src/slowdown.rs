//! Slowdown by size, as the publications take it.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::need::{Done, Input, Measure, Metrics, RunRequest};
use paceline_lab::results::{FCT_ANALYSIS, FlowRow, flow_rows};

/// The percentiles that are taken, in percent: the series of the groups of the background, and the value of the incasts.
const TAKEN: [(usize, &str, &str); 3] = [
    (50, "p50", "incast_p50"),
    (95, "p95", "incast_p95"),
    (99, "p99", "incast_p99"),
];

const SLOWDOWNS: Measure = Measure {
    name: "slowdowns",
    of: slowdowns,
};

/// A run of `input` under each of `schemes`, in the manner of HPCC's simulator.
pub(super) fn needs(input: Input, schemes: &[&'static str]) -> Vec<RunRequest> {
    let of = |need| RunRequest {
        digest: Some(SLOWDOWNS),
        ..need
    };
    RunRequest::each(input, schemes).into_iter().map(of).collect()
}

/// The background by size, as the script of HPCC's simulator has it; of the incasts elements in order.
fn slowdowns(input: &Resolved, outcome: &Outcome) -> Metrics {
    let rows: Vec<FlowRow<'_>> = flow_rows(input, outcome).collect();
    let groups = FCT_ANALYSIS.of(&rows);
    let incast = rows.iter().filter(|row| row.label == "incast");
    let mut incasts: Vec<f64> = incast.filter_map(|row| row.slowdown).collect();
    incasts.sort_by(f64::total_cmp);
    let mut numbers = Metrics::default();
    for (percent, of_groups, of_incasts) in TAKEN {
        let places = groups.iter().enumerate();
        let points = places.filter_map(|(place, group)| {
            let value = match percent {
                50 => group.p50,
                95 => group.p95,
                _ => group.p99,
            };
            Some((place as f64, value?))
        });
        numbers.series.insert(of_groups, points.collect());
        if let Some(value) = element(&incasts, percent) {
            numbers.values.insert(of_incasts, value);
        }
    }
    numbers
}

fn taken(percent: usize) -> Option<(&'static str, &'static str)> {
    let found = TAKEN.iter().find(|(known, ..)| *known == percent);
    found.map(|&(_, of_groups, of_incasts)| (of_groups, of_incasts))
}

/// A percentile of a group of the background, the smallest sizes first; `None` if it was not run.
pub(super) fn background(done: &Done, need: &RunRequest, percent: usize, group: usize) -> Option<f64> {
    let series = done.numbers(need)?.series.get(taken(percent)?.0)?;
    let found = series.iter().find(|&&(place, _)| place == group as f64);
    found.map(|&(_, value)| value)
}

/// A percentile of the flows of the incasts.
pub(super) fn incasts(done: &Done, need: &RunRequest, percent: usize) -> Option<f64> {
    done.numbers(need)?.values.get(taken(percent)?.1).copied()
}

/// Element `floor(n p)` of n ascending values, p in percent: not interpolated.
pub(super) fn element(ascending: &[f64], percent: usize) -> Option<f64> {
    ascending.get(ascending.len() * percent / 100).copied()
}

/// A size as the thesis prints it: whole bytes below 1 KB.
pub(super) fn size_name(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 if bytes.is_multiple_of(1_000) => format!("{} KB", bytes / 1_000),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ if bytes.is_multiple_of(1_000_000) => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.2} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_not_interpolated() {
        let values: Vec<f64> = (0..300).map(f64::from).collect();
        // floor(300 * 0.99) = 297
        assert_eq!(element(&values, 99), Some(297.0));
        assert_eq!(element(&values[..3], 50), Some(1.0));
        assert_eq!(element(&[], 50), None);
    }

    #[test]
    fn sizes() {
        let names = [300, 2_000, 10_047, 336_000, 9_991_844, 10_000_000, 2_500_000].map(size_name);
        assert_eq!(
            names,
            [
                "300 B", "2 KB", "10.0 KB", "336 KB", "9.99 MB", "10 MB", "2.50 MB"
            ]
        );
    }
}
