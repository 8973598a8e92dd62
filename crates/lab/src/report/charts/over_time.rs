//! Charts over time: queues, rates, pauses.

use std::collections::BTreeMap;

use super::{Axis, Chart, Kind, Line, Named, Width, round, unit_of_time};
use crate::files::{GOODPUT, QUEUE, Series};
use crate::report::decimate::{POINTS_MAX, extremes, sums};
use crate::report::palette::COLORS;
use crate::results::FlowRow;

/// Flows of which each gets a line of its own.
const FLOWS_MAX: usize = 32;
/// Ports of a single run of which the queue is drawn.
const PORTS_MAX: usize = 4;
/// Bins of time in charts of rates and pauses.
const BINS_MAX: usize = 400;
/// Time since the first start of a flow, in a unit that suits the longest run.
pub(super) struct Clock {
    starts_ps: Vec<u64>,
    longest: u64,
    unit: &'static str,
    ps: f64,
}

impl Clock {
    pub(super) fn of(runs: &[Named<'_>]) -> Self {
        let start = |run: &Named<'_>| run.data.flows.iter().map(|flow| flow.start_ps).min().unwrap_or(0);
        let end = |run: &Named<'_>| {
            let flows = run.data.flows.iter().filter_map(FlowRow::end_ps);
            let series = run
                .data
                .series
                .iter()
                .filter_map(|series| series.points.last())
                .map(|point| point.0);
            flows.chain(series).max().unwrap_or(0)
        };
        let longest = runs
            .iter()
            .map(|run| end(run).saturating_sub(start(run)))
            .max()
            .unwrap_or(0);
        let (unit, ps) = unit_of_time(longest);
        Self {
            starts_ps: runs.iter().map(start).collect(),
            longest,
            unit,
            ps,
        }
    }
    pub(super) fn axis(&self) -> Axis {
        Axis::new("time since the first flow's start", self.unit)
    }
    /// An instant of the `i`-th run.
    pub(super) fn at(&self, run: usize, ps: u64) -> f64 {
        (ps as f64 - self.starts_ps[run] as f64) / self.ps
    }
}

/// The queues of the busiest ports of a single run, of the busiest port of each of several.
pub(super) fn queues(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
    let shown = if runs.len() == 1 { PORTS_MAX } else { 1 };
    let mut lines: Vec<Line> = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        let series: Vec<&Series> = run
            .data
            .series
            .iter()
            .filter(|series| series.metric == QUEUE)
            .collect();
        let area = |series: &Series| -> u128 {
            let pairs = series.points.windows(2);
            pairs
                .map(|pair| u128::from(pair[1].0 - pair[0].0) * u128::from(pair[0].1 as u64))
                .sum()
        };
        let mut order: Vec<(u128, usize)> = series.iter().enumerate().map(|(k, s)| (area(s), k)).collect();
        order.sort_by_key(|&(area, k)| (std::cmp::Reverse(area), k));
        let busy = order.into_iter().filter(|&(area, _)| area > 0).take(shown);
        for (place, (_, k)) in busy.enumerate() {
            let points: Vec<(f64, f64)> = series[k]
                .points
                .iter()
                .map(|&(at, bytes)| (clock.at(i, at), bytes))
                .collect();
            let points = extremes(&points, POINTS_MAX);
            let port = port_name(&series[k].entity);
            lines.push(if runs.len() == 1 {
                Line::new(port, (run.color + place) % COLORS, &points)
            } else {
                Line {
                    dash: run.dash,
                    ..Line::new(format!("{}: {port}", run.name), run.color, &points)
                }
            });
        }
    }
    let highest = lines
        .iter()
        .flat_map(|line| &line.y)
        .fold(0.0, |a: f64, &b| a.max(b));
    let (unit, size) = if highest < 1e6 { ("KB", 1e3) } else { ("MB", 1e6) };
    for value in lines.iter_mut().flat_map(|line| &mut line.y) {
        *value = round(*value / size, 5);
    }
    (!lines.is_empty()).then(|| Chart {
        title: if runs.len() == 1 {
            "Queues of the busiest ports"
        } else {
            "Queue of the busiest port"
        }
        .into(),
        note: "Bytes in all queues of a switch port.".into(),
        x: clock.axis(),
        y: Axis::new("queue", unit),
        kind: Kind::Step,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines,
    })
}

