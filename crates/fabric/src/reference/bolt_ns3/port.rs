//! A port: queues, the device's FIFO for one packet, the wire.
//!
//! When a transmission ends, the packet in the FIFO follows at once; the FIFO is filled again by an event of its
//! own at the same instant, after what was already due then. Ports without Bolt's queues have one FIFO
//! for everything, of which nothing is taken out before its turn.

use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::core::event::Event;
use crate::ids::{PacketId, PortId};
use crate::outcome::TraceKind;
use crate::run::simulation::Simulation;
use crate::world::classes::STRICT;

impl Simulation {
    /// A packet arrived at a port, of a host or of a switch.
    pub(crate) fn device_receive(&mut self, ingress: PortId, id: PacketId) {
        if self.core.ports[ingress].is_host {
            if self.core.watch.accounts_alone() {
                self.hosts.trace_answer(&self.world, &mut self.core, id);
            }
            return self.message_receive(id);
        }
        let Some(egress) = self.switches.route(&self.world, &mut self.core, ingress, id) else {
            self.core.counters.link_drops += 1;
            return self.discard(ingress, id);
        };
        self.core.packets.get_mut(id).ingress = ingress;
        self.device_enqueue(egress, id);
    }

    /// A packet is to leave through `port`.
    pub(crate) fn device_enqueue(&mut self, port: PortId, id: PacketId) {
        if self.bolt_ns3.discs[port].is_some() {
            return self.disc_enqueue(port, id);
        }
        if !self.core.ports[port].up {
            return self.drop_at_device(port, id);
        }
        if self.core.watch.recorder.tracing {
            self.trace(port, TraceKind::Enqueue, id, 0);
        }
        if self.is_busy(port) || self.core.ports[port].ready != 0 {
            self.hold(port, STRICT, id);
            return self.await_transmission(port);
        }
        self.start_transmission(port, id, false);
    }

    /// Appends a packet to one of a port's queues.
    pub(super) fn hold(&mut self, port: PortId, class: u8, id: PacketId) {
        self.core.queues[(port, class)].push(&mut self.core.packets, id);
        let wire = u32::from(self.core.packets.get(id).wire);
        let p = &mut self.core.ports[port];
        p.ready |= 1 << class;
        p.queued += wire;
        if !p.is_host {
            p.queue_max = p.queue_max.max(p.queued);
        }
    }

    /// Takes the first packet of the first queue that has one.
    fn take(&mut self, port: PortId) -> PacketId {
        let class = self.core.ports[port].ready.trailing_zeros() as u8;
        let queue = &mut self.core.queues[(port, class)];
        let (id, _) = queue.pop(&self.core.packets);
        let empty = queue.head == PacketId::NONE;
        let p = &mut self.core.ports[port];
        p.ready &= !(u16::from(empty) << class);
        p.queued -= u32::from(self.core.packets.get(id).wire);
        id
    }

    /// Moves packets from the queues into the device as far as it takes them.
    pub(crate) fn refill(&mut self, port: PortId) {
        while self.core.ports[port].ready != 0 && self.bolt_ns3.slots[port] == PacketId::NONE {
            let id = self.take(port);
            if let Some(disc) = &mut self.bolt_ns3.discs[port] {
                disc.packets -= 1;
            }
            if self.core.watch.recorder.tracing {
                let left = self.core.ports[port].queued;
                self.trace(port, TraceKind::Dequeue, id, left);
            }
            if !self.core.ports[port].up {
                self.drop_at_device(port, id);
            } else if self.is_busy(port) {
                self.bolt_ns3.slots[port] = id;
                self.await_transmission(port);
            } else {
                let more = self.core.ports[port].ready != 0;
                self.start_transmission(port, id, more);
            }
        }
    }

    /// The end of a transmission.
    pub(crate) fn device_done(&mut self, port: PortId) {
        if self.bolt_ns3.discs[port].is_none() {
            if self.core.ports[port].ready != 0 {
                let id = self.take(port);
                let more = self.core.ports[port].ready != 0;
                self.start_transmission(port, id, more);
            }
            return;
        }
        let id = std::mem::replace(&mut self.bolt_ns3.slots[port], PacketId::NONE);
        let waiting = self.core.ports[port].ready != 0;
        if waiting {
            self.schedule(LaneId::WHEEL, self.core.now, Event::Refill { port });
        }
        if id != PacketId::NONE {
            self.start_transmission(port, id, waiting);
        }
    }

    /// The device of a link that is down takes nothing.
    #[cold]
    fn drop_at_device(&mut self, port: PortId, id: PacketId) {
        self.core.counters.link_drops += 1;
        self.discard(port, id);
    }
}
