//! The transport of a receiving host: every packet is answered, the expected one by an ACK, any other by a
//! NACK.

use paceline_congestion::bolt_ns3::FIN;
use paceline_kernel::ids::Id;
use paceline_kernel::{Bytes, Span, Time};

use crate::core::packet::Packet;
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::outcome::{FlowStatus, PacketKind};
use crate::reference::Net;
use crate::reference::bolt_ns3::BoltNs3;
use crate::spec::Awaited;

impl BoltNs3 {
    /// A packet arrived at a host.
    pub(super) fn message_receive(&mut self, net: &mut Net<'_>, id: PacketId) {
        let kind = net.core.packets.get(id).kind;
        if kind == PacketKind::Data {
            net.core.counters.data_received += 1;
        }
        if !net.hosts.is_current(net.core, id) {
            return net.core.packets.remove(id);
        }
        match kind {
            PacketKind::Data => self.message_data(net, id),
            PacketKind::Ack | PacketKind::Nack => self.message_ack(net, id),
            _ => net.hosts.receive_notice(net.world, net.core, id),
        }
    }

    fn message_data(&mut self, net: &mut Net<'_>, id: PacketId) {
        let packet = *net.core.packets.get(id);
        let Some(receiver) = net.hosts.receivers.of(packet.flow) else {
            return net.core.packets.remove(id);
        };
        let mut kind = PacketKind::Nack;
        if packet.seq == receiver.expected {
            receiver.expected += u64::from(packet.payload);
            kind = PacketKind::Ack;
        } else {
            net.core.counters.nacks += 1;
        }
        let expected = receiver.expected;
        let port = receiver.path.ack_port;
        // The data packet's slot becomes the acknowledgement's: tag, note and time stamp stay.
        let mut answer = Packet {
            kind,
            seq: expected,
            wire: receiver.path.ack_wire,
            payload: 0,
            ingress: PortId::NONE,
            ..packet
        };
        receiver.path.send_back(&mut answer);
        *net.core.packets.get_mut(id) = answer;
        self.device_enqueue(net, port, id);
        if kind == PacketKind::Ack {
            self.note_received(net, packet.qp, expected);
            let sender = &self.senders[packet.qp];
            if packet.tag & FIN != 0 && sender.keep {
                // What comes next on this flow starts anew.
                if let Some(receiver) = net.hosts.receivers.of(packet.flow) {
                    receiver.expected = 0;
                }
            }
        }
    }

    /// Messages that end by `expected` have arrived.
    fn note_received(&mut self, net: &mut Net<'_>, slot: QpId, expected: u64) {
        let messages = &self.senders[slot].messages;
        for place in 0..messages.len() {
            let message = &mut self.senders[slot].messages[place];
            if message.end > expected {
                break;
            }
            if !std::mem::replace(&mut message.received, true) {
                let flow = message.flow;
                net.traffic.flows[flow].received = Some(Time::from_ps(net.core.now));
                net.traffic.release(net.world, net.core, flow, Awaited::Received);
            }
        }
    }
}

impl Net<'_> {
    /// A message is acknowledged.
    pub(super) fn complete_message(&mut self, slot: QpId, flow: FlowId, size: Bytes) {
        let now = self.core.now;
        let retransmitted = std::mem::take(&mut self.hosts.qps[slot].retransmitted);
        let record = &mut self.traffic.flows[flow];
        record.status = FlowStatus::Completed;
        record.fct = Span::from_ps(now - record.start.as_ps());
        record.retransmitted = Bytes::new(retransmitted);
        record.delivered = size;
        self.traffic.complete(flow);
        self.traffic
            .release(self.world, self.core, flow, Awaited::Acknowledged);
    }
}
