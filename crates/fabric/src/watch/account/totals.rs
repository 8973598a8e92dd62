//! Totals over all packets of a flow, in any order.

use paceline_kernel::Span;
use serde::{Deserialize, Serialize};

use super::hop_log::{Head, INSIDE, RETRIED, Step, for_each_wait, port_of};
use super::paths::Hop;
use crate::ids::PortId;
use paceline_run::outcome::PortRef;
use paceline_run::outcome::account::{HopTotals, HostTime};

/// Sums over a flow's packets, for ports and for the receiver's host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) ports: Vec<AtPort>,
    pub(super) host: HostTime,
    /// Path of most packets, and the number of those logged only where they waited ([`super::paths`]).
    pub(super) way: Vec<Hop>,
    pub(super) quiet: u64,
}

/// Sums over packets at one port.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct AtPort {
    key: u32,
    /// First departure of a packet, in ps.
    first: u64,
    pub(super) packets: u64,
    queueing: u64,
    queueing_max: u64,
    paused: u64,
    paused_max: u64,
    retried: u64,
    retried_max: u64,
}

impl AtPort {
    const fn new(key: u32) -> Self {
        Self {
            key,
            first: u64::MAX,
            packets: 0,
            queueing: 0,
            queueing_max: 0,
            paused: 0,
            paused_max: 0,
            retried: 0,
            retried_max: 0,
        }
    }

    /// Adds a packet that left at `left`.
    #[inline]
    fn add(&mut self, left: u64, queueing: u64) {
        self.packets += 1;
        if left < self.first {
            self.first = left;
        }
        if queueing > 0 {
            self.add_queueing(queueing);
        }
    }

    /// Adds a wait behind other packets.
    #[inline]
    pub(super) fn add_queueing(&mut self, queueing: u64) {
        self.queueing += queueing;
        self.queueing_max = self.queueing_max.max(queueing);
    }

    /// Adds a wait during a pause.
    pub(super) fn add_pause(&mut self, paused: u64) {
        self.paused += paused;
        self.paused_max = self.paused_max.max(paused);
    }

    /// Adds a wait for a frame that was sent again.
    fn add_retry(&mut self, waited: u64) {
        self.retried += waited;
        self.retried_max = self.retried_max.max(waited);
    }
}

impl Totals {
    /// Returns empty totals of packets that take the same path.
    pub(super) fn of_same_way(&self) -> Self {
        let ports = self.way.iter().map(|hop| AtPort::new(hop.key()));
        Self {
            ports: ports.collect(),
            way: self.way.clone(),
            ..Self::default()
        }
    }

    /// Adds a packet's log.
    #[inline]
    pub(super) fn add(&mut self, head: &Head, steps: &[Step]) {
        match head.is_quiet {
            true => self.add_quiet(head.start, steps),
            false => self.add_told(steps),
        }
    }

    /// Adds all ports that a packet left.
    #[inline]
    fn add_told(&mut self, steps: &[Step]) {
        let mut ready = steps.first().map_or(0, |step| step.left);
        // Most packets of a flow take one path, without a pause.
        let known = self.ports.iter_mut().zip(steps);
        let mut added = 0;
        for (port, step) in known {
            if port.key != step.key {
                break;
            }
            port.add(step.left, step.left - ready);
            ready = step.arrives();
            added += 1;
        }
        if added < steps.len() {
            let last = added.checked_sub(1);
            self.add_other(&steps[added..], ready, last);
        }
    }

    /// Adds the steps of a packet that is at its next port at `ready`, and has left the port at index `last`.
    #[cold]
    fn add_other(&mut self, steps: &[Step], ready: u64, mut last: Option<usize>) {
        for_each_wait(steps, ready, |key, step, _, queueing, paused| {
            if key == INSIDE {
                self.host.packets += 1;
                self.host.total += Span::from_ps(step.left);
                self.host.max = self.host.max.max(Span::from_ps(step.left));
            } else if key == RETRIED {
                self.ports[last.expect("the port before")].add_retry(step.left);
            } else {
                let position = self.position(key);
                last = Some(position);
                self.ports[position].add(step.left, queueing);
                self.ports[position].add_pause(paused);
            }
        });
    }

    pub(super) fn position(&mut self, key: u32) -> usize {
        if let Some(position) = self.ports.iter().position(|port| port.key == key) {
            return position;
        }
        self.ports.push(AtPort::new(key));
        self.ports.len() - 1
    }

    /// Adds the totals of the flow's packets in another part.
    pub(super) fn merge(&mut self, mut other: Self) {
        // Parts that the flow does not pass do not know its path.
        if self.way.is_empty() {
            std::mem::swap(self, &mut other);
        }
        self.count_quiet();
        other.count_quiet();
        for theirs in &other.ports {
            let position = self.position(theirs.key);
            let port = &mut self.ports[position];
            port.first = port.first.min(theirs.first);
            port.packets += theirs.packets;
            port.queueing += theirs.queueing;
            port.queueing_max = port.queueing_max.max(theirs.queueing_max);
            port.paused += theirs.paused;
            port.paused_max = port.paused_max.max(theirs.paused_max);
            port.retried += theirs.retried;
            port.retried_max = port.retried_max.max(theirs.retried_max);
        }
        self.host.packets += other.host.packets;
        self.host.total += other.host.total;
        self.host.max = self.host.max.max(other.host.max);
    }

    /// Returns the ports in the order in which they were passed; those of one instant by direction and number.
    pub(super) fn hops(&mut self, name: &dyn Fn(PortId) -> PortRef) -> Vec<HopTotals> {
        let order = |port: &AtPort| {
            let (number, back) = port_of(port.key);
            (port.first, back, number)
        };
        self.count_quiet();
        // A known path has the ports in order already.
        if self.way.is_empty() {
            self.ports.sort_unstable_by_key(order);
        }
        let hop = |port: &AtPort| HopTotals {
            port: name(port_of(port.key).0),
            back: port_of(port.key).1,
            packets: port.packets,
            queueing: Span::from_ps(port.queueing),
            queueing_max: Span::from_ps(port.queueing_max),
            paused: Span::from_ps(port.paused),
            paused_max: Span::from_ps(port.paused_max),
            retried: Span::from_ps(port.retried),
            retried_max: Span::from_ps(port.retried_max),
        };
        let met = self.ports.iter().filter(|port| port.packets > 0);
        met.map(hop).collect()
    }
}