/// The lines of a chart of several runs, each in a small chart of its own on the same scales: lines
/// that lie upon each other hide each other.
pub(super) fn side_by_side(together: &Chart) -> Vec<Chart> {
    let most = |values: fn(&Line) -> &Vec<f64>| {
        let all = together.lines.iter().flat_map(values).copied();
        all.fold(0.0, f64::max)
    };
    let (latest, highest) = (most(|line| &line.x), most(|line| &line.y));
    let width = match together.lines.len() {
        4 | 7 | 8 | 10.. => Width::Quarter,
        _ => Width::Third,
    };
    let alone = |line: &Line| {
        let (run, port) = line.name.split_once(": ").unwrap_or((&line.name, ""));
        let mut chart = Chart {
            title: format!("Queue, {run}"),
            note: port.to_string(),
            width,
            lines: vec![Line {
                name: run.to_string(),
                ..line.clone()
            }],
            ..together.clone()
        };
        chart.x.max = Some(latest);
        chart.y.max = Some(round(highest * 1.05, 3));
        chart
    };
    together.lines.iter().map(alone).collect()
}

/// `port 3.2->7` for people.
fn port_name(entity: &str) -> String {
    let parts = || {
        let (node, rest) = entity.strip_prefix("port ")?.split_once('.')?;
        let (interface, peer) = rest.split_once("->")?;
        Some(format!("switch {node} port {interface} → {peer}"))
    };
    parts().unwrap_or_else(|| entity.to_string())
}

