//! Decisions of schemes for single flows over time: rate, window, round-trip time.

use super::over_time::{Clock, flow_name};
use super::{Axis, Chart, ChartKind, Line, Named, Width};
use crate::palette::COLORS;
use crate::track::Track;
use paceline_kernel::order::Sort as _;
use paceline_lab::files::{RATE, RTT, Series, WINDOW};
use paceline_lab::results::FlowRow;

/// Largest number of flows with a line; the largest flows are shown.
const FLOWS_MAX: usize = 16;

/// Quantity that is recorded for flows.
struct Quantity {
    metric: &'static str,
    title: &'static str,
    label: &'static str,
    unit: &'static str,
    /// Unit of the axis, and the unit that all values are multiples of.
    scale: f64,
    /// Unit that all values are multiples of.
    step: f64,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        metric: RATE,
        title: "Rates that the scheme allows",
        label: "rate",
        unit: "Gbit/s",
        scale: 1e9,
        step: 1.0,
    },
    Quantity {
        metric: WINDOW,
        title: "Windows that the scheme allows",
        label: "window",
        unit: "KB",
        scale: 1e3,
        step: 1.0,
    },
    Quantity {
        metric: RTT,
        title: "Round trips",
        label: "round-trip time",
        unit: "µs",
        scale: 1.0,
        step: 1e-6,
    },
];

/// Returns charts of one run from the records of its flows.
pub(super) fn limits(runs: &[Named<'_>], clock: &Clock) -> Vec<Chart> {
    let charts = QUANTITIES
        .iter()
        .filter_map(|quantity| chart(runs, clock, quantity));
    let mut charts: Vec<Chart> = charts.collect();
    if charts.len() < 3 {
        charts.iter_mut().for_each(|chart| chart.width = Width::Half);
    }
    charts
}

/// Returns the chart of one metric.
pub(crate) fn limit(runs: &[Named<'_>], clock: &Clock, metric: &str) -> Option<Chart> {
    let quantity = QUANTITIES.iter().find(|quantity| quantity.metric == metric)?;
    chart(runs, clock, quantity)
}

fn chart(runs: &[Named<'_>], clock: &Clock, of: &Quantity) -> Option<Chart> {
    let [run] = runs else {
        return None;
    };
    let chosen = chosen(run, of.metric);
    let line = |(k, (row, one)): (usize, &(FlowRow<'_>, &Series))| Line {
        dash: k / COLORS,
        ..Line::over_time(
            flow_name(row),
            k % COLORS,
            clock.source(Track::of(one), of.scale, of.step),
        )
    };
    let recorded = run
        .data
        .series
        .iter()
        .filter(|one| one.metric == of.metric)
        .count();
    let note = match recorded > chosen.len() {
        true => format!(
            "The largest {} of {recorded} flows; all are in series.parquet.",
            chosen.len()
        ),
        false => "At the sender, for each flow.".to_string(),
    };
    (!chosen.is_empty()).then(|| Chart {
        title: of.title.into(),
        note,
        x: clock.axis(),
        y: Axis::new(of.label, of.unit),
        kind: ChartKind::Track,
        width: Width::Third,
        lines: chosen.iter().enumerate().map(line).collect(),
    })
}

/// Returns the largest flows that have the metric, in the order of their numbers.
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
    found.order_by_key(|(row, _)| (std::cmp::Reverse(row.size_bytes), row.flow_id));
    found.truncate(FLOWS_MAX);
    // Chosen by size, but listed by number, as in other charts of flows.
    found.order_by_key(|(row, _)| row.flow_id);
    found
}
