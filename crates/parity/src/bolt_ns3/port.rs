//! A port: queues, the device's FIFO for one packet, and the wire.
//!
//! When a transmission ends, the packet in the FIFO follows at once. A separate event at the same instant refills the
//! FIFO, after all events already due. Ports without Bolt's queues have a single FIFO for everything.

use paceline_fabric::model::{Net, PacketId, PortId, STRICT};
use paceline_fabric::outcome::TraceKind;
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::bolt_ns3::{BoltNs3, refill_of};

impl BoltNs3 {
    /// Handles a packet that arrived at a port of a host or of a switch.
    pub(super) fn device_receive(&mut self, net: &mut Net<'_>, ingress: PortId, id: PacketId) {
        if net.cx.core.ports[ingress].is_host {
            if net.cx.core.accounts_alone() {
                net.hosts.trace_answer(&mut net.cx, id);
            }
            return self.message_receive(net, id);
        }
        let Some(egress) = net.switches.route(&mut net.cx, ingress, id) else {
            net.cx.core.counters.link_drops += 1;
            return net.discard(ingress, id);
        };
        net.cx.core.packets.get_mut(id).ingress = ingress;
        self.device_enqueue(net, egress, id);
    }

    /// Queues a packet at an output port.
    pub(super) fn device_enqueue(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        if self.discs[port].is_some() {
            return self.disc_enqueue(net, port, id);
        }
        if !net.cx.core.ports[port].is_up() {
            return drop_at_device(net, port, id);
        }
        if net.cx.core.is_tracing() {
            net.trace(port, TraceKind::Enqueue, id, 0);
        }
        // Waiting packets go first, even at the instant when the wire has just become free.
        if net.cx.core.is_busy(port) || net.cx.core.ports[port].ready != 0 {
            hold(net, port, STRICT, id);
            return net.cx.core.await_transmission(port);
        }
        net.cx.core.start_transmission(net.cx.world, port, id, false);
    }

    /// Moves packets from the queues to the device while it has room.
    pub(super) fn refill(&mut self, net: &mut Net<'_>, port: PortId) {
        while net.cx.core.ports[port].ready != 0 && self.slots[port] == PacketId::NONE {
            let id = take(net, port);
            if let Some(disc) = &mut self.discs[port] {
                disc.packets -= 1;
            }
            if net.cx.core.is_tracing() {
                let left = net.cx.core.ports[port].queued;
                net.trace(port, TraceKind::Dequeue, id, left);
            }
            if !net.cx.core.ports[port].is_up() {
                drop_at_device(net, port, id);
            } else if net.cx.core.is_busy(port) {
                self.slots[port] = id;
                net.cx.core.await_transmission(port);
            } else {
                let more = net.cx.core.ports[port].ready != 0;
                net.cx.core.start_transmission(net.cx.world, port, id, more);
            }
        }
    }

    /// Ends a transmission and starts the next one.
    pub(super) fn device_done(&mut self, net: &mut Net<'_>, port: PortId) {
        if self.discs[port].is_none() {
            if net.cx.core.ports[port].ready != 0 {
                let id = take(net, port);
                let more = net.cx.core.ports[port].ready != 0;
                net.cx.core.start_transmission(net.cx.world, port, id, more);
            }
            return;
        }
        let id = std::mem::replace(&mut self.slots[port], PacketId::NONE);
        let waiting = net.cx.core.ports[port].ready != 0;
        // A separate event, as in the simulator: a packet of a higher priority that arrives before it at this instant
        // is sent first.
        if waiting {
            net.cx
                .core
                .schedule(LaneId::WHEEL, net.cx.core.now(), refill_of(port));
        }
        if id != PacketId::NONE {
            net.cx.core.start_transmission(net.cx.world, port, id, waiting);
        }
    }
}

/// Appends a packet to one of a port's queues.
pub(super) fn hold(net: &mut Net<'_>, port: PortId, class: u8, id: PacketId) {
    net.cx.core.append(port, class, id);
    let p = &mut net.cx.core.ports[port];
    if !p.is_host {
        p.queue_max = p.queue_max.max(p.queued);
    }
}

/// Removes the first packet of the first non-empty queue.
fn take(net: &mut Net<'_>, port: PortId) -> PacketId {
    let class = net.cx.core.ports[port].ready.trailing_zeros() as u8;
    net.take_from(port, class)
}

/// Drops a packet because the link is down.
#[cold]
fn drop_at_device(net: &mut Net<'_>, port: PortId, id: PacketId) {
    net.cx.core.counters.link_drops += 1;
    net.discard(port, id);
}
