//! Acknowledgements in the NIC that sends them: where they wait, and for what.

use crate::core::Core;
use crate::core::packet::Packet;
use crate::core::port::{Port, debit};
use crate::host::Hosts;
use crate::ids::{PacketId, PortId};
use crate::world::World;
use crate::world::classes::{LINK_CONTROL, STRICT};
use paceline_kernel::ids::Id;
use paceline_run::outcome::TraceKind;

impl World {
    /// The queue of ACKs to serve now: those of a host wait by class, so that a pause holds back its
    /// own only. The reference has one queue, which the pause of one class holds back.
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

    /// The dense class of ACKs of a flow with this priority.
    pub(super) fn ack_class(&self, priority: u8) -> u8 {
        self.classes.dense(self.nic.ack_class.unwrap_or(priority))
    }

    /// The queue of a host port that ACKs of `class` wait in.
    #[inline]
    pub(super) fn ack_queue(&self, class: u8) -> u8 {
        if self.quirks.ack_nic_class { STRICT } else { class }
    }

    /// The class by whose pauses a host holds back its ACKs of `class`.
    pub(crate) fn ack_held_by(&self, class: u8) -> u8 {
        match &self.quirks {
            quirks if !quirks.ack_nic_class => class,
            quirks => self.classes.dense(if quirks.ack_high_priority { 0 } else { 3 }),
        }
    }
}

impl Hosts {
    /// Sends the next ACK of `class`, by a port under credits or by another.
    #[inline(always)]
    pub(super) fn send_ack<const ON_CREDIT: bool>(
        &mut self,
        world: &World,
        core: &mut Core,
        port: PortId,
        class: u8,
    ) {
        let queue = &mut core.queues[(port, class)];
        let (id, _) = queue.pop(&core.packets);
        let p = &mut core.ports[port];
        if queue.head == PacketId::NONE {
            p.ready &= !(1 << class);
        }
        if class > STRICT {
            p.served = class;
        }
        debit(&mut p.queued, u32::from(core.packets.get(id).wire));
        let (more_acks, nic) = (p.ready != 0, p.nic());
        if core.watch.recorder.tracing {
            self.trace(world, core, port, TraceKind::Dequeue, id, 0);
        }
        if core.watch.accounts.awaits_pauses() {
            core.account_pause(world, port, id);
        }
        let more = more_acks || self.awaits_end(world, core, nic, core.packets.get(id).wire);
        if ON_CREDIT {
            core.transmit_on_credit(world, port, id, more, Packet::ACCOUNTED);
        } else {
            core.transmit(world, port, id, more, Packet::ACCOUNTED);
        }
    }

    /// Appends a packet of a receiver's own to a port's queue, and sends if the port is idle.
    #[inline]
    pub(super) fn enqueue(&mut self, world: &World, core: &mut Core, port: PortId, class: u8, id: PacketId) {
        core.push(world, port, class, id);
        self.nic_send(world, core, port);
    }
}
