//! `flows.csv` or `flows.parquet`. If most flows repeat earlier ones, `unique_flows.csv` and `flow_repeats.csv` replace
//! it.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use csv::StringRecord;
use paceline_scenario::{Resolved, csv_cell, csv_text};

use super::columns::{Column, GROUP_ROWS, Values, groups, read_parquet};
use super::line::{Line, quoted};
use super::lines::Lines;
use super::{Format, metadata};
use crate::results::{Entry, FlowRow, FlowRows};

/// Writes a row per flow, in order of start; unless `expand`, only those of flows that repeat no earlier one.
pub(super) fn write(
    out: &mut impl Write,
    format: Format,
    expand: bool,
    input: &Resolved,
    flows: &FlowRows,
) -> io::Result<()> {
    let entries: Box<dyn Iterator<Item = Entry>> = match expand {
        true => Box::new(flows.entries()),
        false => Box::new(flows.originals()),
    };
    match format {
        Format::Csv => csv(out, input, flows, entries)?,
        Format::Parquet => parquet(out, input, flows, entries)?,
    }
    flows.check()
}

const COLUMNS: [&str; 17] = [
    "flow_id",
    "label",
    "scheme",
    "src",
    "dst",
    "priority",
    "size_bytes",
    "start_ps",
    "fct_ps",
    "ideal_fct_ps",
    "slowdown",
    "retransmitted_bytes",
    "sent_bytes",
    "unscheduled_bytes",
    "ce_packets",
    "ue_packets",
    "status",
];

/// Name of the last column of runs in which flows share connections.
const CONNECTION: &str = "connection";

fn has_connections(input: &Resolved) -> bool {
    input.run.flows.iter().any(|flow| flow.connection.is_some())
}

fn csv(
    out: &mut impl Write,
    input: &Resolved,
    flows: &FlowRows,
    entries: impl Iterator<Item = Entry>,
) -> io::Result<()> {
    let connections = has_connections(input);
    let mut line = Line::new(b',');
    for name in COLUMNS.into_iter().chain(connections.then_some(CONNECTION)) {
        line.text(name.as_bytes());
    }
    line.end(out)?;
    let (mut labels, mut schemes) = (Cells::default(), Cells::default());
    for flow in entries {
        line.int(flow.flow)
            .text(labels.of(flow.label, || flows.label(&flow))?)
            .text(schemes.of(flow.scheme, || flows.scheme(&flow))?)
            .int(flow.src)
            .int(flow.dst)
            .int(flow.class)
            .int(flow.size)
            .int(flow.start_ps)
            .int_if(flow.fct_ps)
            .int(flow.ideal_ps)
            .real_if(flow.slowdown)
            .int(flow.retransmitted)
            .int(flow.sent)
            .int(flow.sent_unscheduled)
            .int(flow.ce)
            .int(flow.ue)
            .text(flow.status.name().as_bytes());
        if connections {
            line.int_if((flow.connection > 0).then_some(flow.connection.into()));
        }
        line.end(out)?;
    }
    Ok(())
}

/// Names formatted as cells, indexed by their numbers.
#[derive(Default)]
struct Cells(Vec<Option<Vec<u8>>>);

impl Cells {
    fn of<'a>(&mut self, number: u32, name: impl FnOnce() -> &'a str) -> io::Result<&[u8]> {
        let index = number as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, None);
        }
        match &mut self.0[index] {
            Some(cell) => Ok(cell),
            cell => Ok(cell.insert(quoted(&csv_cell(name()))?)),
        }
    }
}

fn parquet(
    out: &mut impl Write,
    input: &Resolved,
    flows: &FlowRows,
    entries: impl Iterator<Item = Entry>,
) -> io::Result<()> {
    let mut rows = entries.map(|entry| flows.row(&entry));
    let mut group: Vec<FlowRow<'_>> = rows.by_ref().take(GROUP_ROWS).collect();
    let columns = |group: &[FlowRow<'_>]| {
        let mut columns = flow_columns(group);
        if has_connections(input) {
            let values = group.iter().map(|row| row.connection.map(i64::from));
            columns.push(Column::new(CONNECTION, Values::Int(values.collect())));
        }
        columns
    };
    let mut file = groups(out, &columns(&group), &metadata(input))?;
    while !group.is_empty() {
        file.group(&columns(&group), 0..group.len())?;
        group.clear();
        group.extend(rows.by_ref().take(GROUP_ROWS));
    }
    file.close()
}

