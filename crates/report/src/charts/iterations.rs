//! Durations of successive iterations of jobs and collectives.

use super::over_time::Clock;
use super::{Axis, Chart, ChartKind, Line, Named, Width, unit_of_time};
use crate::palette::COLORS;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_lab::results::Summary;

/// Largest number of lines; those with the longest iterations are shown.
const LINES_MAX: usize = 8;

/// Iterations of a job or collective: end and duration of each, in ps.
type Iterations = Vec<(f64, f64)>;
/// Function that returns the iterations in a run, by name.
type OfRun = fn(&Summary) -> SortedMap<&str, Iterations>;

/// Returns the chart of iterations over time, if anything has several.
pub(crate) fn iterations(runs: &[Named<'_>], clock: &Clock) -> Option<Chart> {
    let (what, of): (_, OfRun) = match runs.iter().any(|run| !run.data.summary.jobs.is_empty()) {
        true => ("jobs", jobs),
        false => ("collectives", collectives),
    };
    let mut lines: Vec<(f64, Line)> = Vec::new();
    let mut longest: f64 = 0.0;
    let all: Vec<_> = runs.iter().map(|run| of(&run.data.summary)).collect();
    // One unit for all runs, since their lines share an axis.
    for of_run in &all {
        let times = of_run.values().flatten().map(|&(_, took)| took);
        longest = times.fold(longest, f64::max);
    }
    let (unit, ps) = unit_of_time(longest as u64);
    for (run, of_run) in runs.iter().zip(&all) {
        // A single iteration makes no line.
        for (index, (label, iterations)) in of_run.iter().filter(|(_, all)| all.len() > 1).enumerate() {
            let points: Vec<(f64, f64)> = iterations
                .iter()
                .map(|&(end, took)| (clock.place(end), took / ps))
                .collect();
            let mean = iterations.iter().map(|(_, took)| took).sum::<f64>() / iterations.len() as f64;
            let line = if runs.len() == 1 {
                Line::new(*label, (run.color + index) % COLORS, &points)
            } else {
                Line {
                    dash: run.dash,
                    ..Line::new(format!("{}: {label}", run.name), run.color, &points)
                }
            };
            lines.push((mean, line));
        }
    }
    let others = lines.len().saturating_sub(LINES_MAX);
    if others > 0 {
        lines.order_by(|a, b| b.0.total_cmp(&a.0));
        lines.truncate(LINES_MAX);
    }
    let mut note = "How long each iteration took, at the time of its end.".to_string();
    if others > 0 {
        note.push_str(&format!(
            " The {LINES_MAX} with the longest mean; {others} others are in summary.json."
        ));
    }
    (!lines.is_empty()).then(|| Chart {
        title: format!("Iterations of {what}"),
        note,
        x: clock.axis(),
        y: Axis::new("iteration", unit),
        kind: ChartKind::Points,
        width: if runs.len() == 1 { Width::Half } else { Width::Full },
        lines: lines.into_iter().map(|(_, line)| line).collect(),
    })
}

fn jobs(summary: &Summary) -> SortedMap<&str, Iterations> {
    let of = |job: &paceline_lab::results::JobTimes| {
        let mut end = job.start_s * 1e12;
        let ends = job.iterations_us.iter().map(|us| {
            end += us * 1e6;
            (end, us * 1e6)
        });
        ends.collect()
    };
    let all = summary.jobs.iter();
    all.map(|job| (job.label.as_str(), of(job))).collect()
}

fn collectives(summary: &Summary) -> SortedMap<&str, Iterations> {
    let mut all: SortedMap<&str, Iterations> = SortedMap::new();
    for one in &summary.collectives {
        let ended = one.end_s.zip(one.time_us);
        let of = all.entry(&one.label).or_default();
        of.extend(ended.map(|(end, us)| (end * 1e12, us * 1e6)));
    }
    all
}
