//! Ports on the path of a probed flow: the flows that its packets wait for, and its pauses.

use std::collections::BTreeMap;

use paceline_kernel::{Span, Time};

use super::{Neighbour, Shared};
use crate::ids::{FlowId, PortId};
use paceline_run::outcome::PortRef;

/// An egress port where the flow's packets queue.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) port: PortId,
    pub(super) class: u8,
    /// Number of the flow's packets that wait at the port.
    pub(super) waiting: u64,
    /// Time up to which waits are accounted, in ps.
    until: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// Bytes sent and time waited for, of each flow.
    pub(super) flows: BTreeMap<FlowId, (u64, u64)>,
    paused: u64,
    idle: u64,
}

impl Watched {
    pub(super) fn new(port: PortId, class: u8, now: u64) -> Self {
        Self {
            port,
            class,
            waiting: 0,
            until: now,
            first: now,
            last: now,
            flows: BTreeMap::new(),
            paused: 0,
            idle: 0,
        }
    }

    /// Accounts the waits until `now`. Meanwhile `flow` was on the wire up to `free_at`, or the class was paused
    /// (`held`).
    pub(super) fn advance(&mut self, now: u64, flow: FlowId, free_at: u64, held: bool) {
        let from = std::mem::replace(&mut self.until, now);
        // A pause holds the packets back, no matter what is on the wire.
        if held {
            self.paused += (now - from) * self.waiting;
            return;
        }
        let ended = free_at.clamp(from, now);
        let (sent, idle) = ((ended - from) * self.waiting, (now - ended) * self.waiting);
        if sent > 0 {
            self.flows.entry(flow).or_default().1 += sent;
        }
        self.idle += idle;
    }

    pub(super) fn close(self, port: PortRef) -> Option<Shared> {
        let neighbour = |(flow, (bytes, waited)): (FlowId, (u64, u64))| Neighbour {
            flow: flow.0,
            bytes,
            waited: Span::from_ps(waited),
        };
        let mut flows: Vec<Neighbour> = self.flows.into_iter().map(neighbour).collect();
        flows.sort_by_key(|of| (std::cmp::Reverse(of.bytes), std::cmp::Reverse(of.waited), of.flow));
        (!flows.is_empty() || self.paused + self.idle > 0).then_some(Shared {
            port,
            flows,
            paused: Span::from_ps(self.paused),
            idle: Span::from_ps(self.idle),
            first: Time::from_ps(self.first),
            last: Time::from_ps(self.last),
        })
    }
}

/// Pauses of one port that have the same origin.
#[derive(Clone, Debug)]
pub(super) struct OriginPauses {
    pub(super) port: PortId,
    pub(super) way: Vec<PortId>,
    pub(super) count: u64,
    pub(super) time: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// Start of the pause in force; `None` between pauses.
    pub(super) since: Option<u64>,
    pub(super) flows: BTreeMap<FlowId, u64>,
}

/// Adds one to the count of a port.
pub(super) fn count(list: &mut Vec<(PortId, u64)>, port: PortId) {
    match list.iter_mut().find(|(known, _)| *known == port) {
        Some((_, count)) => *count += 1,
        None => list.push((port, 1)),
    }
}

/// Origin of a pause: egress ports from the node that sent it to the root, and the flows' bytes in the root's queue.
#[derive(Clone, Debug, Default)]
pub(in crate::watch) struct Origin {
    pub(super) way: Vec<PortId>,
    pub(in crate::watch) flows: BTreeMap<FlowId, u64>,
}

impl OriginPauses {
    /// Ends the pause in force.
    pub(super) fn end(&mut self, now: u64) {
        if let Some(since) = self.since.take() {
            self.time += now - since;
            self.last = now;
        }
    }
}
