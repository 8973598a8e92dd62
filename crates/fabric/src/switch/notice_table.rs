//! Memory of switches for the flows that they have notified of.

use std::collections::{BTreeMap, BTreeSet};

use paceline_kernel::ids::List;
use paceline_run::spec::{FastCnp, NodeId, NoticeKey, NoticeTrigger};

use crate::core::Core;
use crate::core::packet::Packet;
use crate::core::port::Ports;
use crate::ids::SwitchId;
use crate::world::World;

/// Kind of [`Event::Special`] for a notification that a switch has finished: it leaves by the port `a`.
pub(crate) const NOTICE: u8 = 23;

/// Name of a flow in a table: its number, or its hosts and class.
pub(super) type Key = (u32, u32, u8);

/// Time of the next notification of each flow, in ps, in a table of limited size.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    next: BTreeMap<Key, u64>,
}

impl Table {
    /// Returns true if the flow may be notified of now, and notes that it is.
    pub(super) fn may_notify(&mut self, key: Key, now: u64, interval: u64, size: usize) -> bool {
        if self.next.get(&key).is_some_and(|&next| now < next) {
            return false;
        }
        if self.next.len() >= size && !self.next.contains_key(&key) {
            // An entry whose time has come says no more than none.
            self.next.retain(|_, next| *next > now);
            if self.next.len() >= size {
                let oldest = self.next.iter().min_by_key(|&(key, next)| (*next, *key));
                let oldest = oldest.map(|(key, _)| *key);
                oldest.map(|key| self.next.remove(&key));
            }
        }
        self.next.insert(key, now + interval);
        true
    }
}

/// Notifications of all switches.
#[derive(Clone, Debug)]
pub(super) struct Notices {
    pub(super) spec: FastCnp,
    /// True for the switches that notify.
    pub(super) notify: List<SwitchId, bool>,
    pub(super) tables: List<SwitchId, Table>,
}

impl Notices {
    /// Creates the notifications of a run; `None` if it has none.
    pub(super) fn new(spec: Option<&FastCnp>, ports: &Ports, switches: usize) -> Option<Box<Self>> {
        let spec = spec?.clone();
        let named: BTreeSet<NodeId> = spec.switches.iter().copied().collect();
        let mut notify = List::of(switches, false);
        for port in ports.iter().filter(|port| !port.is_host) {
            notify[port.switch()] = named.contains(&port.node);
        }
        Some(Box::new(Self {
            spec,
            notify,
            tables: List::of(switches, Table::default()),
        }))
    }

    /// Returns true if packets are answered when they leave.
    pub(super) fn looks_at_departures(&self) -> bool {
        self.spec.trigger != NoticeTrigger::Queue
    }

    pub(super) fn key(&self, world: &World, core: &Core, packet: &Packet) -> Key {
        match self.spec.key {
            NoticeKey::Flow => (packet.flow.0, 0, 0),
            NoticeKey::Hosts => {
                let flow = world.flow(core, packet.flow);
                (flow.src.0, flow.dst.0, packet.class)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A flow is notified of at most once in an interval; a table of any size forgets only what it has no room for.
        #[test]
        fn intervals_hold(steps in prop::collection::vec((0u32..9, 1u64..40), 1..300), size in 1usize..12) {
            let mut table = Table::default();
            let (mut now, mut last, interval) = (0, BTreeMap::new(), 50);
            for (flow, later) in steps {
                now += later;
                let due = last.get(&flow).is_none_or(|&at: &u64| now >= at + interval);
                let notified = table.may_notify((flow, 0, 0), now, interval, size);
                prop_assert!(!due || notified, "a flow that is due is notified of");
                // With room for all nothing is forgotten.
                prop_assert!(due || !notified || size < 9);
                prop_assert!(table.next.len() <= size);
                if notified {
                    last.insert(flow, now);
                }
            }
        }
    }
}
