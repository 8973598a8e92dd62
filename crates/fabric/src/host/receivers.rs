//! Receivers of flows, and their slots.

use crate::core::cx::Cx;
use crate::core::flow_table::FlowTable;
use crate::core::print::StateHash;
use crate::host::flow_path::FlowPath;
use crate::host::grants::Granted;
use crate::host::recovery::bits::Bits;
use crate::host::ways::Ways;
use crate::ids::{FlowId, PacketId, QpId, ReceiverId};
use crate::world::World;
use paceline_congestion::Mark;
use paceline_congestion::receiver::ReceiverHalf;
use paceline_kernel::ids::{Id, List};
use paceline_run::spec::Recovery;
use std::collections::BTreeMap;

/// Receiver of a flow: exists from the flow's first packet until its last.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    pub(super) flow: FlowId,
    pub(super) path: FlowPath,
    pub(super) expected: u64,
    /// End of the flow, or of the first message in [`Receiver::ends`], in bytes.
    pub(super) end_seq: u64,
    /// For a connection: ends and flows of the incomplete messages whose last packet has arrived, in order.
    pub(super) ends: Vec<(u64, FlowId)>,
    pub(super) last_nack: u64,
    pub(super) nack_until: u64,
    /// Go-back-N: the first byte beyond `expected` whose packet is known to be trimmed; `u64::MAX` for none.
    pub(super) trimmed: u64,
    pub(super) unacked_packets: u32,
    pub(super) unacked_bytes: u64,
    /// Strongest mark of the packets since the last ACK.
    pub(super) mark: Mark,
    /// True if each data packet is shown to others: to [`Receiver::half`], to the host's scheduler of grants, to the
    /// latency recorder, or to the path selector of answers.
    pub(super) shows: bool,
    /// Receiver half of the scheme, and true if a timer of it runs.
    pub(super) half: Option<Box<dyn ReceiverHalf>>,
    pub(super) timer_runs: bool,
    /// RUD: bitmap of the packets that have arrived around the one that is answered.
    pub(super) sack: u64,
    /// Registration with the host's scheduler of grants, if the scheme has one.
    pub(super) granted: Option<Granted>,
    /// Paths of the answers, if each packet chooses one.
    pub(super) ways: Option<Box<Ways>>,
}

impl Receiver {
    pub(super) const fn new(flow: FlowId, path: FlowPath) -> Self {
        Self {
            flow,
            path,
            expected: 0,
            end_seq: path.size,
            ends: Vec::new(),
            last_nack: u64::MAX,
            nack_until: 0,
            trimmed: u64::MAX,
            unacked_packets: 0,
            unacked_bytes: 0,
            mark: Mark::None,
            shows: false,
            half: None,
            timer_runs: false,
            sack: 0,
            granted: None,
            ways: None,
        }
    }
}

impl Receiver {
    /// Notes all that may differ between flows of the same hosts, size, class and scheme.
    pub(super) fn note(&self, print: &mut StateHash) {
        let Self {
            flow,
            path,
            expected,
            end_seq,
            ends: _,
            last_nack,
            nack_until,
            trimmed,
            unacked_packets,
            unacked_bytes,
            mark,
            shows: _,
            half,
            timer_runs,
            sack: _,
            granted: _,
            ways: _,
        } = self;
        print.note_flow(*flow);
        for word in [path.ack_route, *expected, *end_seq, *last_nack, *trimmed] {
            print.note(word);
        }
        print.note_deadline(*nack_until);
        print.note(
            u64::from(path.ack_port.0) << 32 | u64::from(path.ack_wire) << 16 | u64::from(path.ack_epoch),
        );
        print.note(u64::from(*unacked_packets));
        print.note(*unacked_bytes);
        print.note(u64::from(*mark as u8) << 1 | u64::from(*timer_runs));
        print.note_whole(half);
    }
}

/// Messages of a connection, which arrive one after another.
impl Receiver {
    pub(super) const fn is_connection(&self) -> bool {
        self.path.size == FlowPath::ENDLESS
    }

    /// Notes that the message of `flow` ends at `end`.
    #[cold]
    pub(super) fn note_end(&mut self, end: u64, flow: FlowId) {
        if let Err(index) = self.ends.binary_search(&(end, flow)) {
            self.ends.insert(index, (end, flow));
        }
        self.end_seq = self.ends[0].0;
    }

    /// Removes and returns the first message if it is complete.
    pub(super) fn take_whole(&mut self) -> Option<FlowId> {
        let &(end, flow) = self.ends.first()?;
        if end > self.expected {
            return None;
        }
        self.ends.remove(0);
        self.end_seq = self.ends.first().map_or(u64::MAX, |&(end, _)| end);
        Some(flow)
    }
}

/// Receivers of all flows that have started to arrive and are not complete.
#[derive(Clone, Debug, Default)]
pub(super) struct Receivers {
    of_flow: FlowTable<ReceiverId>,
    pub(super) list: List<ReceiverId, Receiver>,
    /// Selective repeat: bits of the packets that arrived beyond the first missing one, by receiver; empty without it.
    pub(super) arrived: List<ReceiverId, Bits>,
    /// Slots of receivers whose flows are over.
    free: Vec<ReceiverId>,
    /// Receivers that start again, by flow: see [`paceline_run::spec::Quirks::receiver_forgets`].
    pub(super) late: BTreeMap<FlowId, Receiver>,
}

