//! Records of a network under credits: steps, traces, totals and waits.

use std::cmp::Reverse;
use std::num::NonZeroU64;

use paceline_congestion::Mark;
use paceline_fabric::model::{Core, Net, PacketId, PortId};
use paceline_fabric::outcome::credits::Stalls;
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_kernel::ids::Id;
use paceline_kernel::{Span, Time};

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::credits::Announcement;
use crate::ib_omnet::outcome::{CreditEvent, CreditOutcome, CreditStep, PortTotals};

impl InfiniBand {
    #[cold]
    pub(super) fn write(&mut self, net: &Net<'_>, port: PortId, what: CreditStep) {
        self.record.write(CreditEvent {
            at: Time::from_ps(net.cx.core.now()),
            node: net.cx.core.ports[port].node,
            interface: u16::from(self.ports[port].index),
            what,
        });
    }

    /// Records a new credit limit at an arbiter.
    #[cold]
    pub(super) fn learned(&mut self, net: &mut Net<'_>, port: PortId, lane: u8, limit: u32, credits: u32) {
        if lane == 0 {
            self.write(net, port, CreditStep::Credits { credits });
        }
        let announced = self.lanes[(self.ports[port].peer, lane)].announced;
        let sent = announced.map_or(0, |announced| announced.sent);
        self.trace_update(net, port, TraceKind::Receive, lane, Announcement { limit, sent });
    }

    /// Traces a packet that a port sends or receives.
    #[cold]
    pub(super) fn trace(&self, net: &mut Net<'_>, port: PortId, event: TraceKind, id: PacketId) {
        let packet = net.cx.core.packets.get(id);
        let what = TraceEvent {
            kind: packet.kind,
            flow: packet.flow.0,
            seq: packet.seq * u64::from(packet.payload),
            payload: u32::from(packet.payload),
            wire: u32::from(packet.wire),
            class: packet.class,
            mark: packet.mark,
            ..self.nothing(net, port, event)
        };
        net.keep_trace(port, what);
    }

    /// Traces a flow-control packet: its limit for the other end, and its number of sent packets.
    #[cold]
    pub(super) fn trace_update(
        &self,
        net: &mut Net<'_>,
        port: PortId,
        event: TraceKind,
        lane: u8,
        announced: Announcement,
    ) {
        let what = TraceEvent {
            kind: PacketKind::Credit,
            seq: u64::from(announced.limit),
            payload: announced.sent,
            wire: self.spec.update.get() as u32,
            class: lane,
            ..self.nothing(net, port, event)
        };
        net.keep_trace(port, what);
    }

    /// Returns an empty trace event at a port, with the present time.
    fn nothing(&self, net: &Net<'_>, port: PortId, event: TraceKind) -> TraceEvent {
        TraceEvent {
            at: Time::from_ps(net.cx.core.now()),
            node: net.cx.core.ports[port].node,
            interface: net.interface(port),
            event,
            queue_bytes: net.cx.core.ports[port].queued,
            kind: PacketKind::Data,
            signal: 0,
            flow: u32::MAX,
            seq: 0,
            payload: 0,
            wire: 0,
            class: 0,
            mark: Mark::None,
            pause: Span::ZERO,
        }
    }

    /// Returns the totals of all ports and sources.
    pub(super) fn totals(&mut self, net: &Net<'_>) -> CreditOutcome {
        let totals = |&port: &PortId| {
            let p = &self.ports[port];
            PortTotals {
                node: net.cx.core.ports[port].node,
                interface: u16::from(p.index),
                packets: p.packets,
                marked: p.marked,
                updates: p.updates,
            }
        };
        let (injected, trace) = self.record.take();
        CreditOutcome {
            ports: self.ports_by_node.iter().map(totals).collect(),
            sources: self.sources.iter().map(|source| source.totals).collect(),
            injected,
            trace,
        }
    }

    /// Starts the credit stall of a lane.
    #[cold]
    pub(super) fn stall_begins(&mut self, port: PortId, lane: u8, now: u64) {
        let since = &mut self.lanes[(port, lane)].stalled_since;
        if since.is_none() {
            *since = NonZeroU64::new(now);
            self.stalls.count += 1;
        }
    }

    /// Ends the credit stall of a lane.
    #[cold]
    pub(super) fn stall_ends(&mut self, port: PortId, lane: u8, now: u64) {
        if let Some(since) = self.lanes[(port, lane)].stalled_since.take() {
            self.stalls.time += Span::from_ps(now - since.get());
        }
    }

    /// Returns number and time of credit stalls until `now`.
    pub(super) fn stalls_until(&self, now: u64) -> Stalls {
        let open = self.lanes.numbered();
        let open = open.filter_map(|(_, lane)| lane.stalled_since);
        let open = open.map(|since| now - since.get()).sum();
        Stalls {
            time: self.stalls.time + Span::from_ps(open),
            ..self.stalls
        }
    }

    /// Records the credit samples that are due before the event at `at`.
    pub(super) fn sample_credits(&self, core: &mut Core, at: u64, is_over: bool) {
        core.sample_lanes(at, is_over, |port, lane| {
            u64::from(self.lanes[(port, lane)].credits())
        });
    }

    /// Records if a port waits for credits, and the output at the other end that its packets wait for.
    #[cold]
    pub(super) fn note_wait(&mut self, net: &mut Net<'_>, port: PortId) {
        self.notify_clocks(net.cx.core.now(), port);
        let mut waiting = self.lanes.row(port).iter();
        let lane = waiting.position(|lane| lane.filled != 0 && lane.credits() == 0);
        net.record_wait(port, lane.is_some());
        let peer = self.ports[port].peer;
        let Some(lane) = lane.filter(|_| !self.ports[peer].is_host && net.asks_why(peer)) else {
            return;
        };
        if let Some(output) = self.longest_behind(net, peer, lane as u8) {
            net.record_behind(peer, output);
        }
    }

    /// Returns the output for which an input of a switch holds most packets of a lane, if any.
    fn longest_behind(&self, net: &Net<'_>, input: PortId, lane: u8) -> Option<PortId> {
        let index = self.ports[input].index;
        let first = self.ports[input].first as usize;
        let node = net.cx.core.ports[input].node;
        let outputs = self.ports_by_node[first..].iter().copied();
        let outputs = outputs.take_while(|&output| net.cx.core.ports[output].node == node);
        let held = outputs.map(|output| (self.held_for(net, output, index, lane), output));
        let most = held.max_by_key(|&(packets, output)| (packets, Reverse(output)));
        most.filter(|(packets, _)| *packets > 0).map(|(_, output)| output)
    }

    /// Counts the packets that an input holds for an output.
    fn held_for(&self, net: &Net<'_>, output: PortId, input: u8, lane: u8) -> u32 {
        let slot = &self.slots[self.slot_of(output, input, lane)];
        let mut packets = u32::from(slot.held != PacketId::NONE);
        let mut next = slot.head;
        while next != PacketId::NONE {
            packets += 1;
            next = net.cx.core.packets.get(next).next;
        }
        packets
    }
}
