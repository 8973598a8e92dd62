//! Curves with intervals, from runs of one scenario and scheme with several seeds.

use paceline_lab::files::RunData;
use paceline_lab::stats::{CONFIDENCE, interval};

use super::runs::{FigureKind, distribution, lacking, scale};
use super::{Curve, Figure, NoFigure, Point, Scale, Shape};
use crate::charts::{self, Axis};
use crate::palette;

/// Number of points in a distribution: more than a paper's column can resolve.
const LEVELS: usize = 200;

/// Runs that differ only in their seeds, and are one curve.
struct Group<'r> {
    name: String,
    runs: Vec<&'r RunData>,
}

/// Draws a figure about flows, with a curve for each group of runs, which differ only in their seeds.
///
/// # Errors
/// If the figure is not about flows, or no flow has completed.
pub fn of_groups(groups: &[(String, Vec<RunData>)], what: FigureKind) -> Result<Figure, NoFigure> {
    if !what.is_of_flows() {
        let text = "it is about single runs: `paceline plot SWEEP/runs/ID` draws it";
        return Err(NoFigure(format!("{}: {text}", what.name())));
    }
    let groups: Vec<Group<'_>> = (groups.iter())
        .map(|(name, runs)| Group {
            name: name.clone(),
            runs: runs.iter().collect(),
        })
        .collect();
    drawn(&groups, what).ok_or_else(|| lacking(what))
}

/// Returns the groups; `None` if no two runs belong together, or two have the same seed.
fn groups(runs: &[RunData]) -> Option<Vec<Group<'_>>> {
    let scenario = |run: &RunData| run.summary.scenario.clone();
    let several = runs.iter().any(|run| scenario(run) != scenario(&runs[0]));
    let mut groups: Vec<Group<'_>> = Vec::new();
    for run in runs {
        let name = match several {
            true => format!("{} {}", run.summary.scenario, run.summary.scheme),
            false => run.summary.scheme.clone(),
        };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group {
                name,
                runs: vec![run],
            }),
        }
    }
    // Two runs with one seed are no independent repeats: their interval would be too narrow.
    let mut seeds = groups.iter().map(|group| {
        let mut seeds: Vec<u64> = group.runs.iter().map(|run| run.summary.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds.len() == group.runs.len()
    });
    (seeds.all(|differ| differ) && groups.len() < runs.len()).then_some(groups)
}

/// Returns the figure of the groups, if `what` is about flows and there are groups.
pub(super) fn figure(runs: &[RunData], what: FigureKind) -> Option<Figure> {
    drawn(&groups(runs)?, what)
}