impl Receivers {
    /// Prefetches a flow's receiver.
    #[inline(always)]
    pub(super) fn prefetch(&self, flow: FlowId) {
        if let Some(index) = self.of_flow.get(flow) {
            self.list.prefetch_all(index);
        }
    }

    /// Returns the slot of a flow's receiver.
    #[inline]
    pub(super) fn find(&self, flow: FlowId) -> Option<ReceiverId> {
        self.of_flow.get(flow)
    }

    /// Creates the receiver of a flow whose first packet has arrived, or will.
    #[cold]
    pub(super) fn begin(&mut self, cx: &Cx<'_>, flow: FlowId, qp: QpId) -> ReceiverId {
        let mut receiver = Receiver::new(flow, FlowPath::of(cx, flow, qp));
        receiver.half = cx.world.scheme_of(cx.core, flow).receiver_half();
        receiver.granted = Granted::of(cx, flow, receiver.path.ack_port);
        receiver.shows =
            receiver.half.is_some() || receiver.granted.is_some() || cx.core.watch.recorder.latency.is_some();
        if let Some(entropy) = &cx.world.spec.entropy {
            let flow = cx.world.flow(cx.core, flow);
            // Fixed next hops leave answers no choice.
            if cx.world.chooses_paths(&flow) && !cx.world.routing.is_fixed(flow.src) {
                receiver.ways = Some(Box::new(Ways::answering(cx.world, &flow, entropy)));
            }
        }
        receiver.shows |= receiver.ways.is_some() || matches!(cx.world.nic.recovery, Recovery::Rud(_));
        let index = match self.free.pop() {
            Some(index) => {
                self.list[index] = receiver;
                index
            }
            None => self.list.push(receiver),
        };
        self.of_flow.set(flow, index);
        self.expect(cx.world, index);
        index
    }

    /// Notes the first packet of a message over the connection of `first`, whose sender is `qp`. `is_over` if the
    /// message was complete before. Returns the connection's receiver.
    #[cold]
    pub(super) fn meet_message(
        &mut self,
        cx: &Cx<'_>,
        (first, flow): (FlowId, FlowId),
        qp: QpId,
        is_over: bool,
    ) -> ReceiverId {
        let index = match self.find(first) {
            Some(index) => index,
            None => self.begin(cx, first, qp),
        };
        // Registered until it is complete: a duplicate afterwards would stay registered forever.
        if !is_over {
            self.of_flow.set(flow, index);
        }
        index
    }

    /// Notes that a message is complete, which came over the connection of `first`.
    pub(super) fn end_message(&mut self, first: FlowId, flow: FlowId) {
        // The first flow names the connection, and stays registered as long as it is open.
        if flow != first {
            self.of_flow.take(flow);
        }
    }

    /// Returns the bytes of a flow that have not arrived; for a connection, the largest number.
    pub(super) fn left(&self, world: &World, index: ReceiverId) -> u64 {
        let receiver = &self.list[index];
        if receiver.is_connection() {
            return u64::MAX;
        }
        // All packets beyond a gap count as full. Only the flow's last may be shorter, and the difference does not
        // matter here.
        let beyond = self
            .arrived
            .get(index)
            .map_or(0, |arrived| u64::from(arrived.count()));
        let here = receiver.expected + beyond * world.packet.mtu.get();
        receiver.path.size.saturating_sub(here)
    }

    /// Puts answers on the path of data packet `id`, by its entropy value, and writes the bitmap of arrived packets
    /// into the packet.
    pub(super) fn turn(&mut self, cx: &mut Cx<'_>, index: ReceiverId, id: PacketId) {
        let receiver = &mut self.list[index];
        // The packet becomes the acknowledgement, so its words can carry the bitmap.
        cx.core.packets.set_words(id, receiver.sack);
        let ports = [receiver.path.ack_port, receiver.path.ack_last];
        if let Some(ways) = &mut receiver.ways
            && let Some(way) = ways.route(cx.world, ports, cx.core.packets.get(id).pint)
        {
            (receiver.path.ack_route, receiver.path.ack_epoch) = way;
            receiver.path.ack_port = ways.port_of(cx.core.packets.get(id).pint);
        }
    }

    /// Frees the receiver of a flow that is over.
    #[cold]
    pub(super) fn end(&mut self, flow: FlowId) {
        if let Some(index) = self.of_flow.take(flow) {
            self.list[index].flow = FlowId::NONE;
            self.free.push(index);
        }
    }

    /// Returns a flow's receiver.
    pub(super) fn of(&mut self, flow: FlowId) -> Option<&mut Receiver> {
        let index = self.find(flow)?;
        Some(&mut self.list[index])
    }

    /// Returns how many of a flow's bytes have arrived in order, if it has a receiver.
    pub(super) fn arrived_of(&self, flow: FlowId) -> Option<u64> {
        let index = self.find(flow)?;
        Some(self.list[index].expected)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Receiver> {
        self.list.iter().filter(|receiver| receiver.flow != FlowId::NONE)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Receiver> {
        self.list
            .iter_mut()
            .filter(|receiver| receiver.flow != FlowId::NONE)
    }

    /// Returns the mark that an ACK echoes: the packet's own in the reference, else the strongest since the last ACK,
    /// so that an ACK for several packets loses none.
    #[inline]
    pub(super) fn take_marks(&mut self, world: &World, index: ReceiverId, mark: Mark) -> Mark {
        if world.quirks.ack_threshold {
            return mark;
        }
        std::mem::take(&mut self.list[index].mark)
    }
}
