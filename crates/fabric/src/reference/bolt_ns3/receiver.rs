//! The transport of a receiving host: every packet is answered, the expected one by an ACK, any other by a
//! NACK.

use paceline_congestion::bolt_ns3::FIN;
use paceline_kernel::ids::Id;
use paceline_kernel::{Bytes, Span};

use crate::core::packet::Packet;
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::outcome::{FlowStatus, PacketKind};
use crate::run::simulation::Simulation;
use crate::spec::Awaited;

impl Simulation {
    /// A packet arrived at a host.
    pub(crate) fn message_receive(&mut self, id: PacketId) {
        let kind = self.core.packets.get(id).kind;
        if kind == PacketKind::Data {
            self.core.counters.data_received += 1;
        }
        if !self.hosts.is_current(&self.core, id) {
            return self.core.packets.remove(id);
        }
        match kind {
            PacketKind::Data => self.message_data(id),
            PacketKind::Ack | PacketKind::Nack => self.message_ack(id),
            _ => self.hosts.receive_notice(&self.world, &mut self.core, id),
        }
    }

    fn message_data(&mut self, id: PacketId) {
        let packet = *self.core.packets.get(id);
        let Some(receiver) = self.hosts.receivers.of(packet.flow) else {
            return self.core.packets.remove(id);
        };
        let mut kind = PacketKind::Nack;
        if packet.seq == receiver.expected {
            receiver.expected += u64::from(packet.payload);
            kind = PacketKind::Ack;
        } else {
            self.core.counters.nacks += 1;
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
        *self.core.packets.get_mut(id) = answer;
        self.device_enqueue(port, id);
        if kind == PacketKind::Ack {
            self.note_received(packet.qp, expected);
            let sender = &self.bolt_ns3.senders[packet.qp];
            if packet.tag & FIN != 0 && sender.keep {
                // What comes next on this flow starts anew.
                if let Some(receiver) = self.hosts.receivers.of(packet.flow) {
                    receiver.expected = 0;
                }
            }
        }
    }

    /// Messages that end by `expected` have arrived.
    fn note_received(&mut self, slot: QpId, expected: u64) {
        let messages = &self.bolt_ns3.senders[slot].messages;
        for place in 0..messages.len() {
            let message = &mut self.bolt_ns3.senders[slot].messages[place];
            if message.end > expected {
                break;
            }
            if !std::mem::replace(&mut message.received, true) {
                let flow = message.flow;
                self.traffic.flows[flow].received = Some(self.instant());
                self.traffic
                    .release(&self.world, &mut self.core, flow, Awaited::Received);
            }
        }
    }

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
            .release(&self.world, &mut self.core, flow, Awaited::Acknowledged);
    }
}
