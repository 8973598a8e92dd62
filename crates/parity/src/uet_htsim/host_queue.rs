//! The queue of a host's uplink: three priorities, and the flows of each in turn.

use super::packet::{List, Packets};

/// Priorities, the highest first.
#[derive(Clone, Copy)]
pub(super) enum Priority {
    Control,
    Data,
    Speculative,
}

/// A flow's packets.
#[derive(Clone, Copy)]
struct Flow {
    id: u32,
    list: List,
}

/// The flows of one priority, by id. The turn is that of the flow behind the one that was looked at last, whether that had
/// packets or not.
#[derive(Clone, Default)]
struct Class {
    flows: Vec<Flow>,
    /// Whose turn is next; the number of flows: the first one's.
    turn: usize,
    packets: u32,
    /// Where the last packet was added.
    last: usize,
}

impl Class {
    fn push(&mut self, packets: &mut Packets, id: u32, flow: u32) {
        // Mostly there are one or two flows.
        let place = self.flows.partition_point(|own| own.id < flow);
        if self.flows.get(place).is_none_or(|own| own.id != flow) {
            let list = List::default();
            self.flows.insert(place, Flow { id: flow, list });
            if place <= self.turn {
                self.turn += 1;
            }
        }
        self.flows[place].list.push(packets, id);
        self.packets += 1;
        self.last = place;
    }

    fn pop(&mut self, packets: &Packets) -> u32 {
        let mut place = self.turn;
        if self.packets == 1 && !self.flows[self.last].list.is_empty() {
            // All flows in between have nothing.
            place = self.last;
        }
        loop {
            if place == self.flows.len() {
                place = 0;
            }
            let list = &mut self.flows[place].list;
            place += 1;
            if !list.is_empty() {
                self.turn = place;
                self.packets -= 1;
                return list.pop(packets);
            }
        }
    }
}

/// A host's queue.
#[derive(Clone, Default)]
pub(super) struct HostQueue {
    /// Bytes, with the packet that is being sent.
    bytes: u64,
    classes: [Class; 3],
    sending: u32,
    sending_size: u64,
}

impl HostQueue {
    /// Adds a packet. Returns whether the queue was empty, so that service is to begin.
    pub(super) fn push(&mut self, packets: &mut Packets, id: u32, (priority, flow): (Priority, u32)) -> bool {
        let was_empty = self.bytes == 0;
        self.bytes += u64::from(packets[id].size);
        self.classes[priority as usize].push(packets, id, flow);
        was_empty
    }

    /// The packet that is being sent.
    pub(super) fn sending(&self) -> u32 {
        self.sending
    }

    /// Takes the next packet out to be sent, and returns its size.
    pub(super) fn begin(&mut self, packets: &Packets) -> u64 {
        let class = self.classes.iter_mut().find(|class| class.packets > 0);
        self.sending = class.expect("bytes are packets'").pop(packets);
        self.sending_size = u64::from(packets[self.sending].size);
        self.sending_size
    }

    /// The packet that was sent, its size, and whether others are left.
    pub(super) fn end(&mut self) -> (u32, u64, bool) {
        self.bytes -= self.sending_size;
        (self.sending, self.sending_size, self.bytes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::packet::Packet;
    use super::*;

    #[test]
    fn flows_take_turns_below_control() {
        let (mut packets, mut queue) = (Packets::default(), HostQueue::default());
        for (flow, priority) in [
            (5, Priority::Data),
            (5, Priority::Data),
            (9, Priority::Data),
            (7, Priority::Control),
            (3, Priority::Speculative),
            (2, Priority::Data),
        ] {
            let packet = Packet {
                seq: flow,
                size: 64,
                ..Packet::default()
            };
            let id = packets.add(packet);
            queue.push(&mut packets, id, (priority, flow));
        }
        let mut sent = Vec::new();
        loop {
            queue.begin(&packets);
            let (id, _, more) = queue.end();
            sent.push(packets[id].seq);
            if !more {
                break;
            }
        }
        assert_eq!(sent, [7, 2, 5, 9, 5, 3]);
    }
}
