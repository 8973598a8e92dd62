//! A table of a run: declaration and rows.

use std::sync::Arc;

pub(crate) use paceline_lab::files::columns::Column as Filled;
use paceline_lab::files::columns::Values;
use paceline_lab::files::table_columns;
use paceline_run::made::{self, Made};
pub(crate) use paceline_run::table::Column;
use paceline_run::table::{Cell, Declared};
use rusqlite::types::Value;

use crate::source::{Ended, Source};

/// A table. Every run has all tables, some of them without rows.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name of the table in SQL.
    pub name: &'static str,
    /// Description of a row.
    pub about: &'static str,
    /// Recorders or other conditions that the table needs; empty if none.
    pub needs: &'static str,
    /// Columns; times are in ps from the start of the run.
    pub columns: &'static [Column],
    pub(crate) rows: Rows,
}

/// Source of a table's rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows {
    /// The table with this name in [`RunData::tables`](paceline_lab::files::RunData::tables).
    Recorded,
    /// A function that builds rows from a given index on; the part after the last row is empty.
    Made(fn(&Source, usize) -> Result<Part, String>),
    /// A function of the program that returns cells, row by row, from a given index on.
    Own(made::Rows),
}

impl Table {
    pub(crate) const fn recorded(declared: &Declared) -> Self {
        Self {
            name: declared.name,
            about: declared.about,
            needs: declared.needs,
            columns: declared.columns,
            rows: Rows::Recorded,
        }
    }

    pub(crate) const fn own(made: &Made) -> Self {
        Self {
            name: made.name,
            about: made.about,
            needs: made.needs,
            columns: made.columns,
            rows: Rows::Own(made.rows),
        }
    }

    /// Returns rows from index `first` on; an empty part after the last.
    pub(crate) fn part(&self, run: &Source, first: usize) -> Result<Part, String> {
        match self.rows {
            Rows::Made(make) => make(run, first),
            Rows::Own(make) => {
                let Ended { input, finished } = run.ended().ok_or_else(|| not_in_folder(self.name))?;
                let cells = make(&input.run, &finished.outcome, first);
                Ok(Part::of_cells(cells, self.columns.len()))
            }
            Rows::Recorded => Ok(match run.tables.get(self.name) {
                Some(table) => whole(first, || table_columns(table)),
                None => Part::default(),
            }),
        }
    }
}

/// Consecutive rows, stored as columns or as cells.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Filled>,
    cells: Vec<Cell<'static>>,
}

impl Part {
    pub(crate) fn of(columns: Vec<Filled>) -> Self {
        let rows = columns.first().map_or(0, |column| column.values.len());
        Self {
            rows,
            columns,
            ..Self::default()
        }
    }

    fn of_cells(cells: Vec<Cell<'static>>, columns: usize) -> Self {
        Self {
            rows: cells.len() / columns,
            cells,
            ..Self::default()
        }
    }

    /// Returns the value in a row and column.
    pub(crate) fn value(&self, row: usize, column: usize) -> Value {
        let Some(column) = self.columns.get(column) else {
            let columns = self.cells.len().checked_div(self.rows).unwrap_or_default();
            return self.cells.get(row * columns + column).map_or(Value::Null, in_sql);
        };
        let value = match &column.values {
            Values::Text(values) => values[row].as_ref().map(|text| Value::Text(text.to_string())),
            Values::Int(values) => values[row].map(Value::Integer),
            Values::Real(values) => values[row].map(Value::Real),
        };
        value.unwrap_or(Value::Null)
    }
}

fn in_sql(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(value) => Value::Integer(*value),
        Cell::Bool(value) => Value::Integer((*value).into()),
        Cell::Real(value) => Value::Real(*value),
        Cell::Text(text) => Value::Text(text.to_string()),
    }
}

pub(crate) const fn int(name: &'static str, meaning: &'static str) -> Column {
    Column::int(name, meaning)
}

pub(crate) const fn real(name: &'static str, meaning: &'static str) -> Column {
    Column::real(name, meaning)
}

pub(crate) const fn text(name: &'static str, meaning: &'static str) -> Column {
    Column::text(name, meaning)
}

/// Builds a column of whole numbers from rows.
pub(crate) fn ints<T>(rows: &[T], of: impl Fn(&T) -> Option<u64>) -> Filled {
    let value = |row: &T| of(row).and_then(|value| i64::try_from(value).ok());
    Filled::new("", Values::Int(rows.iter().map(value).collect()))
}

/// Builds a column of real numbers from rows.
pub(crate) fn reals<T>(rows: &[T], of: impl Fn(&T) -> Option<f64>) -> Filled {
    Filled::new("", Values::Real(rows.iter().map(of).collect()))
}

/// Builds a column of words from rows.
pub(crate) fn words<T>(rows: &[T], of: impl Fn(&T) -> &'static str) -> Filled {
    // Equal neighbours share one allocation, since words often repeat.
    let mut last: Option<(&'static str, Arc<str>)> = None;
    let shared = |row: &T| {
        let word = of(row);
        match &last {
            Some((known, text)) if *known == word => Some(text.clone()),
            _ => Some(last.insert((word, word.into())).1.clone()),
        }
    };
    Filled::new("", Values::Text(rows.iter().map(shared).collect()))
}

/// Start of errors about tables that only measures of experiments can query.
pub(crate) const NOT_IN_FOLDER: &str = "the folder of a run does not have the table";

/// Returns the error for a table whose data a run's folder lacks.
pub(crate) fn not_in_folder(table: &str) -> String {
    format!("{NOT_IN_FOLDER} `{table}`: measures of experiments can ask it")
}

/// Returns all rows of a table that is built at once.
pub(crate) fn whole(first: usize, columns: impl FnOnce() -> Vec<Filled>) -> Part {
    match first {
        0 => Part::of(columns()),
        _ => Part::default(),
    }
}

/// Builds one row per value in a document: path, number and text.
pub(crate) fn paths(all: &serde_json::Value) -> Part {
    let mut found = Vec::new();
    leaves(String::new(), all, &mut found);
    let names = found.iter().map(|(name, _)| Some(Arc::from(&**name))).collect();
    let number = |cell: &serde_json::Value| cell.as_f64().or(cell.as_bool().map(f64::from));
    let numbers = found.iter().map(|(_, cell)| number(cell)).collect();
    let texts = found
        .iter()
        .map(|(_, cell)| cell.as_str().map(Arc::from))
        .collect();
    Part::of(vec![
        Filled::new("name", Values::Text(names)),
        Filled::new("value", Values::Real(numbers)),
        Filled::new("text", Values::Text(texts)),
    ])
}

/// Collects the values that are neither objects nor lists, with their paths.
fn leaves<'a>(path: String, value: &'a serde_json::Value, found: &mut Vec<(String, &'a serde_json::Value)>) {
    let below = |key: &str| match path.is_empty() {
        true => key.to_string(),
        false => format!("{path}.{key}"),
    };
    match value {
        serde_json::Value::Object(all) => all
            .iter()
            .for_each(|(key, value)| leaves(below(key), value, found)),
        serde_json::Value::Array(all) => {
            (0..)
                .zip(all)
                .for_each(|(index, value): (u32, _)| leaves(below(&index.to_string()), value, found));
        }
        _ => found.push((path, value)),
    }
}
