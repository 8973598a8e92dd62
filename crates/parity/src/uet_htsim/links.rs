//! Queues and links: packets are queued, trimmed, dropped, marked and transmitted.

use super::counters::LogLine;
use super::host_queue::Priority;
use super::network::{HOST, Serving};
use super::packet::{List, NONE, PacketType, bit};
use super::sim::{Event, Sim};

/// Packets that the control queue may send in a row while data waits.
const HIGH_TURNS: u32 = 100_000;

impl Sim {
    /// Queues a packet at its host's uplink.
    #[inline]
    pub(super) fn host_send(&mut self, host: u32, id: u32) {
        let packet = &self.packets[id];
        let priority = match packet.kind() {
            // The transport hands probes over as control packets, but they queue as data.
            PacketType::Data if packet.has(bit::SPECULATIVE) => Priority::Speculative,
            PacketType::Data => Priority::Data,
            _ => Priority::Control,
        };
        let flow = self.packets.flow(packet);
        if self.host_queues[host as usize].push(&mut self.packets, id, priority, flow) {
            self.host_queue_begin(host);
        }
    }

    fn host_queue_begin(&mut self, host: u32) {
        let size = self.host_queues[host as usize].begin(&self.packets);
        let byte = self.net.classes[self.net.ports[host as usize].class as usize].byte;
        self.after(size * byte, Event::HostQueue(host));
    }

    /// Ends a transmission of a host's uplink.
    pub(super) fn host_queue_sent(&mut self, host: u32) {
        let (id, size, more) = self.host_queues[host as usize].end();
        self.count_hop(size);
        self.enter_pipe(host, id);
        if more {
            self.host_queue_begin(host);
        }
    }

    #[inline(always)]
    fn count_hop(&mut self, size: u64) {
        self.counters.link_hops += 1;
        self.counters.data_hops += u64::from(size > 64);
    }

    /// Puts a packet on a link. Only the first packet of a link has an event; the next one's is scheduled when that
    /// packet arrives. Each packet stores the arrival time of the packet behind it, because that memory is in the
    /// cache then.
    #[inline]
    fn enter_pipe(&mut self, at: u32, id: u32) {
        let now = self.now();
        let port = &mut self.net.ports[at as usize];
        let leaves = now + self.net.classes[port.class as usize].latency;
        let was_empty = port.pipe.is_empty();
        let tail = std::mem::replace(&mut port.pipe.tail, id);
        if was_empty {
            port.pipe.head = id;
            self.at(leaves, Event::Pipe(at));
        } else {
            let tail = &mut self.packets[tail];
            tail.next = id;
            tail.link = leaves as u32;
        }
    }

    /// Delivers the first packet of a link. All consequences of its arrival happen before the next packet's event is
    /// scheduled.
    pub(super) fn pipe(&mut self, at: u32) {
        let now = self.now();
        let port = &mut self.net.ports[at as usize];
        let id = port.pipe.head;
        let mut next = None;
        if id == port.pipe.tail {
            port.pipe.head = NONE;
        } else {
            let packet = &self.packets[id];
            port.pipe.head = packet.next;
            // Link latencies are below 2^32 ps, so the low 32 bits of the arrival time are enough.
            next = Some(now + u64::from(packet.link.wrapping_sub(now as u32)));
        }
        let to = port.to;
        if to & HOST == 0 {
            self.switch_receive(to, id);
        } else {
            self.host_receive(id);
        }
        // The simulator schedules it last, which decides the order among equal times.
        if let Some(leaves) = next {
            self.at(leaves, Event::Pipe(at));
        }
    }

    /// Dispatches a packet that arrives at its host.
    fn host_receive(&mut self, id: u32) {
        let packet = self.packets[id];
        match packet.kind() {
            PacketType::Data if packet.has(bit::TRIMMED) => self.receive_trimmed(&packet),
            PacketType::Data if packet.has(bit::PROBE) => self.receive_probe(&packet),
            PacketType::Data => self.receive_data(&packet),
            PacketType::Rts => self.receive_request(&packet),
            PacketType::Ack => self.receive_ack(&packet),
            PacketType::Nack => self.receive_nack(&packet),
            PacketType::Pull => self.receive_pull(&packet),
        }
        self.free(id);
    }

