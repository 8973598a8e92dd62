//! Summary of a sweep in sentences.

use paceline_kernel::sorted::SortedMap;
use serde::Serialize;

use super::grid::{Grid, GridPoint};
use super::measures::{Words, in_words};
use paceline_lab::sweep::{Row, Status, SweepData, notes};

/// Largest number of failed runs that the page lists.
const FAILURES_MAX: usize = 200;

/// Failed runs, the first ones listed.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Failures {
    pub(super) count: usize,
    pub(super) shown: Vec<Failure>,
    /// Number of failed runs left out.
    pub(super) more: usize,
}

/// Failed run with its error.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Failure {
    pub(super) point: String,
    pub(super) seed: String,
    pub(super) id: String,
    pub(super) message: String,
}

/// Returns the finished rows, with their points.
fn rows(data: &SweepData) -> impl Iterator<Item = (usize, &Row)> {
    let runs = data.plan.runs().into_iter();
    runs.filter_map(|(_, point, repeat)| Some((point, data.row(point, repeat)?)))
}

pub(super) fn failed(data: &SweepData) -> Failures {
    let failed: Vec<(usize, &Row)> = rows(data)
        .filter(|(_, row)| row.status == Status::Failed)
        .collect();
    let name = |&(point, row): &(usize, &Row)| {
        let plan = &data.plan;
        let point = &plan.points[point];
        let parts = plan.axes.iter().zip(plan.values(point));
        let parts: Vec<String> = parts
            .map(|(axis, value)| format!("{} = {value}", axis.key))
            .collect();
        Failure {
            point: if parts.is_empty() {
                point.scheme.clone()
            } else {
                parts.join(", ")
            },
            seed: row.seed.to_string(),
            id: row.id.clone(),
            message: row.message.clone().unwrap_or_else(|| "it did not say why".into()),
        }
    };
    Failures {
        count: failed.len(),
        shown: failed.iter().take(FAILURES_MAX).map(name).collect(),
        more: failed.len().saturating_sub(FAILURES_MAX),
    }
}

/// Summarizes the size of the sweep and its notable results.
pub(super) fn story(data: &SweepData, grid: &Grid) -> String {
    let plan = &data.plan;
    let (points, seeds) = (plan.points.len(), plan.seeds.len());
    let all = plan.runs().len();
    let there = rows(data).count();
    let fixed = (0..points).filter(|&point| data.point_is_fixed(point)).count();
    let mut text = match (points, seeds) {
        (1, 1) => format!("One run of {}.", plan.points[0].scheme),
        (1, _) if fixed == 1 => format!("One run of {}: the seed changes nothing.", plan.points[0].scheme),
        (1, _) => format!("{seeds} seeds of {}.", plan.points[0].scheme),
        (_, 1) => format!("{points} points of a grid, one run each."),
        _ if fixed == points => {
            format!("{points} points of a grid, one run each: the seed changes nothing.")
        }
        _ => {
            // A point at which the seed changes nothing runs once.
            let runs = all - fixed * (seeds - 1);
            format!("{points} points of a grid, each with the same {seeds} seeds: {runs} runs.")
        }
    };
    if there < all {
        text.push_str(&format!(" {there} of {all} runs are finished."));
    }
    if let Some(more) = schemes(grid).or_else(|| extremes(grid)) {
        text.push(' ');
        text.push_str(&more);
    }
    text
}

/// Returns a point's value of the main measure, if all its flows finished.
fn main_value(point: &GridPoint) -> Option<f64> {
    let fair = point.open == 0 && point.failed == 0;
    point.m.first()?.first().copied().filter(|_| fair)
}

/// Returns the first measure of the grid in a sentence, if points are compared by it.
fn main_words(grid: &Grid) -> Option<Words> {
    in_words(&grid.measures.first()?.name)
}

/// Describes the number of settings in which each scheme is best.
fn schemes(grid: &Grid) -> Option<String> {
    let axis = grid.axes.iter().position(|axis| axis.scheme)?;
    let measure = main_words(grid)?.name;
    // A setting is a combination of the other axes' values. Only those with a value for every scheme count.
    let mut settings: SortedMap<Vec<usize>, Vec<(usize, f64)>> = SortedMap::new();
    for point in &grid.points {
        let mut setting = point.v.clone();
        let scheme = setting.remove(axis);
        let values = settings.entry(setting).or_default();
        values.extend(main_value(point).map(|value| (scheme, value)));
    }
    let schemes = &grid.axes[axis].values;
    settings.retain(|_, values| values.len() == schemes.len());
    let mut wins = vec![0; schemes.len()];
    for values in settings.values() {
        let least = values
            .iter()
            .map(|&(_, value)| value)
            .fold(f64::INFINITY, f64::min);
        for &(scheme, value) in values {
            wins[scheme] += usize::from(value == least);
        }
    }
    let best = *wins.iter().max()?;
    let winners: Vec<&str> = (wins.iter().zip(schemes))
        .filter(|&(&count, _)| count == best)
        .map(|(_, name)| name.as_str())
        .collect();
    match (settings.len(), winners.as_slice()) {
        (0, _) => None,
        (1, [one]) => Some(format!("{measure} is smallest with {one}.")),
        (all, [one]) => Some(format!(
            "{measure} is smallest with {one} in {best} of {all} settings."
        )),
        (all, several) => Some(format!(
            "{measure} is smallest with {} in {best} of {all} settings each.",
            several.join(" and with ")
        )),
    }
}

/// Describes the points with the smallest and largest value of the main measure.
fn extremes(grid: &Grid) -> Option<String> {
    let Words { name: measure, show } = main_words(grid)?;
    let values = || {
        let points = grid.points.iter();
        points.filter_map(|point| Some((main_value(point)?, point)))
    };
    let least = values().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = values().max_by(|a, b| a.0.total_cmp(&b.0))?;
    if least.0 == most.0 {
        return None;
    }
    let index = |point: &GridPoint| {
        let parts = grid.axes.iter().zip(&point.v);
        let parts: Vec<String> = parts
            .map(|(axis, &value)| format!("{} {}", axis.name, axis.values[value]))
            .collect();
        parts.join(", ")
    };
    Some(format!(
        "{measure} is smallest at {} ({}) and largest at {} ({}).",
        index(least.1),
        show(least.0),
        index(most.1),
        show(most.0)
    ))
}

/// Returns the warnings to consider before trusting the numbers.
pub(super) fn warnings(data: &SweepData, grid: &Grid) -> Vec<String> {
    let mut found = Vec::new();
    let failed = rows(data).filter(|(_, row)| row.status == Status::Failed).count();
    match failed {
        0 => {}
        1 => found.push("1 run failed; the means of its point are of the others.".into()),
        _ => found.push(format!(
            "{failed} runs failed; the means of their points are of the others."
        )),
    }
    let open = grid.points.iter().filter(|point| point.open > 0).count();
    if open > 0 {
        let points = if open == 1 { "point" } else { "points" };
        found.push(format!(
            "At {open} {points} flows were left unfinished: completion times there are too good to be true. They are marked with !."
        ));
    }
    found.extend(notes(data).into_iter().map(|note| note.text));
    if data.plan.seeds.len() == 1 {
        found.push("One seed: the differences may be chance. `--repeats 5` gives intervals.".into());
    }
    found.extend(paceline_lab::sweep::warnings(data, |warning| !warning.is_note()));
    found
}
