//! A table of published values with ours alongside, and what to think of it.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::criterion::{Cell, Evidence, Quotation, Source};

/// A column: a scheme, usually.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What it is called.
    pub name: String,
    /// The scheme whose colour it has in charts.
    pub scheme: String,
    /// What the published values alongside it are called.
    pub published: String,
}

/// A row: a quantity, or a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What tells it from rows of the same metric; empty where there is none.
    pub label: String,
    /// Which quantity.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Digits after the point, as printed.
    pub decimals: usize,
    /// Its place in a chart.
    pub x: Option<f64>,
}

impl Row {
    /// What it is called in a table.
    pub fn name(&self) -> String {
        match (self.label.as_str(), self.unit.as_str()) {
            ("", "") => self.metric.clone(),
            ("", unit) => format!("{}, {unit}", self.metric),
            (label, _) => label.to_string(),
        }
    }
}

/// A table, and how it is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// The head of the column of row names.
    pub head: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Row>,
    /// A row of cells for each row, a cell for each column.
    pub cells: Vec<Vec<Cell>>,
    /// Whether the order of the columns in each row is part of what was published.
    pub ordered: bool,
    /// What is drawn on the page, where that is not the table.
    pub drawing: Option<Drawing>,
    /// Whether its title tells its rows from those of other panels.
    pub told_by_title: bool,
    /// Whether its cells are coloured: by their share of the largest value, above and below zero.
    pub heat_map: bool,
    /// The axis along which its rows have places.
    pub along: Along,
}

/// The axis along which rows have places.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// Label.
    pub label: String,
    /// Unit.
    #[serde(default)]
    pub unit: String,
    /// Whether it is logarithmic.
    #[serde(default)]
    pub log: bool,
}

/// Sizes of flows.
impl Default for Along {
    fn default() -> Self {
        Self {
            label: "flow size".to_string(),
            unit: "B".to_string(),
            log: true,
        }
    }
}

/// A chart of curves that no table has.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Label and unit of the axis of places.
    pub x: [String; 2],
    /// Label and unit of the axis of values.
    pub y: [String; 2],
    /// What is drawn.
    pub curves: Vec<Curve>,
    /// Whether a value holds until the next; otherwise straight lines join the points.
    pub stepped: bool,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it shows.
    pub name: String,
    /// The scheme whose colour it has.
    pub scheme: String,
    /// Whether it was published, and is dashed.
    pub published: bool,
    /// Places and values.
    pub points: Vec<(f64, f64)>,
}

/// The columns of a row in order of their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordering {
    /// The row's name.
    pub row: String,
    /// As published: `a < b = c`.
    pub paper: String,
    /// Ours, where every value is there.
    pub ours: Option<String>,
    /// Whether everything that was smaller is smaller.
    pub ok: Option<bool>,
}

/// A value or an ordering in the list for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// The reproduction.
    pub id: String,
    /// Column, and row where that is not the metric.
    pub case: String,
    /// Which quantity.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// As printed: a number, null, or for an ordering the order as text.
    pub paper: Value,
    /// Ours.
    pub ours: Value,
    /// How close they have to be.
    pub tolerance: String,
    /// Whether they are; null where that is not judged.
    pub ok: Option<bool>,
    /// What kind of evidence it is.
    #[serde(serialize_with = "kind_name")]
    pub kind: Evidence,
    /// By whose word; null where nobody says anything.
    pub source: Option<&'static str>,
    /// Why the tolerance is what it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// The words by which the publication says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quotation>,
}

fn kind_name<S: Serializer>(kind: &Evidence, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind.name())
}

impl Panel {
    /// Whether anything was published of a column.
    pub fn has_published(&self, column: usize) -> bool {
        self.cells.iter().any(|cells| cells[column].paper.is_some())
    }