    /// Frees a packet. ACK objects are recycled in last-in, first-out order, as in the simulator.
    fn free(&mut self, id: u32) {
        let packet = &self.packets[id];
        if packet.kind() == PacketType::Ack {
            self.free_acks.push(packet.has(bit::ANSWERS_RTS));
        }
        self.packets.remove(id);
    }

    /// Puts a packet into a switch queue.
    #[inline]
    pub(super) fn queue_receive(&mut self, at: u32, id: u32) {
        let (is_payload, size) = (self.packets[id].is_payload(), u64::from(self.packets[id].size));
        if !is_payload {
            self.push_high(at, id, true);
        } else {
            let port = &self.net.ports[at as usize];
            if port.low_bytes + size > self.net.classes[port.class as usize].size {
                self.overflow(at, id);
            } else {
                self.push_low(at, id);
            }
        }
        self.queue_begin_if_idle(at);
    }

    /// Handles a full data queue: with equal probability, the arriving packet or the last queued one loses its
    /// payload.
    fn overflow(&mut self, at: u32, id: u32) {
        let takes_tail = self.random.unit() < 0.5;
        let mut loser = id;
        if takes_tail {
            let tail = self.net.ports[at as usize].low.tail;
            if self.net.ports[at as usize].low.is_empty() {
                self.stop("a queue is smaller than a packet, and there is no packet in it to be trimmed");
                return;
            }
            loser = tail;
            self.pop_tail(at);
        }
        if self.spec.options.trims {
            self.trim(at, loser, takes_tail);
            // The simulator prints no line if the header of the packet at the tail is dropped.
            self.push_high(at, loser, !takes_tail);
        } else {
            self.counters.data_drops += 1;
            // The simulator prints no line if it drops the arriving packet.
            if takes_tail {
                let port = &self.net.ports[at as usize];
                let (low, high) = (self.count(port.low), self.count(port.high));
                let flow = self.packets.flow(&self.packets[loser]);
                self.say(LogLine::DataDrop(low, high, flow));
            }
            self.free(loser);
        }
        if takes_tail {
            self.push_low(at, id);
        }
    }

    fn trim(&mut self, at: u32, id: u32, is_tail: bool) {
        let is_last = self.net.classes[self.net.ports[at as usize].class as usize].is_last;
        let packet = &mut self.packets[id];
        packet.size = self.spec.options.trim_size;
        packet.bits |= bit::TRIMMED | if is_last { bit::LAST_HOP } else { 0 };
        self.counters.trims_tail += u64::from(is_tail);
        self.counters.trims_arriving += u64::from(!is_tail);
        self.counters.trims_on_tor_to_host += u64::from(is_last);
    }

    #[inline]
    fn push_low(&mut self, at: u32, id: u32) {
        let port = &mut self.net.ports[at as usize];
        let packet = &mut self.packets[id];
        let size = packet.size;
        port.low_bytes += u64::from(size);
        let tail = std::mem::replace(&mut port.low.tail, id);
        packet.link = tail;
        if port.low.is_empty() {
            port.low.head = id;
            port.low_size = size;
        } else {
            let tail = &mut self.packets[tail];
            tail.next = id;
            tail.held = size;
        }
    }

    /// Removes the last data packet, which may be the one being sent.
    fn pop_tail(&mut self, at: u32) {
        let port = &mut self.net.ports[at as usize];
        let tail = self.packets[port.low.tail];
        port.low_bytes -= u64::from(tail.size);
        if port.low.head == port.low.tail {
            port.low.head = NONE;
        } else {
            port.low.tail = tail.link;
        }
    }

