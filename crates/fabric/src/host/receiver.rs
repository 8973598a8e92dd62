//! Receivers: delivery, answers, and the congestion that they report. A receiver knows its flow's `FlowPath` and
//! nothing of its sender, and exists only once a packet has arrived.

use paceline_congestion::Mark;
use paceline_kernel::Bytes;
use paceline_kernel::ids::Id;

use crate::core::Core;
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
    pub(super) fn receive_data(
        &mut self,
        world: &World,
        core: &mut Core,
        traffic: &mut Traffic,
        id: PacketId,
    ) {
        let packet = core.packets.get(id);
        // Trimmed packets have no payload, so they do not count as received data.
        core.counters.data_received += u64::from(!packet.is_trimmed());
        let (flow, mark) = (packet.flow, packet.mark);
        if mark.is_set() {
            traffic.came_marked(flow, mark);
        }
        // A flow that is complete has no receiver any more; its duplicates are answered without one.
        let Some(place) = self
            .receivers
            .find(flow)
            .or_else(|| self.meet(world, core, traffic, id))
        else {
            return self.receive_late(world, core, id);
        };
        let answer = self.receivers.take_data(world, core, place, id);
        let receiver = &self.receivers.list[place];
        let (whole, shows) = (receiver.expected >= receiver.end_seq, receiver.shows);
        if whole {
            // The flow's arrival counts from this packet, before its answer is sent, whether or not the ACK is delayed.
            self.receive_whole(world, core, traffic, place);
        }
        let echo = if shows {
            self.show_data(world, core, place, id)
        } else {
            None
        };
        match answer {
            Answer::Ack => {
                let marks = self.receivers.take_marks(world, place, mark);
                self.answer(world, core, place, id, PacketKind::Ack, echo.unwrap_or(marks));
            }
            Answer::Nack => {
                core.counters.nacks += 1;
                self.answer(world, core, place, id, PacketKind::Nack, echo.unwrap_or(mark));
            }
            Answer::Nothing => core.end_at_receiver(id),
        }
        // Forgotten last: the answer above still needs the path.
        if whole {
            self.forget_receiver(world, place);
        }
    }

    /// Creates the receiver of a packet whose flow has none: it is the flow's first, unless the flow is complete.
    /// Returns `None` for a duplicate of a complete flow.
    #[cold]
    fn meet(&mut self, world: &World, core: &Core, traffic: &Traffic, id: PacketId) -> Option<ReceiverId> {
        let packet = core.packets.get(id);
        let record = traffic.record(packet.flow);
        let is_over = record.is_none_or(|record| record.received.is_some());
        if let Some(first) = world.connection_of(packet.flow) {
            let flows = (first, packet.flow);
            let place = self
                .receivers
                .meet_message(world, core, flows, packet.qp, is_over);
            return Some(place);
        }
        (!is_over).then(|| self.receivers.begin(world, core, packet.flow, packet.qp))
    }

    /// Notes that a flow is complete at the receiver, or messages of a connection.
    #[cold]
    #[inline(never)]
    fn receive_whole(&mut self, world: &World, core: &mut Core, traffic: &mut Traffic, place: ReceiverId) {
        let receiver = &self.receivers.list[place];
        if !receiver.is_connection() {
            return traffic.received_whole(world, core, receiver.flow, Bytes::new(receiver.expected));
        }
        while let Some(flow) = self.receivers.list[place].take_whole() {
            let size = world.flow(core, flow).size;
            traffic.received_whole(world, core, flow, size);
            let first = self.receivers.list[place].flow;
            self.receivers.end_message(first, flow);
        }
    }

    /// Forgets the receiver of a complete flow. A packet that arrives again is answered without it, except in the
    /// reference, where the sender's completion counts ([`paceline_run::spec::Quirks::receiver_forgets`]).
    #[cold]
    pub(super) fn forget_receiver(&mut self, world: &World, place: ReceiverId) {
        let receiver = &self.receivers.list[place];
        if receiver.granted.is_some() && receiver.expected >= receiver.path.size {
            self.end_grants(place);
        }
        let receiver = &self.receivers.list[place];
        // A timer that runs is the receiver half's, and it ends the receiver when it expires.
        if !world.quirks.receiver_forgets && !receiver.timer_runs && !receiver.is_connection() {
            let flow = receiver.flow;
            self.receivers.end(flow);
        }
    }

    /// Turns data packet `id` into its acknowledgement, and sends that. It keeps its slot, telemetry and time stamp.
    #[inline(always)]
    fn answer(
        &mut self,
        world: &World,
        core: &mut Core,
        place: ReceiverId,
        id: PacketId,
        kind: PacketKind,
        echo: Mark,
    ) {
        let receiver = &self.receivers.list[place];
        let path = &receiver.path;
        let packet = core.packets.get_mut(id);
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
        let class = world.ack_queue(path.ack_class);
        let ((now, tie), port) = (core.instant(), &mut core.ports[ack_port]);
        if port.is_clear() && !core.watch.recorder.tracing && !port.is_busy(now, tie) {
            // The same as queueing it and taking it out again, with less work.
            if class > STRICT {
                port.served = class;
            }
            let nic = port.nic();
            let more = self.awaits_end(world, core, nic, ack_wire);
            return core.start_transmission(world, ack_port, id, more);
        }
        self.enqueue(world, core, ack_port, class, id);
    }
}

impl Hosts {
    /// Finds the paths of ACKs again for flows that are not over, after a change of topology.
    pub(crate) fn find_ways_back(&mut self, world: &World, core: &Core) {
        for receiver in self.receivers.iter_mut() {
            let flow = receiver.flow;
            receiver.path.find_way(world, core, flow);
        }
    }
}
