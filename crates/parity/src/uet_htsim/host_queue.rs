//! The queue of a host's uplink: three priorities, each served round-robin by flow.

use super::packet::{List, Packets};

/// Priorities of a host's queue, the highest first.
#[derive(Clone, Copy)]
pub(super) enum Priority {
    Control,
    Data,
    Speculative,
}

/// Queued packets of one flow.
#[derive(Clone, Copy)]
struct Flow {
    id: u32,
    list: List,
}

/// The flows of one priority, by id. As in the simulator, the turn moves past the flow looked at last, even if that
/// flow had no packets.
#[derive(Clone, Default)]
struct Class {
    flows: Vec<Flow>,
    /// Index of the flow whose turn is next; equal to the number of flows before it wraps to 0.
    turn: usize,
    packets: u32,
    /// Index of the flow that received the last packet.
    last: usize,
}

impl Class {
    fn push(&mut self, packets: &mut Packets, id: u32, flow: u32) {
        // A linear structure is enough: most hosts have one or two flows.
        let index = self.flows.partition_point(|own| own.id < flow);
        if self.flows.get(index).is_none_or(|own| own.id != flow) {
            let list = List::default();
            self.flows.insert(index, Flow { id: flow, list });
            // The turn stays with its flow, whose index has grown.
            if index <= self.turn {
                self.turn += 1;
            }
        }
        self.flows[index].list.push(packets, id);
        self.packets += 1;
        self.last = index;
    }

    fn pop(&mut self, packets: &Packets) -> u32 {
        let mut index = self.turn;
        if self.packets == 1 && !self.flows[self.last].list.is_empty() {
            // The only packet is in the flow that was added to last, so the search skips the empty flows before it.
            index = self.last;
        }
        loop {
            if index == self.flows.len() {
                index = 0;
            }
            let list = &mut self.flows[index].list;
            index += 1;
            if !list.is_empty() {
                self.turn = index;
                self.packets -= 1;
                return list.pop(packets);
            }
        }
    }
}

/// The uplink queue of one host.
#[derive(Clone, Default)]
pub(super) struct HostQueue {
    /// Queued bytes, including the packet being sent.
    bytes: u64,
    classes: [Class; 3],
    sending: u32,
    sending_size: u64,
}

impl HostQueue {
    /// Adds a packet. Returns true if the queue was empty, so that the caller has to start service.
    pub(super) fn push(&mut self, packets: &mut Packets, id: u32, priority: Priority, flow: u32) -> bool {
        let was_empty = self.bytes == 0;
        self.bytes += u64::from(packets[id].size);
        self.classes[priority as usize].push(packets, id, flow);
        was_empty
    }

    /// Returns the id of the packet being sent.
    pub(super) fn sending(&self) -> u32 {
        self.sending
    }

    /// Dequeues the next packet for transmission and returns its size.
    pub(super) fn begin(&mut self, packets: &Packets) -> u64 {
        let class = self.classes.iter_mut().find(|class| class.packets > 0);
        self.sending = class.expect("bytes are packets'").pop(packets);
        self.sending_size = u64::from(packets[self.sending].size);
        self.sending_size
    }

    /// Ends a transmission: returns the packet, its size, and true if more packets wait.
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
            queue.push(&mut packets, id, priority, flow);
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
