//! A flow's sender: new packets, retransmissions and requests.

use paceline_congestion::rccc::pacer::FIRST;

use super::backlog::Backlog;
use super::counters::LogLine;
use super::packet::{Packet, PacketType, bit};
use super::sim::Sim;

/// Size of a header, bytes.
pub(super) const HEADER: u16 = 64;

impl Sim {
    /// Starts the flow with a full window of credit, and sends.
    pub(super) fn start(&mut self, flow: u32) {
        let (now, payload) = (self.now(), self.set.payload);
        let c = &mut self.conns[flow as usize];
        if c.messages.is_none() {
            c.backlog = wire_bytes(c.size, payload);
        }
        c.started.get_or_insert(now);
        c.credit = self.window;
        c.in_flight = 0;
        c.pull = FIRST;
        c.target = FIRST;
        self.say(LogLine::Starting(flow));
        self.send_while_permitted(flow);
    }

    /// Sends new packets while window, credit and NIC allow.
    pub(super) fn send_while_permitted(&mut self, flow: u32) {
        while !self.conns[flow as usize].blocked && self.is_permitted(flow) {
            if !self.may_send(flow) {
                self.conns[flow as usize].blocked = true;
                return;
            }
            let size = self.send_new(flow);
            self.sent_data(self.conns[flow as usize].src, size);
        }
    }

    /// Returns true if there is data to send, and credit and window allow it.
    #[inline]
    pub(super) fn is_permitted(&mut self, flow: u32) -> bool {
        let c = &mut self.conns[flow as usize];
        let size = match c.records.first_again() {
            Some((_, size)) => i64::from(size),
            None if c.backlog > 0 => c.backlog.min(self.set.packet),
            None => return false,
        };
        let options = &self.spec.options;
        if options.receiver_cc && c.credit <= 0 {
            return false;
        }
        if !options.sender_cc {
            return true;
        }
        c.nscc.window >= c.in_flight + size || (c.sleek.lossy && !c.records.none_again())
    }

    /// Sends as much as is permitted now, or waits for a turn at the NIC.
    #[inline]
    pub(super) fn try_to_send(&mut self, flow: u32) {
        while !self.conns[flow as usize].blocked && self.is_permitted(flow) {
            if !self.may_send(flow) {
                self.conns[flow as usize].blocked = true;
                return;
            }
            self.send_one(flow);
        }
    }

    /// Uses the NIC's turn. Returns true if the flow sent a packet.
    pub(super) fn take_turn(&mut self, flow: u32) -> bool {
        self.conns[flow as usize].blocked = false;
        if !self.is_permitted(flow) {
            return false;
        }
        self.send_one(flow);
        if self.is_permitted(flow) {
            // The NIC is busy with the packet just sent, so this queues the flow for its next turn.
            self.may_send(flow);
            self.conns[flow as usize].blocked = true;
        }
        true
    }

    /// Retransmits a packet if one is queued, or sends a new one.
    fn send_one(&mut self, flow: u32) {
        let size = match self.conns[flow as usize].records.none_again() {
            true => self.send_new(flow),
            false => self.send_again(flow),
        };
        self.sent_data(self.conns[flow as usize].src, size);
    }

    /// Draws the entropy value of the next packet.
    pub(super) fn next_ev(&mut self, flow: u32) -> u16 {
        let c = &self.conns[flow as usize];
        let window = c.nscc.window / self.set.payload;
        let (seq, random) = (c.next_seq, &mut self.random);
        self.balancers[flow as usize].next(seq, window, random)
    }

    /// Updates and returns the pull target, in quanta.
    #[inline]
    fn pull_target(&mut self, flow: u32) -> u64 {
        let options = &self.spec.options;
        if !options.receiver_cc {
            return 0;
        }
        let packet = self.set.packet;
        let c = &mut self.conns[flow as usize];
        let backlog = Backlog {
            bytes: c.backlog + c.again,
            window: options.sender_cc.then_some(c.nscc.window + packet),
            most: self.window,
            credit: c.credit,
            least: (c.speculating && c.backlog > 0).then_some(packet),
            waiting: self.nics[c.src as usize].waiting.len(),
            pull: c.pull,
        };
        c.target = backlog.target();
        c.target
    }