    #[inline]
    fn push_high(&mut self, at: u32, id: u32, says_drop: bool) {
        let port = &mut self.net.ports[at as usize];
        let size = self.packets[id].size;
        if port.high_bytes + u64::from(size) > 2 * self.net.classes[port.class as usize].size {
            self.drop_header(at, id, says_drop);
            return;
        }
        port.high_bytes += u64::from(size);
        let tail = std::mem::replace(&mut port.high.tail, id);
        if port.high.is_empty() {
            port.high.head = id;
            port.high_size = size;
        } else {
            // A packet holds the size of the next one, so that dequeuing need not load it.
            let tail = &mut self.packets[tail];
            tail.next = id;
            tail.link = u32::from(size);
        }
    }

    #[cold]
    fn drop_header(&mut self, at: u32, id: u32, says_drop: bool) {
        self.counters.header_drops += 1;
        if says_drop {
            let port = &self.net.ports[at as usize];
            let (low, high) = (self.count(port.low), self.count(port.high));
            let flow = self.packets.flow(&self.packets[id]);
            self.say(LogLine::HeaderDrop(low, high, flow));
        }
        self.free(id);
    }

    /// Counts the packets of a queue. Slow, and only used for lines of output.
    fn count(&self, list: List) -> u32 {
        if list.is_empty() {
            return 0;
        }
        let (mut id, mut count) = (list.head, 1);
        while id != list.tail {
            id = self.packets[id].next;
            count += 1;
        }
        count
    }

    #[inline]
    fn queue_begin_if_idle(&mut self, at: u32) {
        if self.net.ports[at as usize].serving == Serving::Nothing {
            self.queue_begin(at);
        }
    }

    #[inline]
    fn queue_begin(&mut self, at: u32) {
        let port = &mut self.net.ports[at as usize];
        let serves_high = match (port.high.is_empty(), port.low.is_empty()) {
            (true, true) => return,
            (false, true) => true,
            (true, false) => false,
            (false, false) => {
                // Data gets a turn now and then, or headers would starve it.
                let turns = &mut self.net.turns[at as usize];
                *turns += 1;
                if *turns > HIGH_TURNS {
                    *turns = 0;
                }
                *turns < HIGH_TURNS
            }
        };
        let (serving, size) = match serves_high {
            true => (Serving::High, port.high_size),
            false => (Serving::Low, port.low_size),
        };
        port.serving = serving;
        let byte = self.net.classes[port.class as usize].byte;
        self.after(u64::from(size) * byte, Event::Queue(at));
    }

    /// Ends a transmission of a switch queue. A data packet is marked by the bytes left behind it.
    pub(super) fn queue_sent(&mut self, at: u32) {
        let port = &mut self.net.ports[at as usize];
        let (id, size);
        if std::mem::take(&mut port.serving) == Serving::Low {
            if port.low.is_empty() {
                self.stop("the packet that was being sent has been trimmed");
                return;
            }
            (id, size) = (port.low.head, u64::from(port.low_size));
            if id == port.low.tail {
                port.low.head = NONE;
            } else {
                let packet = &self.packets[id];
                (port.low.head, port.low_size) = (packet.next, packet.held);
            }
            port.low_bytes -= size;
            let low = port.low_bytes;
            // Marking at dequeue, after the packet's own bytes are gone, as in the simulator.
            if let Some((least, most)) = self.net.classes[port.class as usize].ecn
                && low > least
            {
                let marks = low > most || {
                    let limit = (2_147_483_647 * (low - least)) / (most - least);
                    u64::from(self.random.draw()) < limit
                };
                if marks {
                    self.packets[id].bits |= bit::MARKED;
                    self.counters.ecn_marks += 1;
                }
            }
        } else {
            (id, size) = (port.high.head, u64::from(port.high_size));
            if id == port.high.tail {
                port.high.head = NONE;
            } else {
                let packet = &self.packets[id];
                (port.high.head, port.high_size) = (packet.next, packet.link as u16);
            }
            port.high_bytes -= size;
        }
        self.count_hop(size);
        // The packet enters its link before the next transmission starts, which decides the order among equal times.
        self.enter_pipe(at, id);
        self.queue_begin(at);
    }
}
