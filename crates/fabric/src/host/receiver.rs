//! Receivers: delivery, answers, and the congestion that they report. A receiver knows its flow's `FlowPath` and
//! nothing of its sender, and exists only once a packet has arrived.

use paceline_congestion::Mark;
use paceline_kernel::Bytes;
use paceline_kernel::ids::Id;

use crate::core::cx::Cx;
use crate::host::Hosts;
use crate::host::recovery::Answer;
use crate::ids::{PacketId, PortId, ReceiverId};
use crate::traffic::Traffic;
use crate::world::World;
use crate::world::classes::STRICT;
use crate::world::way;
use paceline_run::outcome::PacketKind;

impl Hosts {
    #[inline(always)]
    pub(super) fn receive_data(&mut self, cx: &mut Cx<'_>, traffic: &mut Traffic, id: PacketId) {
        let packet = cx.core.packets.get(id);
        // Trimmed packets have no payload, so they do not count as received data.
        cx.core.counters.data_received += u64::from(!packet.is_trimmed());
        let (flow, mark) = (packet.flow, packet.mark);
        if mark.is_set() {
            traffic.came_marked(flow, mark);
        }
        // A flow that is complete has no receiver any more; its duplicates are answered without one.
        let Some(index) = self.receivers.find(flow).or_else(|| self.meet(cx, traffic, id)) else {
            return self.receive_late(cx, id);
        };
        let answer = self.receivers.take_data(cx, index, id);
        let receiver = &self.receivers.list[index];
        let (whole, shows) = (receiver.expected >= receiver.end_seq, receiver.shows);
        if whole {
            // The flow's arrival counts from this packet, before its answer is sent, whether or not the ACK is delayed.
            self.receive_whole(cx, traffic, index);
        }
        let echo = if shows {
            self.show_data(cx, index, id)
        } else {
            None
        };
        match answer {
            Answer::Ack => {
                let marks = self.receivers.take_marks(cx.world, index, mark);
                self.answer(cx, index, id, PacketKind::Ack, echo.unwrap_or(marks));
            }
            Answer::Nack => {
                cx.core.counters.nacks += 1;
                self.answer(cx, index, id, PacketKind::Nack, echo.unwrap_or(mark));
            }
            Answer::Nothing => cx.core.end_at_receiver(id),
        }
        // Forgotten last: the answer above still needs the path.
        if whole {
            self.forget_receiver(cx.world, index);
        }
    }

    /// Creates the receiver of a packet whose flow has none: it is the flow's first, unless the flow is complete.
    /// Returns `None` for a duplicate of a complete flow.
    #[cold]
    pub(super) fn meet(&mut self, cx: &Cx<'_>, traffic: &Traffic, id: PacketId) -> Option<ReceiverId> {
        let packet = cx.core.packets.get(id);
        let record = traffic.record(packet.flow);
        let is_over = record.is_none_or(|record| record.received.is_some());
        if let Some(first) = cx.world.connection_of(packet.flow) {
            let flows = (first, packet.flow);
            let index = self.receivers.meet_message(cx, flows, packet.qp, is_over);
            return Some(index);
        }
        (!is_over).then(|| self.receivers.begin(cx, packet.flow, packet.qp))
    }

    /// Notes that a flow is complete at the receiver, or messages of a connection.
    #[cold]
    #[inline(never)]
    fn receive_whole(&mut self, cx: &mut Cx<'_>, traffic: &mut Traffic, index: ReceiverId) {
        let receiver = &self.receivers.list[index];
        if !receiver.is_connection() {
            return traffic.received_whole(cx, receiver.flow, Bytes::new(receiver.expected));
        }
        while let Some(flow) = self.receivers.list[index].take_whole() {
            let size = cx.world.flow(cx.core, flow).size;
            traffic.received_whole(cx, flow, size);
            let first = self.receivers.list[index].flow;
            self.receivers.end_message(first, flow);
        }
    }

    /// Forgets the receiver of a complete flow. A packet that arrives again is answered without it, except in the
    /// reference, where the sender's completion counts ([`paceline_run::spec::Quirks::receiver_forgets`]).
    #[cold]
    pub(super) fn forget_receiver(&mut self, world: &World, index: ReceiverId) {
        let receiver = &self.receivers.list[index];
        if receiver.granted.is_some() && receiver.expected >= receiver.path.size {
            self.end_grants(index);
        }
        let receiver = &self.receivers.list[index];
        // A timer that runs is the receiver half's, and it ends the receiver when it expires.
        if !world.quirks.receiver_forgets && !receiver.timer_runs && !receiver.is_connection() {
            let flow = receiver.flow;
            self.receivers.end(flow);
        }
    }

    /// Turns data packet `id` into its acknowledgement, and sends that. It keeps its slot, telemetry and time stamp.
    #[inline(always)]
    fn answer(&mut self, cx: &mut Cx<'_>, index: ReceiverId, id: PacketId, kind: PacketKind, echo: Mark) {
        let receiver = &self.receivers.list[index];
        let path = &receiver.path;
        let packet = cx.core.packets.get_mut(id);
        if path.tells_way {
            packet.pint = way(packet.epoch);
        }
        packet.kind = kind;
        packet.mark = echo;
        packet.seq = receiver.expected;
        path.send_back(packet);
        packet.wire = path.ack_wire;
        packet.payload = 0;
        // Hosts have no ingress accounts.
        packet.ingress = PortId::NONE;
        let (ack_port, ack_wire) = (path.ack_port, path.ack_wire);
        let class = cx.world.ack_queue(path.ack_class);
        let ((now, tie), port) = (cx.core.instant(), &mut cx.core.ports[ack_port]);
        if port.is_clear() && !cx.core.watch.recorder.tracing && !port.is_busy(now, tie) {
            // The same as queueing it and taking it out again, with less work.
            if class > STRICT {
                port.served = class;
            }
            let nic = port.nic();
            let more = self.awaits_end(cx, nic, ack_wire);
            return cx.core.start_transmission(cx.world, ack_port, id, more);
        }
        self.enqueue(cx, ack_port, class, id);
    }
}

impl Hosts {
    /// Finds the paths of ACKs again for flows that are not over, after a change of topology.
    pub(crate) fn find_ways_back(&mut self, cx: &Cx<'_>) {
        for receiver in self.receivers.iter_mut() {
            let flow = receiver.flow;
            receiver.path.find_way(cx, flow);
        }
    }
}
