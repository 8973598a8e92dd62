//! An output's arbiter: selects the input whose packet goes next, and marks packets.

use paceline_congestion::Mark;
use paceline_fabric::model::{Net, NicId, PacketId, PortId};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::outcome::CreditStep;
use crate::ib_omnet::step::Step;

/// Flag of a packet that found others waiting, so that the arbiter may mark it.
pub(super) const CANDIDATE: u8 = 1 << 4;

/// Returns the next input after `last`, round-robin, in a non-empty mask.
#[inline(always)]
const fn next_in_turn(mask: u64, last: u8) -> u8 {
    let later = if last >= 63 {
        0
    } else {
        mask & (u64::MAX << (last + 1))
    };
    (if later != 0 { later } else { mask }).trailing_zeros() as u8
}

impl InfiniBand {
    /// Puts a packet into its slot at the arbiter.
    #[inline(always)]
    pub(super) fn fill_slot(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        let now = net.cx.core.now();
        let packet = net.cx.core.packets.get_mut(id);
        packet.path = now;
        let (lane, ingress) = (packet.class, packet.ingress);
        let input = match self.ports[port].is_host {
            true => 0,
            false => self.ports[ingress].index,
        };
        let slot = self.slot_of(port, input, lane);
        debug_assert!(self.slots[slot].held == PacketId::NONE, "a slot holds one packet");
        self.slots[slot].held = id;
        let state = &mut self.lanes[(port, lane)];
        state.filled |= 1 << input;
        state.promised &= !(1 << input);
        if state.credits() == 0 {
            self.stall_begins(port, lane, now);
        }
        self.arbitrate(net, port);
        if self.record.tells_waits() {
            self.note_wait(net, port);
        }
    }

    /// Returns the index of an input's slot at an output.
    #[inline(always)]
    pub(super) fn slot_of(&self, port: PortId, input: u8, lane: u8) -> usize {
        let lanes = usize::from(self.spec.lanes);
        self.ports[port].slots as usize + usize::from(input) * lanes + usize::from(lane)
    }

    /// Grants the next packet, if one has credit and room.
    #[inline(always)]
    pub(super) fn arbitrate(&mut self, net: &mut Net<'_>, port: PortId) {
        // The event that ends the present arbitration calls again.
        if self.ports[port].arbitrating {
            return;
        }
        self.set_stalled(port, false);
        let Some((input, lane)) = self.choose(port) else {
            return self.spare_last(net, port);
        };
        let rate = self.spec.marking_rate;
        let p = &mut self.ports[port];
        if p.slot == rate {
            p.slot = 0;
        }
        if !self.has_room(port, input) {
            return self.set_stalled(port, true);
        }
        let slot = self.slot_of(port, input, lane);
        let id = std::mem::replace(&mut self.slots[slot].held, PacketId::NONE);
        self.mark_in_turn(net, port, id);
        self.ports[port].last_lane = lane;
        let state = &mut self.lanes[(port, lane)];
        state.last_input = input;
        state.filled &= !(1 << input);
        state.promised &= !(1 << input);
        state.granted += 1;
        let credits = state.credits();
        if credits == 0 && state.filled != 0 {
            self.stall_begins(port, lane, net.cx.core.now());
        }
        let table = self.ports[port].table;
        let used = &mut self.used[(port, table)];
        *used = used.saturating_add(1);
        if self.record.is_on() {
            let from = self.hosts[NicId(net.cx.core.packets.get(id).note)].node;
            self.write(net, port, CreditStep::Granted { from, credits });
        }
        if self.record.tells_waits() {
            self.accounts.is_let_go(id, port, lane, net.cx.core.now());
            self.note_wait(net, port);
        }
        self.let_go(net, port, id);
        match self.ports[port].is_host {
            true => self.hand_on(Step::HostGone {
                host: NicId(self.ports[port].owner),
            }),
            false => self.hand_on(Step::Gone { port, input, lane }),
        }
    }

    /// Selects the next input and lane with a packet and a credit. Lanes take turns by weight, in packets; a lane
    /// that has used its share is skipped once.
    #[inline(always)]
    fn choose(&mut self, port: PortId) -> Option<(u8, u8)> {
        let lanes = self.spec.lanes;
        let p = &self.ports[port];
        let last = self.lanes[(port, p.last_lane)].last_input;
        // One step more than lanes: the only lane with a packet may have used its share.
        for step in 0..=lanes {
            let lane = (p.table + step) % lanes;
            let used = &mut self.used[(port, lane)];
            if step > 0 {
                *used = 0;
            }
            if *used > self.spec.weights[usize::from(lane)] {
                continue;
            }
            let state = &self.lanes[(port, lane)];
            if state.filled != 0 && state.credits() > 0 {
                self.ports[port].table = lane;
                return Some((next_in_turn(state.filled, last), lane));
            }
        }
        None
    }

