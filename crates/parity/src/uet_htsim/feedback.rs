//! A sender's reaction to ACKs, NACKs and pulls.

use paceline_congestion::entropy::PathFeedback as Path;
use paceline_congestion::nscc::window::Feedback;
use paceline_congestion::rccc::pacer::QUANTUM;

use super::counters::{Finish, LogLine};
use super::packet::{Packet, bit};
use super::records::State;
use super::sim::Sim;
use super::spec::SenderControl;

impl Sim {
    /// Handles an ACK. The order of steps is part of the behaviour.
    pub(super) fn receive_ack(&mut self, ack: &Packet) {
        let flow = ack.conn;
        let report = self.packets.report(ack);
        let c = &mut self.conns[flow as usize];
        c.packets.acks += 1;
        // An ACK that was overtaken by a later one adds nothing.
        let bytes = report.received.saturating_sub(c.last_received) as i64;
        c.last_received = c.last_received.max(report.received);
        c.nscc.count(bytes);
        c.in_flight -= bytes;
        // The sample comes first: acknowledging forgets the send times that it needs.
        let marked = ack.has(bit::ECHO);
        let delay = self.sample(flow, ack, marked);
        let dirty = self.acknowledge_before(flow, report.cum);
        let dirty = self.acknowledge_bits(flow, report.first, report.bitmap) || dirty;
        if dirty {
            self.recalculate_timer(flow);
        }
        let path = if marked { Path::Marked } else { Path::Good };
        self.learn(flow, ack.ev, path);
        if self.spec.options.sender_cc {
            self.control_ack(flow, marked, delay, bytes);
            if self.spec.options.sleek {
                self.sleek_ack(flow, ack, report.cum, delay);
            }
        }
        // An ACK is feedback even if it acknowledges nothing new, so the flow stops speculating in any case.
        self.stop_speculating(flow);
        if self.is_finished(flow, report.cum) {
            self.finish(flow, report.cum);
        }
        if self.conns[flow as usize].finish.is_none() {
            self.try_to_send(flow);
        }
    }

    /// Returns the queueing delay that an ACK measures, or the average delay if the ACK is no sample.
    fn sample(&mut self, flow: u32, ack: &Packet, marked: bool) -> u64 {
        if ack.has(bit::PROBE) {
            return self.sleek_sample(flow, ack, marked);
        }
        let again = u16::from(ack.has(bit::AGAIN));
        let records = &self.conns[flow as usize].records;
        // An ACK of another transmission of the packet would measure from the wrong start.
        let sent = records.sent(ack.seq).filter(|record| record.resent == again);
        if let Some(sent) = sent.map(|record| record.sent) {
            let raw = self.now() - sent;
            if !ack.has(bit::ANSWERS_RTS) {
                self.update_base(flow, raw);
            }
            let c = &mut self.conns[flow as usize];
            // A sample below the base would give a negative delay, so the average replaces it.
            if raw >= c.nscc.base {
                c.nscc.update_average(&self.set.nscc, raw, marked);
                return raw - c.nscc.base;
            }
        }
        self.conns[flow as usize].nscc.average
    }

    /// Acknowledges all packets before `cum`. Returns true if the timer waited for one of them.
    fn acknowledge_before(&mut self, flow: u32, cum: u32) -> bool {
        let c = &mut self.conns[flow as usize];
        let from = c.records.base();
        // Packets queued for retransmission have arrived after all, so they no longer count as waiting to be sent.
        for seq in from..cum {
            if let Some(record) = c.records.get(seq)
                && record.state == State::Again
            {
                let size = i64::from(record.size);
                c.again -= size;
                c.in_flight += size;
                c.records.acknowledge(seq);
            }
        }
        let mut dirty = false;
        for seq in from..cum {
            dirty |= self.acknowledge(flow, seq);
        }
        self.conns[flow as usize].records.forget_before(cum);
        dirty
    }

    /// Acknowledges a packet that was sent. Returns true if the timer waited for it; the timer then refers to the
    /// earliest packet left.
    fn acknowledge(&mut self, flow: u32, seq: u32) -> bool {
        let c = &mut self.conns[flow as usize];
        let Some(record) = c.records.sent(seq) else {
            return false;
        };
        let sent = record.sent;
        c.records.acknowledge(seq);
        if sent != c.timer.reference {
            return false;
        }
        if let Some((earliest, _)) = c.records.earliest() {
            c.timer.reference = earliest;
        }
        true
    }

    /// Acknowledges the packets in a selective ACK's bitmap, which starts at `first`.
    fn acknowledge_bits(&mut self, flow: u32, first: u32, mut bits: u64) -> bool {
        let mut dirty = false;
        while bits != 0 {
            let seq = first + bits.trailing_zeros();
            bits &= bits - 1;
            let c = &mut self.conns[flow as usize];
            if c.messages.is_some() && c.records.open == 0 && c.records.get(seq).is_some() {
                // The simulator forgets the sequence numbers of requests once no data of messages is in flight.
                self.stop("a request to send is acknowledged out of order where all messages are");
                return dirty;
            }
            match c.records.get(seq) {
                Some(record) if record.state == State::Again => {
                    // Its bytes left `in_flight` twice: when it was queued again, and with this ACK's total.
                    let size = i64::from(record.size);
                    c.again -= size;
                    c.in_flight += size;
                    c.records.acknowledge(seq);
                }
                Some(_) => dirty |= self.acknowledge(flow, seq),
                None => {}
            }
        }
        dirty
    }

