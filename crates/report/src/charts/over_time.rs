//! Charts over time: queues, rates, pauses.

use super::{Axis, Chart, ChartKind, Line, Named, Source, Width, round, unit_of_time};
use crate::palette::COLORS;
use crate::track::Track;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_lab::files::{CREDITS, GOODPUT, QUEUE, STATE, Series};
use paceline_lab::results::FlowRow;

/// Largest number of flows with their own lines.
const FLOWS_MAX: usize = 32;
/// Number of ports of a single run whose queue is drawn.
const PORTS_MAX: usize = 4;
/// Simulated time, as in files, in a unit that suits the longest run.
pub(crate) struct Clock {
    /// Start of the first flow of each run.
    starts_ps: Vec<u64>,
    longest: u64,
    unit: &'static str,
    ps: f64,
}

impl Clock {
    pub(crate) fn of(runs: &[Named<'_>]) -> Self {
        let start = |run: &Named<'_>| run.data.flows.first_start_ps();
        let end = |run: &Named<'_>| {
            let flows = run.data.flows.distinct();
            let flows = flows.filter_map(|(flow, times)| Some(flow.end_ps()? + times.later_ps));
            // Samples may go on after the last flow's end, and unfinished flows have no end.
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
        Axis::new("time", self.unit)
    }
    /// Returns the position of an instant in ps on the axis.
    pub(super) fn place(&self, at_ps: f64) -> f64 {
        at_ps / self.ps
    }
    /// Returns the source of a track whose values are multiples of `unit`, for an axis with unit `scale`.
    pub(super) fn source(&self, track: Track, scale: f64, unit: f64) -> Source {
        Source {
            track,
            clock_ps: self.ps,
            scale,
            unit,
        }
    }
    /// Returns the latest end of the lines, on the axis.
    pub(super) fn latest<'a>(&self, lines: impl Iterator<Item = &'a Line>) -> f64 {
        let end = |line: &Line| {
            let source = line.source.as_ref()?;
            Some(source.track.end_ps() as f64 / self.ps)
        };
        lines.filter_map(end).fold(0.0, f64::max)
    }
}

