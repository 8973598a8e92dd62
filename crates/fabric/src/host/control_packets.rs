//! Queues of acknowledgements at the NIC that sends them, and the pauses that hold them back.

use crate::core::cx::Cx;
use crate::core::packet::Packet;
use crate::core::port::{Port, debit};
use crate::host::Hosts;
use crate::ids::{PacketId, PortId};
use crate::world::World;
use crate::world::classes::{LINK_CONTROL, STRICT};
use paceline_kernel::ids::Id;
use paceline_run::outcome::TraceKind;

impl World {
    /// Returns the queue of ACKs to serve now. A host's ACKs wait by class, so that a pause holds back only its class.
    /// The reference has one queue, which the pause of one class holds back.
    pub(crate) fn next_ack(&self, port: &Port) -> Option<u8> {
        let quirks = &self.quirks;
        if !quirks.ack_nic_class {
            return port.next_class();
        }
        if port.ready & 1 << LINK_CONTROL != 0 {
            return Some(LINK_CONTROL);
        }
        let class = self.ack_held_by(STRICT);
        let held = class > STRICT && port.paused & 1 << class != 0;
        (!held).then_some(STRICT)
    }

    /// Returns the dense class of ACKs of a flow with this priority.
    pub(super) fn ack_class(&self, priority: u8) -> u8 {
        self.classes.dense(self.nic.ack_class.unwrap_or(priority))
    }

    /// Returns the queue of a host port in which ACKs of `class` wait.
    #[inline]
    pub(super) fn ack_queue(&self, class: u8) -> u8 {
        if self.quirks.ack_nic_class { STRICT } else { class }
    }

    /// Returns the class whose pauses hold back a host's ACKs of `class`.
    pub(crate) fn ack_held_by(&self, class: u8) -> u8 {
        match &self.quirks {
            quirks if !quirks.ack_nic_class => class,
            quirks => self.classes.dense(if quirks.ack_high_priority { 0 } else { 3 }),
        }
    }
}

impl Hosts {
    /// Sends the next ACK of `class`, through a port under credits or another.
    #[inline(always)]
    pub(super) fn send_ack<const ON_CREDIT: bool>(&mut self, cx: &mut Cx<'_>, port: PortId, class: u8) {
        let queue = &mut cx.core.queues[(port, class)];
        let (id, _) = queue.pop(&cx.core.packets);
        let p = &mut cx.core.ports[port];
        if queue.head == PacketId::NONE {
            p.ready &= !(1 << class);
        }
        if class > STRICT {
            p.served = class;
        }
        debit(&mut p.queued, u32::from(cx.core.packets.get(id).wire));
        let (more_acks, nic) = (p.ready != 0, p.nic());
        if cx.core.watch.recorder.tracing {
            self.trace(cx, port, TraceKind::Dequeue, id, 0);
        }
        if cx.core.watch.accounts.awaits_pauses() {
            cx.core.account_pause(cx.world, port, id);
        }
        // Data may wait for this transmission to end: without an event the port would stay idle.
        let more = more_acks || self.awaits_end(cx, nic, cx.core.packets.get(id).wire);
        if ON_CREDIT {
            cx.core
                .transmit_checked(cx.world, port, id, more, Packet::ACCOUNTED);
        } else {
            cx.core.transmit(cx.world, port, id, more, Packet::ACCOUNTED);
        }
    }

    /// Appends a receiver's packet to a port's queue, and sends if the port is idle.
    #[inline]
    pub(super) fn enqueue(&mut self, cx: &mut Cx<'_>, port: PortId, class: u8, id: PacketId) {
        cx.core.push(cx.world, port, class, id);
        self.nic_send(cx, port);
    }
}
