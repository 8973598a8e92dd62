//! Losers among packets that arrive for one port at the same instant, in lossy classes.
//!
//! Which of them finds room depends on the order of events of that instant, which nothing in a real network fixes. If
//! one side always loses, the order decides over results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use paceline_kernel::ids::{Id, List};

use crate::ids::PortId;
use paceline_run::outcome::{PortRef, TiedArrivals};

/// Counts of simultaneous arrivals in lossy classes, and of drops among them.
#[derive(Clone, Debug)]
pub(super) struct TieWatch {
    /// By egress port: arrivals at the latest instant.
    latest: List<PortId, Instant>,
    counts: TieCounts,
}

/// Counts of the instants that are over.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct TieCounts {
    /// By egress and ingress port: packets admitted and dropped, at instants at which both happened.
    sides: BTreeMap<(PortId, PortId), (u64, u64)>,
    /// Drops at instants at which another packet arrived for the same port.
    drops: u64,
}

/// Arrivals for a port at one instant. A single packet, the usual case, takes no further memory.
#[derive(Clone, Debug)]
struct Instant {
    at: u64,
    dropped: u32,
    arrived: u32,
    first: Arrival,
    #[expect(
        clippy::box_collection,
        reason = "8 bytes where it is mostly empty: two ports share a line"
    )]
    others: Option<Box<Vec<Arrival>>>,
}

const _: () = assert!(size_of::<Instant>() == 32);

/// Ingress port of a packet, and true if it was dropped.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    ingress: PortId,
    dropped: bool,
}

impl Instant {
    const NONE: Self = Self {
        at: 0,
        dropped: 0,
        arrived: 0,
        first: Arrival {
            ingress: PortId::NONE,
            dropped: false,
        },
        others: None,
    };

    fn push(&mut self, ingress: PortId) {
        let arrival = Arrival {
            ingress,
            dropped: false,
        };
        match self.arrived {
            0 => self.first = arrival,
            _ => self.others.get_or_insert_default().push(arrival),
        }
        self.arrived += 1;
    }

    fn last(&mut self) -> &mut Arrival {
        let others = self.others.as_mut().and_then(|others| others.last_mut());
        others.unwrap_or(&mut self.first)
    }

    fn arrivals(&self) -> impl Iterator<Item = Arrival> {
        let first = (self.arrived > 0).then_some(self.first);
        first
            .into_iter()
            .chain(self.others.iter().flat_map(|others| others.iter().copied()))
    }
}

impl TieWatch {
    pub(super) fn new(ports: usize) -> Box<Self> {
        Box::new(Self {
            latest: (0..ports).map(|_| Instant::NONE).collect(),
            counts: TieCounts::default(),
        })
    }

    /// Notes a packet's arrival for a port.
    pub(super) fn arrives(&mut self, now: u64, egress: PortId, ingress: PortId) {
        if self.latest[egress].at != now {
            self.settle(egress);
            self.latest[egress].at = now;
        }
        self.latest[egress].push(ingress);
    }

    /// Notes that the packet that has just arrived is dropped.
    pub(super) fn drops(&mut self, egress: PortId) {
        let instant = &mut self.latest[egress];
        if instant.arrived > 0 {
            instant.last().dropped = true;
            instant.dropped += 1;
        }
    }

    /// Counts the arrivals of an instant that is over.
    fn settle(&mut self, egress: PortId) {
        let instant = &mut self.latest[egress];
        // With a single arrival there is no order that could matter.
        if instant.dropped > 0 && instant.arrived > 1 {
            self.counts.drops += u64::from(instant.dropped);
            // Where all were dropped, the order decided nothing between the sides.
            if instant.dropped < instant.arrived {
                for Arrival { ingress, dropped } in instant.arrivals() {
                    let (taken, lost) = self.counts.sides.entry((egress, ingress)).or_default();
                    *(if dropped { lost } else { taken }) += 1;
                }
            }
        }
        (instant.dropped, instant.arrived) = (0, 0);
        if let Some(others) = &mut instant.others {
            others.clear();
        }
    }

    /// Prefetches the state of a port.
    #[inline(always)]
    pub(super) fn prefetch(&self, egress: PortId) {
        self.latest.prefetch(egress);
    }

    /// Adds the counts of another part of the run, where other egress ports are.
    pub(super) fn add(&mut self, mut other: TieCounts) {
        self.counts.drops += other.drops;
        self.counts.sides.append(&mut other.sides);
    }

    /// Counts the last instant of each port, and returns the counts.
    pub(super) fn close(mut self) -> TieCounts {
        let ports: Vec<PortId> = self.latest.ids().collect();
        ports.into_iter().for_each(|egress| self.settle(egress));
        self.counts
    }

    /// Ends and returns the counts.
    pub(super) fn finish(self, port_refs: &List<PortId, PortRef>) -> TiedArrivals {
        let counts = self.close();
        let side = |(&(egress, ingress), &(taken, dropped)): (&(PortId, PortId), &(u64, u64))| {
            paceline_run::outcome::Side {
                egress: port_refs[egress],
                ingress: port_refs[ingress],
                taken,
                dropped,
            }
        };
        TiedArrivals {
            drops: counts.drops,
            sides: counts.sides.iter().map(side).collect(),
        }
    }
}
