//! A switch's inputs: a buffer per lane with a queue per output (virtual output queues), which avoids head-of-line
//! blocking.

use paceline_congestion::Mark;
use paceline_fabric::model::{Net, PacketId, PortId};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::arbiter::{CANDIDATE, left_of};
use crate::ib_omnet::outcome::CreditStep;
use crate::ib_omnet::step::Step;

impl InfiniBand {
    /// Handles the first bit of an arriving packet.
    #[inline(always)]
    pub(super) fn arrive(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        let now = net.cx.core.now();
        let packet = net.cx.core.packets.get_mut(id);
        // Forwarding tables leave the path unused, so the field keeps the time of arrival.
        packet.path = now;
        packet.ingress = port;
        packet.next = PacketId::NONE;
        let lane = packet.class;
        let state = &mut self.lanes[(port, lane)];
        assert!(state.free > 0, "nothing is sent without a credit");
        state.free -= 1;
        state.arrived += 1;
        if self.record.is_on() {
            self.trace(net, port, TraceKind::Receive, id);
        }
        let p = &self.ports[port];
        if p.is_host {
            return self.hand_on(Step::Received { port, packet: id });
        }
        let packet = net.cx.core.packets.get_mut(id);
        let index = self.routes.next(p.owner, packet.answers);
        let out = self.ports_by_node[(p.first + u32::from(index)) as usize];
        let input = p.index;
        if self.accounts.is_on() {
            self.accounts.comes(id, out, lane, now);
        }
        let waiting = self.lanes[(out, lane)].waiting;
        let is_data = packet.kind == PacketKind::Data;
        // The packet found others waiting for its output. Only the arbiter decides about the mark, when the packet's
        // turn comes.
        if waiting > 0 && is_data && packet.mark == Mark::None {
            packet.flags |= CANDIDATE;
        }
        let output = &mut net.cx.core.ports[out];
        output.queued += u32::from(packet.wire);
        output.queue_max = output.queue_max.max(output.queued);
        if self.record.is_on() && is_data {
            self.write(net, out, CreditStep::Found { waiting });
        }
        self.lanes[(out, lane)].waiting += 1;
        let slot = self.slot_of(out, input, lane);
        let slot = &mut self.slots[slot];
        if slot.head == PacketId::NONE {
            slot.head = id;
        } else {
            net.cx.core.packets.get_mut(slot.tail).next = id;
        }
        slot.tail = id;
        self.hand_to_arbiter(net, port, out, lane);
    }

    /// Moves the first packet from an input's queue to its slot at the arbiter, if the slot is free.
    #[inline(always)]
    fn hand_to_arbiter(&mut self, net: &mut Net<'_>, port: PortId, out: PortId, lane: u8) {
        let input = self.ports[port].index;
        let slot = self.slot_of(out, input, lane);
        let slot = &mut self.slots[slot];
        let id = slot.head;
        let state = &mut self.lanes[(out, lane)];
        if id == PacketId::NONE || (state.filled | state.promised) >> input & 1 != 0 {
            return;
        }
        state.promised |= 1 << input;
        state.waiting -= 1;
        let now = net.cx.core.now();
        let packet = net.cx.core.packets.get(id);
        slot.head = packet.next;
        let (full, last) = (self.spec.input_delay.as_ps(), self.ports[port].input_sent);
        let extra = left_of(full, now - packet.path, now, last);
        self.ports[port].input_sent = now + extra;
        let step = Step::ToSlot {
            port: out,
            packet: id,
        };
        let events = self.events.input;
        match extra {
            0 => self.hand_on(step),
            _ if extra == full => self.after(net, events, extra, step),
            _ => self.after(net, LaneId::WHEEL, extra, step),
        }
    }

    /// Handles a grant of the arbiter of `out`: frees the buffer, and moves the next packet to the slot.
    #[inline(always)]
    pub(super) fn gone(&mut self, net: &mut Net<'_>, out: PortId, input: u8, lane: u8) {
        let p = &self.ports[out];
        let (switch, port) = (p.owner, self.ports_by_node[(p.first + u32::from(input)) as usize]);
        self.release(net, port, lane);
        self.ports[port].giving = false;
        self.hand_on(Step::Done { switch });
        self.hand_to_arbiter(net, port, out, lane);
    }

    /// Frees a packet of an input buffer, which is a credit to announce.
    #[inline(always)]
    pub(super) fn release(&mut self, net: &mut Net<'_>, port: PortId, lane: u8) {
        self.lanes[(port, lane)].free += 1;
        self.has_news(net, port);
    }
}