/// Returns lines of samples at ports: of a single run, the ports with the largest values (for credits, the smallest);
/// of several runs, one port each. Also returns the number of other ports.
fn of_ports(runs: &[Named<'_>], clock: &Clock, metric: &str) -> (Vec<Line>, usize) {
    let shown = if runs.len() == 1 { PORTS_MAX } else { 1 };
    let mut lines: Vec<Line> = Vec::new();
    let mut filled = 0;
    for run in runs {
        let series = run.data.series.iter().filter(|series| series.metric == metric);
        let mut tracks: Vec<(&Series, Track)> = series.map(|one| (one, Track::of(one))).collect();
        // Ports whose values are all 0 say nothing; they are not counted as left out, either.
        tracks.retain(|(_, track)| track.largest() > 0.0);
        filled += tracks.len();
        tracks.order_by(|(_, a), (_, b)| match metric {
            // For credits, which are scarce, the lowest ones matter.
            CREDITS => a.area().total_cmp(&b.area()),
            _ => b.area().total_cmp(&a.area()),
        });
        for (index, (one, track)) in tracks.into_iter().take(shown).enumerate() {
            let port = port_name(&one.entity, run);
            let source = clock.source(track, 1.0, 1.0);
            lines.push(if runs.len() == 1 {
                Line::over_time(port, (run.color + index) % COLORS, source)
            } else {
                Line {
                    dash: run.dash,
                    ..Line::over_time(format!("{}: {port}", run.name), run.color, source)
                }
            });
        }
    }
    let others = filled - lines.len();
    (lines, others)
}

/// Returns the chart of ports' congestion states, for the ports that were congested longest.
pub(crate) fn states(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
    let (lines, others) = of_ports(runs, clock, STATE);
    let more = match others {
        0 => String::new(),
        more => format!(" {more} more ports in series.parquet."),
    };
    (!lines.is_empty()).then(|| Chart {
        title: if runs.len() == 1 {
            "States of ports"
        } else {
            "State of a port"
        }
        .into(),
        note: format!("0 is not congested, 1 checking, 2 undetermined, 3 congested.{more}"),
        x: clock.axis(),
        y: Axis::new("state", ""),
        kind: ChartKind::Track,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines,
    })
}

/// Returns the chart of credits: of a single run, for the ports with the lowest mean; of several, for one port each.
pub(crate) fn credits(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
    let (lines, others) = of_ports(runs, clock, CREDITS);
    let more = match others {
        0 => String::new(),
        more => format!(" {more} more lanes of ports in series.parquet."),
    };
    (!lines.is_empty()).then(|| Chart {
        title: if runs.len() == 1 {
            "Credits of ports"
        } else {
            "Credits of a port"
        }
        .into(),
        note: format!(
            "What a port may send (in fidelity ib-omnet packets, otherwise units of network.credit.unit), of those that had \
             fewest in the mean.{more}"
        ),
        x: clock.axis(),
        y: Axis::new("credits", ""),
        kind: ChartKind::Track,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines,
    })
}

/// Returns the chart of queues at the busiest ports of a single run, or at the busiest port of each of several.
pub(crate) fn queues(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
    let (mut lines, others) = of_ports(runs, clock, QUEUE);
    let highest = lines.iter().map(Line::largest).fold(0.0, f64::max);
    let (unit, size) = if highest < 1e6 { ("KB", 1e3) } else { ("MB", 1e6) };
    for source in lines.iter_mut().filter_map(|line| line.source.as_mut()) {
        source.scale = size;
    }
    (!lines.is_empty()).then(|| Chart {
        title: if runs.len() == 1 {
            "Queues of the busiest ports"
        } else {
            "Queue of the busiest port"
        }
        .into(),
        note: match others {
            0 => "Bytes in all queues of a switch port.".into(),
            more => format!("Bytes in all queues of a switch port; {more} more in series.parquet."),
        },
        x: clock.axis(),
        y: Axis::new("queue", unit),
        kind: ChartKind::Track,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines,
    })
}

/// Splits a chart of several runs into small ones with the same scales, since overlapping lines hide each other.
/// `index` is the chart's index on the page.
pub(super) fn side_by_side(together: &Chart, index: usize, clock: &Clock) -> Vec<Chart> {
    let latest = clock.latest(together.lines.iter());
    let highest = together.lines.iter().map(Line::largest).fold(0.0, f64::max);
    // Four in a row if three would leave more gaps in the last one; many charts are small in any case.
    let width = match together.lines.len() {
        4 | 7 | 8 | 10.. => Width::Quarter,
        _ => Width::Third,
    };
    let alone = |(i, line): (usize, &Line)| {
        let (run, port) = line.name.split_once(": ").unwrap_or((&line.name, ""));
        let mut chart = Chart {
            title: format!("Queue, {run}"),
            note: port.to_string(),
            width,
            lines: vec![Line {
                dash: line.dash,
                same: Some((index, i)),
                ..Line::new(run, line.color, &[])
            }],
            ..together.clone()
        };
        chart.x.max = Some(latest);
        chart.y.max = Some(round(highest * 1.05, 3));
        chart
    };
    together.lines.iter().enumerate().map(alone).collect()
}

/// Returns the readable name of a port, from `port 3.2->7`.
fn port_name(entity: &str, run: &Named<'_>) -> String {
    let parts = || {
        let (node, rest) = entity.strip_prefix("port ")?.split_once('.')?;
        let (interface, peer) = rest.split_once("->")?;
        let peer = peer
            .replacen(" class ", ", class ", 1)
            .replacen(" lane ", ", lane ", 1);
        let digits = peer.find(|c: char| !c.is_ascii_digit()).unwrap_or(peer.len());
        let (peer, class) = peer.split_at(digits);
        let names = &run.data.names;
        (!names.is_empty()).then_some(())?;
        let port = names.port(node.parse().ok()?, interface.parse().ok()?, peer.parse().ok()?);
        Some(format!("{}{class}", port.replacen(" -> ", " → ", 1)))
    };
    parts().unwrap_or_else(|| entity.to_string())
}

/// Returns the recorded goodputs of each run's flows.
fn goodputs(runs: &[Named<'_>]) -> Vec<Vec<Series>> {
    let of_run = |run: &Named<'_>| -> Vec<Series> {
        let series = run.data.series.iter();
        series
            .filter(|series| series.metric == GOODPUT)
            .cloned()
            .collect()
    };
    runs.iter().map(of_run).collect()
}

fn chart_of_rates(title: String, width: Width, lines: Vec<Line>, clock: &Clock) -> Chart {
    Chart {
        title,
        note: "Payload acknowledged at the sender.".into(),
        x: clock.axis(),
        y: Axis::new("goodput", "Gbit/s"),
        kind: ChartKind::Track,
        width,
        lines,
    }
}

/// Returns the charts of goodput over time: of each flow if there are few, otherwise of all together.
pub(super) fn rates(runs: &[Named<'_>], clock: &Clock) -> Vec<Chart> {
    let all = goodputs(runs);
    if all.iter().any(|series| series.len() > FLOWS_MAX) {
        return rates_together(runs, &all, clock).into_iter().collect();
    }
    let many = runs.len() > 1;
    let mut charts: Vec<Chart> = Vec::new();
    for (run, series) in runs.iter().zip(&all).filter(|(_, series)| !series.is_empty()) {
        let title = if many {
            format!("Rates of flows, {}", run.name)
        } else {
            "Rates of flows".into()
        };
        let lines = flow_lines(run, series, clock);
        charts.push(chart_of_rates(title, Width::Half, lines, clock));
    }
    // Charts of several runs share their scales: otherwise a lower rate might look higher.
    let lines = || charts.iter().flat_map(|chart| &chart.lines);
    let highest = lines().map(Line::largest).fold(0.0, f64::max);
    let latest = clock.latest(lines());
    for chart in charts.iter_mut().filter(|_| many) {
        chart.x.max = Some(latest);
        chart.y.max = Some(round(highest * 1.05, 3));
    }
    charts
}

/// Returns a single chart of goodput: of each flow in one run with few flows, otherwise the total of each run.
pub(crate) fn rates_in_one(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
    match runs {
        [_] => rates(runs, clock).pop(),
        several => rates_together(several, &goodputs(several), clock),
    }
}

/// Returns a chart with a line for each run: the total rate of its flows.
fn rates_together(runs: &[Named<'_>], all: &[Vec<Series>], clock: &Clock) -> Option<Chart> {
    let recorded = runs.iter().zip(all).filter(|(_, series)| !series.is_empty());
    let line = |(run, series): (&Named<'_>, &Vec<Series>)| Line {
        dash: run.dash,
        ..Line::over_time(run.name, run.color, clock.source(total(series), GBPS, 1.0))
    };
    let width = if runs.len() == 1 { Width::Half } else { Width::Full };
    let mut lines: Vec<Line> = recorded.map(line).collect();
    lines.retain(|line| line.largest() > 0.0);
    (!lines.is_empty()).then(|| chart_of_rates("Rate of all flows together".into(), width, lines, clock))
}

/// Scale of rates: integers in bit/s on an axis in Gbit/s.
const GBPS: f64 = 1e9;

/// Returns a line per flow; the number distinguishes flows with the same sender, receiver and size.
fn flow_lines(run: &Named<'_>, series: &[Series], clock: &Clock) -> Vec<Line> {
    let line = |(k, one): (usize, &Series)| {
        let id: Option<u32> = one.entity.strip_prefix("flow ").and_then(|id| id.parse().ok());
        let flow = id.and_then(|id| run.data.flows.with_id(id));
        let name = flow.map_or_else(|| one.entity.clone(), |flow| flow_name(&flow));
        Line::over_time(name, k % COLORS, clock.source(Track::of(one), GBPS, 1.0))
    };
    series.iter().enumerate().map(line).collect()
}

/// Returns the name of a flow in a legend.
pub(super) fn flow_name(flow: &FlowRow<'_>) -> String {
    let size = paceline_lab::text::short_bytes(flow.size_bytes);
    format!("flow {}: {} → {}, {size}", flow.flow_id, flow.src, flow.dst)
}

/// Returns the sum of all flows' rates, in the bins of the records.
fn total(series: &[Series]) -> Track {
    let tracks: Vec<Track> = series.iter().map(Track::of).collect();
    let mut bins: SortedMap<u64, f64> = SortedMap::new();
    for track in &tracks {
        for run in &track.runs {
            for number in run.number..run.number + run.count {
                *bins.entry(track.origin_ps + number * track.width_ps).or_default() += run.mean;
            }
        }
    }
    let first = bins.keys().next().copied().unwrap_or(0);
    let mut sum = Track {
        origin_ps: first,
        begin_ps: first,
        runs: Vec::new(),
        ..tracks[0].clone()
    };
    let mut next = 0;
    for (at, bps) in bins {
        let number = (at - first) / sum.width_ps;
        // In bins without active flows, nothing was acknowledged.
        (next..number).for_each(|idle| sum.push_value(idle, 0.0));
        sum.push_value(number, bps);
        next = number + 1;
    }
    sum
}

/// Returns the chart of PFC pause frames over time, if there were any.
pub(crate) fn pauses(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
    const BINS: u64 = 1 << 13;
    let since = |run: usize, ns: u64| (ns * 1000).saturating_sub(clock.starts_ps[run]);
    let last = |(i, run): (usize, &Named<'_>)| run.data.pauses_ns.last().map(|&ns| since(i, ns));
    let latest = runs.iter().enumerate().filter_map(last).max()?;
    // Bins are whole microseconds if the run is long enough.
    let bin = match latest.max(clock.longest) / BINS + 1 {
        short @ 0..1_000_000 => short,
        long => long.div_ceil(1_000_000) * 1_000_000,
    };
    let mut lines = Vec::new();
    let mut without = Vec::new();
    for (i, run) in runs.iter().enumerate() {
        if run.data.pauses_ns.is_empty() {
            without.push(run.name);
            continue;
        }
        // All runs have bins up to the latest end, so that their lines end together.
        let mut counts = vec![0u32; (latest.max(clock.longest) / bin + 1) as usize];
        for &ns in &run.data.pauses_ns {
            counts[(since(i, ns) / bin) as usize] += 1;
        }
        let track = Track::of_counts(clock.starts_ps[i], bin, counts);
        lines.push(Line {
            dash: run.dash,
            ..Line::over_time(run.name, run.color, clock.source(track, 1.0, 1.0))
        });
    }
    let mut note = "Pause frames received, in the time of each point.".to_string();
    if !without.is_empty() {
        note.push_str(&format!(" None under {}.", without.join(", ")));
    }
    Some(Chart {
        title: "PFC pause frames".into(),
        note,
        x: clock.axis(),
        y: Axis::new("pause frames", ""),
        kind: ChartKind::Track,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines,
    })
}
