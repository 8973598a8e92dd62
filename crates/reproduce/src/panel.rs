//! Tables of published values next to ours, with verdicts.

use paceline_kernel::order::Sort as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::criterion::{Cell, Evidence, Quotation, Source};

/// Column of a table, usually a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading of the column.
    pub name: String,
    /// Scheme whose colour it has in charts.
    pub scheme: String,
    /// Heading of the published values next to it.
    pub published: String,
}

/// Row of a table: a quantity, or a size.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Label that distinguishes it from rows with the same metric; may be empty.
    pub label: String,
    /// Name of the quantity.
    pub metric: String,
    /// Unit of the quantity; may be empty.
    pub unit: String,
    /// Digits after the point, as printed.
    pub decimals: usize,
    /// Position in a chart.
    pub x: Option<f64>,
}

impl Row {
    /// Returns its name in a table.
    pub fn name(&self) -> String {
        match (self.label.as_str(), self.unit.as_str()) {
            ("", "") => self.metric.clone(),
            ("", unit) => format!("{}, {unit}", self.metric),
            (label, _) => label.to_string(),
        }
    }
}

/// Table with its drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Title of the table.
    pub title: String,
    /// Heading of the column with row names.
    pub head: String,
    /// Columns from left to right.
    pub columns: Vec<Column>,
    /// Rows from top to bottom.
    pub rows: Vec<Row>,
    /// Cells of each row, one per column.
    pub cells: Vec<Vec<Cell>>,
    /// True if the order of the columns in each row was published too.
    pub ordered: bool,
    /// Chart on the page, if it is not derived from the table.
    pub drawing: Option<Drawing>,
    /// True if its title distinguishes its rows from those of other panels.
    pub told_by_title: bool,
    /// True if its cells are coloured by their share of the largest absolute value.
    pub heat_map: bool,
    /// Axis of the rows' positions.
    pub along: Along,
}

/// Axis of the rows' positions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Along {
    /// Label of the axis.
    pub label: String,
    /// Unit of the positions.
    #[serde(default)]
    pub unit: String,
    /// True if the axis is logarithmic.
    #[serde(default)]
    pub log: bool,
}

/// Axis of flow sizes.
impl Default for Along {
    fn default() -> Self {
        Self {
            label: "flow size".to_string(),
            unit: "B".to_string(),
            log: true,
        }
    }
}

/// Chart of curves that are not in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Label and unit of the x axis.
    pub x: [String; 2],
    /// Label and unit of the y axis.
    pub y: [String; 2],
    /// Curves of the chart.
    pub curves: Vec<Curve>,
    /// True if a value holds until the next; otherwise straight lines join the points.
    pub stepped: bool,
}

/// Curve of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Scheme whose colour it has.
    pub scheme: String,
    /// True if it was published; it is then dashed.
    pub published: bool,
    /// Points (x, y) of the curve.
    pub points: Vec<(f64, f64)>,
}

/// Columns of a row in the order of their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordering {
    /// Name of the row.
    pub row: String,
    /// Published order: `a < b = c`.
    pub paper: String,
    /// Our order, if every value exists.
    pub ours: Option<String>,
    /// True if every published inequality holds in our order.
    pub ok: Option<bool>,
}

/// Value or ordering in the list for programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Name of the reproduction.
    pub id: String,
    /// Column, and row if that is not the metric.
    pub case: String,
    /// Name of the quantity.
    pub metric: String,
    /// Unit of the quantity.
    pub unit: String,
    /// Published value: a number, null, or the order of an ordering as text.
    pub paper: Value,
    /// Our value, in the same form.
    pub ours: Value,
    /// Description of the tolerance.
    pub tolerance: String,
    /// True if it meets its criterion; null if that is not judged.
    pub ok: Option<bool>,
    /// Kind of evidence it provides.
    #[serde(serialize_with = "kind_name")]
    pub kind: Evidence,
    /// Source of the requirement; null without one.
    pub source: Option<&'static str>,
    /// Reason for the tolerance.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Quotation of the publication's statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quotation>,
}

fn kind_name<S: Serializer>(kind: &Evidence, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind.name())
}

impl Panel {
    /// Returns true if a column has published values.
    pub fn has_published(&self, column: usize) -> bool {
        self.cells.iter().any(|cells| cells[column].paper.is_some())
    }

    /// Returns true if a column's values can be compared with published ones or bounds.
    pub fn has_differences(&self, column: usize) -> bool {
        let mut cells = self.cells.iter().zip(&self.rows);
        cells.any(|(cells, row)| {
            let cell = &cells[column];
            cell.verdict(row.decimals).is_some()
                || cell.criterion.tolerance.is_bound()
                || cell.ratio().is_some()
        })
    }

    /// Returns the order of the columns in each row, if it was published.
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
                // Equal published values allow any order of ours.
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

    /// Returns true if a row has an ordering among its records.
    pub(crate) fn has_ordering(&self, row: usize) -> bool {
        self.ordered && self.ordering(&self.rows[row], &self.cells[row]).is_some()
    }

    /// Returns its values and orderings as a list.
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

/// Formats values in order: `a < b = c`.
fn in_order(mut values: Vec<(&str, f64)>) -> String {
    values.order_by(|a, b| a.1.total_cmp(&b.1));
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
