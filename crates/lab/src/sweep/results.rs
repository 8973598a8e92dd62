//! `results.csv` and `results.parquet`: a row per run and a column per metric.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use paceline_scenario::csv_cell;
use paceline_scenario::sweep::{Axis, AxisValue};

use super::points::write_points;
use super::{Plan, Row, Status, SweepData, metrics, notes};
use crate::files::columns::{Column, Values, write_parquet};
use crate::files::{OutputError, write_file};

/// Writes `results.csv` and `results.parquet` into a sweep's folder: a row for each run of the plan, in its order,
/// including failed and missing ones (status `missing`). Also writes `points.csv` and `points.parquet`, with a row for
/// each point and metric over the seeds, and `notes.json`.
///
/// Measurements of the machine are left out, so the content depends only on the plan.
pub fn write_results(folder: &Path, data: &SweepData) -> Result<(), OutputError> {
    let columns = results(data);
    write_file(&folder.join("results.csv"), |out| write_csv(out, &columns))?;
    write_file(&folder.join("results.parquet"), |out| {
        write_parquet(out, &columns, &metadata(&data.plan))
    })?;
    write_file(&folder.join("notes.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, &notes(data))?;
        writeln!(out)
    })?;
    write_points(folder, data)
}

/// Returns the metadata of `results.parquet`.
pub(super) fn metadata(plan: &Plan) -> [(&'static str, String); 2] {
    [
        ("version", plan.version.clone()),
        ("scenario", plan.scenario.clone()),
    ]
}

/// Returns the table of results, column by column.
pub fn results(data: &SweepData) -> Vec<Column> {
    let plan = &data.plan;
    let repeats = 0..plan.seeds.len();
    let runs: Vec<(usize, usize)> = (0..plan.points.len())
        .flat_map(|point| repeats.clone().map(move |repeat| (point, repeat)))
        .collect();
    let rows: Vec<Option<&Row>> = runs
        .iter()
        .map(|&(point, repeat)| data.row(point, repeat))
        .collect();
    let ended = rows
        .iter()
        .map(|row| row.map(|row| (row.status, row.message.as_deref())));
    let mut columns = columns_of_runs(plan, &runs, ended);
    columns.extend(metric_columns(&rows));
    columns
}

/// Returns the columns of the table of results that precede the metrics, for some runs: index of the point and of the
/// seed. `ended` has status and message of each, `None` if it is missing.
pub(super) fn columns_of_runs<'a>(
    plan: &Plan,
    runs: &[(usize, usize)],
    ended: impl Iterator<Item = Option<(Status, Option<&'a str>)>> + Clone,
) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (number, axis) in plan.axes.iter().enumerate() {
        let values = runs
            .iter()
            .map(|&(point, _)| &axis.values[plan.points[point].values[number]]);
        columns.push(axis_column(axis, values));
    }
    let seeds = runs.iter().map(|&(_, repeat)| Some(plan.seeds[repeat] as i64));
    columns.push(Column::new("seed", Values::Int(seeds.collect())));
    let ids = runs
        .iter()
        .map(|&(point, repeat)| plan.points[point].runs[repeat].as_str());
    columns.push(texts("id", ids.map(Some)));
    let status = |run: Option<(Status, Option<&str>)>| match run {
        Some((Status::Completed, _)) => "completed",
        Some((Status::Failed, _)) => "failed",
        None => "missing",
    };
    columns.push(texts("status", ended.clone().map(|run| Some(status(run)))));
    columns.push(texts(
        "message",
        ended.map(|run| run.and_then(|(_, message)| message)),
    ));
    columns
}

pub(super) fn texts<'a>(name: &str, values: impl Iterator<Item = Option<&'a str>>) -> Column {
    Column::new(
        name,
        Values::Text(values.map(|text| text.map(Arc::from)).collect()),
    )
}

/// Makes a column of an axis: whole numbers, real numbers, or texts if some value is neither.
pub(super) fn axis_column<'a>(axis: &Axis, values: impl Iterator<Item = &'a AxisValue>) -> Column {
    let whole = |value: &AxisValue| match value {
        AxisValue::Int(value) => Some(*value),
        _ => None,
    };
    let values = if axis.values.iter().all(|value| whole(value).is_some()) {
        Values::Int(values.map(whole).collect())
    } else if axis.values.iter().all(|value| value.number().is_some()) {
        Values::Real(values.map(AxisValue::number).collect())
    } else {
        Values::Text(values.map(|value| Some(Arc::from(value.to_string()))).collect())
    };
    Column::new(&axis.key, values)
}

/// Makes a column for each metric that some summary has, in the order in which they appear.
fn metric_columns(rows: &[Option<&Row>]) -> Vec<Column> {
    let mut names: Vec<String> = Vec::new();
    let mut numbers: paceline_kernel::sorted::SortedMap<String, usize> =
        paceline_kernel::sorted::SortedMap::new();
    let mut table: Vec<Vec<Option<f64>>> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let summary = row.and_then(|row| row.summary.as_ref());
        for (name, value) in summary.into_iter().flat_map(metrics) {
            let column = *numbers.entry(name).or_insert_with_key(|name| {
                names.push(name.clone());
                table.push(vec![None; rows.len()]);
                names.len() - 1
            });
            table[column][i] = Some(value);
        }
    }
    let columns = names.into_iter().zip(table);
    columns
        .map(|(name, values)| Column::new(name, Values::Real(values)))
        .collect()
}

pub(super) fn write_csv(out: &mut impl io::Write, columns: &[Column]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns.iter().map(|column| column.name.as_str()))?;
    write_records(&mut csv, columns)?;
    csv.flush()
}

/// Writes the rows of columns.
pub(super) fn write_records(csv: &mut csv::Writer<impl io::Write>, columns: &[Column]) -> io::Result<()> {
    for row in 0..columns.first().map_or(0, |column| column.values.len()) {
        let cell = |column: &Column| match &column.values {
            Values::Text(values) => csv_cell(values[row].as_deref().unwrap_or_default()).into_owned(),
            Values::Int(values) => values[row].map(|value| value.to_string()).unwrap_or_default(),
            Values::Real(values) => values[row].map(|value| value.to_string()).unwrap_or_default(),
        };
        csv.write_record(columns.iter().map(cell))?;
    }
    Ok(())
}
