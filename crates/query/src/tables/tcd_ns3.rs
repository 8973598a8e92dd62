//! What a network in fidelity `tcd-ns3` leaves behind.

use paceline_congestion::detect::PortState;
use paceline_parity::tcd_ns3::{Change, TcdNs3Record};

use crate::source::Source;
use crate::table::{Part, Rows, Table, int, ints, not_in_folder, text, whole, words};

/// What it left behind; nothing of another fidelity.
fn of<'a>(run: &'a Source, table: &str) -> Result<Option<&'a TcdNs3Record>, String> {
    let outcome = run.outcome().ok_or_else(|| not_in_folder(table))?;
    Ok(TcdNs3Record::of(outcome))
}

pub(super) const FLOWS: Table = Table {
    name: "tcd_flows",
    about: "a flow in fidelity tcd-ns3; flow_marks.tsv has it too",
    needs: "an experiment: a folder does not have it",
    columns: &[
        int("flow_id", "the flow"),
        int("packets", "data packets that arrived"),
        int("ce", "of these, packets marked congested"),
        int("ue", "of these, packets marked undetermined"),
        int("notified", "notifications that reached its sender"),
    ],
    rows: Rows::Made(|run, first| {
        let Some(record) = of(run, "tcd_flows")? else {
            return Ok(Part::default());
        };
        let rows: Vec<_> = (0_u64..).zip(&record.flows).collect();
        Ok(whole(first, || {
            vec![
                ints(&rows, |row| Some(row.0)),
                ints(&rows, |row| Some(row.1.received.packets.into())),
                ints(&rows, |row| Some(row.1.received.congested.into())),
                ints(&rows, |row| Some(row.1.received.undetermined.into())),
                ints(&rows, |row| Some(row.1.notified.packets.into())),
            ]
        }))
    }),
};

pub(super) const BINS: Table = Table {
    name: "tcd_bins",
    about: "a flow and 100 us in fidelity tcd-ns3",
    needs: "parity.tcd-ns3.log, and an experiment: a folder does not have it",
    columns: &[
        int("flow_id", "the flow"),
        int("bin", "the bin's number: it starts at so many times 100 us"),
        int("packets", "data packets that arrived in it"),
        int("ce", "of these, packets marked congested"),
        int("ue", "of these, packets marked undetermined"),
    ],
    rows: Rows::Made(|run, first| {
        let Some(record) = of(run, "tcd_bins")? else {
            return Ok(Part::default());
        };
        let flows = (0_u64..).zip(&record.flows);
        let rows: Vec<_> = flows
            .flat_map(|(flow, marks)| marks.bins.iter().map(move |(bin, marks)| (flow, *bin, marks)))
            .collect();
        Ok(whole(first, || {
            vec![
                ints(&rows, |row| Some(row.0)),
                ints(&rows, |row| Some(row.1.into())),
                ints(&rows, |row| Some(row.2.packets.into())),
                ints(&rows, |row| Some(row.2.congested.into())),
                ints(&rows, |row| Some(row.2.undetermined.into())),
            ]
        }))
    }),
};

pub(super) const CHANGES: Table = Table {
    name: "tcd_changes",
    about: "a change of a port's class in fidelity tcd-ns3; port_changes.tsv has it too",
    needs: "parity.tcd-ns3.log, and an experiment: a folder does not have it",
    columns: &[
        int("time_ps", "when"),
        int("node", "the port's node"),
        int("peer", "the node at the other end"),
        int("priority", "the class"),
        text("what", "pause, resume, expire or state"),
        text(
            "before",
            "the state before: not-congested, checking, undetermined or congested",
        ),
        text("after", "the state from then on"),
        int("queue_bytes", "bytes in the queue"),
    ],
    rows: Rows::Made(|run, first| {
        let Some(record) = of(run, "tcd_changes")? else {
            return Ok(Part::default());
        };
        let rows = &record.changes;
        let state = |of: fn(&Change) -> Option<PortState>| {
            move |change: &paceline_parity::tcd_ns3::PortChange| of(&change.what).map_or("", state_name)
        };
        Ok(whole(first, || {
            vec![
                ints(rows, |change| Some(change.at.as_ps())),
                ints(rows, |change| Some(change.port.node.0.into())),
                ints(rows, |change| Some(change.port.peer.0.into())),
                ints(rows, |change| Some(change.class.into())),
                words(rows, |change| match change.what {
                    Change::Pause => "pause",
                    Change::Resume { expired: false } => "resume",
                    Change::Resume { expired: true } => "expire",
                    Change::State(..) => "state",
                }),
                words(
                    rows,
                    state(|what| match what {
                        Change::State(before, _) => Some(*before),
                        _ => None,
                    }),
                ),
                words(
                    rows,
                    state(|what| match what {
                        Change::State(_, after) => Some(*after),
                        _ => None,
                    }),
                ),
                ints(rows, |change| Some(change.queue.into())),
            ]
        }))
    }),
};

const fn state_name(state: PortState) -> &'static str {
    match state {
        PortState::NotCongested => "not-congested",
        PortState::Checking => "checking",
        PortState::Undetermined => "undetermined",
        PortState::Congested => "congested",
    }
}
