//! `flow_time.csv`: breakdown of flows' completion times.

use paceline_fabric::account::{FlowAccount, HopTime};
use paceline_fabric::outcome::{Outcome, PortRef};
use paceline_fabric::spec::RunSpec;
use paceline_fabric::{named_value, recorded};
use serde::Serialize;

/// Owner of a part of a flow's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// From the start of the flow until the packet whose acknowledgement came last starts to leave; for a flow that did
    /// not complete, until the end of the run.
    Sender,
    /// Transit of that packet to the receiver.
    Data,
    /// Processing of that packet in the receiver's host.
    Host,
    /// Transit of that acknowledgement to the sender.
    Ack,
}

impl Stage {
    const ALL: [Self; 4] = [Self::Sender, Self::Data, Self::Host, Self::Ack];

    /// Returns the name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Data => "data",
            Self::Host => "host",
            Self::Ack => "ack",
        }
    }
}

named_value!(Stage);

recorded! {
    /// a part of a flow's completion time; the `time_ps` of a completed flow's rows sum to it
    #[derive(Serialize)]
    pub struct FlowTime = "flow_time", needs "record.accounts" {
        /// the flow
        flow_id: u32,
        /// whose time: `sender` until the packet left whose acknowledgement was the last (or until the end of the run),
        /// `data` for that packet's way, `host` for the receiver's host, `ack` for the way back
        stage: Stage,
        /// the egress port; empty in stages `sender` and `host`
        port: String,
        /// what took the time. Of the sender: `sending`, `resending`, `window`, `pacing`, `grants`, `paused`, `nic`,
        /// `recovery`, `unreachable`. Of the way: `serialisation`, `propagation`, `queueing`, `paused` (under credits,
        /// `credit`), `retried` (at the other end of the link, until link-level retry had brought its frame). Of the receiver's
        /// host: `processing`
        part: String,
        /// how long; 0 at ports that only other packets of the flow took
        time_ps: u64,
        /// packets of the flow that left the port, or that the host received
        packets: Option<u64>,
        /// the part's mean over them; nothing for serialisation and propagation
        mean_ps: Option<f64>,
        /// the longest of them
        max_ps: Option<u64>,
    }
}

/// Returns the rows of a run in the order of flows and, within a flow, in the order of its path. Parts that are zero in
/// all respects have no row.
pub fn flow_times(run: &RunSpec, outcome: &Outcome) -> Vec<FlowTime> {
    let mut all: Vec<FlowTime> = outcome.accounts.iter().flat_map(rows).collect();
    if run.is_under_credits() {
        // There are no pauses under credits: packets that are held back wait for credit.
        let held_back = all.iter_mut().filter(|row| row.part == PAUSED);
        held_back.for_each(|row| row.part = CREDIT.to_string());
    }
    all
}

/// Name of time during which flow control held a packet back by pauses.
pub const PAUSED: &str = "paused";
/// Name that replaces [`PAUSED`] under credits.
pub const CREDIT: &str = "credit";
/// Name of time during which a packet waited for a frame that link-level retry had to send again.
pub const RETRIED: &str = "retried";

/// Returns the rows of one flow.
fn rows(account: &FlowAccount) -> Vec<FlowTime> {
    let mut rows: Vec<FlowTime> = account
        .sender
        .parts()
        .iter()
        .filter(|(_, span)| span.as_ps() > 0)
        .map(|&(part, span)| FlowTime {
            flow_id: account.flow,
            stage: Stage::Sender,
            port: String::new(),
            part: part.to_string(),
            time_ps: span.as_ps(),
            packets: None,
            mean_ps: None,
            max_ps: None,
        })
        .collect();
    way_rows(account, Stage::Data, &account.data, &mut rows);
    let host = &account.host;
    if host.total.as_ps() > 0 {
        rows.push(FlowTime {
            flow_id: account.flow,
            stage: Stage::Host,
            port: String::new(),
            part: "processing".to_string(),
            time_ps: host.time.as_ps(),
            packets: Some(host.packets),
            mean_ps: Some(host.total.as_ps() as f64 / host.packets as f64),
            max_ps: Some(host.max.as_ps()),
        });
    }
    way_rows(account, Stage::Ack, &account.ack, &mut rows);
    rows
}

fn way_rows(account: &FlowAccount, stage: Stage, way: &[HopTime], rows: &mut Vec<FlowTime>) {
    let back = stage == Stage::Ack;
    let mut ports: Vec<PortRef> = Vec::new();
    let others = account
        .hops
        .iter()
        .filter(|hop| hop.back == back)
        .map(|hop| hop.port);
    // Ports of the decisive packet come first, in the order of its path, then ports that only other packets took.
    for port in way.iter().map(|hop| hop.port).chain(others) {
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    for port in ports {
        let name = port.to_string();
        let all = account
            .hops
            .iter()
            .find(|hop| hop.back == back && hop.port == port);
        // A packet that turned back after a failure may have left one port twice.
        let sum = |i: usize| -> u64 {
            let hops = way.iter().filter(|hop| hop.port == port);
            hops.map(|hop| hop.parts()[i].1.as_ps()).sum()
        };
        for (i, part) in ["serialisation", "propagation", "queueing", PAUSED, RETRIED]
            .into_iter()
            .enumerate()
        {
            // Serialisation and propagation are the same for all packets of a size, so only waiting has a mean and a
            // maximum.
            let over_all = all.and_then(|all| match part {
                "queueing" => Some((all.queueing, all.queueing_max)),
                PAUSED => Some((all.paused, all.paused_max)),
                RETRIED => Some((all.retried, all.retried_max)),
                _ => None,
            });
            let packets = all.map(|all| all.packets);
            let row = FlowTime {
                flow_id: account.flow,
                stage,
                port: name.clone(),
                part: part.to_string(),
                time_ps: sum(i),
                packets,
                mean_ps: over_all.map(|(total, _)| total.as_ps() as f64 / packets.unwrap_or(1).max(1) as f64),
                max_ps: over_all.map(|(_, max)| max.as_ps()),
            };
            if row.time_ps > 0 || row.max_ps.is_some_and(|max| max > 0) {
                rows.push(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use paceline_fabric::table::Table;

    use super::*;
    use crate::files::tables;
    use crate::sample;

    #[test]
    fn flow_time_csv() {
        let (input, outcome) = sample::incast();
        let rows = flow_times(&input.run, &outcome);
        let sum: u64 = rows.iter().map(|row| row.time_ps).sum();
        assert_eq!(sum, outcome.flows[0].fct.as_ps());
        let mut file = Vec::new();
        tables::write(&mut file, &Table::new(rows)).unwrap();
        insta::assert_snapshot!("flow_time_csv", String::from_utf8(file).unwrap());
    }
}
