//! From data to charts: plain descriptions that the page draws.

use std::collections::BTreeMap;

use serde::Serialize;

use super::data::RunData;
use super::decimate::{POINTS_MAX, evenly, extremes, sums};
use crate::files::{GOODPUT, QUEUE, Series};
use crate::results::FlowRow;
use crate::stats::percentile;

/// Groups of flows of neighbouring sizes in the chart of slowdown by size.
const SIZE_GROUPS: usize = 20;
/// Flows of which each gets a line of its own.
const FLOWS_MAX: usize = 32;
/// Ports of a single run of which the queue is drawn.
const PORTS_MAX: usize = 4;
/// Bins of time in charts of rates and pauses.
const BINS_MAX: usize = 400;

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Chart {
    pub title: String,
    pub note: String,
    pub x: Axis,
    pub y: Axis,
    pub kind: Kind,
    pub width: Width,
    pub lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Straight lines between points, which are shown.
    Points,
    /// A value holds until the next.
    Step,
}

/// Share of the page's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Width {
    Full,
    Half,
    Third,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Axis {
    pub label: String,
    /// What follows a number.
    pub unit: &'static str,
    pub log: bool,
    /// Fixed largest value, so that charts side by side compare.
    pub max: Option<f64>,
}

impl Axis {
    fn new(label: impl Into<String>, unit: &'static str) -> Self {
        Self {
            label: label.into(),
            unit,
            log: false,
            max: None,
        }
    }
    /// Logarithmic where the values span so much that a linear axis would hide most of them.
    fn log_if_wide(mut self, values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        self.log = low > 0.0 && high / low > 30.0;
        self
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Line {
    pub name: String,
    /// Index of a colour of the page's palette.
    pub color: usize,
    /// Index of a dash pattern; 0 is solid.
    pub dash: usize,
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Line {
    /// Of points of the same x only the last is kept.
    fn new(name: impl Into<String>, color: usize, points: &[(f64, f64)]) -> Self {
        let mut line = Self {
            name: name.into(),
            color,
            dash: 0,
            x: Vec::new(),
            y: Vec::new(),
        };
        for &(x, y) in points {
            let (x, y) = (round(x, 7), round(y, 4));
            if line.x.last() == Some(&x) {
                line.x.pop();
                line.y.pop();
            }
            line.x.push(x);
            line.y.push(y);
        }
        line
    }
}

/// `value` to so many digits that count: shorter text, same picture.
fn round(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// A run with its name and colour on the page.
pub(super) struct Named<'a> {
    pub name: &'a str,
    pub color: usize,
    pub dash: usize,
    pub data: &'a RunData,
}

/// Every chart that the runs have data for.
pub(super) fn charts(runs: &[Named<'_>]) -> Vec<Chart> {
    let clock = Clock::of(runs);
    let mut charts = slowdown_by_size(runs);
    charts.extend(fct_cdf(runs));
    charts.extend(queues(runs, &clock));
    charts.extend(rates(runs, &clock));
    charts.extend(pauses(runs, &clock));
    // No chart sits beside an empty space.
    for halves in charts
        .chunk_by_mut(|a, b| a.width == b.width)
        .filter(|part| part[0].width == Width::Half)
    {
        if halves.len() % 2 == 1 {
            halves[halves.len() - 1].width = Width::Full;
        }
    }
    charts
}

/// Time since the first start of a flow, in a unit that suits the longest run.
struct Clock {
    starts_ps: Vec<u64>,
    longest: u64,
    unit: &'static str,
    ps: f64,
}

impl Clock {
    fn of(runs: &[Named<'_>]) -> Self {
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
    fn axis(&self) -> Axis {
        Axis::new("time since the first flow's start", self.unit)
    }
    /// An instant of the `i`-th run.
    fn at(&self, run: usize, ps: u64) -> f64 {
        (ps as f64 - self.starts_ps[run] as f64) / self.ps
    }
}

/// The unit in which times up to `longest` ps read best, and its size in ps.
fn unit_of_time(longest: u64) -> (&'static str, f64) {
    match longest {
        0..2_000_000 => ("ns", 1e3),
        2_000_000..2_000_000_000 => ("µs", 1e6),
        2_000_000_000..2_000_000_000_000 => ("ms", 1e9),
        _ => ("s", 1e12),
    }
}

/// (largest size, ascending slowdowns) of groups of flows of neighbouring sizes: of each size if
/// there are few, of equally many flows otherwise.
fn size_groups(run: &RunData) -> Vec<(f64, Vec<f64>)> {
    let mut flows: Vec<(u64, f64)> = run
        .flows
        .iter()
        .filter_map(|flow| Some((flow.size_bytes, flow.slowdown?)))
        .collect();
    flows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let sizes = flows.chunk_by(|a, b| a.0 == b.0).count();
    let per_group = flows.len().div_ceil(SIZE_GROUPS).max(1);
    let groups: Vec<&[(u64, f64)]> = if sizes <= SIZE_GROUPS {
        flows.chunk_by(|a, b| a.0 == b.0).collect()
    } else {
        flows.chunks(per_group).collect()
    };
    let mut merged: Vec<(f64, Vec<f64>)> = Vec::new();
    for group in groups {
        let size = group[group.len() - 1].0 as f64;
        let slowdowns = group.iter().map(|&(_, slowdown)| slowdown);
        match merged.last_mut() {
            // Groups of equally many flows may end at the same, frequent size.
            Some((last, all)) if *last == size => all.extend(slowdowns),
            _ => merged.push((size, slowdowns.collect())),
        }
    }
    for (_, slowdowns) in &mut merged {
        slowdowns.sort_by(f64::total_cmp);
    }
    merged
}

fn slowdown_by_size(runs: &[Named<'_>]) -> Vec<Chart> {
    let groups: Vec<_> = runs.iter().map(|run| size_groups(run.data)).collect();
    if groups.iter().all(|groups| groups.len() < 2) {
        return Vec::new();
    }
    let quantile = |groups: &[(f64, Vec<f64>)], p: f64| -> Vec<(f64, f64)> {
        groups
            .iter()
            .filter_map(|(size, all)| Some((*size, percentile(all, p)?)))
            .collect()
    };
    const QUANTILES: [(&str, f64); 3] = [
        ("median", 0.50),
        ("95th percentile", 0.95),
        ("99th percentile", 0.99),
    ];
    let x = || Axis {
        log: true,
        ..Axis::new("flow size", "B")
    };
    let values: Vec<f64> = groups
        .iter()
        .flatten()
        .flat_map(|(_, all)| [all[0], all[all.len() - 1]])
        .collect();
    let y = || Axis::new("FCT slowdown", "×").log_if_wide(values.iter().copied());
    let note = "Completion time over that of the same flow alone in the network.";
    if let [run] = runs {
        let line = |(k, (name, p)): (usize, &(&str, f64))| Line {
            dash: 2 - k,
            ..Line::new(*name, run.color, &quantile(&groups[0], *p))
        };
        return vec![Chart {
            title: "Slowdown by flow size".into(),
            note: note.into(),
            x: x(),
            y: y(),
            kind: Kind::Points,
            width: Width::Half,
            lines: QUANTILES.iter().enumerate().map(line).collect(),
        }];
    }
    let top = |p| {
        groups
            .iter()
            .flat_map(|groups| quantile(groups, p))
            .map(|point| point.1)
            .fold(1.0, f64::max)
    };
    let highest = QUANTILES.iter().map(|&(_, p)| top(p)).fold(1.0, f64::max);
    let chart = |&(name, p): &(&str, f64)| Chart {
        title: format!("Slowdown by flow size, {name}"),
        note: "Completion time over that of the flow alone.".into(),
        x: x(),
        y: Axis {
            max: Some(round(highest * 1.05, 3)),
            ..y()
        },
        kind: Kind::Points,
        width: Width::Third,
        lines: runs
            .iter()
            .zip(&groups)
            .map(|(run, groups)| Line {
                dash: run.dash,
                ..Line::new(run.name, run.color, &quantile(groups, p))
            })
            .collect(),
    };
    QUANTILES.iter().map(chart).collect()
}

fn fct_cdf(runs: &[Named<'_>]) -> Option<Chart> {
    let sorted = |run: &Named<'_>| -> Vec<u64> {
        let mut fcts: Vec<u64> = run.data.flows.iter().filter_map(|flow| flow.fct_ps).collect();
        fcts.sort_unstable();
        fcts
    };
    let all: Vec<Vec<u64>> = runs.iter().map(sorted).collect();
    if all.iter().all(|fcts| fcts.len() < 2) {
        return None;
    }
    let mut x =
        Axis::new("flow completion time", "µs").log_if_wide(all.iter().flatten().map(|&ps| ps as f64));
    let mut scale = 1e6;
    if !x.log {
        (x.unit, scale) = unit_of_time(all.iter().filter_map(|fcts| fcts.last().copied()).max()?);
    }
    let line = |(run, fcts): (&Named<'_>, &Vec<u64>)| {
        let share = |rank: usize| rank as f64 / fcts.len() as f64 * 100.0;
        let curve: Vec<(f64, f64)> = (1..)
            .zip(fcts)
            .map(|(rank, &ps)| (ps as f64 / scale, share(rank)))
            .collect();
        Line {
            dash: run.dash,
            ..Line::new(run.name, run.color, &evenly(&curve, POINTS_MAX / 2))
        }
    };
    Some(Chart {
        title: "Completion times".into(),
        note: "Share of the completed flows that took at most so long.".into(),
        x,
        y: Axis {
            max: Some(100.0),
            ..Axis::new("flows", "%")
        },
        kind: Kind::Step,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines: runs.iter().zip(&all).map(line).collect(),
    })
}

/// The queues of the busiest ports of a single run, of the busiest port of each of several.
fn queues(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
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
                .map(|pair| u128::from(pair[1].0 - pair[0].0) * u128::from(pair[0].1))
                .sum()
        };
        let mut order: Vec<(u128, usize)> = series.iter().enumerate().map(|(k, s)| (area(s), k)).collect();
        order.sort_by_key(|&(area, k)| (std::cmp::Reverse(area), k));
        let busy = order.into_iter().filter(|&(area, _)| area > 0).take(shown);
        for (place, (_, k)) in busy.enumerate() {
            let points: Vec<(f64, f64)> = series[k]
                .points
                .iter()
                .map(|&(at, bytes)| (clock.at(i, at), bytes as f64 / 1e3))
                .collect();
            let points = extremes(&points, POINTS_MAX);
            let port = port_name(&series[k].entity);
            lines.push(if runs.len() == 1 {
                Line::new(port, (run.color + place) % super::palette::COLORS, &points)
            } else {
                Line {
                    dash: run.dash,
                    ..Line::new(format!("{}: {port}", run.name), run.color, &points)
                }
            });
        }
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
        y: Axis::new("queue", "KB"),
        kind: Kind::Step,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines,
    })
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
fn rates(runs: &[Named<'_>], clock: &Clock) -> Vec<Chart> {
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
        for chart in charts.iter_mut().filter(|_| many) {
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
        let name = flow.map_or_else(
            || one.entity.clone(),
            |flow| {
                let size = crate::table::short_bytes(flow.size_bytes);
                format!("flow {}: {} → {}, {size}", flow.flow_id, flow.src, flow.dst)
            },
        );
        let mut points: Vec<(f64, f64)> = one
            .points
            .chunks(group)
            .map(|part| {
                let mean = part.iter().map(|point| point.1 as f64).sum::<f64>() / part.len() as f64;
                (clock.at(run_index, part[0].0), mean / 1e9)
            })
            .collect();
        // The line ends at the end of its last bin, at zero.
        points.extend(
            one.points
                .last()
                .map(|last| (clock.at(run_index, last.0 + bin), 0.0)),
        );
        Line::new(name, k % super::palette::COLORS, &points)
    };
    series.iter().enumerate().map(line).collect()
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
        *bins.entry(at / bin).or_default() += bps as f64 / 1e9;
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
fn pauses(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn data() -> RunData {
        let (input, outcome) = sample::incast();
        RunData::new(&input, &sample::finished(&input, outcome))
    }

    fn named(data: &RunData) -> Named<'_> {
        Named {
            name: "none",
            color: 2,
            dash: 0,
            data,
        }
    }

    fn titles(charts: &[Chart]) -> Vec<&str> {
        charts.iter().map(|chart| chart.title.as_str()).collect()
    }

    #[test]
    fn a_run_has_the_charts_that_it_has_data_for() {
        let mut data = data();
        assert_eq!(
            titles(&charts(&[named(&data)])),
            [
                "Slowdown by flow size",
                "Completion times",
                "Queues of the busiest ports",
                "Rates of flows",
                "PFC pauses"
            ]
        );
        data.series.clear();
        data.pauses_ns.clear();
        data.flows.truncate(1);
        assert!(charts(&[named(&data)]).is_empty());
    }

    #[test]
    fn values_are_in_the_units_of_their_axes() {
        let data = data();
        let all = charts(&[named(&data)]);
        let [by_size, cdf, queue, rates, pauses] = &all[..] else {
            panic!("five charts")
        };
        assert_eq!(
            (by_size.lines[0].x.clone(), by_size.lines[0].y.clone()),
            (vec![1e3, 2e4], vec![2.0, 1.0])
        );
        assert_eq!(
            (cdf.lines[0].x.clone(), cdf.lines[0].y.clone()),
            (vec![6.0, 10.0], vec![50.0, 100.0])
        );
        assert_eq!(
            (queue.x.unit, queue.lines[0].x[0], queue.lines[0].y[0]),
            ("µs", 2.0, 1.048)
        );
        assert_eq!(queue.lines[0].name, "switch 0 port 2 → 2");
        assert_eq!(
            (rates.lines[1].x.clone(), rates.lines[1].y.clone()),
            (vec![0.0, 5.0, 10.0], vec![24.0, 8.0, 0.0])
        );
        assert_eq!(rates.lines[0].name, "flow 0: 1 → 4, 1 KB");
        assert_eq!(pauses.lines[0].y.iter().sum::<f64>(), 1.0);
    }

    #[test]
    fn many_flows_are_drawn_as_their_sum() {
        let mut data = data();
        let flow = data.series.pop().unwrap();
        data.series = (0..40)
            .map(|k| Series {
                entity: format!("flow {k}"),
                ..flow.clone()
            })
            .collect();
        let all = charts(&[named(&data)]);
        let rate = all
            .iter()
            .find(|chart| chart.title == "Rate of all flows together")
            .unwrap();
        assert_eq!(rate.lines[0].y, [960.0, 320.0, 0.0]);
    }

    #[test]
    fn groups_of_sizes_hold_every_flow() {
        let mut data = data();
        let flow = data.flows[0].clone();
        data.flows = (0..1000u64)
            .map(|k| FlowRow {
                size_bytes: 1000 + k / 2,
                slowdown: Some(1.0 + k as f64),
                ..flow.clone()
            })
            .collect();
        let groups = size_groups(&data);
        assert_eq!(groups.len(), SIZE_GROUPS);
        assert_eq!(groups.iter().map(|(_, all)| all.len()).sum::<usize>(), 1000);
        assert_eq!(groups[SIZE_GROUPS - 1].0, 1499.0);
        assert!(groups.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
