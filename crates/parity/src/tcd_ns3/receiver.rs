//! Receiving hosts: acknowledgements, and notifications by a timer per flow that starts with its first packet.

use paceline_congestion::Mark;
use paceline_fabric::model::{FlowId, LINK_CONTROL, Net, Packet, PacketId, PortId};
use paceline_fabric::outcome::PacketKind;
use paceline_fabric::spec::Detection;
use paceline_kernel::Time;

use crate::tcd_ns3::flow::Receiver;
use crate::tcd_ns3::{NOTIFY, TcdNs3};

/// Share of marked packets from which on NP-ECN notifies a flow's sender.
const MARKED: f64 = 0.95;

impl TcdNs3 {
    /// Handles a packet that arrived at a host.
    pub(super) fn host_receive(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        let packet = *net.cx.core.packets.get(id);
        net.cx.core.packets.remove(id);
        match packet.kind {
            PacketKind::Data => self.receive_data(net, port, &packet),
            PacketKind::Cnp => self.hear(net, port, packet.flow, packet.mark),
            _ => {
                let again = packet.kind == PacketKind::Nack;
                self.take_answer(net, port, packet.flow, packet.seq as u32, again);
            }
        }
    }

    fn receive_data(&mut self, net: &mut Net<'_>, port: PortId, packet: &Packet) {
        let (id, now) = (packet.flow, net.cx.core.now());
        net.cx.core.counters.data_received += 1;
        self.log.arrived(id, now, packet.mark);
        if packet.mark.is_set() {
            net.traffic.came_marked(id, packet.mark);
        }
        let first = self.flows[id].receiver.is_none();
        let milestone = self.spec.ack_interval;
        let receiver = self.flows[id].receiver.get_or_insert_with(|| Receiver {
            milestone,
            ..Receiver::default()
        });
        receiver.bits |= packet.mark.code_point();
        receiver.marked = receiver.marked.wrapping_add(packet.mark.is_set().into());
        receiver.total = receiver.total.wrapping_add(1);
        if first {
            self.open_account(net, port, id);
            self.notify(net, id);
        }
        self.acknowledge(net, port, id, packet.seq as u32);
        let flow = &mut self.flows[id];
        if let Some(receiver) = &mut flow.receiver
            && Time::from_ps(now) < self.spec.listen_until
        {
            receiver.heard += 1;
            if receiver.heard == flow.packets {
                self.complete(net, id);
            }
        }
    }

    /// Registers a new flow. Beyond the last slot, the simulator overwrites the state of an earlier flow.
    fn open_account(&mut self, net: &Net<'_>, port: PortId, id: FlowId) {
        let received = &mut self.nics[net.cx.core.ports[port].nic()].received;
        let over = received.len().checked_sub(self.spec.flow_slots as usize);
        received.push(id);
        if let Some(hit) = over.map(|index| received[index])
            && let Some(receiver) = &mut self.flows[hit].receiver
        {
            receiver.milestone = u32::MAX;
        }
    }

    /// Sends an ACK or NACK for packet `number`, if one is due.
    fn acknowledge(&mut self, net: &mut Net<'_>, port: PortId, id: FlowId, number: u32) {
        let now = net.cx.core.now();
        let (interval, chunk) = (self.spec.ack_interval, self.spec.ack_chunk);
        let Some(receiver) = &mut self.flows[id].receiver else {
            return;
        };
        let kind = if number == receiver.expected {
            receiver.expected += 1;
            if receiver.expected > receiver.milestone {
                receiver.milestone = receiver.milestone.saturating_add(interval);
            } else if !receiver.expected.is_multiple_of(chunk) {
                return;
            }
            PacketKind::Ack
        } else if number > receiver.expected {
            // A gap is reported once per interval, or every packet behind it would cause a NACK.
            if now <= receiver.nack_until && receiver.nacked == Some(receiver.expected) {
                return;
            }
            receiver.nack_until = now + net.cx.world.nic.nack_interval.as_ps();
            receiver.nacked = Some(receiver.expected);
            net.cx.core.counters.nacks += 1;
            PacketKind::Nack
        } else {
            return;
        };
        let seq = u64::from(receiver.expected);
        let answer = Packet {
            flow: id,
            seq,
            wire: net.cx.world.packet.ack_header.get() as u16,
            epoch: net.cx.world.epoch,
            kind,
            class: LINK_CONTROL,
            ..Packet::EMPTY
        };
        self.answer(net, port, answer);
    }

    /// Sends a notification of the marks since the last check, and schedules the next check.
    pub(super) fn notify(&mut self, net: &mut Net<'_>, id: FlowId) {
        let port = self.flows[id].ways.cnp[0];
        let Some(settings) = self.nics[net.cx.core.ports[port].nic()].settings else {
            return;
        };
        let by_share = net.cx.world.spec.switch.detection == Detection::NpEcn;
        let Some(receiver) = &mut self.flows[id].receiver else {
            return;
        };
        let bits = match by_share {
            false => receiver.bits,
            true => {
                let enough =
                    receiver.total > 0 && f64::from(receiver.marked) >= f64::from(receiver.total) * MARKED;
                if enough { Mark::Congested.code_point() } else { 0 }
            }
        };
        // The counters are reset even if no notification is due: each interval is judged on its own.
        (receiver.bits, receiver.marked, receiver.total) = (0, 0, 0);
        if bits != 0 {
            let mark = match bits {
                2 => Mark::Undetermined,
                _ => Mark::Congested,
            };
            let notification = Packet {
                flow: id,
                wire: net.cx.world.packet.cnp.get() as u16,
                epoch: net.cx.world.epoch,
                kind: PacketKind::Cnp,
                class: LINK_CONTROL,
                mark,
                ..Packet::EMPTY
            };
            self.answer(net, port, notification);
        }
        let at = net.cx.core.now() + settings.notification_interval().as_ps();
        self.clock(net, id, NOTIFY, at);
    }
}
