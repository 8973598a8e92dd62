//! Switches: a queue per priority and port. Notifications and pauses have strict priority and are never paused. Next
//! comes any class below its guaranteed rate, even if paused; then all unpaused classes round-robin.

use paceline_congestion::detect::PortState;
use paceline_congestion::detect::tcd::Machine;
use paceline_fabric::model::{LINK_CONTROL, Net, PacketId, PortId, STRICT};
use paceline_fabric::outcome::PacketKind;
use paceline_kernel::{BitRate, ns3};

use crate::tcd_ns3::TcdNs3;
use crate::tcd_ns3::buffer::{Ingress, Occupancy};

/// Priority of ACKs, regardless of their flow's.
const ACKS: u8 = 1;
/// Guaranteed rate of each class of a port.
const GUARANTEED: BitRate = BitRate::from_gbps(1);

/// State of a port's class in addition to its queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub(super) ingress: Ingress,
    pub(super) occupancy: Occupancy,
    pub(super) packets: u32,
    /// Packets that a pause held back and that are still queued.
    pub(super) held_back: u32,
    pub(super) machine: Machine,
    /// State at the last departure.
    pub(super) state: PortState,
    /// Time until which the class has received its guaranteed rate, ps.
    satisfied: u64,
}

impl Queue {
    pub(super) const NEW: Self = Self {
        ingress: Ingress::NONE,
        occupancy: Occupancy::NONE,
        packets: 0,
        held_back: 0,
        machine: Machine::AS_CODED,
        state: PortState::NotCongested,
        satisfied: 0,
    };
}

impl TcdNs3 {
    /// Handles a packet that arrived at a switch.
    pub(super) fn switch_receive(&mut self, net: &mut Net<'_>, ingress: PortId, id: PacketId) {
        let packet = net.cx.core.packets.get_mut(id);
        packet.ingress = ingress;
        packet.path += 1;
        let (kind, hop) = (packet.kind, packet.path as usize);
        let (flow, wire) = (packet.flow, u32::from(packet.wire));
        let ways = &self.flows[flow].ways;
        let (way, class) = match kind {
            PacketKind::Data => (&ways.data, self.flows[flow].class),
            PacketKind::Ack => (&ways.ack, net.cx.world.classes.dense(ACKS)),
            PacketKind::Nack => (&ways.nack, LINK_CONTROL),
            _ => (&ways.cnp, LINK_CONTROL),
        };
        let egress = way[hop];
        packet.class = class;
        // Packets of strict priority are not charged to the buffer.
        if class == LINK_CONTROL {
            return self.switch_enqueue(net, egress, class, id);
        }
        let switch = net.cx.core.ports[ingress].switch();
        let account = &mut self.queues[(ingress, class)].ingress;
        let is_ack = kind == PacketKind::Ack;
        if self.buffers.admit(switch, ingress, account, is_ack, wire) {
            let queue = &mut self.queues[(egress, class)];
            queue.occupancy.add(wire);
            queue.packets += 1;
            self.switch_enqueue(net, egress, class, id);
        } else {
            net.cx.core.counters.buffer_drops += 1;
            net.cx.core.counters.lossless_drops += 1;
            net.discard(egress, id);
            self.switch_send(net, egress);
        }
        self.observe_ingress(net, egress, ingress, class);
    }

    /// Queues a packet at an output port.
    pub(super) fn switch_enqueue(&mut self, net: &mut Net<'_>, port: PortId, class: u8, id: PacketId) {
        net.cx.core.push(net.cx.world, port, class, id);
        let p = &mut net.cx.core.ports[port];
        p.queue_max = p.queue_max.max(p.queued);
        self.switch_send(net, port);
    }

    /// Sends the next packet, if one may be sent.
    pub(super) fn switch_send(&mut self, net: &mut Net<'_>, port: PortId) {
        if net.cx.core.ports[port].ready == 0 {
            return;
        }
        if net.cx.core.is_busy(port) {
            return net.cx.core.await_transmission(port);
        }
        let Some(class) = self.next_class(net, port) else {
            return;
        };
        let id = net.take_from(port, class);
        let wire = net.cx.core.packets.get(id).wire;
        if class != LINK_CONTROL {
            self.served[port] = class;
            let queue = &mut self.queues[(port, class)];
            queue.satisfied += ns3::time_to_send(GUARANTEED, u32::from(wire)).as_ps();
            // A class that sends less than its guarantee saves nothing up.
            queue.satisfied = queue.satisfied.max(net.cx.core.now());
            self.depart(net, port, class, id);
        }
        let more = net.cx.core.ports[port].ready != 0;
        net.cx.core.start_transmission(net.cx.world, port, id, more);
    }

    fn next_class(&self, net: &Net<'_>, port: PortId) -> Option<u8> {
        let (p, now) = (&net.cx.core.ports[port], net.cx.core.now());
        if p.ready & 1 << LINK_CONTROL != 0 {
            return Some(LINK_CONTROL);
        }
        let is_ready = |class: u8| p.ready & 1 << class != 0;
        let count = net.cx.world.class_count as u8;
        let is_due = |&class: &u8| is_ready(class) && self.queues[(port, class)].satisfied < now;
        if let Some(class) = (STRICT..count).rev().find(is_due) {
            return Some(class);
        }
        let classes = count - STRICT;
        let after = self.served[port] - STRICT;
        let mut turns = (1..=classes).map(|step| STRICT + (after + step) % classes);
        turns.find(|&class| is_ready(class) && p.paused & 1 << class == 0)
    }

    /// Updates the accounts for a departing packet, and marks it.
    fn depart(&mut self, net: &mut Net<'_>, port: PortId, class: u8, id: PacketId) {
        let packet = net.cx.core.packets.get(id);
        let (ingress, wire, kind) = (packet.ingress, u32::from(packet.wire), packet.kind);
        let switch = net.cx.core.ports[ingress].switch();
        let is_ack = kind == PacketKind::Ack;
        let account = &mut self.queues[(ingress, class)].ingress;
        self.buffers.release(switch, ingress, account, is_ack, wire);
        let queue = &mut self.queues[(port, class)];
        queue.occupancy.remove(wire);
        queue.packets -= 1;
        // Marking sees the queue without this packet, but with it among those that a pause held back.
        self.mark(net, port, class, id);
        let queue = &mut self.queues[(port, class)];
        queue.held_back = queue.held_back.saturating_sub(1);
    }
}
