//! Tables for a terminal, as pure functions from numbers to text.

mod details;
mod jobs;
mod names;
mod repeats;
mod sizes;

pub use details::{Detail, More, ROWS_OF_PAGE, ROWS_OF_TERMINAL, details, details_text};
pub use jobs::job_headline;
pub use names::{row_names, run_names};
pub use repeats::{by_flow, difference, differing, with_interval};
pub use repeats::{jobs as jobs_of_repeats, repeats};
pub use sizes::slowdown_by_size;

use crate::metrics::{Metric, shown};
use crate::results::Summary;
use crate::text::number;

/// Width of a terminal in columns if it is unknown.
pub const DEFAULT_WIDTH: usize = 100;

/// Renders a comparison of runs: a row per run, or, if that is wider than `width`, a column per run.
///
/// Round-trip times are of all acknowledgements; the rate while active is the payload of the completed flows over the
/// sum of their completion times. Collectives and decisions that take time are shown where there are any, and
/// unscheduled bytes where they are half of the bytes or more.
pub fn comparison(runs: &[&Summary], width: usize) -> String {
    let names = row_names(runs);
    let metrics = shown(runs);
    let values: Vec<Vec<String>> = metrics
        .iter()
        .map(|m| runs.iter().map(|run| m.text(run)).collect())
        .collect();
    let wide = by_run(&metrics, &names, &values);
    if wide.lines().all(|line| line.chars().count() <= width) {
        wide
    } else {
        by_metric(&metrics, &names, &values)
    }
}

fn by_run(metrics: &[Metric], names: &[String], values: &[Vec<String>]) -> String {
    let mut columns = vec![Column::left("", "scheme", names.to_vec())];
    for (metric, cells) in metrics.iter().zip(values) {
        columns.push(Column::right(&metric.group, metric.name, cells.clone()));
    }
    render(&columns)
}

fn by_metric(metrics: &[Metric], names: &[String], values: &[Vec<String>]) -> String {
    let mut last = "";
    let mut groups = Vec::new();
    for metric in metrics {
        let shown = if metric.group == last { "" } else { &metric.group };
        last = &metric.group;
        groups.push(shown.to_string());
    }
    let metrics = metrics.iter().map(|metric| metric.name.to_string()).collect();
    let mut columns = vec![Column::left("", "", groups), Column::left("", "", metrics)];
    for (i, name) in names.iter().enumerate() {
        columns.push(Column::right(
            "",
            name,
            values.iter().map(|cells| cells[i].clone()).collect(),
        ));
    }
    render(&columns)
}

/// Published value to compare with a simulated one.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Case in the publication, usually a scheme.
    pub case: String,
    /// Metric with its unit.
    pub metric: String,
    /// Value as printed in the paper.
    pub value: f64,
}

/// Formats simulated values (`ours[i]` belongs to `published[i]`) next to published ones, with the relative difference.
pub fn beside(published: &[Published], ours: &[Option<f64>]) -> String {
    let pairs = || published.iter().zip(ours);
    let difference = |(paper, ours): (&Published, &Option<f64>)| match ours {
        Some(value) if paper.value != 0.0 => format!("{:+.1}%", (value / paper.value - 1.0) * 100.0),
        _ => "–".to_string(),
    };
    render(&[
        Column::left("", "case", published.iter().map(|p| p.case.clone()).collect()),
        Column::left("", "metric", published.iter().map(|p| p.metric.clone()).collect()),
        Column::right(
            "",
            "published",
            published.iter().map(|p| number(Some(p.value))).collect(),
        ),
        Column::right("", "ours", ours.iter().map(|&value| number(value)).collect()),
        Column::right("", "difference", pairs().map(difference).collect()),
    ])
}

/// Column of a table: its header, and a cell for each row.
pub struct Column {
    group: String,
    name: String,
    cells: Vec<String>,
    right: bool,
}

impl Column {
    /// Creates a left-aligned column, for texts.
    pub fn left(group: &str, name: &str, cells: Vec<String>) -> Self {
        Self {
            group: group.to_string(),
            name: name.to_string(),
            cells,
            right: false,
        }
    }
    /// Creates a right-aligned column, for numbers.
    pub fn right(group: &str, name: &str, cells: Vec<String>) -> Self {
        Self {
            right: true,
            ..Self::left(group, name, cells)
        }
    }
    fn pad(&self, text: &str, width: usize) -> String {
        let gap = " ".repeat(width.saturating_sub(width_of(text)));
        if self.right {
            gap + text
        } else {
            text.to_string() + &gap
        }
    }
}

/// Returns the width of `text` in terminal columns.
pub fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// Formats columns two spaces apart, with a line of groups above if there are any.
pub fn render(columns: &[Column]) -> String {
    let mut widths: Vec<usize> = columns
        .iter()
        .map(|c| {
            c.cells
                .iter()
                .chain([&c.name])
                .map(|text| width_of(text))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let groups = widen_for_groups(columns, &mut widths);
    let mut text = String::new();
    let mut push = |line: String| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    if groups.iter().any(|(name, ..)| !name.is_empty()) {
        let cell = |&(name, first, last): &(&str, usize, usize)| {
            let width = widths[first..=last].iter().sum::<usize>() + 2 * (last - first);
            let gap = width - width_of(name);
            // Over a single column like its cells, over several in the middle.
            let before = if first == last && columns[first].right {
                gap
            } else {
                gap / 2
            };
            format!("{}{name}{}", " ".repeat(before), " ".repeat(gap - before))
        };
        push(groups.iter().map(cell).collect::<Vec<_>>().join("  "));
    }
    let line = |get: &dyn Fn(&Column) -> String| {
        let cells = columns
            .iter()
            .zip(&widths)
            .map(|(c, &width)| c.pad(&get(c), width));
        cells.collect::<Vec<_>>().join("  ")
    };
    push(line(&|column| column.name.clone()));
    push("─".repeat(widths.iter().sum::<usize>() + 2 * columns.len().saturating_sub(1)));
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        push(line(&|column| column.cells[row].clone()));
    }
    text
}

/// Returns sequences of columns of the same group as (group, first, last); if a group's columns are narrower than its
/// name, the last one is widened.
fn widen_for_groups<'a>(columns: &'a [Column], widths: &mut [usize]) -> Vec<(&'a str, usize, usize)> {
    let mut groups: Vec<(&str, usize, usize)> = Vec::new();
    for (i, column) in columns.iter().enumerate() {
        match groups.last_mut() {
            Some((name, _, last)) if *name == column.group && !name.is_empty() => *last = i,
            _ => groups.push((&column.group, i, i)),
        }
    }
    for &(name, first, last) in &groups {
        let width = widths[first..=last].iter().sum::<usize>() + 2 * (last - first);
        widths[last] += width_of(name).saturating_sub(width);
    }
    groups
}

#[cfg(test)]
mod tests;
