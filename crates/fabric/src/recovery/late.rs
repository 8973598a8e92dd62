//! Data of flows whose sender has completed them, where receivers forget those
//! ([`crate::spec::Quirks::receiver_forgets`]).

use super::Answer;
use crate::outcome::PacketKind;
use crate::packet::NONE;
use crate::qp::Receiver;
use crate::sim::Simulation;

impl Simulation {
    /// Data packet `id` of a flow that is complete: a receiver that knows nothing of it begins at byte zero.
    /// Its sender will not know what the answer is about, but it takes its way through the network.
    #[cold]
    pub(crate) fn receive_late(&mut self, id: u32) {
        let packet = *self.packets.get(id);
        let receiver = self.late.entry(packet.flow).or_insert(Receiver::NEW);
        let (nic, quirks) = (&self.spec.nic, &self.spec.quirks);
        let answer = if packet.seq == receiver.expected {
            let end = packet.seq + u64::from(packet.payload);
            receiver.take_in_order(end, u64::MAX, false, nic, quirks)
        } else if packet.seq > receiver.expected {
            receiver.report_gap(self.now, nic)
        } else {
            Answer::Nothing
        };
        let expected = receiver.expected;
        let kind = match answer {
            Answer::Ack => PacketKind::Ack,
            Answer::Nack => PacketKind::Nack,
            Answer::Nothing => return self.packets.remove(id),
        };
        let Some(paths) = self.find_paths(packet.flow) else {
            return self.packets.remove(id);
        };
        let path = self.write_route(&paths.back);
        let flow = self.spec.flows[packet.flow as usize];
        let needs = self.spec.schemes[usize::from(flow.scheme)].config.needs();
        let class = self.classes.dense(self.spec.nic.ack_class.unwrap_or(flow.class));
        let epoch = self.epoch;
        let wire = self.spec.packet.ack_wire(&needs);
        let answer = self.packets.get_mut(id);
        (answer.kind, answer.seq, answer.payload) = (kind, expected, 0);
        (answer.path, answer.epoch) = (path, epoch);
        (answer.wire, answer.class, answer.ingress) = (wire, class, NONE);
        let queue = self.ack_queue(class);
        self.enqueue(paths.back[0], queue, id);
    }
}
