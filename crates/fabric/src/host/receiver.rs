//! Receivers: what comes in order, what is answered, and which congestion is told of. They know of a flow what
//! its [`FlowPath`] says, and nothing of its sender; and nothing of a flow of which no packet has come.

use std::collections::BTreeMap;

use paceline_congestion::Mark;
use paceline_congestion::receiver::ReceiverHalf;
use paceline_kernel::Bytes;
use paceline_kernel::ids::{Id, List};

use crate::core::Core;
use crate::core::flow_table::FlowTable;
use crate::core::port::STRICT;
use crate::host::Hosts;
use crate::host::flow_path::FlowPath;
use crate::host::recovery::Answer;
use crate::host::recovery::bits::Bits;
use crate::ids::{FlowId, PacketId, PortId, QpId, ReceiverId};
use crate::outcome::PacketKind;
use crate::switch::spread::way;
use crate::traffic::Traffic;
use crate::world::World;

/// A flow's receiver: from its first packet until all of it is here.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    pub(crate) flow: FlowId,
    pub(crate) path: FlowPath,
    pub(crate) expected: u64,
    pub(crate) last_nack: u64,
    pub(crate) nack_until: u64,
    /// Go-back-N: the first byte beyond `expected` whose packet is known to be trimmed.
    pub(crate) trimmed: u64,
    pub(crate) unacked_packets: u32,
    pub(crate) unacked_bytes: u32,
    /// The strongest mark of the packets since the last ACK.
    pub(crate) mark: Mark,
    /// The receiver's half of its scheme, and whether a timer of that runs.
    pub(crate) half: Option<Box<dyn ReceiverHalf>>,
    pub(super) timer_runs: bool,
}

impl Receiver {
    pub(crate) const fn new(flow: FlowId, path: FlowPath) -> Self {
        Self {
            flow,
            path,
            expected: 0,
            last_nack: u64::MAX,
            nack_until: 0,
            trimmed: u64::MAX,
            unacked_packets: 0,
            unacked_bytes: 0,
            mark: Mark::None,
            half: None,
            timer_runs: false,
        }
    }
}

/// The receivers of all flows that have begun to arrive and are not complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receivers {
    of_flow: FlowTable<ReceiverId>,
    pub(crate) list: List<ReceiverId, Receiver>,
    /// Selective repeat: packets that arrived beyond the first missing one, by place in the list; empty without it.
    pub(crate) arrived: List<ReceiverId, Bits>,
    /// Places of flows that are over.
    free: Vec<ReceiverId>,
    /// Receivers that begin anew: see [`crate::spec::Quirks::receiver_forgets`]; by flow.
    pub(crate) late: BTreeMap<FlowId, Receiver>,
}

impl Receivers {
    /// The place of a flow's receiver.
    #[inline]
    pub(crate) fn find(&self, flow: FlowId) -> Option<ReceiverId> {
        self.of_flow.get(flow)
    }

    /// The first packet of a flow has arrived, or will.
    #[cold]
    pub(crate) fn begin(&mut self, world: &World, core: &Core, flow: FlowId, qp: QpId) -> ReceiverId {
        let mut receiver = Receiver::new(flow, FlowPath::of(world, core, flow, qp));
        receiver.half = world.scheme_of(core, flow).receiver_half();
        let place = match self.free.pop() {
            Some(place) => {
                self.list[place] = receiver;
                place
            }
            None => self.list.push(receiver),
        };
        self.of_flow.set(flow, place);
        self.expect_any_order(world, place);
        place
    }

    /// A flow is over: nothing needs to be known of it any more.
    #[cold]
    pub(crate) fn end(&mut self, flow: FlowId) {
        if let Some(place) = self.of_flow.take(flow) {
            self.list[place].flow = FlowId::NONE;
            self.free.push(place);
        }
    }

