//! What a network in fidelity `ib-omnet` leaves behind.

use paceline_fabric::spec::RunSpec;
use paceline_parity::ib_omnet::{CreditEvent, CreditOutcome, CreditSpec, CreditStep};

use crate::source::Source;
use crate::table::{Part, Rows, Table, int, ints, not_in_folder, text, whole, words};

/// The specification and what came of it; nothing of another fidelity.
fn of<'a>(run: &'a Source, table: &str) -> Result<Option<(&'a RunSpec, &'a CreditOutcome)>, String> {
    let ended = run.ended().ok_or_else(|| not_in_folder(table))?;
    let credits = CreditOutcome::of(&ended.finished.outcome);
    Ok(credits.map(|credits| (&*ended.input.run, credits)))
}

pub(super) const STEPS: Table = Table {
    name: "ib_steps",
    about: "a step of a packet, in order of time, in fidelity ib-omnet",
    needs: "parity.ib-omnet.log, and an experiment: a folder does not have it",
    columns: &[
        int("time_ps", "when"),
        int("node", "where"),
        int("port", "at which interface, from 0 in the order of links"),
        text(
            "step",
            "message, update, sent, credits, granted, marked, found, received or notified",
        ),
        int("flow_id", "the flow of a message, or of a packet that arrives"),
        int("src", "the host that sent the packet, or is to send the message"),
        int("marked", "of a packet that arrives, 1 if it is marked"),
    ],
    rows: Rows::Made(|run, first| {
        /// Rows that are made at a time.
        const PART: usize = 1 << 14;
        let Some((spec, credits)) = of(run, "ib_steps")? else {
            return Ok(Part::default());
        };
        let rest = credits.trace.get(first..).unwrap_or_default();
        let rows = &rest[..rest.len().min(PART)];
        let source = |flow: u32| spec.flows.get(flow as usize).map(|flow| flow.src.0.into());
        Ok(Part::of(vec![
            ints(rows, |step| Some(step.at.as_ps())),
            ints(rows, |step| Some(step.node.0.into())),
            ints(rows, |step| Some(step.interface.into())),
            words(rows, name),
            ints(rows, |step| match step.what {
                CreditStep::Message { flow } | CreditStep::Received { flow, .. } => Some(flow.into()),
                _ => None,
            }),
            ints(rows, |step| match step.what {
                CreditStep::Message { flow } | CreditStep::Received { flow, .. } => source(flow),
                CreditStep::Sent { from, .. }
                | CreditStep::Granted { from, .. }
                | CreditStep::Marked { from } => Some(from.0.into()),
                _ => None,
            }),
            ints(rows, |step| match step.what {
                CreditStep::Received { marked, .. } => Some(marked.into()),
                _ => None,
            }),
        ]))
    }),
};

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

pub(super) const MESSAGES: Table = Table {
    name: "ib_messages",
    about: "a flow in fidelity ib-omnet",
    needs: "an experiment: a folder does not have it",
    columns: &[
        int("flow_id", "the flow"),
        int("injected_ps", "when its first packet reached its host's arbiter"),
    ],
    rows: Rows::Made(|run, first| {
        let Some((_, credits)) = of(run, "ib_messages")? else {
            return Ok(Part::default());
        };
        let rows: Vec<_> = (0_u64..).zip(&credits.injected).collect();
        Ok(whole(first, || {
            vec![
                ints(&rows, |row| Some(row.0)),
                ints(&rows, |row| Some(row.1.as_ref()?.as_ps())),
            ]
        }))
    }),
};

pub(super) const PORTS: Table = Table {
    name: "ib_ports",
    about: "a port in fidelity ib-omnet",
    needs: "an experiment: a folder does not have it",
    columns: &[
        int("node", "the node"),
        int("port", "its interface, from 0 in the order of links"),
        int("packets", "packets that it sent"),
        int("marked", "of these, packets that it marked"),
        int("updates", "flow-control packets that it sent"),
    ],
    rows: Rows::Made(|run, first| {
        let Some((_, credits)) = of(run, "ib_ports")? else {
            return Ok(Part::default());
        };
        let ports = &credits.ports;
        Ok(whole(first, || {
            vec![
                ints(ports, |port| Some(port.node.0.into())),
                ints(ports, |port| Some(port.interface.into())),
                ints(ports, |port| Some(port.packets)),
                ints(ports, |port| Some(port.marked)),
                ints(ports, |port| Some(port.updates)),
            ]
        }))
    }),
};

pub(super) const SOURCES: Table = Table {
    name: "ib_sources",
    about: "a source of messages in fidelity ib-omnet",
    needs: "an experiment: a folder does not have it",
    columns: &[
        int("source", "its number"),
        int(
            "first_flow",
            "the first of its messages, which are flows in a row",
        ),
        int("flows", "how many they are"),
        int("src", "the host that it is at"),
        int(
            "gap_ps",
            "time from the last packet of a message to the next message",
        ),
        int("received", "packets of it that arrived"),
        int("marked", "of these, marked ones"),
        int("notified", "notifications that its host received"),
    ],
    rows: Rows::Made(|run, first| {
        let Some((spec, credits)) = of(run, "ib_sources")? else {
            return Ok(Part::default());
        };
        let sources = CreditSpec::of(spec).map_or(&[][..], |own| &own.sources);
        let rows: Vec<_> = (0_u64..).zip(sources.iter().zip(&credits.sources)).collect();
        let source = |flow: u32| spec.flows.get(flow as usize).map(|flow| flow.src.0.into());
        Ok(whole(first, || {
            vec![
                ints(&rows, |row| Some(row.0)),
                ints(&rows, |row| Some(row.1.0.first.into())),
                ints(&rows, |row| Some(row.1.0.count.into())),
                ints(&rows, |row| source(row.1.0.first)),
                ints(&rows, |row| Some(row.1.0.gap.as_ps())),
                ints(&rows, |row| Some(row.1.1.received)),
                ints(&rows, |row| Some(row.1.1.marked)),
                ints(&rows, |row| Some(row.1.1.notified)),
            ]
        }))
    }),
};
