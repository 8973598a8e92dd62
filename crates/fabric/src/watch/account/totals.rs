//! What all packets of a flow met, added up in any order.

use paceline_kernel::Span;

use super::journal::{BACK, INSIDE, PAUSED, Step};
use super::{HopTotals, HostTime};
use crate::outcome::PortRef;

/// What a flow's packets met at ports and in the receiver's host.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    ports: Vec<AtPort>,
    pub(super) host: HostTime,
}

/// What they met at one port.
#[derive(Clone, Copy, Debug)]
struct AtPort {
    key: u32,
    /// When the first of them left it.
    first: u64,
    packets: u64,
    queueing: u64,
    queueing_max: u64,
    paused: u64,
    paused_max: u64,
}

impl Totals {
    /// Adds a packet's journal.
    pub(super) fn add(&mut self, steps: &[Step]) {
        let mut next = 0;
        for (step, queueing, paused) in waits(steps) {
            if step.key == INSIDE {
                self.host.packets += 1;
                self.host.total += Span::from_ps(step.left);
                self.host.max = self.host.max.max(Span::from_ps(step.left));
                continue;
            }
            // Packets of a flow mostly go one way.
            let place = match self.ports.get(next) {
                Some(port) if port.key == step.key => next,
                _ => self.place(step.key),
            };
            let port = &mut self.ports[place];
            port.first = port.first.min(step.left);
            port.packets += 1;
            port.queueing += queueing;
            port.queueing_max = port.queueing_max.max(queueing);
            port.paused += paused;
            port.paused_max = port.paused_max.max(paused);
            next = place + 1;
        }
    }

    #[cold]
    fn place(&mut self, key: u32) -> usize {
        if let Some(place) = self.ports.iter().position(|port| port.key == key) {
            return place;
        }
        self.ports.push(AtPort {
            key,
            first: u64::MAX,
            packets: 0,
            queueing: 0,
            queueing_max: 0,
            paused: 0,
            paused_max: 0,
        });
        self.ports.len() - 1
    }

    /// Adds what other packets of the flow met.
    pub(super) fn merge(&mut self, other: &Self) {
        for theirs in &other.ports {
            let place = self.place(theirs.key);
            let port = &mut self.ports[place];
            port.first = port.first.min(theirs.first);
            port.packets += theirs.packets;
            port.queueing += theirs.queueing;
            port.queueing_max = port.queueing_max.max(theirs.queueing_max);
            port.paused += theirs.paused;
            port.paused_max = port.paused_max.max(theirs.paused_max);
        }
        self.host.packets += other.host.packets;
        self.host.total += other.host.total;
        self.host.max = self.host.max.max(other.host.max);
    }

    /// The ports in the order in which they were met; those of one instant by direction and number.
    pub(super) fn hops(&mut self, name: &dyn Fn(u32) -> PortRef) -> Vec<HopTotals> {
        self.ports.sort_unstable_by_key(|port| (port.first, port.key));
        let hop = |port: &AtPort| HopTotals {
            port: name(port.key & !BACK),
            back: port.key & BACK != 0,
            packets: port.packets,
            queueing: Span::from_ps(port.queueing),
            queueing_max: Span::from_ps(port.queueing_max),
            paused: Span::from_ps(port.paused),
            paused_max: Span::from_ps(port.paused_max),
        };
        self.ports.iter().map(hop).collect()
    }
}

/// The steps of a journal, with how long the packet queued before each, and how long it was paused there: what
/// lies between its arrival and its leaving, less the time in the receiver's host. Before its first step it was no packet yet.
pub(super) fn waits(steps: &[Step]) -> impl Iterator<Item = (&Step, u64, u64)> {
    let (mut ready, mut paused) = (steps.first().map_or(0, |step| step.left), 0);
    steps.iter().filter_map(move |step| {
        match step.key {
            PAUSED => {
                paused = step.left;
                return None;
            }
            INSIDE => {
                ready += step.left;
                return Some((step, 0, 0));
            }
            _ => {}
        }
        let held = std::mem::take(&mut paused);
        let queueing = step.left - ready - held;
        ready = step.arrives;
        Some((step, queueing, held))
    })
}