/// Goodput over time: of each flow if there are few, of all together otherwise.
pub(super) fn rates(runs: &[Named<'_>], clock: &Clock) -> Vec<Chart> {
    let of_run = |run: &Named<'_>| -> Vec<Series> {
        run.data
            .series
            .iter()
            .filter(|series| series.metric == GOODPUT)
            .cloned()
            .collect()
    };
    let all: Vec<Vec<Series>> = runs.iter().map(of_run).collect();
    if all.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let chart = |title: String, width, lines| Chart {
        title,
        note: "Payload acknowledged at the sender.".into(),
        x: clock.axis(),
        y: Axis::new("goodput", "Gbit/s"),
        kind: Kind::Step,
        width,
        lines,
    };
    if all.iter().all(|series| series.len() <= FLOWS_MAX) {
        let many = runs.len() > 1;
        let mut charts: Vec<Chart> = Vec::new();
        for (i, (run, series)) in runs
            .iter()
            .zip(&all)
            .enumerate()
            .filter(|(_, (_, series))| !series.is_empty())
        {
            let title = if many {
                format!("Rates of flows, {}", run.name)
            } else {
                "Rates of flows".into()
            };
            charts.push(chart(title, Width::Half, flow_lines(i, run, series, clock)));
        }
        let highest = charts
            .iter()
            .flat_map(|c| &c.lines)
            .flat_map(|line| &line.y)
            .fold(0.0, |a: f64, &b| a.max(b));
        let latest = charts
            .iter()
            .flat_map(|chart| &chart.lines)
            .filter_map(|line| line.x.last())
            .fold(0.0, |a: f64, &b| a.max(b));
        for chart in charts.iter_mut().filter(|_| many) {
            chart.x.max = Some(latest);
            chart.y.max = Some(round(highest * 1.05, 3));
        }
        return charts;
    }
    let line = |(i, (run, series)): (usize, (&Named<'_>, &Vec<Series>))| Line {
        dash: run.dash,
        ..Line::new(run.name, run.color, &total(i, series, clock))
    };
    let width = if runs.len() == 1 { Width::Half } else { Width::Full };
    let mut chart = chart(
        "Rate of all flows together".into(),
        width,
        runs.iter().zip(&all).enumerate().map(line).collect(),
    );
    chart.lines.retain(|line| !line.x.is_empty());
    if chart.lines.is_empty() {
        Vec::new()
    } else {
        vec![chart]
    }
}

/// A line per flow; flows of the same sender, receiver and size are told apart by their numbers.
fn flow_lines(run_index: usize, run: &Named<'_>, series: &[Series], clock: &Clock) -> Vec<Line> {
    let bin = bin_width(series);
    let longest = series.iter().map(|one| one.points.len()).max().unwrap_or(0);
    let group = longest.div_ceil(BINS_MAX).max(1);
    let line = |(k, one): (usize, &Series)| {
        let id: Option<u32> = one.entity.strip_prefix("flow ").and_then(|id| id.parse().ok());
        let flow = id.and_then(|id| run.data.flows.iter().find(|flow| flow.flow_id == id));
        let name = flow.map_or_else(|| one.entity.clone(), flow_name);
        let mut points: Vec<(f64, f64)> = one
            .points
            .chunks(group)
            .map(|part| {
                let mean = part.iter().map(|point| point.1).sum::<f64>() / part.len() as f64;
                (clock.at(run_index, part[0].0), mean / 1e9)
            })
            .collect();
        // The line ends at the end of its last bin, at zero.
        points.extend(
            one.points
                .last()
                .map(|last| (clock.at(run_index, last.0 + bin), 0.0)),
        );
        Line::new(name, k % COLORS, &points)
    };
    series.iter().enumerate().map(line).collect()
}

/// A flow, to tell it from others.
pub(super) fn flow_name(flow: &FlowRow<'_>) -> String {
    let size = crate::table::short_bytes(flow.size_bytes);
    format!("flow {}: {} → {}, {size}", flow.flow_id, flow.src, flow.dst)
}

/// The width of the series' bins: the smallest time between any two of them; 0 if there is one.
fn bin_width(series: &[Series]) -> u64 {
    let mut times: Vec<u64> = series
        .iter()
        .flat_map(|one| &one.points)
        .map(|point| point.0)
        .collect();
    times.sort_unstable();
    times.dedup();
    times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(0)
}

/// The sum of all flows' rates, in Gbit/s, in bins of the records' width or a multiple of it.
fn total(run: usize, series: &[Series], clock: &Clock) -> Vec<(f64, f64)> {
    let widths = series
        .iter()
        .flat_map(|one| one.points.windows(2))
        .map(|pair| pair[1].0 - pair[0].0);
    let Some(bin) = widths.min().filter(|&bin| bin > 0) else {
        return Vec::new();
    };
    let mut bins: BTreeMap<u64, f64> = BTreeMap::new();
    for &(at, bps) in series.iter().flat_map(|one| &one.points) {
        *bins.entry(at / bin).or_default() += bps / 1e9;
    }
    let (Some((&first, _)), Some((&last, _))) = (bins.first_key_value(), bins.last_key_value()) else {
        return Vec::new();
    };
    let dense: Vec<f64> = (first..=last)
        .map(|k| bins.get(&k).copied().unwrap_or(0.0))
        .collect();
    let (sums, group) = sums(&dense, BINS_MAX);
    let at = |k: usize| clock.at(run, (first + (k * group) as u64) * bin);
    let mut points: Vec<(f64, f64)> = sums
        .iter()
        .enumerate()
        .map(|(k, sum)| (at(k), sum / group as f64))
        .collect();
    points.push((at(sums.len()), 0.0));
    points
}

/// PFC pauses over time, when there were any.
pub(super) fn pauses(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
    const BINS: usize = 200;
    let latest = runs.iter().zip(&clock.starts_ps).filter_map(|(run, &start)| {
        run.data
            .pauses_ns
            .last()
            .map(|ns| (ns * 1000).saturating_sub(start))
    });
    let bin = latest.max()?.max(clock.longest) / BINS as u64 + 1;
    let mut lines = Vec::new();
    let mut without = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        if run.data.pauses_ns.is_empty() {
            without.push(run.name);
            continue;
        }
        let mut counts = [0u32; BINS + 1];
        for ns in &run.data.pauses_ns {
            counts[((ns * 1000).saturating_sub(clock.starts_ps[i]) / bin) as usize] += 1;
        }
        let points: Vec<(f64, f64)> = (0..)
            .zip(counts)
            .map(|(k, n)| ((k * bin) as f64 / clock.ps, f64::from(n)))
            .collect();
        lines.push(Line {
            dash: run.dash,
            ..Line::new(run.name, run.color, &points)
        });
    }
    let mut note = format!("Pause frames received, in {BINS} equal parts of the time.");
    if !without.is_empty() {
        note.push_str(&format!(" None under {}.", without.join(", ")));
    }
    Some(Chart {
        title: "PFC pauses".into(),
        note,
        x: clock.axis(),
        y: Axis::new("pauses", ""),
        kind: Kind::Step,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines,
    })
}