/// Returns rows as the columns of `flows.parquet`.
pub fn flow_columns(rows: &[FlowRow<'_>]) -> Vec<Column> {
    let text = |value: for<'r> fn(&'r FlowRow<'_>) -> &'r str| {
        let mut last: Option<Arc<str>> = None;
        let mut shared = |row| {
            // Neighbours are often the same: they share one allocation.
            let text = value(row);
            let same = last.take().filter(|last| **last == *text);
            last = Some(same.unwrap_or_else(|| text.into()));
            last.clone()
        };
        Values::Text(rows.iter().map(&mut shared).collect())
    };
    let int = |value: fn(&FlowRow<'_>) -> Option<u64>| {
        Values::Int(
            rows.iter()
                .map(|row| value(row).map(|value| value as i64))
                .collect(),
        )
    };
    let values = [
        int(|row| Some(u64::from(row.flow_id))),
        text(|row| &row.label),
        text(|row| &row.scheme),
        int(|row| Some(u64::from(row.src))),
        int(|row| Some(u64::from(row.dst))),
        int(|row| Some(u64::from(row.priority))),
        int(|row| Some(row.size_bytes)),
        int(|row| Some(row.start_ps)),
        int(|row| row.fct_ps),
        int(|row| Some(row.ideal_fct_ps)),
        Values::Real(rows.iter().map(|row| row.slowdown).collect()),
        int(|row| Some(row.retransmitted_bytes)),
        int(|row| Some(row.sent_bytes)),
        int(|row| Some(row.unscheduled_bytes)),
        int(|row| Some(u64::from(row.ce_packets))),
        int(|row| Some(u64::from(row.ue_packets))),
        text(|row| row.status.name()),
    ];
    let named = COLUMNS.into_iter().zip(values);
    named.map(|(name, values)| Column::new(name, values)).collect()
}

/// Reads the rows of a `flows.parquet`.
pub(crate) fn read_flows_parquet(path: &Path) -> Result<FlowRows, RowError> {
    FlowRows::of_rows(parquet_rows(path)?, &std::env::temp_dir())
}

/// Reads the rows of a `flows.csv`.
pub(crate) fn read_flows_csv(file: File) -> Result<FlowRows, RowError> {
    FlowRows::of_rows(csv_rows(file), &std::env::temp_dir())
}

/// Row of a table of flows, or the fault in it.
type ReadRow = Result<FlowRow<'static>, RowError>;

/// Returns the rows of a `flows.parquet` one by one.
pub(super) fn parquet_rows(path: &Path) -> Result<impl Iterator<Item = ReadRow>, RowError> {
    let columns = read_parquet(path).map_err(|error| RowError(error.to_string()))?;
    let header: StringRecord = columns.iter().map(|column| &*column.name).collect();
    let rows = columns.first().map_or(0, |column| column.values.len());
    let row = move |row: usize| {
        // Converted to the form of a text file, so that both formats report the same errors.
        let record: StringRecord = columns.iter().map(|column| cell(&column.values, row)).collect();
        let flow = record.deserialize::<FlowRow<'_>>(Some(&header));
        let flow = flow.map_err(|error| RowError(format!("row {}: {error}", row + 1)))?;
        Ok(flow.into_owned())
    };
    Ok((0..rows).map(row).map(ended))
}

/// Returns the rows of a `flows.csv` one by one.
pub(super) fn csv_rows(file: File) -> impl Iterator<Item = ReadRow> {
    let rows = csv::Reader::from_reader(Lines::of(file)).into_deserialize::<FlowRow<'static>>();
    let rows = rows.map(|row| match row {
        Ok(row) => Ok(FlowRow {
            label: csv_text(&row.label).to_string().into(),
            ..row
        }),
        Err(error) => Err(RowError(error.to_string())),
    });
    rows.map(ended)
}

/// Checks that a row's end is representable and its slowdown is a number.
fn ended(row: Result<FlowRow<'static>, RowError>) -> Result<FlowRow<'static>, RowError> {
    let row = row?;
    if let Some(slowdown) = row
        .slowdown
        .filter(|slowdown| !slowdown.is_finite() || *slowdown < 0.0)
    {
        return Err(RowError(format!(
            "flow {}: slowdown = {slowdown}: expected a number from 0 on",
            row.flow_id
        )));
    }
    match row.start_ps.checked_add(row.fct_ps.unwrap_or_default()) {
        Some(_) => Ok(row),
        None => Err(RowError(format!(
            "flow {}: start_ps and fct_ps sum to more than {} ps",
            row.flow_id,
            u64::MAX
        ))),
    }
}

/// Description of a fault in a table of flows.
pub(crate) struct RowError(pub(crate) String);

impl From<io::Error> for RowError {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

fn cell(values: &Values, row: usize) -> String {
    let text = match values {
        Values::Text(values) => values[row].as_ref().map(ToString::to_string),
        Values::Int(values) => values[row].map(|value| value.to_string()),
        Values::Real(values) => values[row].map(|value| value.to_string()),
    };
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use paceline_fabric::Outcome;

    use super::*;
    use crate::files::columns::write_parquet;
    use crate::results::flow_rows;
    use crate::sample;

    fn text(input: &Resolved, outcome: &Outcome) -> String {
        let mut out = Vec::new();
        write(&mut out, Format::Csv, false, input, &sample::rows(input, outcome)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn flows_csv() {
        let (mut input, outcome) = sample::incast();
        input.run_mut().labels[1] = "big, \"quoted\"".into();
        input.run_mut().labels[0] = "=1+1".into();
        let csv = text(&input, &outcome);
        assert_eq!(csv.lines().next().unwrap(), COLUMNS.join(","));
        insta::assert_snapshot!("flows_csv", csv);
    }

    /// The column of connections is read back; rows of flows without a connection are empty there.
    #[test]
    fn connections_are_a_column() {
        let (mut input, outcome) = sample::incast();
        input.run_mut().flows[1].connection = NonZeroU32::new(3);
        let csv = text(&input, &outcome);
        let ends: Vec<&str> = csv
            .lines()
            .map(|line| &line[line.rfind(',').unwrap()..])
            .collect();
        assert_eq!(ends[..3], [",connection", ",", ",3"]);
        let tmp = tempfile::tempdir().unwrap();
        for (name, format) in [("flows.csv", Format::Csv), ("flows.parquet", Format::Parquet)] {
            let path = tmp.path().join(name);
            let mut file = File::create(&path).unwrap();
            write(&mut file, format, false, &input, &sample::rows(&input, &outcome)).unwrap();
            let read = match format {
                Format::Csv => read_flows_csv(File::open(&path).unwrap()),
                Format::Parquet => read_flows_parquet(&path),
            };
            let read: Vec<Option<u32>> = (read.ok().unwrap().rows()).map(|row| row.connection).collect();
            assert_eq!(read[..2], [None, Some(3)], "{name}");
        }
    }

    #[test]
    fn flows_csv_has_a_header_without_flows() {
        let (mut input, mut outcome) = sample::incast();
        input.run_mut().flows.clear();
        outcome.flows.clear();
        assert_eq!(text(&input, &outcome), format!("{}\n", COLUMNS.join(",")));
    }

    #[test]
    fn parquet_has_the_same_rows() {
        let (mut input, outcome) = sample::incast();
        input.run_mut().labels[1] = "big, \"quoted\"".into();
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("flows.parquet");
        let mut file = std::fs::File::create(&path).unwrap();
        let rows = sample::rows(&input, &outcome);
        write(&mut file, Format::Parquet, false, &input, &rows).unwrap();
        let expected: Vec<FlowRow<'_>> = flow_rows(&input, &outcome).collect();
        let read = read_flows_parquet(&path).ok().unwrap();
        assert_eq!(read.rows().collect::<Vec<_>>(), expected);
        let names: Vec<String> = read_parquet(&path).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, COLUMNS);
    }

    #[test]
    fn slowdowns_are_numbers() {
        let (input, outcome) = sample::incast();
        let csv = text(&input, &outcome);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flows.csv");
        let row = csv.lines().find(|line| line.ends_with(",completed")).unwrap();
        let slowdown = row.split(',').nth(10).unwrap();
        for wrong in ["1e309", "-1", "NaN"] {
            std::fs::write(
                &path,
                csv.replace(&format!(",{slowdown},"), &format!(",{wrong},")),
            )
            .unwrap();
            let RowError(error) = read_flows_csv(File::open(&path).unwrap()).err().unwrap();
            assert!(error.contains("expected a number from 0 on"), "{error}");
        }
    }

    #[test]
    fn other_columns_are_an_error() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("flows.parquet");
        let columns = [Column::new("flow_id", Values::Int(vec![Some(1)]))];
        write_parquet(&mut std::fs::File::create(&path).unwrap(), &columns, &[]).unwrap();
        let RowError(error) = read_flows_parquet(&path).err().unwrap();
        assert!(
            error.starts_with("row 1: ") && error.contains("missing field"),
            "{error}"
        );
    }
}