fn drawn(groups: &[Group<'_>], what: FigureKind) -> Option<Figure> {
    match what {
        FigureKind::FctCdf => {
            let times = |run: &RunData| -> Vec<f64> {
                let times = run.flows.rows().filter_map(|flow| flow.fct_ps);
                times.map(|ps| ps as f64).collect()
            };
            let runs = groups.iter().flat_map(|group| &group.runs);
            let longest = runs.flat_map(|run| times(run)).fold(0.0, f64::max);
            let (unit, ps) = charts::unit_of_time(longest as u64);
            let axis = Axis::new("flow completion time", unit);
            cdf(groups, &axis, |run| {
                times(run).into_iter().map(|time| time / ps).collect()
            })
        }
        FigureKind::SlowdownCdf => cdf(groups, &Axis::new("FCT slowdown", ""), |run| {
            run.flows.rows().filter_map(|flow| flow.slowdown).collect()
        }),
        FigureKind::Slowdown => by_size(groups),
        _ => None,
    }
}

fn cdf(groups: &[Group<'_>], axis: &Axis, values: impl Fn(&RunData) -> Vec<f64>) -> Option<Figure> {
    let of_all = groups
        .iter()
        .flat_map(|group| group.runs.iter().flat_map(|run| values(run)));
    let axis = axis.clone().log_if_wide(of_all);
    let curves = curves(groups, |group| {
        let mut of_runs: Vec<Vec<f64>> = group.runs.iter().map(|run| values(run)).collect();
        of_runs.iter_mut().for_each(|all| all.sort_by(f64::total_cmp));
        shares(&of_runs)
    });
    distribution(scale(&axis), curves)
}

/// Returns the distribution of all values, with the interval of the mean of the runs' shares at each.
fn shares(of_runs: &[Vec<f64>]) -> Vec<Point> {
    let mut all: Vec<f64> = of_runs.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let at = |index: usize| {
        let x = all[index];
        let of_runs: Vec<f64> = (of_runs.iter().filter(|run| !run.is_empty()))
            .map(|run| run.partition_point(|&value| value <= x) as f64 / run.len() as f64 * 100.0)
            .collect();
        Point {
            // An interval of shares may reach beyond 0 or 100 %.
            range: interval(&of_runs, CONFIDENCE)
                .and_then(|found| found.ends())
                .map(|(lo, hi)| (lo.max(0.0), hi.min(100.0))),
            ..Point::at(x, (index + 1) as f64 / all.len() as f64 * 100.0)
        }
    };
    let step = all.len().div_ceil(LEVELS).max(1);
    // Without the last value, the curve would end below 100 %.
    let last = all.len().checked_sub(1);
    let mut indices: Vec<usize> = (0..all.len()).step_by(step).chain(last).collect();
    indices.dedup();
    indices.into_iter().map(at).collect()
}

/// Returns the mean of the runs' 99th percentiles for each size that all runs have, with its interval.
fn by_size(groups: &[Group<'_>]) -> Option<Figure> {
    let (name, p99) = charts::QUANTILES[2];
    let curves = curves(groups, |group| {
        let of_runs: Vec<_> = group.runs.iter().map(|run| charts::size_groups(run)).collect();
        let sizes = of_runs.first().into_iter().flatten().map(|(size, _)| *size);
        let point = |size: f64| {
            let of_size = of_runs.iter().map(|run| {
                let (_, all) = run.iter().find(|(known, _)| *known == size)?;
                all.percentile(p99)
            });
            let values: Vec<f64> = of_size.collect::<Option<_>>()?;
            let found = interval(&values, CONFIDENCE);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            Some(Point {
                range: found.and_then(|found| found.ends()),
                ..Point::at(size, mean)
            })
        };
        sizes.filter_map(point).collect()
    });
    if curves.iter().all(|curve| curve.points.len() < 2) {
        return None;
    }
    let values: Vec<f64> = (curves.iter().flat_map(|curve| &curve.points))
        .filter_map(|point| point.y)
        .collect();
    let label = format!("FCT slowdown, {name}");
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

fn curves(groups: &[Group<'_>], points: impl Fn(&Group<'_>) -> Vec<Point>) -> Vec<Curve> {
    let names: Vec<&str> = groups
        .iter()
        .map(|group| group.runs[0].summary.scheme.as_str())
        .collect();
    // Schemes have colours of their own, unless several curves are of one.
    let alike = (1..names.len()).any(|i| names[..i].contains(&names[i]));
    let own: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let styles = palette::assign(if alike { &own } else { &names });
    let curve = |(group, (color, dash)): (&Group<'_>, (usize, usize))| Curve {
        name: group.name.clone(),
        color,
        dash,
        points: points(group),
    };
    groups.iter().zip(styles).map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two seeds: shares of 50 and 100 % at 2, a mean of 75, t = 12.706 for one degree of freedom.
    #[test]
    fn shares_have_the_interval_of_the_seeds() {
        let points = shares(&[vec![1.0, 3.0], vec![1.5, 2.0]]);
        let indices: Vec<(f64, Option<f64>)> = points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(
            indices,
            [
                (1.0, Some(25.0)),
                (1.5, Some(50.0)),
                (2.0, Some(75.0)),
                (3.0, Some(100.0))
            ]
        );
        // 75 +- 12.706 * 35.36 / sqrt(2) is limited to 0 and 100.
        assert_eq!(points[2].range, Some((0.0, 100.0)));
        // Equal shares have no interval.
        assert_eq!(points[1].range, None);
    }
}
