//! What a run leaves, as tables.

mod deadlock;
mod histograms;
mod ib_omnet;
mod network;
mod pfc;
mod ports;
mod rtt;
mod tcd_ns3;
mod trace;
mod traced_ports;

use std::sync::{Arc, LazyLock};

use paceline_lab::files::columns::{Column as Filled, Values};
use paceline_lab::files::{self, flow_columns, series_columns, table_columns};
use paceline_lab::results::FlowRow;
use paceline_run::table::{Column, Declared, Kind};
use rusqlite::types::Value;

use crate::source::Source;

/// A table: every run has it, perhaps without rows.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name in SQL.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// What has to be recorded for it; empty where nothing has to.
    pub needs: &'static str,
    /// Its columns; times are in ps from the start of the run.
    pub columns: &'static [Column],
    rows: Rows,
}

/// Where rows come from.
#[derive(Clone, Copy, Debug)]
enum Rows {
    /// The table of this name in [`RunData::tables`](paceline_lab::files::RunData::tables).
    Recorded,
    /// Made of a run from a row on; nothing behind the last row.
    Made(fn(&Source, usize) -> Result<Part, String>),
}

impl Table {
    const fn recorded(declared: &Declared) -> Self {
        Self {
            name: declared.name,
            about: declared.about,
            needs: declared.needs,
            columns: declared.columns,
            rows: Rows::Recorded,
        }
    }

    /// Some of its rows, from one on; none behind the last.
    pub(crate) fn part(&self, run: &Source, first: usize) -> Result<Part, String> {
        match self.rows {
            Rows::Made(make) => make(run, first),
            Rows::Recorded => Ok(match run.tables.get(self.name) {
                Some(table) => whole(first, || table_columns(table)),
                None => Part::default(),
            }),
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

/// All tables: those that are made here, and those that recorders declare.
pub static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let recorded = files::TABLES.iter().map(|declared| Table::recorded(declared));
    MADE.iter().copied().chain(recorded).collect()
});

const MADE: &[Table] = &[
    Table {
        name: "flows",
        about: "a flow, in order of start",
        needs: "",
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
            int(
                "delivered_bytes",
                "payload that arrived in order; in a folder null unless completed",
            ),
            int(
                "received_ps",
                "when its last byte had arrived in order; null in a folder",
            ),
        ],
        rows: Rows::Made(flows),
    },
    Table {
        name: "series",
        about: "a point of a series over time, as in series.parquet",
        needs: "",
        columns: &[
            text("entity", "what was recorded: a port, a flow, a host"),
            text("metric", "which of its values"),
            int("time_ps", "when"),
            real("value", "the value, or the mean of a bin"),
            real("min", "least of the bin's samples"),
            real("max", "largest of them"),
            real("last", "last of them"),
        ],
        rows: Rows::Made(|run, first| Ok(whole(first, || series_columns(&run.series)))),
    },
    Table {
        name: "pauses",
        about: "a PFC pause",
        needs: "",
        columns: &[int("time_ps", "when, in whole ns")],
        rows: Rows::Made(|run, first| {
            let ps = |ns: &u64| i64::try_from(ns.saturating_mul(1000)).ok();
            let times = || {
                vec![Filled::new(
                    "time_ps",
                    Values::Int(run.pauses_ns.iter().map(ps).collect()),
                )]
            };
            Ok(whole(first, times))
        }),
    },
    Table {
        name: "summary",
        about: "a value of summary.json",
        needs: "",
        columns: &[
            text("name", "its path, such as fct_slowdown.p99"),
            real("value", "the value, if it is a number; 1 or 0 for yes or no"),
            text("text", "the value, if it is a text"),
        ],
        rows: Rows::Made(summary),
    },
    network::RUN,
    network::COUNTERS,
    network::SETTINGS,
    network::LINKS,
    rtt::SAMPLES,
    rtt::ACKNOWLEDGED,
    histograms::HISTOGRAMS,
    pfc::FRAMES,
    deadlock::PAUSES,
    ports::BINS,
    trace::TRACE,
    traced_ports::QUEUE,
    traced_ports::SENT,
    ib_omnet::STEPS,
    ib_omnet::MESSAGES,
    ib_omnet::PORTS,
    ib_omnet::SOURCES,
    tcd_ns3::FLOWS,
    tcd_ns3::BINS,
    tcd_ns3::CHANGES,
];

/// A column of whole numbers of a table whose rows are these.
fn ints<T>(rows: &[T], of: impl Fn(&T) -> Option<u64>) -> Filled {
    let value = |row: &T| of(row).and_then(|value| i64::try_from(value).ok());
    Filled::new("", Values::Int(rows.iter().map(value).collect()))
}

/// The same of real numbers.
fn reals<T>(rows: &[T], of: impl Fn(&T) -> Option<f64>) -> Filled {
    Filled::new("", Values::Real(rows.iter().map(of).collect()))
}

/// The same of words.
fn words<T>(rows: &[T], of: impl Fn(&T) -> &'static str) -> Filled {
    // Neighbours often have the same word, and then share it.
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

/// How errors about tables begin that measures of experiments can ask, and nobody else.
pub(crate) const NOT_IN_FOLDER: &str = "the folder of a run does not have the table";

/// Says that a run's folder does not have what a table is made of.
fn not_in_folder(table: &str) -> String {
    format!("{NOT_IN_FOLDER} `{table}`: measures of experiments can ask it")
}

/// All rows of a table that is made at once.
fn whole(first: usize, columns: impl FnOnce() -> Vec<Filled>) -> Part {
    match first {
        0 => Part::of(columns()),
        _ => Part::default(),
    }
}

/// There may be a hundred million flows: they come in parts.
fn flows(run: &Source, first: usize) -> Result<Part, String> {
    const PART: usize = 1024;
    let flows = run.flows();
    let rows: Vec<FlowRow<'_>> = flows.rows_from(first).take(PART).collect();
    flows.check().map_err(|error| error.to_string())?;
    let mut columns = flow_columns(&rows);
    let connections = rows.iter().map(|row| row.connection.map(i64::from));
    columns.push(Filled::new("connection", Values::Int(connections.collect())));
    let record = |row: &FlowRow<'_>| run.outcome()?.flows.get(row.flow_id as usize);
    columns.push(ints(&rows, |row| {
        let delivered = record(row).map(|record| record.delivered.get());
        delivered.or(row.fct_ps.map(|_| row.size_bytes))
    }));
    columns.push(ints(&rows, |row| Some(record(row)?.received?.as_ps())));
    Ok(Part::of(columns))
}

fn summary(run: &Source, first: usize) -> Result<Part, String> {
    if first > 0 {
        return Ok(Part::default());
    }
    let all = serde_json::to_value(run.summary()).map_err(|error| error.to_string())?;
    Ok(paths(&all))
}

/// A row of a path, a number and a text for each value.
fn paths(all: &serde_json::Value) -> Part {
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