    /// Whether there is something to compare the values of a column with: published ones, or bounds.
    pub fn has_differences(&self, column: usize) -> bool {
        let mut cells = self.cells.iter().zip(&self.rows);
        cells.any(|(cells, row)| {
            let cell = &cells[column];
            cell.verdict(row.decimals).is_some()
                || cell.criterion.tolerance.is_bound()
                || cell.ratio().is_some()
        })
    }

    /// The order of the columns in each row, where that was published.
    pub fn orderings(&self) -> Vec<Ordering> {
        if !self.ordered {
            return Vec::new();
        }
        let rows = self.rows.iter().zip(&self.cells);
        rows.filter_map(|(row, cells)| self.ordering(row, cells))
            .collect()
    }

    fn ordering(&self, row: &Row, cells: &[Cell]) -> Option<Ordering> {
        let printed: Vec<(&str, f64, Option<f64>)> = self
            .columns
            .iter()
            .zip(cells)
            .filter_map(|(column, cell)| Some((column.name.as_str(), cell.paper?, cell.ours)))
            .collect();
        if printed.len() < 2 {
            return None;
        }
        let paper: Vec<(&str, f64)> = printed.iter().map(|&(name, paper, _)| (name, paper)).collect();
        let ours: Option<Vec<(&str, f64)>> = printed
            .iter()
            .map(|&(name, _, ours)| Some((name, ours?)))
            .collect();
        let ok = ours.as_ref().map(|ours| {
            let pairs = (0..paper.len()).flat_map(|i| (0..paper.len()).map(move |k| (i, k)));
            pairs
                .filter(|&(i, k)| paper[i].1 < paper[k].1)
                .all(|(i, k)| ours[i].1 < ours[k].1)
        });
        Some(Ordering {
            row: row.name(),
            paper: in_order(paper),
            ours: ours.map(in_order),
            ok,
        })
    }

    /// Whether a row has an ordering among its records.
    pub(crate) fn has_ordering(&self, row: usize) -> bool {
        self.ordered && self.ordering(&self.rows[row], &self.cells[row]).is_some()
    }

    /// Its values and orderings in a list.
    pub(crate) fn records(&self, id: &str) -> Vec<Record> {
        let mut records = Vec::new();
        for (row, cells) in self.rows.iter().zip(&self.cells) {
            let case = |name: &str| {
                let parts = [
                    name,
                    if self.told_by_title { &self.title } else { "" },
                    &row.label,
                ];
                let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                parts.join(", ")
            };
            for (column, cell) in self.columns.iter().zip(cells) {
                records.push(Record {
                    id: id.to_string(),
                    case: case(&column.name),
                    metric: row.metric.clone(),
                    unit: row.unit.clone(),
                    paper: json!(cell.paper),
                    ours: json!(cell.ours),
                    tolerance: cell.criterion.tolerance.text(),
                    ok: cell.verdict(row.decimals),
                    kind: cell.criterion.kind,
                    source: cell.source().map(Source::name),
                    because: cell.criterion.because.clone(),
                    quote: cell.criterion.quote.clone(),
                });
            }
            if let Some(ordering) = self.ordered.then(|| self.ordering(row, cells)).flatten() {
                records.push(Record {
                    id: id.to_string(),
                    case: case("ordering"),
                    metric: row.metric.clone(),
                    unit: String::new(),
                    paper: json!(ordering.paper),
                    ours: json!(ordering.ours),
                    tolerance: "ordering".to_string(),
                    ok: ordering.ok,
                    kind: Evidence::Property,
                    source: Some(Source::Paper.name()),
                    because: String::new(),
                    quote: None,
                });
            }
        }
        records
    }
}

/// `a < b = c`.
fn in_order(mut values: Vec<(&str, f64)>) -> String {
    values.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut text = String::new();
    for (i, &(name, value)) in values.iter().enumerate() {
        match i.checked_sub(1).map(|before| values[before].1) {
            None => {}
            Some(before) if before == value => text.push_str(" = "),
            Some(_) => text.push_str(" < "),
        }
        text.push_str(name);
    }
    text
}
