//! `flows.csv` or `flows.parquet`.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use csv::StringRecord;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::columns::{Column, Values, read_parquet, write_parquet};
use super::{Format, metadata};
use crate::results::{FlowRow, flow_rows};

/// Writes a row per flow, in order of start.
pub(super) fn write(
    out: &mut (impl Write + Send),
    format: Format,
    input: &Resolved,
    outcome: &Outcome,
) -> io::Result<()> {
    match format {
        Format::Csv => csv(out, input, outcome),
        Format::Parquet => parquet(out, input, outcome),
    }
}

const COLUMNS: [&str; 15] = [
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
    "before_feedback_bytes",
    "status",
];

fn csv(out: &mut impl Write, input: &Resolved, outcome: &Outcome) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    if outcome.flows.is_empty() {
        // The writer derives the header from the first row.
        csv.write_record(COLUMNS).map_err(io::Error::from)?;
    }
    for row in flow_rows(input, outcome) {
        csv.serialize(row).map_err(io::Error::from)?;
    }
    csv.flush()
}

fn parquet(out: &mut (impl Write + Send), input: &Resolved, outcome: &Outcome) -> io::Result<()> {
    let rows: Vec<FlowRow<'_>> = flow_rows(input, outcome).collect();
    let text =
        |value: fn(&FlowRow<'_>) -> Arc<str>| Values::Text(rows.iter().map(|row| Some(value(row))).collect());
    let int = |value: fn(&FlowRow<'_>) -> Option<u64>| {
        Values::Int(
            rows.iter()
                .map(|row| value(row).map(|value| value as i64))
                .collect(),
        )
    };
    let values = [
        int(|row| Some(u64::from(row.flow_id))),
        text(|row| (&*row.label).into()),
        text(|row| (&*row.scheme).into()),
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
        int(|row| Some(row.before_feedback_bytes)),
        text(|row| row.status.name().into()),
    ];
    let named = COLUMNS.into_iter().zip(values);
    let columns: Vec<Column> = named.map(|(name, values)| Column::new(name, values)).collect();
    write_parquet(out, &columns, &metadata(input))
}

/// The rows of a `flows.parquet`.
pub(crate) fn read_flows_parquet(path: &Path) -> Result<Vec<FlowRow<'static>>, String> {
    let columns = read_parquet(path).map_err(|error| error.to_string())?;
    let header: StringRecord = columns.iter().map(|column| &*column.name).collect();
    let rows = columns.first().map_or(0, |column| column.values.len());
    let mut all = Vec::with_capacity(rows);
    for row in 0..rows {
        // As a file of text has it, so that both say the same about what is wrong.
        let record: StringRecord = columns.iter().map(|column| cell(&column.values, row)).collect();
        let flow = record.deserialize::<FlowRow<'_>>(Some(&header));
        all.push(
            flow.map_err(|error| format!("row {}: {error}", row + 1))?
                .into_owned(),
        );
    }
    Ok(all)
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
    use super::*;
    use crate::sample;

    fn text(input: &Resolved, outcome: &Outcome) -> String {
        let mut out = Vec::new();
        write(&mut out, Format::Csv, input, outcome).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn flows_csv() {
        let (mut input, outcome) = sample::incast();
        input.run_mut().labels[1] = "big, \"quoted\"".into();
        let csv = text(&input, &outcome);
        assert_eq!(csv.lines().next().unwrap(), COLUMNS.join(","));
        insta::assert_snapshot!("flows_csv", csv);
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
        write(&mut file, Format::Parquet, &input, &outcome).unwrap();
        let expected: Vec<FlowRow<'_>> = flow_rows(&input, &outcome).collect();
        assert_eq!(read_flows_parquet(&path).unwrap(), expected);
        let names: Vec<String> = read_parquet(&path).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, COLUMNS);
    }

    #[test]
    fn other_columns_are_an_error() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("flows.parquet");
        let columns = [Column::new("flow_id", Values::Int(vec![Some(1)]))];
        write_parquet(&mut std::fs::File::create(&path).unwrap(), &columns, &[]).unwrap();
        let error = read_flows_parquet(&path).unwrap_err();
        assert!(
            error.starts_with("row 1: ") && error.contains("missing field"),
            "{error}"
        );
    }
}
