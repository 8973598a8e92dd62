//! Figures of runs: distributions over flows, and series over time.

use paceline_lab::files::{RTT, RunData, WINDOW};
use paceline_lab::results::Summary;
use paceline_lab::table;

use super::{Curve, Figure, NoFigure, Point, Scale, Shape, pooled};
use crate::charts::{self, Axis, Chart, ChartKind, Clock, Line, Named};
use crate::palette;

/// Figure to draw from runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// Cumulative distribution of completion times.
    FctCdf,
    /// Cumulative distribution of slowdowns.
    SlowdownCdf,
    /// Slowdown by flow size: three quantiles of one run, or the 99th percentile of each of several.
    Slowdown,
    /// Queues at the busiest ports of one run, or at the busiest port of each of several.
    Queue,
    /// Goodput of each flow in one run with few flows, otherwise of all flows together.
    Rate,
    /// Congestion states of ports, selected as in [`Self::Queue`].
    State,
    /// Credits of the ports with the fewest.
    Credits,
    /// PFC pause frames over time.
    Pauses,
    /// Round-trip times of flows in one run.
    Rtt,
    /// Windows that the scheme sets for flows in one run.
    Window,
    /// Duration of each iteration of each job or, without jobs, of each collective.
    Iterations,
}

impl FigureKind {
    /// All figures, in the order of the variants.
    pub const ALL: [Self; 11] = [
        Self::FctCdf,
        Self::SlowdownCdf,
        Self::Slowdown,
        Self::Queue,
        Self::Rate,
        Self::State,
        Self::Credits,
        Self::Pauses,
        Self::Rtt,
        Self::Window,
        Self::Iterations,
    ];

    /// Returns true if it is a distribution over flows, which several runs of one point share.
    pub const fn is_of_flows(self) -> bool {
        matches!(self, Self::FctCdf | Self::SlowdownCdf | Self::Slowdown)
    }

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FctCdf => "fct-cdf",
            Self::SlowdownCdf => "slowdown-cdf",
            Self::Slowdown => "slowdown",
            Self::Queue => "queue",
            Self::Rate => "rate",
            Self::State => "state",
            Self::Credits => "credits",
            Self::Pauses => "pauses",
            Self::Rtt => "rtt",
            Self::Window => "window",
            Self::Iterations => "iterations",
        }
    }

    /// Returns a description of the data that runs lack.
    const fn lacking(self) -> &'static str {
        match self {
            Self::FctCdf | Self::SlowdownCdf => "no flow has completed",
            Self::Slowdown => "all flows that completed have one size: slowdown-cdf shows them",
            Self::Queue => {
                "no queue was recorded, or none was ever filled: --set record.queue=1us records them"
            }
            Self::Rate => "no rates were recorded: --set record.rates=10us records them",
            Self::State => {
                "no port has a detector, or none ever was anything but not congested: [network.detection] gives them one"
            }
            Self::Credits => {
                "the network has no credits, or none were recorded: --set record.credits=1us records them"
            }
            Self::Pauses => "there was no pause frame",
            Self::Rtt => {
                "it is drawn of one run, in which flows were recorded: --set record.flows=1us records them"
            }
            Self::Iterations => {
                "no job and no collective has two iterations that came to their end: [[job]] with iterations = 2 has"
            }
            Self::Window => {
                "it needs one run with recorded flows (--set record.flows=1us) and a scheme with a window"
            }
        }
    }
}

/// Treatment of runs that differ only in their seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// One curve with an interval, in figures about flows.
    Pooled,
    /// Separate curves for each run.
    Apart,
}

impl Seeds {
    /// Both treatments of seeds.
    pub const ALL: [Self; 2] = [Self::Pooled, Self::Apart];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pooled => "pooled",
            Self::Apart => "apart",
        }
    }
}

