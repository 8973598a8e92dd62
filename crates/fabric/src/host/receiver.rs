//! Receivers: what comes in order, what is answered, and which congestion is told of. They know of a flow what
//! its [`FlowPath`] says, and nothing of its sender.

use std::collections::BTreeMap;

use paceline_congestion::Mark;
use paceline_kernel::Span;

use crate::core::Core;
use crate::core::packet::{NONE, Packet};
use crate::core::port::STRICT;
use crate::host::Hosts;
use crate::host::recovery::Answer;
use crate::host::recovery::bits::Bits;
use crate::host::reports::Meter;
use crate::outcome::PacketKind;
use crate::switch::spread::way;
use crate::traffic::Traffic;
use crate::world::World;
use crate::world::flow_path::FlowPath;

/// A queue pair's receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    /// Whose data it takes; [`NONE`] if it has forgotten that.
    pub(crate) flow: u32,
    pub(crate) expected: u64,
    pub(crate) last_nack: u64,
    pub(crate) nack_until: u64,
    pub(crate) cnp_until: u64,
    /// Go-back-N: the first byte beyond `expected` whose packet is known to be trimmed.
    pub(crate) trimmed: u64,
    pub(crate) unacked_packets: u32,
    pub(crate) unacked_bytes: u32,
    /// The strongest mark of the packets since the last ACK.
    pub(crate) mark: Mark,
}

impl Receiver {
    pub(crate) const fn new(flow: u32) -> Self {
        Self {
            flow,
            expected: 0,
            last_nack: u64::MAX,
            nack_until: 0,
            cnp_until: 0,
            trimmed: u64::MAX,
            unacked_packets: 0,
            unacked_bytes: 0,
            mark: Mark::None,
        }
    }
}

/// The receivers of all queue pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receivers {
    /// By queue pair.
    pub(crate) list: Vec<Receiver>,
    /// Selective repeat: packets that arrived beyond the first missing one, by queue pair; empty without it.
    pub(crate) arrived: Vec<Bits>,
    /// Receivers that begin anew: see [`crate::spec::Quirks::receiver_forgets`]; by flow.
    pub(crate) late: BTreeMap<u32, Receiver>,
    /// Of receivers that report, by queue pair.
    pub(crate) meters: Vec<Meter>,
}

impl Receivers {
    /// A flow begins in queue pair `slot`.
    pub(crate) fn begin(&mut self, slot: u32, flow: u32) {
        let slot = slot as usize;
        if self.list.len() <= slot {
            self.list.resize(slot + 1, Receiver::new(NONE));
        }
        self.list[slot] = Receiver::new(flow);
    }

    /// The congestion echo of an ACK: of this packet in the reference, of all since the last ACK
    /// where ACKs answer for several packets.
    #[inline]
    fn take_marks(&mut self, world: &World, slot: u32, mark: Mark) -> Mark {
        if world.spec.quirks.ack_threshold {
            return mark;
        }
        std::mem::take(&mut self.list[slot as usize].mark)
    }
}

impl Hosts {
    #[inline(always)]
    pub(crate) fn receive_data(&mut self, world: &World, core: &mut Core, traffic: &mut Traffic, id: u32) {
        let packet = core.packets.get(id);
        core.counters.data_received += u64::from(!packet.is_trimmed());
        let (slot, flow, mark) = (packet.qp, packet.flow, packet.mark);
        if self.receivers.list[slot as usize].flow != flow {
            return self.receive_late(world, core, id);
        }
        let answer = self.receivers.take_data(world, core, id);
        let path = &world.flow_paths[slot as usize];
        if self.receivers.list[slot as usize].expected >= path.size {
            traffic.received_whole(world, core, flow);
        }
        if path.is_told() {
            self.tell_sender(world, core, id);
        }
        let (kind, echo) = match answer {
            Answer::Ack => (PacketKind::Ack, self.receivers.take_marks(world, slot, mark)),
            Answer::Nack => {
                core.counters.nacks += 1;
                (PacketKind::Nack, mark)
            }
            Answer::Nothing => return core.packets.remove(id),
        };
        self.answer(world, core, slot, id, kind, echo);
    }

    /// Data packet `id` becomes its acknowledgement and leaves. It keeps its slot, telemetry and time stamp.
    #[inline(always)]
    fn answer(&mut self, world: &World, core: &mut Core, slot: u32, id: u32, kind: PacketKind, echo: Mark) {
        let path = &world.flow_paths[slot as usize];
        let packet = core.packets.get_mut(id);
        if path.tells_way {
            packet.pint = way(packet.epoch);
        }
        packet.kind = kind;
        packet.mark = echo;
        packet.seq = self.receivers.list[slot as usize].expected;
        packet.path = path.ack_route;
        packet.epoch = path.ack_epoch;
        packet.wire = path.ack_wire;
        packet.payload = 0;
        packet.class = path.ack_class;
        // Nothing accounts for it in a host.
        packet.ingress = NONE;
        let class = world.ack_queue(path.ack_class);
        let port = &mut core.ports[path.ack_port as usize];
        let nothing_before = port.ready == 0 && port.paused == 0 && port.up;
        if nothing_before && !core.watch.is_told() && !port.is_busy(core.now, core.tie) {
            // As if it were queued and taken out again.
            if class > STRICT {
                port.served = class;
            }
            let nic = port.owner as usize;
            let more = self.awaits_end(world, core, nic, path.ack_wire);
            return core.start_transmission(world, path.ack_port, id, more);
        }
        self.enqueue(world, core, path.ack_port, class, id);
    }

    /// The receiver of a flow whose scheme asks for packets of its own counts data packet `id`.
    #[inline(never)]
    fn tell_sender(&mut self, world: &World, core: &mut Core, id: u32) {
        let packet = *core.packets.get(id);
        let path = &world.flow_paths[packet.qp as usize];
        if path.reports
            && let Some(reports) = world.needs_of(path).reports
        {
            self.receivers.meter(core, path, &packet, reports);
        }
        if packet.mark == Mark::Congested && path.cnp_interval > Span::ZERO {
            self.notify_sender(world, core, &packet, path);
        }
    }

    /// A congestion notification packet to the sender, at most one per interval.
    fn notify_sender(&mut self, world: &World, core: &mut Core, packet: &Packet, path: &FlowPath) {
        let receiver = &mut self.receivers.list[packet.qp as usize];
        if core.now < receiver.cnp_until {
            return;
        }
        receiver.cnp_until = core.now + path.cnp_interval.as_ps();
        let cnp = path.control_packet(world, packet.qp, packet.sent_at);
        let id = core.packets.insert(cnp);
        self.enqueue(world, core, path.ack_port, world.ack_queue(path.ack_class), id);
    }
}
