//! Charts of completed flows: slowdown by size, completion times.

use std::borrow::Cow;

use super::{Axis, Chart, ChartKind, Line, Named, Width, round, unit_of_time};
use crate::decimate::{POINTS_MAX, evenly};
use crate::palette::COLORS;
use paceline_lab::files::RunData;
use paceline_lab::stats::{Ascending, Samples};

/// Number of groups of flows with similar sizes in the chart of slowdown by size.
pub(super) const SIZE_GROUPS: usize = 20;

/// Quantiles of slowdowns that are drawn over sizes.
pub(crate) const QUANTILES: [(&str, f64); 3] = [
    ("median", 0.50),
    ("95th percentile", 0.95),
    ("99th percentile", 0.99),
];

/// Returns (largest size, ascending slowdowns) of groups of flows with similar sizes: one group for each size if
/// there are few, otherwise groups of equally many flows, not counting repeated ones.
pub(crate) fn size_groups(run: &RunData) -> Vec<(f64, Ascending)> {
    let mut flows: Vec<(u64, f64, u32)> = run
        .flows
        .distinct()
        .filter_map(|(flow, times)| Some((flow.size_bytes, flow.slowdown?, times.times)))
        .collect();
    // Equal sizes are ordered, too, so that the groups do not depend on the order of flows.
    flows.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let sizes = flows.chunk_by(|a, b| a.0 == b.0).count();
    let per_group = flows.len().div_ceil(SIZE_GROUPS).max(1);
    let groups: Vec<&[(u64, f64, u32)]> = if sizes <= SIZE_GROUPS {
        flows.chunk_by(|a, b| a.0 == b.0).collect()
    } else {
        flows.chunks(per_group).collect()
    };
    let mut merged: Vec<(f64, Samples)> = Vec::new();
    for group in groups {
        let size = group[group.len() - 1].0 as f64;
        let slowdowns = group.iter().map(|&(_, slowdown, times)| (slowdown, times));
        match merged.last_mut() {
            // Groups of equally many flows may end at the same, frequent size.
            Some((last, all)) if *last == size => all.extend(slowdowns),
            _ => merged.push((size, slowdowns.collect())),
        }
    }
    let ascending = |(size, slowdowns): (f64, Samples)| (size, slowdowns.ascending());
    merged.into_iter().map(ascending).collect()
}

