//! Events of traced packets.

use paceline_lab::files::columns::{Values, read_parquet};
use paceline_lab::files::trace_columns;

use crate::source::Source;
use paceline_run::table::ColumnKind;

use crate::table::{Filled, Part, Rows, Table, int, text};

pub(super) const TRACE: Table = Table {
    name: "trace",
    about: "an event of a packet, in order of time",
    needs: "record.trace",
    columns: &[
        int("time_ps", "when"),
        int("node", "where"),
        int("port", "at which interface, from 1 in the order of links"),
        text("event", "receive, enqueue, dequeue or drop"),
        text("packet", "data, ack, nack, pause and so on"),
        int("flow_id", "its flow"),
        int(
            "seq",
            "first byte of the payload; of an ACK the next expected byte",
        ),
        int("payload_bytes", "payload"),
        int("wire_bytes", "bytes on the wire"),
        int("priority", "the class"),
        int(
            "ecn",
            "mark: 0 none, 2 undetermined, 3 congested; of an ACK the echo",
        ),
        int(
            "queue_bytes",
            "the class's queue, at enqueue with the packet, at dequeue without",
        ),
        int("pause_ps", "time that a pause frame asks for"),
    ],
    rows: Rows::Made(|run, first| {
        /// Maximum number of rows in a part.
        const PART: usize = 1 << 14;
        match run.outcome() {
            Some(outcome) => {
                let rest = outcome.trace.get(first..).unwrap_or_default();
                let part = &rest[..rest.len().min(PART)];
                Ok(Part::of(trace_columns(part, &outcome.signals)))
            }
            None if first == 0 => of_folder(run).map(Part::of),
            None => Ok(Part::default()),
        }
    }),
};

/// Reads the columns of `trace.parquet`; returns none if nothing was traced.
fn of_folder(run: &Source) -> Result<Vec<Filled>, String> {
    let there = |name| run.file(name).filter(|path| path.exists());
    if there("trace.tr").is_some() {
        return Err(
            "the trace of this run is `trace.tr`, as ns-3 writes it: the table `trace` reads trace.parquet"
                .into(),
        );
    }
    let Some(path) = there("trace.parquet") else {
        return Ok(Vec::new());
    };
    let columns = read_parquet(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let expected = TRACE.columns.len();
    let texts = |column: &Filled| matches!(column.values, Values::Text(_));
    let as_expected = columns.len() == expected
        && columns
            .iter()
            .zip(TRACE.columns)
            .all(|(column, said)| texts(column) == (said.kind == ColumnKind::Text));
    match as_expected {
        true => Ok(columns),
        false => Err(format!("{} is not what a run writes", path.display())),
    }
}