/// Returns the figure of runs, of which there must be at least one.
///
/// # Errors
/// If the runs lack the data: a description of what is missing.
pub fn of_runs(runs: &[RunData], what: FigureKind, seeds: Seeds) -> Result<Figure, NoFigure> {
    if seeds == Seeds::Pooled
        && let Some(figure) = pooled::figure(runs, what)
    {
        return Ok(figure);
    }
    let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
    let names = table::run_names(runs);
    let schemes: Vec<&str> = summaries.iter().map(|summary| summary.scheme.as_str()).collect();
    let styles = palette::assign(&schemes);
    let named: Vec<Named<'_>> = (runs.iter().zip(&names).zip(&styles))
        .map(|((data, name), &(color, dash))| Named {
            name,
            color,
            dash,
            data,
        })
        .collect();
    let clock = Clock::of(&named);
    let chart = match what {
        FigureKind::FctCdf => return completion_times(&named).ok_or_else(|| lacking(what)),
        FigureKind::SlowdownCdf => return slowdowns(&named).ok_or_else(|| lacking(what)),
        FigureKind::Slowdown => return slowdown_by_size(&named).ok_or_else(|| lacking(what)),
        FigureKind::Queue => charts::queues(&named, &clock),
        FigureKind::Rate => charts::rates_in_one(&named, &clock),
        FigureKind::State => charts::states(&named, &clock),
        FigureKind::Credits => charts::credits(&named, &clock),
        FigureKind::Pauses => charts::pauses(&named, &clock),
        FigureKind::Rtt => charts::limit(&named, &clock, RTT),
        FigureKind::Window => charts::limit(&named, &clock, WINDOW),
        FigureKind::Iterations => charts::iterations(&named, &clock),
    };
    chart.map(|chart| over_time(&chart)).ok_or_else(|| lacking(what))
}

pub(super) fn lacking(what: FigureKind) -> NoFigure {
    NoFigure(format!("{}: nothing to draw: {}", what.name(), what.lacking()))
}

pub(super) fn scale(axis: &Axis) -> Scale {
    let bytes = axis.unit == "B";
    let label = match axis.unit.as_str() {
        _ if bytes => axis.label.clone(),
        "" => axis.label.clone(),
        unit => format!("{} ({unit})", axis.label),
    };
    Scale {
        bytes,
        log: axis.log,
        max: axis.max,
        ..Scale::new(label)
    }
}

/// Returns a curve for each run, in its colour.
fn curves(runs: &[Named<'_>], points: impl Fn(&RunData) -> Vec<Point>) -> Vec<Curve> {
    let curve = |run: &Named<'_>| Curve {
        name: run.name.to_string(),
        color: run.color,
        dash: run.dash,
        points: points(run.data),
    };
    runs.iter().map(curve).collect()
}

/// Returns the cumulative distribution of ascending values, in percent.
fn shares(values: &[f64]) -> Vec<Point> {
    let share = |(i, &value): (usize, &f64)| Point::at(value, (i + 1) as f64 / values.len() as f64 * 100.0);
    values.iter().enumerate().map(share).collect()
}

pub(super) fn distribution(x: Scale, curves: Vec<Curve>) -> Option<Figure> {
    let any = curves.iter().any(|curve| !curve.points.is_empty());
    any.then(|| Figure {
        x,
        y: Scale {
            max: Some(100.0),
            ..Scale::new("flows (%)")
        },
        shape: Shape::Steps,
        curves,
    })
}