/// Describes the base of slowdowns.
fn alone(runs: &[Named<'_>]) -> String {
    let summaries: Vec<_> = runs.iter().map(|run| &run.data.summary).collect();
    format!("Completion time over {}.", crate::story::alone(&summaries))
}

pub(super) fn slowdown_by_size(runs: &[Named<'_>]) -> Vec<Chart> {
    let groups: Vec<_> = runs.iter().map(|run| size_groups(run.data)).collect();
    if groups.iter().all(|groups| groups.len() < 2) {
        return Vec::new();
    }
    let quantile = |groups: &[(f64, Ascending)], p: f64| -> Vec<(f64, f64)> {
        groups
            .iter()
            .filter_map(|(size, all)| Some((*size, all.percentile(p)?)))
            .collect()
    };
    let x = || Axis {
        log: true,
        ..Axis::new("flow size", "B")
    };
    let values: Vec<f64> = groups
        .iter()
        .flatten()
        .flat_map(|(_, all)| all.percentile(0.0).into_iter().chain(all.max()))
        .collect();
    let y = || Axis::new("FCT slowdown", "×").log_if_wide(values.iter().copied());
    let note = alone(runs);
    if let [run] = runs {
        let line = |(k, (name, p)): (usize, &(&str, f64))| Line {
            dash: 2 - k,
            ..Line::new(*name, run.color, &quantile(&groups[0], *p))
        };
        return vec![Chart {
            title: "Slowdown by flow size".into(),
            note: note.clone(),
            x: x(),
            y: y(),
            kind: ChartKind::Points,
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
    // All charts have the same range, so that quantiles can be compared.
    let highest = QUANTILES.iter().map(|&(_, p)| top(p)).fold(1.0, f64::max);
    let chart = |&(name, p): &(&str, f64)| Chart {
        title: format!("Slowdown by flow size, {name}"),
        note: note.clone(),
        x: x(),
        y: Axis {
            max: Some(round(highest * 1.05, 3)),
            ..y()
        },
        kind: ChartKind::Points,
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

/// Largest number of workloads with their own curves; of more, all flows share one.
const LABELS_MAX: usize = 8;

/// Curve: its name, colour and dash, and ascending completion times in ps.
pub(super) type Curve<'a> = (Cow<'a, str>, usize, usize, Ascending);

/// Returns the completion times of each run, or of each workload of a single run with several.
fn curves<'a>(runs: &[Named<'a>]) -> Vec<Curve<'a>> {
    let sorted = |run: &Named<'a>, label: Option<&str>| {
        let flows = run
            .data
            .flows
            .distinct()
            .filter(|(flow, _)| label.is_none_or(|label| flow.label == label));
        let fcts = flows.filter_map(|(flow, times)| Some((flow.fct_ps? as f64, times.times)));
        fcts.collect::<Samples>().ascending()
    };
    if let [run] = runs {
        let mut labels: Vec<Cow<'a, str>> = Vec::new();
        for flow in run.data.flows.firsts() {
            // One label more than fits is enough to know that there are too many.
            if labels.len() <= LABELS_MAX && !labels.contains(&flow.label) {
                labels.push(flow.label);
            }
        }
        if (2..=LABELS_MAX).contains(&labels.len()) {
            let curve = |(k, label): (usize, Cow<'a, str>)| {
                let fcts = sorted(run, Some(&label));
                (label, (run.color + k) % COLORS, 0, fcts)
            };
            let all: Vec<Curve<'a>> = labels.into_iter().enumerate().map(curve).collect();
            // A single flow makes no curve.
            if all.iter().all(|(.., fcts)| fcts.count() > 1) {
                return all;
            }
        }
    }
    runs.iter()
        .map(|run| (run.name.into(), run.color, run.dash, sorted(run, None)))
        .collect()
}

/// Returns the cumulative distribution in percent of ascending times, in units of `scale` ps.
pub(super) fn share_curve(times: &Ascending, scale: f64) -> Vec<(f64, f64)> {
    let share = |rank: u64| rank as f64 / times.count() as f64 * 100.0;
    let curve: Vec<(f64, f64)> = (times.ranks())
        .map(|(ps, rank)| (ps / scale, share(rank)))
        .collect();
    evenly(&curve, POINTS_MAX / 2)
}

pub(super) fn fct_cdf(runs: &[Named<'_>]) -> Option<Chart> {
    let what = Distributed {
        title: "Completion times",
        note: "Cumulative share of completed flows.",
        time: "flow completion time",
        of: "flows",
    };
    cdf(runs, curves(runs), &what)
}

/// Words of a chart of cumulative shares.
pub(super) struct Distributed {
    pub(super) title: &'static str,
    pub(super) note: &'static str,
    pub(super) time: &'static str,
    pub(super) of: &'static str,
}

/// Returns the chart of the cumulative shares of times.
pub(super) fn cdf(runs: &[Named<'_>], all: Vec<Curve<'_>>, what: &Distributed) -> Option<Chart> {
    // Fewer than two values per run make no distribution.
    if all.iter().map(|(.., fcts)| fcts.count()).sum::<u64>() < 2 * runs.len() as u64 {
        return None;
    }
    let times = || all.iter().flat_map(|(.., fcts)| fcts.ranks().map(|(ps, _)| ps));
    let mut x = Axis::new(what.time, "µs").log_if_wide(times());
    let mut scale = 1e6;
    if !x.log {
        let (unit, ps) = unit_of_time(times().fold(0.0, f64::max) as u64);
        (x.unit, scale) = (unit.to_string(), ps);
    }
    let line = |(name, color, dash, fcts): &Curve<'_>| Line {
        dash: *dash,
        ..Line::new(&**name, *color, &share_curve(fcts, scale))
    };
    Some(Chart {
        title: what.title.into(),
        note: what.note.into(),
        x,
        y: Axis {
            max: Some(100.0),
            ..Axis::new(what.of, "%")
        },
        kind: ChartKind::Step,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines: all.iter().map(line).collect(),
    })
}