    /// Without a packet to send, clears the candidate flag of the packet from the input served last.
    #[inline(always)]
    fn spare_last(&mut self, net: &mut Net<'_>, port: PortId) {
        let lane = self.ports[port].last_lane;
        let input = self.lanes[(port, lane)].last_input;
        let id = self.slots[self.slot_of(port, input, lane)].held;
        if id != PacketId::NONE {
            net.cx.core.packets.get_mut(id).flags &= !CANDIDATE;
        }
    }

    /// Returns true if the output queue has room and the input gave no other packet at this instant, and reserves the
    /// input.
    #[inline(always)]
    fn has_room(&mut self, port: PortId, input: u8) -> bool {
        let p = &self.ports[port];
        // One position of the output queue stays free.
        if p.waiting + 1 >= self.spec.fifo {
            return false;
        }
        if p.is_host {
            return true;
        }
        let ingress = self.ports_by_node[(p.first + u32::from(input)) as usize];
        !std::mem::replace(&mut self.ports[ingress].giving, true)
    }

    /// Marks a candidate if a mark is due, and clears its flag in any case.
    #[inline(always)]
    fn mark_in_turn(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        let rate = self.spec.marking_rate;
        let p = &mut self.ports[port];
        let in_turn = p.slot == 0 || rate == 0;
        p.slot = p.slot.wrapping_add(1);
        let packet = net.cx.core.packets.get_mut(id);
        if packet.flags & CANDIDATE == 0 {
            return;
        }
        packet.flags &= !CANDIDATE;
        if !in_turn {
            return;
        }
        packet.mark = Mark::Congested;
        p.marked += 1;
        net.cx.core.counters.marked += 1;
        net.record_mark(port);
        if self.record.is_on() {
            let from = self.hosts[NicId(net.cx.core.packets.get(id).note)].node;
            self.write(net, port, CreditStep::Marked { from });
        }
    }

    /// Sends a granted packet to the wire, and schedules the next arbitration.
    #[inline(always)]
    fn let_go(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        let events = self.events;
        let now = net.cx.core.now();
        self.ports[port].arbitrating = true;
        if self.ports[port].is_host {
            let delay = self.spec.host_arbitration.as_ps();
            self.after(net, events.host_arbitration, delay, Step::Arbitrate { port });
            return self.hand_on(Step::ToWire { port, packet: id });
        }
        let delay = self.spec.switch_arbitration.as_ps();
        self.after(net, events.switch_arbitration, delay, Step::Arbitrate { port });
        let stored = now - net.cx.core.packets.get(id).path;
        let (full, last) = (self.spec.output_delay.as_ps(), self.ports[port].output_sent);
        let extra = left_of(full, stored, now, last);
        self.ports[port].output_sent = now + extra;
        let step = Step::ToWire { port, packet: id };
        match extra {
            // Only the full delay is constant, so only it has an event lane.
            0 => self.hand_on(step),
            _ if extra == full => self.after(net, events.output, extra, step),
            _ => self.after(net, LaneId::WHEEL, extra, step),
        }
    }

    #[inline(always)]
    fn set_stalled(&mut self, port: PortId, stalled: bool) {
        let p = &self.ports[port];
        if p.is_host {
            return;
        }
        let mask = &mut self.stalled[p.owner as usize];
        *mask = *mask & !(1 << p.index) | u64::from(stalled) << p.index;
    }

    /// Retries arbiters of a switch that waited for an input, which has now handed on its packet.
    pub(super) fn done(&mut self, net: &mut Net<'_>, switch: u32) {
        let mut mask = self.stalled[switch as usize];
        while mask != 0 {
            let index = mask.trailing_zeros();
            mask &= mask - 1;
            let port = self.ports_by_node[(self.routes.first(switch) + index) as usize];
            self.arbitrate(net, port);
        }
    }
}

/// Returns the rest of a delay of which `stored` has passed. A packet must not overtake one due at `last`: then it is
/// due a nanosecond after that.
#[inline(always)]
pub(super) const fn left_of(full: u64, stored: u64, now: u64, last: u64) -> u64 {
    let due = (now + full).saturating_sub(stored);
    if due <= last {
        return (last + 1000).saturating_sub(now);
    }
    due.saturating_sub(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_their_turns() {
        assert_eq!(next_in_turn(0b1011, 0), 1);
        assert_eq!(next_in_turn(0b1011, 1), 3);
        assert_eq!(next_in_turn(0b1011, 3), 0);
        assert_eq!(next_in_turn(1 << 63, 63), 63);
    }

    #[test]
    fn what_has_waited_goes_on_at_once_but_behind_the_one_before() {
        assert_eq!(left_of(50, 0, 100, 0), 50);
        assert_eq!(left_of(50, 20, 100, 0), 30);
        assert_eq!(left_of(50, 70, 100, 0), 0);
        assert_eq!(left_of(50, 20, 100, 130), 1030);
    }
}
