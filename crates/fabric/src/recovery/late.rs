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
        let packet = *self.core.packets.get(id);
        let receiver = self.hosts.late.entry(packet.flow).or_insert(Receiver::NEW);
        let (nic, quirks) = (&self.world.spec.nic, &self.world.spec.quirks);
        let answer = if packet.seq == receiver.expected {
            let end = packet.seq + u64::from(packet.payload);
            receiver.take_in_order(end, u64::MAX, false, nic, quirks)
        } else if packet.seq > receiver.expected {
            receiver.report_gap(self.core.now, nic)
        } else {
            Answer::Nothing
        };
        let expected = receiver.expected;
        let kind = match answer {
            Answer::Ack => PacketKind::Ack,
            Answer::Nack => PacketKind::Nack,
            Answer::Nothing => return self.core.packets.remove(id),
        };
        let Some(paths) = self.find_paths(packet.flow) else {
            return self.core.packets.remove(id);
        };
        let path = self.write_route(&paths.back);
        let flow = self.world.spec.flows[packet.flow as usize];
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
}
