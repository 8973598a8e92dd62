//! Data that comes once more when its flow is complete and something else stands in the queue pair's place: the
//! sender has heard that everything arrived, and the receiver cannot know.

use super::Answer;
use crate::outcome::PacketKind;
use crate::packet::NONE;
use crate::qp::Receiver;
use crate::sim::Simulation;

impl Simulation {
    /// Data packet `id` of a flow that is complete. Its sender will not know what the answer is about, but it
    /// takes its way through the network.
    #[cold]
    pub(crate) fn receive_late(&mut self, id: u32) {
        let (kind, expected) = match self.take_late(id) {
            (Answer::Ack, expected) => (PacketKind::Ack, expected),
            (Answer::Nack, expected) => (PacketKind::Nack, expected),
            (Answer::Nothing, _) => return self.core.packets.remove(id),
        };
        let flow = self.core.packets.get(id).flow;
        let Some(paths) = self.find_paths(flow) else {
            return self.core.packets.remove(id);
        };
        let path = self.write_route(&paths.back);
        let flow = self.world.spec.flows[flow as usize];
        let needs = self.world.spec.schemes[usize::from(flow.scheme)].config.needs();
        let class = self
            .world
            .classes
            .dense(self.world.spec.nic.ack_class.unwrap_or(flow.class));
        let epoch = self.world.epoch;
        let wire = self.world.spec.packet.ack_wire(&needs);
        let answer = self.core.packets.get_mut(id);
        (answer.kind, answer.seq, answer.payload) = (kind, expected, 0);
        (answer.path, answer.epoch) = (path, epoch);
        (answer.wire, answer.class, answer.ingress) = (wire, class, NONE);
        let queue = self.ack_queue(class);
        self.enqueue(paths.back[0], queue, id);
    }

    /// What the receiver answers, and the byte that it expects: the one behind the last, unless it has forgotten
    /// the flow and begins anew ([`crate::spec::Quirks::receiver_forgets`]).
    fn take_late(&mut self, id: u32) -> (Answer, u64) {
        let packet = self.core.packets.get(id);
        let (nic, quirks) = (&self.world.spec.nic, &self.world.spec.quirks);
        if !quirks.receiver_forgets {
            let size = self.world.spec.flows[packet.flow as usize].size.get();
            let answer = if quirks.ignore_duplicates {
                Answer::Nothing
            } else {
                Answer::Ack
            };
            return (answer, size);
        }
        let receiver = self.hosts.late.entry(packet.flow).or_insert(Receiver::NEW);
        let answer = if packet.seq == receiver.expected {
            let end = packet.seq + u64::from(packet.payload);
            receiver.take_in_order(end, u64::MAX, false, nic, quirks)
        } else if packet.seq > receiver.expected {
            receiver.report_gap(self.core.now, nic)
        } else {
            Answer::Nothing
        };
        (answer, receiver.expected)
    }
}
