//! CSV files of recorded tables.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use paceline_fabric::probes;
use paceline_fabric::table::{Cell, Column, ColumnKind, Declared, Row, Table};
use paceline_kernel::sorted::SortedSet;
use paceline_scenario::{csv_cell, csv_text};

use super::FlowTime;
use super::columns::{Column as Filled, Values};
use super::lines::Lines;
use crate::results::{CollectiveRow, NodeRow, OperationRow, PathRow, RequestRow};

/// Tables that a run may write, each in its own file: those of probes, and those derived from an outcome.
pub static TABLES: LazyLock<Vec<&Declared>> = LazyLock::new(|| {
    let made = [
        CollectiveRow::DECLARED,
        FlowTime::DECLARED,
        NodeRow::DECLARED,
        OperationRow::DECLARED,
        PathRow::DECLARED,
        RequestRow::DECLARED,
    ];
    probes::TABLES.iter().copied().chain(made).collect()
});

/// Returns the name of a table's file.
pub fn file_of(declared: &Declared) -> String {
    format!("{}.csv", declared.name)
}

/// Returns the columns of a table.
pub fn table_columns(table: &Table) -> Vec<Filled> {
    let rows = 0..table.len();
    let columns = table.declared().columns.iter().enumerate();
    let filled = |(index, column): (usize, &Column)| {
        let cells = rows.clone().map(|row| table.cell(row, index));
        let values = match column.kind {
            ColumnKind::Text => Values::Text(texts(cells)),
            ColumnKind::Real => Values::Real(cells.map(|cell| real(&cell)).collect()),
            ColumnKind::Int | ColumnKind::Bool => Values::Int(cells.map(|cell| int(&cell)).collect()),
        };
        Filled::new(column.name, values)
    };
    columns.map(filled).collect()
}

/// Collects the distinct texts of cells, shared between rows.
fn texts<'a>(cells: impl Iterator<Item = Cell<'a>>) -> Vec<Option<Arc<str>>> {
    let mut known: SortedSet<Arc<str>> = SortedSet::new();
    let shared = |cell| {
        let Cell::Text(text) = cell else { return None };
        if let Some(shared) = known.get(&*text) {
            return Some(shared.clone());
        }
        let shared: Arc<str> = text.into();
        known.insert(shared.clone());
        Some(shared)
    };
    cells.map(shared).collect()
}

fn int(cell: &Cell<'_>) -> Option<i64> {
    match *cell {
        Cell::Int(value) => Some(value),
        Cell::Bool(value) => Some(value.into()),
        _ => None,
    }
}

fn real(cell: &Cell<'_>) -> Option<f64> {
    match *cell {
        Cell::Real(value) => Some(value),
        _ => None,
    }
}

/// Writes a table; a header alone when it has no rows.
pub(crate) fn write(out: &mut impl Write, table: &Table) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let columns = table.declared().columns;
    csv.write_record(columns.iter().map(|column| column.name))?;
    let (mut int, mut real) = (itoa::Buffer::new(), ryu::Buffer::new());
    for row in 0..table.len() {
        for column in 0..columns.len() {
            match table.cell(row, column) {
                Cell::Null => csv.write_field("")?,
                Cell::Int(value) => csv.write_field(int.format(value))?,
                Cell::Real(value) => csv.write_field(real.format(value))?,
                Cell::Bool(value) => csv.write_field(if value { "true" } else { "false" })?,
                Cell::Text(text) => csv.write_field(csv_cell(&text).as_bytes())?,
            }
        }
        csv.write_record(None::<&[u8]>)?;
    }
    csv.flush()
}

/// Reads a table that [`write()`] wrote. Its columns may be in any order.
pub(crate) fn read(path: &Path, declared: &Declared) -> Result<Table, String> {
    let file = paceline_scenario::open_file(path).map_err(|error| error.to_string())?;
    let mut csv = csv::Reader::from_reader(Lines::of(file));
    let headers = csv.headers().map_err(|error| error.to_string())?;
    let index = |name: &str| {
        let found = headers.iter().position(|header| header == name);
        found.ok_or_else(|| format!("line 1: there is no column `{name}`"))
    };
    let columns = declared.columns.iter();
    let columns: Vec<_> = columns
        .map(|column| Ok((column, index(column.name)?)))
        .collect::<Result<_, String>>()?;
    let mut record = csv::StringRecord::new();
    let mut line = 1;
    let mut next = || {
        if !csv.read_record(&mut record).map_err(|error| error.to_string())? {
            return Ok(None);
        }
        line = record.position().map_or(0, csv::Position::line);
        let cell = |&(column, index): &(&Column, usize)| {
            let text = record.get(index).unwrap_or_default();
            match column.kind.parse(text) {
                Some(Cell::Text(text)) => Ok(Cell::Text(Cow::Owned(csv_text(&text).to_string()))),
                Some(cell) => Ok(cell),
                None => Err(format!(
                    "column `{}`: expected {}, found `{text}`",
                    column.name,
                    column.kind.expected()
                )),
            }
        };
        columns.iter().map(cell).collect::<Result<_, _>>().map(Some)
    };
    let table = (declared.read)(&mut next);
    table.map_err(|message| format!("line {line}: {message}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    paceline_fabric::recorded! {
        /// something
        struct Thing = "things", needs "" {
            /// when
            time_ps: u64,
            /// whose
            label: String,
            /// how much
            share: Option<f64>,
            /// how many
            count: Option<u32>,
            /// whether
            last: bool,
        }
    }

    fn file(text: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text).unwrap();
        file
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::vec(
                (0..1u64 << 63, ".{0,9}|[=+@\"', -]{1,4}", prop::option::of(prop::num::f64::NORMAL), any::<Option<u32>>(), any::<bool>()),
                0..9,
            )
        ) {
            let rows = rows.into_iter().map(|(time_ps, label, share, count, last)| Thing { time_ps, label, share, count, last });
            let table = Table::new(rows.collect());
            let mut text = Vec::new();
            write(&mut text, &table).unwrap();
            prop_assert_eq!(read(file(&text).path(), table.declared()), Ok(table));
        }
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let declared = Table::new(Vec::<Thing>::new()).declared();
        for (text, expected) in [
            ("time_ps,label\n", "line 1: there is no column `share`"),
            (
                "time_ps,label,share,count,last\n1,a,,,true\nx,a,,,true\n",
                "line 3: column `time_ps`: expected a whole number, found `x`",
            ),
            (
                "last,time_ps,label,share,count\ntrue,1,a,,5000000000\n",
                "line 2: column `count`: expected 0 to 4294967295, found 5000000000",
            ),
            (
                "last,time_ps,label,share,count\n,1,a,,\n",
                "line 2: column `last`: expected true or false, found nothing",
            ),
        ] {
            let error = read(file(text.as_bytes()).path(), declared).unwrap_err();
            assert_eq!(error, expected);
        }
    }
}
