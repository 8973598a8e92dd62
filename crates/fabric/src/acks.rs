//! Acknowledgements in the NIC that sends them: where they wait, and for what.

use crate::outcome::TraceKind;
use crate::packet::NONE;
use crate::port::{LINK_CONTROL, STRICT};
use crate::sim::{Simulation, World};

impl World {
    /// The class by whose pauses a host holds back its ACKs of `class`.
    pub(crate) fn ack_held_by(&self, class: u8) -> u8 {
        match &self.spec.quirks {
            quirks if !quirks.ack_nic_class => class,
            quirks => self.classes.dense(if quirks.ack_high_priority { 0 } else { 3 }),
        }
    }
}

impl Simulation {
    /// The queue of ACKs to serve now: those of a host wait by class, so that a pause holds back its
    /// own only. The reference has one queue, which the pause of one class holds back.
    pub(crate) fn next_ack(&self, port: u32) -> Option<u8> {
        let (port, quirks) = (&self.core.ports[port as usize], &self.world.spec.quirks);
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

    /// The class by whose pauses a host holds back its ACKs of `class`.
    pub(crate) fn ack_held_by(&self, class: u8) -> u8 {
        self.world.ack_held_by(class)
    }

    /// The queue of a host port that ACKs of `class` wait in.
    #[inline]
    pub(crate) fn ack_queue(&self, class: u8) -> u8 {
        if self.world.spec.quirks.ack_nic_class {
            STRICT
        } else {
            class
        }
    }

    /// Sends the next ACK of `class`.
    pub(crate) fn send_ack(&mut self, port: u32, class: u8) {
        let slot = port as usize * self.world.class_count + usize::from(class);
        let queue = &mut self.core.queues[slot];
        let id = queue.pop(&self.core.packets);
        let p = &mut self.core.ports[port as usize];
        if queue.head == NONE {
            p.ready &= !(1 << class);
        }
        if class > STRICT {
            p.served = class;
        }
        p.queued -= u32::from(self.core.packets.get(id).wire);
        let (more_acks, nic) = (p.ready != 0, p.owner as usize);
        if self.core.watch.recorder.tracing {
            self.trace(port, TraceKind::Dequeue, id, 0);
        }
        let more = more_acks || self.awaits_end(nic, self.core.packets.get(id).wire);
        self.start_transmission(port, id, more);
    }
}
