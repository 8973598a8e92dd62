//! Charts of several schemes with several seeds: slowdown by size with intervals, completion times of all seeds
//! together.

use super::per_flow::{QUANTILES, SIZE_GROUPS, share_curve};
use super::{Axis, Chart, ChartKind, Line, Width, round, unit_of_time};
use paceline_lab::files::RunData;
use paceline_lab::stats::{Ascending, CONFIDENCE, Samples, interval, mean, percentile};

/// Runs of a scheme, one per seed or one for all, with its name and colour on the page.
pub(crate) struct Seeds<'a> {
    pub name: &'a str,
    pub color: usize,
    pub dash: usize,
    pub runs: Vec<&'a RunData>,
}

/// Returns the charts over `seeds` seeds.
pub(crate) fn over_seeds(all: &[Seeds<'_>], seeds: usize) -> Vec<Chart> {
    let mut charts = slowdown_by_size(all, seeds);
    charts.extend(fct_cdf(all));
    charts
}

/// Returns the upper limits of groups of flows with similar sizes: one group for each size if there are few,
/// otherwise groups of equally many flows of all seeds. All schemes have the same flows, so those of one are enough.
pub(super) fn edges(runs: &[&RunData]) -> Vec<u64> {
    let mut sizes: Vec<u64> = (runs.iter())
        .flat_map(|run| run.flows.rows().map(|flow| flow.size_bytes))
        .collect();
    sizes.sort_unstable();
    let mut edges = sizes.clone();
    edges.dedup();
    if edges.len() > SIZE_GROUPS {
        edges = (1..=SIZE_GROUPS)
            .map(|k| sizes[k * sizes.len() / SIZE_GROUPS - 1])
            .collect();
        edges.dedup();
    }
    edges
}

/// Returns the `p` quantile of the slowdowns in each group of sizes of one run; `None` for a group without flows.
pub(super) fn quantiles(run: &RunData, edges: &[u64], p: f64) -> Vec<Option<f64>> {
    let mut groups: Vec<Vec<f64>> = vec![Vec::new(); edges.len()];
    for flow in run.flows.rows() {
        let index = edges.partition_point(|&edge| edge < flow.size_bytes);
        if let (Some(group), Some(slowdown)) = (groups.get_mut(index), flow.slowdown) {
            group.push(slowdown);
        }
    }
    let quantile = |mut group: Vec<f64>| {
        group.sort_by(f64::total_cmp);
        percentile(&group, p)
    };
    groups.into_iter().map(quantile).collect()
}

/// Point of a line over seeds: a size, the mean of the runs with flows of it, and the ends of its interval if there
/// is one.
type Point = (f64, f64, Option<(f64, f64)>);

fn points(of: &Seeds<'_>, edges: &[u64], p: f64) -> Vec<Point> {
    let by_run: Vec<Vec<Option<f64>>> = of.runs.iter().map(|run| quantiles(run, edges, p)).collect();
    let point = |(i, &edge): (usize, &u64)| {
        let values: Vec<f64> = by_run.iter().filter_map(|run| run[i]).collect();
        // No flow is faster than alone, so the interval ends at 1.
        let found = interval(&values, CONFIDENCE);
        let ends = found.and_then(|found| found.ends().map(|(lo, hi)| (lo.max(1.0).min(found.mean), hi)));
        Some((edge as f64, mean(&values)?, ends))
    };
    edges.iter().enumerate().filter_map(point).collect()
}

fn slowdown_by_size(all: &[Seeds<'_>], seeds: usize) -> Vec<Chart> {
    let Some(most) = all.iter().max_by_key(|of| of.runs.len()) else {
        return Vec::new();
    };
    let edges = edges(&most.runs);
    if edges.len() < 2 {
        return Vec::new();
    }
    let found: Vec<Vec<Vec<Point>>> = QUANTILES
        .iter()
        .map(|&(_, p)| all.iter().map(|of| points(of, &edges, p)).collect())
        .collect();
    let values = found.iter().flatten().flatten();
    let values: Vec<f64> = values
        .flat_map(|&(_, mean, ends)| [mean, ends.map_or(mean, |ends| ends.1)])
        .collect();
    // One range for all quantiles, so that charts can be compared.
    let highest = values.iter().copied().fold(1.0, f64::max);
    let chart = |((name, _), of_all): (&(&str, f64), &Vec<Vec<Point>>)| Chart {
        title: format!("Slowdown by flow size, {name}"),
        note: format!(
            "Mean over {seeds} seeds; thin lines: its {:.0} % interval.",
            100.0 * CONFIDENCE
        ),
        x: Axis {
            log: true,
            ..Axis::new("flow size", "B")
        },
        y: Axis {
            max: Some(round(highest * 1.05, 3)),
            ..Axis::new("FCT slowdown", "×").log_if_wide(values.iter().copied())
        },
        kind: ChartKind::Points,
        width: Width::Third,
        lines: all
            .iter()
            .zip(of_all)
            .flat_map(|(of, points)| lines(of, points))
            .collect(),
    };
    QUANTILES.iter().zip(&found).map(chart).collect()
}

/// Returns the line of the means, and those of both ends of the intervals if there are any.
fn lines(of: &Seeds<'_>, points: &[Point]) -> Vec<Line> {
    let means: Vec<(f64, f64)> = points.iter().map(|&(size, mean, _)| (size, mean)).collect();
    let mut lines = vec![Line {
        dash: of.dash,
        ..Line::new(of.name, of.color, &means)
    }];
    let end = |name: &str, pick: fn((f64, f64)) -> f64| {
        let ends: Vec<(f64, f64)> = (points.iter())
            .filter_map(|&(size, _, ends)| Some((size, pick(ends?))))
            .collect();
        Line {
            guide: true,
            ..Line::new(format!("{}, {name}", of.name), of.color, &ends)
        }
    };
    if of.runs.len() > 1 {
        lines.push(end("lower end", |ends| ends.0));
        lines.push(end("upper end", |ends| ends.1));
    }
    lines
}

/// Returns the chart of completion times of all seeds' flows.
fn fct_cdf(all: &[Seeds<'_>]) -> Option<Chart> {
    let sorted = |of: &Seeds<'_>| {
        let flows = of.runs.iter().flat_map(|run| run.flows.distinct());
        let fcts = flows.filter_map(|(flow, times)| Some((flow.fct_ps? as f64, times.times)));
        fcts.collect::<Samples>().ascending()
    };
    let curves: Vec<Ascending> = all.iter().map(sorted).collect();
    let times = || curves.iter().flat_map(|fcts| fcts.ranks().map(|(ps, _)| ps));
    let mut x = Axis::new("flow completion time", "µs").log_if_wide(times());
    let mut scale = 1e6;
    if !x.log {
        let (unit, ps) = unit_of_time(times().reduce(f64::max)? as u64);
        (x.unit, scale) = (unit.to_string(), ps);
    }
    let line = |(of, fcts): (&Seeds<'_>, &Ascending)| Line {
        dash: of.dash,
        ..Line::new(of.name, of.color, &share_curve(fcts, scale))
    };
    Some(Chart {
        title: "Completion times, the flows of all seeds together".into(),
        note: "Cumulative share of completed flows, over all seeds.".into(),
        x,
        y: Axis {
            max: Some(100.0),
            ..Axis::new("flows", "%")
        },
        kind: ChartKind::Step,
        width: Width::Full,
        lines: all.iter().zip(&curves).map(line).collect(),
    })
}
