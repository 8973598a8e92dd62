//! Congestion notifications that switches make for senders: a CNP goes straight back, without the way by the receiver.
//!
//! As in draft-xiao-rtgwg-rocev2-fast-cnp, in vendors' switches that answer packets with a mark, and in THEMIS (near-source
//! notifications). Senders take them like the CNPs of receivers, whatever their scheme.

use std::collections::BTreeMap;

use paceline_congestion::Mark;
use paceline_congestion::signal::Carrier;
use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::LaneId;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::{FastCnp, NodeId, NoticeKey, NoticeTrigger};

use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::ids::{PacketId, PortId, SwitchId};
use crate::switch::Switches;
use crate::switch::assist::signal;
use crate::world::World;
use crate::world::classes::STRICT;

/// Kind of [`Event::Special`] for a notification that a switch has finished: it leaves by the port `a`.
pub(crate) const NOTICE: u8 = 23;

/// What a table knows flows by: a flow's number, or its hosts and class.
type Key = (u32, u32, u8);

/// Time of the next notification of each flow, in ps, in a table of limited size.
#[derive(Clone, Debug, Default)]
struct Table {
    next: BTreeMap<Key, u64>,
}

impl Table {
    /// Returns true if the flow may be notified of now, and notes that it is.
    fn may_notify(&mut self, key: Key, now: u64, interval: u64, size: usize) -> bool {
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
    spec: FastCnp,
    /// True for the switches that notify.
    notify: List<SwitchId, bool>,
    tables: List<SwitchId, Table>,
}

impl Notices {
    /// Creates the notifications of a run; `None` if it has none. `of` returns the number of a switch.
    pub(super) fn new(
        spec: Option<&FastCnp>,
        switches: usize,
        of: impl Fn(NodeId) -> SwitchId,
    ) -> Option<Box<Self>> {
        let spec = spec?.clone();
        let mut notify = List::of(switches, false);
        spec.switches.iter().for_each(|&node| notify[of(node)] = true);
        Some(Box::new(Self {
            spec,
            notify,
            tables: List::of(switches, Table::default()),
        }))
    }

    /// Returns true if packets that carry a mark already are answered.
    pub(super) fn sees_marks(&self) -> bool {
        self.spec.trigger == NoticeTrigger::Mark
    }

    fn key(&self, world: &World, core: &crate::core::Core, packet: &Packet) -> Key {
        match self.spec.key {
            NoticeKey::Flow => (packet.flow.0, 0, 0),
            NoticeKey::Hosts => {
                let flow = world.flow(core, packet.flow);
                (flow.src.0, flow.dst.0, packet.class)
            }
        }
    }
}

impl Switches {
    /// Answers a data packet that leaves by `egress` with a mark that this port has given it, or before.
    #[cold]
    pub(super) fn notify_sender(&mut self, cx: &mut Cx<'_>, egress: PortId, id: PacketId, here: bool) {
        let Some(notices) = &mut self.notices else { return };
        let switch = cx.core.ports[egress].switch();
        let packet = *cx.core.packets.get(id);
        let is_marked = packet.kind == PacketKind::Data && packet.mark == Mark::Congested;
        let is_asked = here != notices.sees_marks();
        if !is_marked || !is_asked || !notices.notify[switch] {
            return;
        }
        let now = cx.core.now();
        let key = notices.key(cx.world, cx.core, &packet);
        let FastCnp {
            interval,
            delay,
            keep_mark,
            table,
            size,
            ..
        } = notices.spec;
        let interval = delay.as_ps() + interval.as_ps();
        let notifies = notices.tables[switch].may_notify(key, now, interval, table as usize);
        if !keep_mark {
            // The receiver is not to notify once more.
            cx.core.packets.get_mut(id).mark = Mark::None;
        }
        // A packet that came by no port of this switch has no way back.
        if !notifies || packet.ingress == PortId::NONE {
            return;
        }
        let mut cnp = signal(cx, egress, id, Carrier::Packet);
        cnp.kind = PacketKind::Cnp;
        cnp.tag = Mark::Congested as u8;
        cnp.wire = size.get() as u16;
        cx.core.counters.notices += 1;
        let cnp = cx.core.packets.insert(cnp);
        if delay.as_ps() == 0 {
            return self.enqueue(cx, packet.ingress, STRICT, cnp);
        }
        let what = Event::Special {
            kind: NOTICE,
            a: packet.ingress.0,
            b: cnp.0,
        };
        cx.core.schedule(LaneId::WHEEL, now + delay.as_ps(), what);
    }

    /// Sends a notification that its switch has finished.
    pub(crate) fn send_notice(&mut self, cx: &mut Cx<'_>, port: PortId, id: PacketId) {
        match cx.core.ports[port].is_up() {
            true => self.enqueue(cx, port, STRICT, id),
            false => cx.core.discard(cx.world, port, id, crate::core::lost::Lost::Link),
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
