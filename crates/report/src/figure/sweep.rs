//! Figures of sweeps: a number of the runs over an axis of the grid, with its interval.

use paceline_kernel::order::Sort as _;
use paceline_lab::files::RunData;
use paceline_lab::layout::nearest;
use paceline_lab::sweep::{Estimate, SweepData, estimates};
use paceline_scenario::sweep::Axis;

use super::{Curve, Figure, NoFigure, Point, Scale, Seeds, Shape, words};
use crate::palette;
use crate::sweep::places;

/// Draws the number `metric` (a path in the summary, such as `fct_slowdown.p99`) over the axis `over` of the grid; by
/// default, over the first axis with numbers, or else the first one. Each combination of the other axes' values is a
/// curve.
///
/// # Errors
/// If there is no such number or axis: a list of those that exist.
pub fn of_sweep(data: &SweepData, metric: &str, over: Option<&str>) -> Result<Figure, NoFigure> {
    let axes = &data.plan.axes;
    let across = across(axes, over)?;
    let points: Vec<Vec<(String, Estimate)>> = (0..data.plan.points.len())
        .map(|point| estimates(data, point))
        .collect();
    let of = |point: usize| points[point].iter().find(|(name, _)| name == metric);
    if (0..points.len()).all(|point| of(point).is_none()) {
        return Err(no_metric(metric, &points));
    }
    let numbers = places(&axes[across].values);
    let mut curves: Vec<(Vec<usize>, Curve)> = Vec::new();
    for (number, point) in data.plan.points.iter().enumerate() {
        let mut others = point.values.clone();
        let position = others.remove(across);
        let found = curves.iter().position(|(known, _)| *known == others);
        let index = found.unwrap_or_else(|| {
            curves.push((others.clone(), empty(name(axes, across, &others))));
            curves.len() - 1
        });
        let x = numbers
            .as_ref()
            .map_or(position as f64, |(numbers, _)| numbers[position]);
        // A point without finished runs is left out, and its curve goes on.
        curves[index]
            .1
            .points
            .extend(of(number).map(|(_, estimate)| Point {
                x,
                y: Some(estimate.mean),
                range: estimate.ends,
            }));
    }
    let mut curves: Vec<Curve> = curves.into_iter().map(|(_, curve)| curve).collect();
    style(&mut curves);
    let unit = numbers.as_ref().map_or("", |(_, unit)| unit.as_str());
    let label = words::of_key(&axes[across].key, unit);
    let names = match numbers {
        Some(_) => Vec::new(),
        None => axes[across].values.iter().map(ToString::to_string).collect(),
    };
    Ok(Figure {
        x: Scale {
            names,
            ..Scale::new(label)
        },
        y: Scale::new(words::of_metric(metric)),
        shape: Shape::Points,
        curves,
    })
}

/// Returns the runs of each point that are kept, as `read` returns them by their ids, with the point's name. Points
/// without runs are left out.
///
/// # Errors
/// A run that cannot be read, or a sweep without finished runs.
pub fn groups_of_sweep<E: std::fmt::Display>(
    data: &SweepData,
    seeds: Seeds,
    read: impl Fn(&str) -> Result<Option<RunData>, E>,
) -> Result<Vec<(String, Vec<RunData>)>, NoFigure> {
    let mut groups = Vec::new();
    for point in &data.plan.points {
        let name = name(&data.plan.axes, usize::MAX, &point.values);
        let name = if name.is_empty() {
            point.scheme.clone()
        } else {
            name
        };
        let mut ids: Vec<&String> = point.runs.iter().collect();
        ids.dedup();
        let runs: Result<Vec<Option<RunData>>, E> = ids.into_iter().map(|id| read(id)).collect();
        let runs = runs.map_err(|error| NoFigure(error.to_string()))?;
        let runs: Vec<RunData> = runs.into_iter().flatten().collect();
        match seeds {
            Seeds::Pooled if !runs.is_empty() => groups.push((name, runs)),
            Seeds::Pooled => {}
            Seeds::Apart => {
                let named = |run: RunData| (format!("{name} seed {}", run.summary.seed), vec![run]);
                groups.extend(runs.into_iter().map(named));
            }
        }
    }
    match groups.is_empty() {
        true => Err(NoFigure("no run of the sweep is finished".to_string())),
        false => Ok(groups),
    }
}

fn empty(name: String) -> Curve {
    Curve {
        name,
        color: 0,
        dash: 0,
        points: Vec::new(),
    }
}

/// Sorts each curve's points by x, and assigns the colours: a scheme has its own.
fn style(curves: &mut [Curve]) {
    let names: Vec<String> = curves.iter().map(|curve| curve.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (curve, (color, dash)) in curves.iter_mut().zip(palette::assign(&names)) {
        (curve.color, curve.dash) = (color, dash);
        curve.points.order_by(|a, b| a.x.total_cmp(&b.x));
    }
}

fn across(axes: &[Axis], over: Option<&str>) -> Result<usize, NoFigure> {
    let keys = || {
        axes.iter()
            .map(|axis| axis.key.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    if axes.is_empty() {
        return Err(NoFigure("the sweep has no axis: only its seeds vary".into()));
    }
    match over {
        Some(key) => (axes.iter())
            .position(|axis| axis.key == key || axis.key.ends_with(&format!(".{key}")))
            .ok_or_else(|| NoFigure(format!("the sweep has no axis `{key}`: it has {}", keys()))),
        None => {
            let varied = |axis: &Axis| axis.values.len() > 1;
            let numbers = axes
                .iter()
                .position(|axis| varied(axis) && places(&axis.values).is_some());
            Ok(numbers.or_else(|| axes.iter().position(varied)).unwrap_or(0))
        }
    }
}

/// Returns the name of a curve: the values of the other axes, with their keys except for schemes.
fn name(axes: &[Axis], across: usize, others: &[usize]) -> String {
    let rest = axes.iter().enumerate().filter(|(i, _)| *i != across);
    let parts = rest.zip(others).filter(|((_, axis), _)| axis.values.len() > 1);
    let part = |((_, axis), &value): ((usize, &Axis), &usize)| match axis.name().as_str() {
        "scheme" | "case" => axis.values[value].to_string(),
        name => format!("{name}={}", axis.values[value]),
    };
    parts.map(part).collect::<Vec<_>>().join(", ")
}

/// Returns an error with similar names: those with the nearest spelling, then those with the same first word.
fn no_metric(metric: &str, points: &[Vec<(String, Estimate)>]) -> NoFigure {
    const SHOWN: usize = 12;
    let mut names: Vec<&str> = points.iter().flatten().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return NoFigure("no run of the sweep is finished".to_string());
    }
    let lists = "the column `metric` of points.csv lists all";
    let missing = format!("runs of the sweep have no number `{metric}`");
    if let Some(near) = nearest(metric, names.iter().copied()) {
        return NoFigure(format!("{missing}: did you mean `{near}`? ({lists})"));
    }
    let word = metric.split(['.', '-', '_']).next().unwrap_or(metric);
    let same_word = |name: &&str| name.contains(word);
    let near: Vec<&str> = names.iter().copied().filter(same_word).take(SHOWN).collect();
    NoFigure(match near.is_empty() {
        true => format!("{missing}; {lists}"),
        false => format!("{missing}: did you mean one of {}? ({lists})", near.join(", ")),
    })
}