    /// Takes over those of another part.
    pub(super) fn take_over(&mut self, mut other: Self) {
        let before = self.list.len();
        for (place, receiver) in other.list.numbered() {
            if receiver.flow != FlowId::NONE {
                self.of_flow.set(receiver.flow, place.plus(before));
            }
        }
        if !other.arrived.is_empty() || !self.arrived.is_empty() {
            self.arrived.resize_with(before, Bits::default);
            self.arrived.append(&mut other.arrived);
        }
        self.list.append(&mut other.list);
        self.free
            .extend(other.free.iter().map(|place| place.plus(before)));
    }

    /// A flow's receiver.
    pub(crate) fn of(&mut self, flow: FlowId) -> Option<&mut Receiver> {
        let place = self.find(flow)?;
        Some(&mut self.list[place])
    }

    /// How many of a flow's bytes have arrived in order, if it has a receiver.
    pub(crate) fn arrived_of(&self, flow: FlowId) -> Option<u64> {
        let place = self.find(flow)?;
        Some(self.list[place].expected)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Receiver> {
        self.list.iter().filter(|receiver| receiver.flow != FlowId::NONE)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Receiver> {
        self.list
            .iter_mut()
            .filter(|receiver| receiver.flow != FlowId::NONE)
    }

    /// The congestion echo of an ACK: of this packet in the reference, of all since the last ACK
    /// where ACKs answer for several packets.
    #[inline]
    fn take_marks(&mut self, world: &World, place: ReceiverId, mark: Mark) -> Mark {
        if world.quirks.ack_threshold {
            return mark;
        }
        std::mem::take(&mut self.list[place].mark)
    }
}

impl Hosts {
    #[inline(always)]
    pub(crate) fn receive_data(
        &mut self,
        world: &World,
        core: &mut Core,
        traffic: &mut Traffic,
        id: PacketId,
    ) {
        let packet = core.packets.get(id);
        core.counters.data_received += u64::from(!packet.is_trimmed());
        let (flow, mark) = (packet.flow, packet.mark);
        let Some(place) = self
            .receivers
            .find(flow)
            .or_else(|| self.meet(world, core, traffic, id))
        else {
            return self.receive_late(world, core, id);
        };
        let answer = self.receivers.take_data(world, core, place, id);
        let receiver = &self.receivers.list[place];
        let whole = receiver.expected >= receiver.path.size;
        if whole {
            traffic.received_whole(world, core, flow, Bytes::new(receiver.expected));
        }
        let echo = if receiver.half.is_some() {
            self.tell_half(world, core, place, id)
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
        if whole {
            self.forget_receiver(world, place);
        }
    }

    /// A packet of a flow that nothing is known of: its first, unless all of it has been here.
    #[cold]
    fn meet(&mut self, world: &World, core: &Core, traffic: &Traffic, id: PacketId) -> Option<ReceiverId> {
        let packet = core.packets.get(id);
        let record = traffic.flows.get(packet.flow);
        let is_over = record.is_none_or(|record| record.received.is_some());
        (!is_over).then(|| self.receivers.begin(world, core, packet.flow, packet.qp))
    }

    /// All of a flow is here: what comes once more is answered without anything being known of it, but in the
    /// reference, where the end of the sender counts ([`crate::spec::Quirks::receiver_forgets`]).
    #[cold]
    pub(super) fn forget_receiver(&mut self, world: &World, place: ReceiverId) {
        let receiver = &self.receivers.list[place];
        if !world.quirks.receiver_forgets && !receiver.timer_runs {
            let flow = receiver.flow;
            self.receivers.end(flow);
        }
    }

    /// Data packet `id` becomes its acknowledgement and leaves. It keeps its slot, telemetry and time stamp.
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
        // Nothing accounts for it in a host.
        packet.ingress = PortId::NONE;
        let (ack_port, ack_wire) = (path.ack_port, path.ack_wire);
        let class = world.ack_queue(path.ack_class);
        let port = &mut core.ports[ack_port];
        if port.is_clear() && !core.watch.recorder.tracing && !port.is_busy(core.now, core.tie) {
            // As if it were queued and taken out again.
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
