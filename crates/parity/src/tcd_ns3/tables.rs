//! Results as tables for SQL.

use paceline_congestion::detect::PortState;
use paceline_fabric::Outcome;
use paceline_fabric::table::Column;
use paceline_scenario::guest::made::{Made, cells};

use super::{Change, FlowMarks, TcdNs3Record};

pub(crate) const ALL: [Made; 3] = [FLOWS, BINS, CHANGES];

/// Lists flows with their indices; empty for another fidelity.
fn flows(outcome: &Outcome) -> impl Iterator<Item = (u32, &FlowMarks)> {
    let flows = TcdNs3Record::of(outcome).map_or(&[][..], |record| &record.flows);
    (0..).zip(flows)
}

const FLOWS: Made = Made {
    name: "tcd_flows",
    about: "a flow in fidelity tcd-ns3; flow_marks.tsv has it too",
    needs: "an experiment: a folder does not have it",
    columns: &[
        Column::int("flow_id", "the flow"),
        Column::int("packets", "data packets that arrived"),
        Column::int("ce", "of these, packets marked congested"),
        Column::int("ue", "of these, packets marked undetermined"),
        Column::int("notified", "notifications that reached its sender"),
    ],
    rows: |_, outcome, first| {
        cells(flows(outcome), first, |(flow, marks)| {
            [
                flow.into(),
                marks.received.packets.into(),
                marks.received.congested.into(),
                marks.received.undetermined.into(),
                marks.notified.packets.into(),
            ]
        })
    },
};

const BINS: Made = Made {
    name: "tcd_bins",
    about: "a flow and 100 us in fidelity tcd-ns3",
    needs: "parity.tcd-ns3.log, and an experiment: a folder does not have it",
    columns: &[
        Column::int("flow_id", "the flow"),
        Column::int("bin", "the bin's number: it starts at so many times 100 us"),
        Column::int("packets", "data packets that arrived in it"),
        Column::int("ce", "of these, packets marked congested"),
        Column::int("ue", "of these, packets marked undetermined"),
    ],
    rows: |_, outcome, first| {
        let bins = flows(outcome)
            .flat_map(|(flow, marks)| marks.bins.iter().map(move |(bin, marks)| (flow, *bin, marks)));
        cells(bins, first, |(flow, bin, marks)| {
            [
                flow.into(),
                bin.into(),
                marks.packets.into(),
                marks.congested.into(),
                marks.undetermined.into(),
            ]
        })
    },
};

const CHANGES: Made = Made {
    name: "tcd_changes",
    about: "a change of a port's class in fidelity tcd-ns3; port_changes.tsv has it too",
    needs: "parity.tcd-ns3.log, and an experiment: a folder does not have it",
    columns: &[
        Column::int("time_ps", "when"),
        Column::int("node", "the port's node"),
        Column::int("peer", "the node at the other end"),
        Column::int("priority", "the class"),
        Column::text("what", "pause, resume, expire or state"),
        Column::text(
            "before",
            "the state before: not-congested, checking, undetermined or congested",
        ),
        Column::text("after", "the state from then on"),
        Column::int("queue_bytes", "bytes in the queue"),
    ],
    rows: |_, outcome, first| {
        let changes = TcdNs3Record::of(outcome).map_or(&[][..], |record| &record.changes);
        cells(changes, first, |change| {
            let (what, before, after) = match change.what {
                Change::Pause => ("pause", "", ""),
                Change::Resume { expired: false } => ("resume", "", ""),
                Change::Resume { expired: true } => ("expire", "", ""),
                Change::State(before, after) => ("state", state_name(before), state_name(after)),
            };
            [
                change.at.as_ps().into(),
                change.port.node.0.into(),
                change.port.peer.0.into(),
                change.class.into(),
                what.into(),
                before.into(),
                after.into(),
                change.queue.into(),
            ]
        })
    },
};

const fn state_name(state: PortState) -> &'static str {
    match state {
        PortState::NotCongested => "not-congested",
        PortState::Checking => "checking",
        PortState::Undetermined => "undetermined",
        PortState::Congested => "congested",
    }
}
