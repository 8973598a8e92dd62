//! The transport of a receiving host: each packet is answered, the expected one by an ACK, others by a NACK.

use paceline_fabric::model::{FlowId, Net, PacketId, QpId};
use paceline_fabric::outcome::{FlowStatus, PacketKind};
use paceline_fabric::spec::Awaited;
use paceline_kernel::{Bytes, Span, Time};

use crate::bolt_ns3::BoltNs3;
use crate::bolt_ns3::schemes::FIN;

impl BoltNs3 {
    /// Handles a packet that arrived at a host.
    pub(super) fn message_receive(&mut self, net: &mut Net<'_>, id: PacketId) {
        let kind = net.cx.core.packets.get(id).kind;
        if kind == PacketKind::Data {
            net.cx.core.counters.data_received += 1;
        }
        // After the count: data of a flow that has ended has arrived all the same.
        if !net.hosts.is_current(net.cx.world, net.cx.core, id) {
            return net.cx.core.packets.remove(id);
        }
        match kind {
            PacketKind::Data => self.message_data(net, id),
            PacketKind::Ack | PacketKind::Nack => self.message_ack(net, id),
            _ => net.hosts.receive_signal(&mut net.cx, id),
        }
    }

    fn message_data(&mut self, net: &mut Net<'_>, id: PacketId) {
        let packet = *net.cx.core.packets.get(id);
        let Some((port, answer)) = net.hosts.answer_in_order(&packet) else {
            return net.cx.core.packets.remove(id);
        };
        // The acknowledgement reuses the slot of the data packet.
        *net.cx.core.packets.get_mut(id) = answer;
        net.cx.core.counters.nacks += u64::from(answer.kind == PacketKind::Nack);
        self.device_enqueue(net, port, id);
        if answer.kind == PacketKind::Ack {
            self.note_received(net, packet.qp, answer.seq);
            let sender = &self.senders[packet.qp];
            if packet.tag & FIN != 0 && sender.keep {
                net.hosts.receive_anew(packet.flow);
            }
        }
    }

    /// Marks messages that end at or before `expected` as received.
    fn note_received(&mut self, net: &mut Net<'_>, slot: QpId, expected: u64) {
        let messages = &self.senders[slot].messages;
        for index in 0..messages.len() {
            let message = &mut self.senders[slot].messages[index];
            if message.end > expected {
                break;
            }
            if !std::mem::replace(&mut message.received, true) {
                let flow = message.flow;
                net.traffic.record_mut(flow).received = Some(Time::from_ps(net.cx.core.now()));
                net.traffic.release(&mut net.cx, flow, Awaited::Received);
            }
        }
    }
}

/// Completes a message that is acknowledged.
pub(super) fn complete_message(net: &mut Net<'_>, slot: QpId, flow: FlowId, size: Bytes) {
    let now = net.cx.core.now();
    let retransmitted = net.hosts.qp_mut(slot).take_retransmitted();
    let record = net.traffic.record_mut(flow);
    record.status = FlowStatus::Completed;
    record.fct = Span::from_ps(now - record.start.as_ps());
    record.retransmitted = Bytes::new(retransmitted);
    record.delivered = size;
    net.traffic.complete(flow);
    net.traffic.release(&mut net.cx, flow, Awaited::Acknowledged);
}