    /// Sends a new packet and returns its size.
    fn send_new(&mut self, flow: u32) -> u64 {
        let (now, packet_size) = (self.now(), self.set.packet);
        let (sender_cc, receiver_cc) = (self.spec.options.sender_cc, self.spec.options.receiver_cc);
        let size = match self.next_of_message(flow) {
            Some(size) => size,
            None => self.conns[flow as usize].backlog.min(packet_size),
        };
        let c = &mut self.conns[flow as usize];
        if receiver_cc {
            c.credit -= size;
        }
        c.backlog -= size;
        c.in_flight += size;
        let kind = if c.speculating { bit::SPECULATIVE } else { 0 };
        // After credit and backlog have changed, since the target depends on both.
        let target = self.pull_target(flow);
        let ev = self.next_ev(flow);
        let c = &mut self.conns[flow as usize];
        // The receiver coalesces ACKs; a sender that is about to stall must request one or it would wait for its
        // timer.
        let asks = c.backlog == 0
            || (receiver_cc && c.credit <= 0)
            || (sender_cc && c.in_flight + size >= c.nscc.window);
        let seq = c.next_seq;
        c.records.send(seq, size as u16, now, false);
        let bits = kind | if asks { bit::ASKS } else { 0 };
        let packet = Packet {
            conn: flow,
            seq,
            size: size as u16,
            ev,
            bits: Packet::bits(PacketType::Data, bits),
            word: target,
            ..Packet::default()
        };
        c.next_seq += 1;
        c.packets.new += 1;
        let host = c.src;
        let id = self.packets.add(packet);
        self.host_send(host, id);
        self.start_timer(flow, now);
        size as u64
    }

    /// Retransmits the first queued packet and returns its size.
    pub(super) fn send_again(&mut self, flow: u32) -> u64 {
        let now = self.now();
        let receiver_cc = self.spec.options.receiver_cc;
        let c = &mut self.conns[flow as usize];
        let Some((seq, size)) = c.records.first_again() else {
            self.stop("a packet is to be sent again, and there is none");
            return 0;
        };
        if receiver_cc {
            c.credit -= i64::from(size);
        }
        c.again -= i64::from(size);
        c.in_flight += i64::from(size);
        c.records.send(seq, size, now, false);
        let target = self.pull_target(flow);
        let ev = self.next_ev(flow);
        let c = &mut self.conns[flow as usize];
        let packet = Packet {
            conn: flow,
            seq,
            size,
            ev,
            bits: Packet::bits(PacketType::Data, bit::AGAIN | bit::ASKS),
            word: target,
            ..Packet::default()
        };
        c.packets.again += 1;
        let host = c.src;
        let id = self.packets.add(packet);
        self.host_send(host, id);
        self.start_timer(flow, now);
        u64::from(size)
    }

    /// Sends a request to send, unless the last one is less than a round trip ago. Without the sender's congestion
    /// control, that pause is 0.
    pub(super) fn send_request(&mut self, flow: u32) {
        let now = self.now();
        let pause = if self.spec.options.sender_cc {
            self.set.rtt
        } else {
            0
        };
        let c = &mut self.conns[flow as usize];
        if c.last_request != 0 && now - c.last_request < pause {
            return;
        }
        // A request takes a sequence number, since it is acknowledged like data.
        let seq = c.next_seq;
        c.records.send(seq, HEADER, now, true);
        let target = c.target;
        let ev = self.next_ev(flow);
        let c = &mut self.conns[flow as usize];
        let packet = Packet {
            conn: flow,
            seq,
            size: HEADER,
            ev,
            bits: Packet::bits(PacketType::Rts, bit::ASKS),
            word: target,
            ..Packet::default()
        };
        c.packets.requests += 1;
        let host = c.src;
        let id = self.packets.add(packet);
        self.send_control(host, id);
        let c = &mut self.conns[flow as usize];
        c.next_seq += 1;
        c.last_request = now;
        self.start_timer(flow, now);
    }

    /// Ends speculation at the first feedback, and discards the remaining speculative credit.
    pub(super) fn stop_speculating(&mut self, flow: u32) {
        let c = &mut self.conns[flow as usize];
        if std::mem::take(&mut c.speculating) {
            c.credit = c.credit.min(0);
        }
    }
}

/// Returns the wire bytes of `size` payload bytes in packets of `payload` bytes.
pub(super) fn wire_bytes(size: i64, payload: i64) -> i64 {
    ((size as f64 / payload as f64).ceil() * f64::from(HEADER) + size as f64) as i64
}
