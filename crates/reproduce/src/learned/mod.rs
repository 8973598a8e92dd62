//! Published tables and figures that need training, or the predictor apart from a run; and experiments
//! of our own with learned control. They join the others in [`crate::registry`].

#[cfg(test)]
mod tests;
mod value;

use crate::citation::Citation;
use crate::{Cell, Column, Criterion, Panel, Reproduction, Row};

/// Those that train.
pub(crate) const REGISTRY: &[Reproduction] = &[value::REPRODUCTION];

/// Where what the thesis does not have is from.
const OWN: Citation =
    Citation::ours("no publication: what the thesis on congestion control by neural networks leaves open");

/// A row of a table of one or more columns: what it is called, quantity, unit, digits.
struct Line {
    label: String,
    metric: &'static str,
    unit: &'static str,
    decimals: usize,
    /// Ours, and what was printed, for each column.
    cells: Vec<(Option<f64>, Option<f64>, Criterion)>,
    x: Option<f64>,
}

impl Line {
    /// A row in which nothing is judged.
    fn shown(
        label: impl Into<String>,
        (metric, unit, decimals): (&'static str, &'static str, usize),
        ours: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        let cells = ours.into_iter().map(|ours| (ours, None, Criterion::SHOWN));
        Self {
            label: label.into(),
            metric,
            unit,
            decimals,
            cells: cells.collect(),
            x: None,
        }
    }
}

/// A table of `lines`.
fn panel(title: &str, head: &'static str, columns: Vec<Column>, lines: &[Line]) -> Panel {
    let row = |line: &Line| Row {
        label: line.label.clone(),
        metric: line.metric,
        unit: line.unit,
        decimals: line.decimals,
        x: line.x,
    };
    let rows = lines.iter().map(row).collect();
    let panel = Panel::of(title, head, columns, rows, |row, column| {
        let (ours, paper, criterion) = lines[row].cells[column];
        Cell {
            paper,
            ours,
            criterion,
        }
    });
    panel.told_by_title()
}

/// A column that is no scheme, in the colour of one.
const fn column(name: &'static str, scheme: &'static str) -> Column {
    Column {
        name,
        scheme,
        published: "paper",
    }
}