fn completion_times(runs: &[Named<'_>]) -> Option<Figure> {
    let flows = runs.iter().flat_map(|run| run.data.flows.rows());
    let times: Vec<u64> = flows.filter_map(|flow| flow.fct_ps).collect();
    let (unit, ps) = charts::unit_of_time(times.iter().copied().max()?);
    let axis = Axis::new("flow completion time", unit).log_if_wide(times.iter().map(|&ps| ps as f64));
    let points = |run: &RunData| {
        let mut all: Vec<u64> = run.flows.rows().filter_map(|flow| flow.fct_ps).collect();
        all.sort_unstable();
        shares(&all.iter().map(|&time| time as f64 / ps).collect::<Vec<_>>())
    };
    distribution(scale(&axis), curves(runs, points))
}

fn slowdowns(runs: &[Named<'_>]) -> Option<Figure> {
    let of = |run: &RunData| {
        let mut all: Vec<f64> = run.flows.rows().filter_map(|flow| flow.slowdown).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let all: Vec<f64> = runs.iter().flat_map(|run| of(run.data)).collect();
    let axis = Axis::new("FCT slowdown", "").log_if_wide(all.iter().copied());
    distribution(scale(&axis), curves(runs, |run| shares(&of(run))))
}

fn slowdown_by_size(runs: &[Named<'_>]) -> Option<Figure> {
    let groups: Vec<_> = runs.iter().map(|run| charts::size_groups(run.data)).collect();
    if groups.iter().all(|groups| groups.len() < 2) {
        return None;
    }
    let curve = |run: usize, name: &str, p: f64, dash: usize| Curve {
        name: name.to_string(),
        color: runs[run].color,
        dash,
        points: (groups[run].iter())
            .filter_map(|(size, all)| Some(Point::at(*size, all.percentile(p)?)))
            .collect(),
    };
    let [median, p95, p99] = charts::QUANTILES;
    let (label, curves) = if runs.len() == 1 {
        // The first dash is solid, so the highest percentile stands out.
        let all = [p99, p95, median].into_iter().enumerate();
        let all = all.map(|(dash, (name, p))| curve(0, name, p, dash));
        ("FCT slowdown".to_string(), all.collect::<Vec<_>>())
    } else {
        let each = runs.iter().enumerate();
        let each = each.map(|(i, run)| curve(i, run.name, p99.1, run.dash));
        (format!("FCT slowdown, {}", p99.0), each.collect())
    };
    let values: Vec<f64> = (curves.iter().flat_map(|curve| &curve.points))
        .filter_map(|point| point.y)
        .collect();
    Some(Figure {
        x: Scale {
            bytes: true,
            log: true,
            ..Scale::new("flow size")
        },
        y: scale(&Axis::new(label, "").log_if_wide(values.iter().copied())),
        shape: Shape::Points,
        curves,
    })
}

/// Converts a chart of tracks with all of their data.
fn over_time(chart: &Chart) -> Figure {
    Figure {
        // The page's ranges are not adopted: a figure computes its own from the data.
        x: Scale {
            max: None,
            ..scale(&chart.x)
        },
        y: Scale {
            max: None,
            ..scale(&chart.y)
        },
        shape: match chart.kind {
            ChartKind::Points => Shape::Points,
            _ => Shape::Steps,
        },
        curves: chart.lines.iter().map(curve_of).collect(),
    }
}

/// Returns the points of a line. Bins over time become a point at the start of each, and one without a value at a gap
/// or the end.
fn curve_of(line: &Line) -> Curve {
    let values = line.x.iter().zip(&line.y);
    let mut points: Vec<Point> = values.map(|(&x, &y)| Point::at(x, y)).collect();
    if let Some(source) = &line.source {
        let track = &source.track;
        // The record may begin within its first bin.
        let at = |number: u64| {
            let ps = (track.origin_ps + number * track.width_ps).max(track.begin_ps);
            ps as f64 / source.clock_ps
        };
        let end = |x| Point {
            x,
            y: None,
            range: None,
        };
        let mut next = None;
        for run in &track.runs {
            if let Some(gap) = next.filter(|&next| next < run.number) {
                points.push(end(at(gap)));
            }
            let range = (run.min < run.max).then(|| (run.min / source.scale, run.max / source.scale));
            points.push(Point {
                x: at(run.number),
                y: Some(run.mean / source.scale),
                range,
            });
            next = Some(run.number + run.count);
        }
        points.extend(next.map(|next| end(at(next))));
    }
    Curve {
        // WinAnsi, the encoding of text in the PDF, has no arrow.
        name: line.name.replace('→', "to"),
        color: line.color,
        dash: line.dash,
        points,
    }
}
