//! `trace.parquet`: events of traced packets, one per row, in order of time.

use std::io::{self, Write};
use std::sync::Arc;

use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_kernel::Span;

use super::columns::{Column, GROUP_ROWS, Values, groups};

/// Writes the events; `signals` are the names of the schemes' signals, `metadata` the file's keys and values.
pub(super) fn write(
    out: &mut impl Write,
    events: &[TraceEvent],
    signals: &[&'static str],
    metadata: &[(&str, String)],
) -> io::Result<()> {
    let mut file = groups(out, &trace_columns(&[], signals), metadata)?;
    for part in events.chunks(GROUP_ROWS) {
        file.group(&trace_columns(part, signals), 0..part.len())?;
    }
    file.close()
}

/// Returns events as the columns of `trace.parquet`; `signals` are the names of the schemes' signals.
pub fn trace_columns(events: &[TraceEvent], signals: &[&'static str]) -> Vec<Column> {
    let int = |name: &str, value: fn(&TraceEvent) -> Option<u64>| {
        let values = events.iter().map(|event| value(event).map(|v| v as i64));
        Column::new(name, Values::Int(values.collect()))
    };
    // Neighbours often have the same word, and then share it.
    let text = |name: &str, value: &dyn Fn(&TraceEvent) -> &'static str| {
        let mut last: Option<(&'static str, Arc<str>)> = None;
        let shared = |event: &TraceEvent| {
            let word = value(event);
            match &last {
                Some((known, text)) if *known == word => Some(text.clone()),
                _ => {
                    let text: Arc<str> = word.into();
                    last = Some((word, text.clone()));
                    Some(text)
                }
            }
        };
        Column::new(name, Values::Text(events.iter().map(shared).collect()))
    };
    vec![
        int("time_ps", |event| Some(event.at.as_ps())),
        int("node", |event| Some(event.node.0.into())),
        int("port", |event| Some(event.interface.into())),
        text("event", &event_name),
        text("packet", &|event| packet_name(event, signals)),
        int("flow", |event| {
            (event.flow != u32::MAX).then_some(event.flow.into())
        }),
        int("seq", |event| Some(event.seq)),
        int("payload_bytes", |event| Some(event.payload.into())),
        int("wire_bytes", |event| Some(event.wire.into())),
        int("priority", |event| Some(event.class.into())),
        int("ecn", |event| Some(event.mark.code_point().into())),
        int("queue_bytes", |event| Some(event.queue_bytes.into())),
        int("pause_ps", |event| {
            let timed = event.pause != Span::ZERO && event.pause != Span::MAX;
            timed.then_some(event.pause.as_ps())
        }),
    ]
}

const fn event_name(event: &TraceEvent) -> &'static str {
    match event.event {
        TraceKind::Receive => "receive",
        TraceKind::Enqueue => "enqueue",
        TraceKind::Dequeue => "dequeue",
        TraceKind::Drop => "drop",
    }
}

fn packet_name(event: &TraceEvent, signals: &[&'static str]) -> &'static str {
    let signal = signals.get(usize::from(event.signal)).copied();
    match event.kind {
        PacketKind::Signal => signal.unwrap_or(event.kind.name()),
        kind => kind.name(),
    }
}

#[cfg(test)]
mod tests {
    use paceline_congestion::Mark;
    use paceline_fabric::spec::NodeId;
    use paceline_kernel::Time;

    use super::*;
    use crate::files::columns::read_parquet;

    #[test]
    fn every_event_is_a_row() {
        let at = |ps, event, kind, flow, pause| TraceEvent {
            at: Time::from_ps(ps),
            node: NodeId(0),
            interface: 17,
            event,
            queue_bytes: 2096,
            kind,
            signal: 0,
            flow,
            seq: 1000,
            payload: 1000,
            wire: 1048,
            class: 3,
            mark: Mark::None,
            pause,
        };
        let mut events = vec![
            at(7, TraceKind::Enqueue, PacketKind::Data, 3, Span::ZERO),
            at(
                9,
                TraceKind::Receive,
                PacketKind::Pause,
                u32::MAX,
                Span::from_us(5),
            ),
        ];
        events.push(TraceEvent {
            signal: 1,
            ..at(10, TraceKind::Dequeue, PacketKind::Signal, 3, Span::ZERO)
        });
        // More than a row group holds.
        events.resize(
            GROUP_ROWS + 2,
            at(11, TraceKind::Drop, PacketKind::Data, 4, Span::MAX),
        );
        let mut bytes = Vec::new();
        write(&mut bytes, &events, &["cnm", "src"], &[]).unwrap();
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("trace.parquet");
        std::fs::write(&path, bytes).unwrap();
        let columns = read_parquet(&path).unwrap();
        assert!(columns.iter().all(|column| column.values.len() == events.len()));
        let row = |row: usize| -> Vec<String> {
            let cell = |column: &Column| match &column.values {
                Values::Text(values) => values[row].as_ref().map(ToString::to_string),
                Values::Int(values) => values[row].map(|value| value.to_string()),
                Values::Real(values) => values[row].map(|value| value.to_string()),
            };
            columns
                .iter()
                .map(|column| cell(column).unwrap_or_default())
                .collect()
        };
        assert_eq!(row(0).join(","), "7,0,17,enqueue,data,3,1000,1000,1048,3,0,2096,");
        assert_eq!(
            row(1).join(","),
            "9,0,17,receive,pause,,1000,1000,1048,3,0,2096,5000000"
        );
        assert_eq!(row(2)[3..5], ["dequeue", "src"]);
        assert_eq!(row(GROUP_ROWS + 1)[3], "drop");
    }
}
