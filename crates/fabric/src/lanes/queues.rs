//! Virtual output queues: one for each input and lane of an output.

use paceline_kernel::ids::Id;

use crate::core::Core;
use crate::ids::{PacketId, PortId};
use crate::lanes::LaneSwitches;

/// Queue of the packets that one input has for one output, in one lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) head: PacketId,
    tail: PacketId,
}

impl Waiting {
    pub(super) const EMPTY: Self = Self {
        head: PacketId::NONE,
        tail: PacketId::NONE,
    };
}

/// State of one lane of an output.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Output {
    /// Bits of the inputs that have packets for the lane.
    pub(super) filled: u64,
    /// Input that was served last.
    last: u8,
    /// Input whose packet lacks credit: it is served next.
    pub(super) held: Option<u8>,
}

impl Output {
    /// Returns the input that is served next; at least one has packets.
    #[inline(always)]
    fn next_input(&self) -> u8 {
        // The choice is kept, since the credit that the lane waits for is that of this packet's size.
        if let Some(held) = self.held {
            return held;
        }
        let later = self.filled & (u64::MAX << 1 << self.last);
        let among = if later != 0 { later } else { self.filled };
        among.trailing_zeros() as u8
    }
}

impl LaneSwitches {
    /// Appends a packet to the queue of its input at an output.
    #[inline]
    pub(super) fn join(&mut self, core: &mut Core, egress: PortId, class: u8, input: u16, id: PacketId) {
        let index = self.index(egress, input, class);
        core.packets.get_mut(id).next = PacketId::NONE;
        let queue = &mut self.waiting[index];
        if queue.head == PacketId::NONE {
            queue.head = id;
        } else {
            core.packets.get_mut(queue.tail).next = id;
        }
        queue.tail = id;
        self.outputs[(egress, class)].filled |= 1 << input;
        let wire = u32::from(core.packets.get(id).wire);
        core.queues[(egress, class)].bytes += wire;
        let p = &mut core.ports[egress];
        p.ready |= 1 << class;
        p.queued += wire;
        p.queue_max = p.queue_max.max(p.queued);
    }

    /// Returns the packet that a lane sends next, and its input.
    #[inline]
    pub(super) fn next(&self, egress: PortId, class: u8) -> (PacketId, u8) {
        let input = self.outputs[(egress, class)].next_input();
        (
            self.waiting[self.index(egress, u16::from(input), class)].head,
            input,
        )
    }

    /// Removes the first packet of an input's queue. Returns it, and the bytes left in all queues of the lane.
    #[inline]
    pub(super) fn take(&mut self, core: &mut Core, egress: PortId, class: u8, input: u8) -> (PacketId, u32) {
        let index = self.index(egress, u16::from(input), class);
        let queue = &mut self.waiting[index];
        let id = queue.head;
        let packet = core.packets.get(id);
        let wire = u32::from(packet.wire);
        queue.head = packet.next;
        let output = &mut self.outputs[(egress, class)];
        if queue.head == PacketId::NONE {
            output.filled &= !(1 << input);
        }
        (output.last, output.held) = (input, None);
        let all = &mut core.queues[(egress, class)];
        crate::core::port::debit(&mut all.bytes, wire);
        let left = all.bytes;
        let p = &mut core.ports[egress];
        crate::core::port::debit(&mut p.queued, wire);
        if output.filled == 0 {
            p.ready &= !(1 << class);
        }
        (id, left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_their_turns() {
        let mut output = Output {
            filled: 1 << 63 | 0b1011,
            ..Output::default()
        };
        let mut turns = Vec::new();
        for _ in 0..5 {
            output.last = output.next_input();
            turns.push(output.last);
        }
        assert_eq!(turns, [1, 3, 63, 0, 1]);
        output.held = Some(3);
        assert_eq!(output.next_input(), 3);
    }
}
