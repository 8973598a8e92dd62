//! What schemes did to single flows over time: rate, window, round-trip time.

use super::over_time::{Clock, flow_name};
use super::{Axis, Chart, Kind, Line, Named, Width};
use crate::palette::COLORS;
use crate::track::Track;
use paceline_lab::files::{RATE, RTT, Series, WINDOW};
use paceline_lab::results::FlowRow;

/// Flows of which there are lines: the largest.
const FLOWS_MAX: usize = 16;

/// Charts of one run, of what was recorded of its flows.
pub(super) fn limits(runs: &[Named<'_>], clock: &Clock) -> Vec<Chart> {
    let [run] = runs else {
        return Vec::new();
    };
    let quantities = [
        (RATE, "Rates that the scheme allows", "rate", "Gbit/s", (1e9, 1.0)),
        (
            WINDOW,
            "Windows that the scheme allows",
            "window",
            "KB",
            (1e3, 1.0),
        ),
        (RTT, "Round trips", "round-trip time", "µs", (1.0, 1e-6)),
    ];
    let mut charts: Vec<Chart> = Vec::new();
    for (metric, title, label, unit, scale) in quantities {
        let chosen = chosen(run, metric);
        if chosen.is_empty() {
            continue;
        }
        let line = |(k, (row, one)): (usize, &(FlowRow<'_>, &Series))| Line {
            dash: k / COLORS,
            ..Line::over_time(flow_name(row), k % COLORS, clock.source(0, Track::of(one), scale))
        };
        let recorded = run.data.series.iter().filter(|one| one.metric == metric).count();
        let note = match recorded > chosen.len() {
            true => format!("The largest {} of {recorded} flows.", chosen.len()),
            false => "At the sender, for each flow.".to_string(),
        };
        charts.push(Chart {
            title: title.into(),
            note,
            x: clock.axis(),
            y: Axis::new(label, unit),
            kind: Kind::Track,
            width: Width::Third,
            lines: chosen.iter().enumerate().map(line).collect(),
        });
    }
    if charts.len() < 3 {
        charts.iter_mut().for_each(|chart| chart.width = Width::Half);
    }
    charts
}

/// The largest flows that have the metric, in the order of their numbers.
fn chosen<'a>(run: &Named<'a>, metric: &str) -> Vec<(FlowRow<'a>, &'a Series)> {
    let mut found: Vec<_> = run
        .data
        .series
        .iter()
        .filter(|one| one.metric == metric)
        .filter_map(|one| {
            let id: usize = one.entity.strip_prefix("flow ")?.parse().ok()?;
            Some((run.data.flows.get(id)?, one))
        })
        .collect();
    found.sort_by_key(|(row, _)| (std::cmp::Reverse(row.size_bytes), row.flow_id));
    found.truncate(FLOWS_MAX);
    found.sort_by_key(|(row, _)| row.flow_id);
    found
}
