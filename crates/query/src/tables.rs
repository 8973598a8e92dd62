//! What a run leaves, as tables.

use std::sync::Arc;

use paceline_lab::files::columns::{Column as Filled, Values};
use paceline_lab::files::{RunData, flow_columns, series_columns};
use paceline_lab::results::FlowRow;
use rusqlite::types::Value;
use serde::Serialize;

/// A table: every run has it, perhaps without rows.
#[derive(Debug)]
pub struct Table {
    /// Its name in SQL.
    pub name: &'static str,
    /// What a row is, and what has to be recorded for it.
    pub about: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// Some of its rows, from one on; none behind the last.
    pub(crate) rows: fn(&RunData, usize) -> Result<Part, String>,
}

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// What it means; times are in ps from the start of the run.
    pub meaning: &'static str,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Int,
    /// Real numbers.
    Real,
    /// Texts.
    Text,
}

impl Kind {
    /// As pages say it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "whole number",
            Self::Real => "number",
            Self::Text => "text",
        }
    }
}

/// Rows one after the other.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) rows: usize,
    columns: Vec<Filled>,
}

impl Part {
    fn of(columns: Vec<Filled>) -> Self {
        let rows = columns.first().map_or(0, |column| column.values.len());
        Self { rows, columns }
    }

    /// The value in a row and a column.
    pub(crate) fn value(&self, row: usize, column: usize) -> Value {
        let Some(column) = self.columns.get(column) else {
            return Value::Null;
        };
        let value = match &column.values {
            Values::Text(values) => values[row].as_ref().map(|text| Value::Text(text.to_string())),
            Values::Int(values) => values[row].map(Value::Integer),
            Values::Real(values) => values[row].map(Value::Real),
        };
        value.unwrap_or(Value::Null)
    }
}

const fn int(name: &'static str, meaning: &'static str) -> Column {
    let kind = Kind::Int;
    Column { name, kind, meaning }
}

const fn real(name: &'static str, meaning: &'static str) -> Column {
    let kind = Kind::Real;
    Column { name, kind, meaning }
}

const fn text(name: &'static str, meaning: &'static str) -> Column {
    let kind = Kind::Text;
    Column { name, kind, meaning }
}

/// All tables.
pub const TABLES: &[Table] = &[
    Table {
        name: "flows",
        about: "a row per flow, in order of start",
        columns: &[
            int("flow_id", "its number"),
            text("label", "the label of its workload"),
            text("scheme", "its scheme"),
            int("src", "sending node"),
            int("dst", "receiving node"),
            int("priority", "priority class"),
            int("size_bytes", "payload"),
            int("start_ps", "start"),
            int("fct_ps", "completion time; null unless completed"),
            int("ideal_fct_ps", "completion time alone in the network"),
            real("slowdown", "the quotient of the two; null unless completed"),
            int("retransmitted_bytes", "payload sent more than once"),
            int("sent_bytes", "payload sent at least once"),
            int("unscheduled_bytes", "the part that left before any feedback"),
            int("ce_packets", "data packets that arrived marked as congested"),
            int("ue_packets", "data packets that arrived marked as undetermined"),
            text(
                "status",
                "completed, unfinished, not-started, unreachable or given-up",
            ),
            int("connection", "the persistent connection that carried it"),
        ],
        rows: flows,
    },
    Table {
        name: "series",
        about: "a row per point of each series over time, as in series.parquet",
        columns: &[
            text("entity", "what was recorded: a port, a flow, a host"),
            text("metric", "which of its values"),
            int("time_ps", "when"),
            real("value", "the value, or the mean of a bin"),
            real("min", "least of the bin's samples"),
            real("max", "largest of them"),
            real("last", "last of them"),
        ],
        rows: |run, first| Ok(whole(first, || series_columns(&run.series))),
    },
    Table {
        name: "flow_time",
        about: "a row per part of a flow's completion time, with record.accounts",
        columns: &[
            int("flow_id", "the flow"),
            text("stage", "sender, data, host or ack"),
            text("port", "the egress port"),
            text("part", "what took the time: queueing, paused, window and so on"),
            int("time_ps", "how long"),
            int("packets", "packets that left the port"),
            real("mean_ps", "the part's mean over them"),
            int("max_ps", "the longest"),
        ],
        rows: |run, first| of_rows("flow_time", first, &run.flow_times),
    },
    Table {
        name: "blame",
        about: "a row per victim, cause, port and reason, with record.blame",
        columns: &[
            text("victim", "whose packets waited: a label or a host"),
            text("packets", "data, acks or control"),
            text("cause", "for whom they waited"),
            text("port", "at which egress port"),
            text("why", "own, in-progress, queue, paused or idle"),
            int("waited_ps", "how long, summed over packets"),
        ],
        rows: |run, first| of_rows("blame", first, run.blames.as_deref().unwrap_or_default()),
    },
    Table {
        name: "collectives",
        about: "a row per collective of a job by a trace, and iteration",
        columns: &[
            text("job", "the job's label"),
            int("iteration", "the iteration, from 0"),
            text("name", "what the trace calls it"),
            text("kind", "all-reduce and so on"),
            int("group", "its group in the trace; in SQL \"group\", in quotes"),
            int("members", "how many members that has"),
            int("bytes", "its size as the trace counts it"),
            int("start_ps", "when its first member started"),
            int("end_ps", "when its last member was done"),
        ],
        rows: |run, first| of_rows("collectives", first, &run.collectives),
    },
    Table {
        name: "critical_path",
        about: "a row per stretch of the critical path of a job by a trace",
        columns: &[
            text("job", "the job's label"),
            int("iteration", "the slowest iteration, from 0"),
            int("start_ps", "when the stretch began"),
            int("end_ps", "when it ended"),
            text("what", "what took the time"),
            text("collective", "the kind of collective"),
            text("name", "what the trace calls it"),
            int("group", "the collective's group; in SQL \"group\", in quotes"),
            int("rank", "the rank that computed or sent first"),
            int("to_rank", "the rank that received last"),
            int("count", "operations or messages in the row"),
            int("bytes", "payload of the messages"),
            int("messages_ps", "time in messages"),
            int("contention_ps", "how much longer they took than alone"),
            text("link", "the tier of the link that bounds them"),
            text("nodes", "that link: two nodes"),
            int("after_lane", "1 if it began when a lane of its rank became free"),
        ],
        rows: |run, first| of_rows("critical_path", first, &run.critical_path),
    },
    Table {
        name: "pauses",
        about: "a row per PFC pause",
        columns: &[int("time_ps", "when, in whole ns")],
        rows: |run, first| {
            let ps = |ns: &u64| i64::try_from(ns.saturating_mul(1000)).ok();
            let times = || {
                vec![Filled::new(
                    "time_ps",
                    Values::Int(run.pauses_ns.iter().map(ps).collect()),
                )]
            };
            Ok(whole(first, times))
        },
    },
    Table {
        name: "summary",
        about: "a row per value of summary.json",
        columns: &[
            text("name", "its path, such as fct_slowdown.p99"),
            real("value", "the value, if it is a number; 1 or 0 for yes or no"),
            text("text", "the value, if it is a text"),
        ],
        rows: summary,
    },
];