    /// Lowers the base round-trip time if this sample is shorter.
    fn update_base(&mut self, flow: u32, raw: u64) {
        let c = &mut self.conns[flow as usize];
        let before = c.nscc.base;
        c.nscc.update_base(&self.set.nscc, raw);
        if c.nscc.base < before && c.nscc.max_window == 0 {
            let (flow, probed) = (c.flow, c.sleek.probed);
            self.say(LogLine::NoBdp(flow, probed));
        }
    }

    pub(super) fn learn(&mut self, flow: u32, ev: u16, path: Path) {
        let (now, trims) = (self.now(), self.spec.options.trims);
        if self.balancers[flow as usize].learn(ev, path, now, trims).is_err() {
            self.stop("REPS has no answer to a time-out in a network that does not trim");
        }
    }

    /// Updates the congestion window after an ACK.
    fn control_ack(&mut self, flow: u32, marked: bool, delay: u64, bytes: i64) {
        let now = self.now();
        let packet = self.set.packet;
        let c = &mut self.conns[flow as usize];
        match self.spec.options.sender_algorithm {
            SenderControl::Nscc => {
                let ack = Feedback {
                    now,
                    marked,
                    delay,
                    bytes,
                    in_flight: c.in_flight,
                };
                if !c.nscc.on_ack(&self.set.nscc, ack) {
                    self.stop("a round trip took no time, so the largest window is 0");
                }
            }
            SenderControl::Dctcp => {
                let before = c.nscc.window;
                self.say(LogLine::Dctcp(flow, before, marked, bytes));
                let c = &mut self.conns[flow as usize];
                let window = &mut c.nscc.window;
                *window += match marked {
                    false => bytes * packet / *window,
                    true => -(bytes / 3),
                };
                *window = (*window).max(packet);
            }
            SenderControl::Constant => {}
        }
    }

    fn is_finished(&self, flow: u32, cum: u32) -> bool {
        let c = &self.conns[flow as usize];
        if c.finish.is_some() {
            return false;
        }
        match &c.messages {
            Some(messages) => messages.rest.is_empty() && c.backlog == 0 && c.records.open == 0,
            None => (i64::from(cum) - i64::from(c.packets.requests)) * self.set.payload >= c.size,
        }
    }

    fn finish(&mut self, flow: u32, cum: u32) {
        let at = self.now();
        let c = &self.conns[flow as usize];
        if c.messages.as_ref().is_some_and(|messages| messages.to_come > 0) {
            self.stop("all messages so far are acknowledged, and others of the connection are still to come");
            return;
        }
        let finish = Finish {
            at,
            cum,
            requests: c.packets.requests,
            in_flight: c.in_flight,
            window: c.nscc.window,
            base: c.nscc.base,
            average: c.nscc.average,
            max_window: c.nscc.max_window,
            messages: c.messages.as_ref().map_or(1, |messages| messages.count),
            sums: c.nscc.sums,
        };
        self.say(LogLine::Finished(flow, Box::new(finish)));
        let c = &mut self.conns[flow as usize];
        c.finish = Some(finish);
        let then = c.then;
        if let Some(trigger) = then {
            self.fire(trigger);
        }
        self.cancel_timer(flow);
    }

    /// Handles a NACK, which reports a trimmed packet.
    pub(super) fn receive_nack(&mut self, nack: &Packet) {
        let (flow, seq) = (nack.conn, nack.seq);
        let now = self.now();
        let c = &mut self.conns[flow as usize];
        c.packets.nacks += 1;
        let Some(record) = c.records.sent(seq) else {
            return;
        };
        let (sent, size) = (record.sent, i64::from(record.size));
        if self.spec.options.base_on_nack {
            self.update_base(flow, now - sent);
        }
        let last_hop = nack.has(bit::LAST_HOP);
        if self.spec.options.sender_cc {
            self.control_nack(flow, size, last_hop);
        }
        let c = &mut self.conns[flow as usize];
        c.in_flight -= size;
        c.records.unlist(seq);
        self.stop_speculating(flow);
        self.lose(flow, seq, sent);
        // A trim on the last hop says nothing about the path: other values lead to the same full queue.
        let path = match (last_hop, nack.has(bit::ECHO)) {
            (false, _) => Path::Trimmed,
            (true, true) => Path::Marked,
            (true, false) => Path::Good,
        };
        self.learn(flow, nack.ev, path);
        self.try_to_send(flow);
    }

    fn control_nack(&mut self, flow: u32, size: i64, last_hop: bool) {
        let now = self.now();
        let c = &mut self.conns[flow as usize];
        match self.spec.options.sender_algorithm {
            SenderControl::Nscc => {
                let nack = Feedback {
                    now,
                    marked: true,
                    delay: 0,
                    bytes: 0,
                    in_flight: c.in_flight,
                };
                c.nscc.on_nack(&self.set.nscc, size, last_hop, nack);
            }
            SenderControl::Dctcp => c.nscc.on_timeout(&self.set.nscc, size),
            SenderControl::Constant => {}
        }
    }

    /// Handles a pull: adds credit up to the pull's cumulative number of quanta.
    pub(super) fn receive_pull(&mut self, pull: &Packet) {
        let flow = pull.conn;
        self.conns[flow as usize].packets.pulls += 1;
        self.stop_speculating(flow);
        let most = self.window;
        let c = &mut self.conns[flow as usize];
        // Numbers of pulls are cumulative, so one that was overtaken adds nothing.
        if pull.word > c.pull {
            c.credit = (c.credit + QUANTUM * (pull.word - c.pull) as i64).min(most);
            c.pull = pull.word;
        }
        self.try_to_send(flow);
    }
}
