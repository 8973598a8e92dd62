//! Declarations of all tables.

mod deadlock;
mod histograms;
mod network;
mod pfc;
mod ports;
mod rtt;
mod trace;
mod traced_ports;

use std::sync::LazyLock;

use paceline_kernel::sorted::SortedSet;
use paceline_lab::files::columns::Values;
use paceline_lab::files::{self, flow_columns, series_columns};
use paceline_lab::results::FlowRow;
use paceline_scenario::guest;

use crate::source::Source;
use crate::table::{Filled, Part, Rows, Table, int, ints, paths, real, text, whole};

/// All tables: built-in ones, those of the program's extensions, and those declared by recorders.
pub static TABLES: LazyLock<Vec<Table>> = LazyLock::new(|| {
    let own = guest::tables().iter().map(Table::own);
    let recorded = files::TABLES.iter().map(|declared| Table::recorded(declared));
    MADE.iter().copied().chain(own).chain(recorded).collect()
});

/// Returns a name that two tables share, which happens if an extension reuses one.
pub fn taken() -> Option<&'static str> {
    let mut known = SortedSet::new();
    TABLES
        .iter()
        .map(|table| table.name)
        .find(|name| !known.insert(*name))
}

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
];

/// Flows come in parts, since there may be a hundred million of them.
fn flows(run: &Source, first: usize) -> Result<Part, String> {
    const PART: usize = 1024;
    let flows = run.flows();
    let rows: Vec<FlowRow<'_>> = flows.rows_from(first).take(PART).collect();
    // The iterator ends silently at an error, so it has to be asked for.
    flows.check().map_err(|error| error.to_string())?;
    let mut columns = flow_columns(&rows);
    let connections = rows.iter().map(|row| row.connection.map(i64::from));
    columns.push(Filled::new("connection", Values::Int(connections.collect())));
    let record = |row: &FlowRow<'_>| run.outcome()?.flows.get(row.flow_id as usize);
    columns.push(ints(&rows, |row| {
        // A folder has no other number: a completed flow has delivered all of its bytes.
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