/// All rows of a table that is made at once.
fn whole(first: usize, columns: impl FnOnce() -> Vec<Filled>) -> Part {
    match first {
        0 => Part::of(columns()),
        _ => Part::default(),
    }
}

/// There may be a hundred million flows: they come in parts.
fn flows(run: &RunData, first: usize) -> Result<Part, String> {
    const PART: usize = 1024;
    let rows: Vec<FlowRow<'_>> = run.flows.rows_from(first).take(PART).collect();
    run.flows.check().map_err(|error| error.to_string())?;
    let mut columns = flow_columns(&rows);
    let connections = rows.iter().map(|row| row.connection.map(i64::from));
    columns.push(Filled::new("connection", Values::Int(connections.collect())));
    Ok(Part::of(columns))
}

/// Rows whose fields are the columns of a table.
fn of_rows<T: Serialize>(table: &str, first: usize, rows: &[T]) -> Result<Part, String> {
    if first > 0 {
        return Ok(Part::default());
    }
    let rows: Result<Vec<_>, _> = rows.iter().map(serde_json::to_value).collect();
    let rows = rows.map_err(|error| error.to_string())?;
    let table = TABLES.iter().find(|known| known.name == table);
    let columns = table.map_or(&[][..], |table| table.columns);
    let columns = columns.iter().map(|column| {
        let cells = rows.iter().map(|row| &row[column.name]);
        Filled::new(column.name, values(column.kind, cells))
    });
    Ok(Part::of(columns.collect()))
}

fn values<'a>(kind: Kind, cells: impl Iterator<Item = &'a serde_json::Value>) -> Values {
    match kind {
        Kind::Int => Values::Int(
            cells
                .map(|cell| cell.as_i64().or(cell.as_bool().map(i64::from)))
                .collect(),
        ),
        Kind::Real => Values::Real(cells.map(serde_json::Value::as_f64).collect()),
        Kind::Text => Values::Text(cells.map(|cell| cell.as_str().map(Arc::from)).collect()),
    }
}

fn summary(run: &RunData, first: usize) -> Result<Part, String> {
    if first > 0 {
        return Ok(Part::default());
    }
    let all = serde_json::to_value(&run.summary).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    leaves(String::new(), &all, &mut found);
    let names = found.iter().map(|(name, _)| Some(Arc::from(&**name))).collect();
    let number = |cell: &serde_json::Value| cell.as_f64().or(cell.as_bool().map(f64::from));
    let numbers = found.iter().map(|(_, cell)| number(cell)).collect();
    let texts = found
        .iter()
        .map(|(_, cell)| cell.as_str().map(Arc::from))
        .collect();
    Ok(Part::of(vec![
        Filled::new("name", Values::Text(names)),
        Filled::new("value", Values::Real(numbers)),
        Filled::new("text", Values::Text(texts)),
    ]))
}

/// Values that are neither objects nor lists, with their paths.
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
                .for_each(|(place, value): (u32, _)| leaves(below(&place.to_string()), value, found));
        }
        _ => found.push((path, value)),
    }
}
