//! Results as tables for SQL.

use paceline_fabric::spec::{NodeId, RunSpec};
use paceline_fabric::table::Column;
use paceline_scenario::guest::made::{Made, cells};

use super::{CreditEvent, CreditOutcome, CreditSpec, CreditStep};

pub(crate) const ALL: [Made; 4] = [STEPS, MESSAGES, PORTS, SOURCES];

const STEPS: Made = Made {
    name: "ib_steps",
    about: "a step of a packet, in order of time, in fidelity ib-omnet",
    needs: "parity.ib-omnet.log, and an experiment: a folder does not have it",
    columns: &[
        Column::int("time_ps", "when"),
        Column::int("node", "where"),
        Column::int("port", "at which interface, from 0 in the order of links"),
        Column::text(
            "step",
            "message, update, sent, credits, granted, marked, found, received or notified",
        ),
        Column::int("flow_id", "the flow of a message, or of a packet that arrives"),
        Column::int("src", "the host that sent the packet, or is to send the message"),
        Column::int("marked", "of a packet that arrives, 1 if it is marked"),
    ],
    rows: |run, outcome, first| {
        let steps = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.trace);
        cells(steps, first, |step| {
            let (flow, from, marked) = match step.what {
                CreditStep::Message { flow } => (Some(flow), sender(run, flow), None),
                CreditStep::Received { flow, marked, .. } => (Some(flow), sender(run, flow), Some(marked)),
                CreditStep::Sent { from, .. }
                | CreditStep::Granted { from, .. }
                | CreditStep::Marked { from } => (None, Some(from), None),
                _ => (None, None, None),
            };
            [
                step.at.as_ps().into(),
                step.node.0.into(),
                step.interface.into(),
                name(step).into(),
                flow.into(),
                from.map(|node| node.0).into(),
                marked.map(u8::from).into(),
            ]
        })
    },
};

/// Returns the sending host of a flow.
fn sender(run: &RunSpec, flow: u32) -> Option<NodeId> {
    run.flows.get(flow as usize).map(|flow| flow.src)
}

const fn name(step: &CreditEvent) -> &'static str {
    match step.what {
        CreditStep::Message { .. } => "message",
        CreditStep::Update { .. } => "update",
        CreditStep::Sent { .. } => "sent",
        CreditStep::Credits { .. } => "credits",
        CreditStep::Granted { .. } => "granted",
        CreditStep::Marked { .. } => "marked",
        CreditStep::Found { .. } => "found",
        CreditStep::Received { .. } => "received",
        CreditStep::Notified { .. } => "notified",
    }
}

const MESSAGES: Made = Made {
    name: "ib_messages",
    about: "a flow in fidelity ib-omnet",
    needs: "an experiment: a folder does not have it",
    columns: &[
        Column::int("flow_id", "the flow"),
        Column::int("injected_ps", "when its first packet reached its host's arbiter"),
    ],
    rows: |_, outcome, first| {
        let injected = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.injected);
        cells((0_u32..).zip(injected), first, |(flow, injected)| {
            [flow.into(), injected.map(|at| at.as_ps()).into()]
        })
    },
};

const PORTS: Made = Made {
    name: "ib_ports",
    about: "a port in fidelity ib-omnet",
    needs: "an experiment: a folder does not have it",
    columns: &[
        Column::int("node", "the node"),
        Column::int("port", "its interface, from 0 in the order of links"),
        Column::int("packets", "packets that it sent"),
        Column::int("marked", "of these, packets that it marked"),
        Column::int("updates", "flow-control packets that it sent"),
    ],
    rows: |_, outcome, first| {
        let ports = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.ports);
        cells(ports, first, |port| {
            [
                port.node.0.into(),
                port.interface.into(),
                port.packets.into(),
                port.marked.into(),
                port.updates.into(),
            ]
        })
    },
};

const SOURCES: Made = Made {
    name: "ib_sources",
    about: "a source of messages in fidelity ib-omnet",
    needs: "an experiment: a folder does not have it",
    columns: &[
        Column::int("source", "its number"),
        Column::int(
            "first_flow",
            "the first of its messages, which are flows in a row",
        ),
        Column::int("flows", "how many they are"),
        Column::int("src", "the host that it is at"),
        Column::int(
            "gap_ps",
            "time from the last packet of a message to the next message",
        ),
        Column::int("received", "packets of it that arrived"),
        Column::int("marked", "of these, marked ones"),
        Column::int("notified", "notifications that its host received"),
    ],
    rows: |run, outcome, first| {
        let totals = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.sources);
        let sources = CreditSpec::of(run).map_or(&[][..], |own| &own.sources);
        let rows = (0_u32..).zip(sources.iter().zip(totals));
        cells(rows, first, |(number, (source, totals))| {
            [
                number.into(),
                source.first.into(),
                source.count.into(),
                sender(run, source.first).map(|node| node.0).into(),
                source.gap.as_ps().into(),
                totals.received.into(),
                totals.marked.into(),
                totals.notified.into(),
            ]
        })
    },
};
