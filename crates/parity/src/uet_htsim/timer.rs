//! The retransmission timer and its expiry.

use paceline_congestion::entropy::PathFeedback as Path;

use super::schedule::NONE;
use super::sim::Sim;

impl Sim {
    /// Starts the timer for a packet sent at `sent`. A running timer that expires earlier is kept.
    pub(super) fn start_timer(&mut self, flow: u32, sent: u64) {
        let (now, rto) = (self.now(), self.set.rto);
        let timer = &self.conns[flow as usize].timer;
        if timer.running {
            if sent + rto >= timer.expiry {
                return;
            }
            self.cancel_timer(flow);
        }
        let expiry = (sent + rto).max(now);
        let node = self.timer(expiry, flow);
        let timer = &mut self.conns[flow as usize].timer;
        timer.reference = sent;
        timer.expiry = expiry;
        // Timers beyond the end of the run never expire.
        timer.running = node != NONE;
        timer.node = node;
    }

    pub(super) fn cancel_timer(&mut self, flow: u32) {
        let timer = &mut self.conns[flow as usize].timer;
        if std::mem::take(&mut timer.running) {
            self.schedule.cancel(timer.node);
        }
    }

    /// Restarts the timer for the earliest unacknowledged packet.
    pub(super) fn recalculate_timer(&mut self, flow: u32) {
        self.cancel_timer(flow);
        if let Some((sent, _)) = self.conns[flow as usize].records.earliest() {
            self.start_timer(flow, sent);
        }
    }

    /// Handles a sender's event: its timer's expiry, its start, or a probe.
    pub(super) fn source_event(&mut self, flow: u32) {
        let now = self.now();
        let c = &mut self.conns[flow as usize];
        if c.timer.running && c.timer.expiry == now {
            c.timer.running = false;
            self.time_out(flow);
        } else if c.next_seq == 0 {
            if c.started.is_some() && c.messages.is_some() {
                self.stop("a connection starts before its first message could be sent");
                return;
            }
            self.start(flow);
        }
        // Timer, start and probe share this event, so a probe may be due as well.
        self.sleek_event(flow);
    }

    /// Queues a packet for retransmission. The flow tries to send, unless it still speculates on credit.
    pub(super) fn queue_again(&mut self, flow: u32, seq: u32) {
        let c = &mut self.conns[flow as usize];
        let size = c.records.get(seq).map_or(0, |record| record.size);
        c.records.queue_again(seq);
        c.again += i64::from(size);
        if !(self.spec.options.receiver_cc && c.speculating) {
            self.try_to_send(flow);
        }
    }

    /// Queues a packet sent at `sent` for retransmission. Sending may restart the timer, so its reference is checked
    /// only afterwards.
    pub(super) fn lose(&mut self, flow: u32, seq: u32, sent: u64) {
        self.queue_again(flow, seq);
        if self.conns[flow as usize].timer.reference == sent {
            self.recalculate_timer(flow);
        }
    }

    /// Handles an expired timer.
    fn time_out(&mut self, flow: u32) {
        let Some((_, seq)) = self.conns[flow as usize].records.earliest() else {
            self.stop("a timer ends that waits for nothing");
            return;
        };
        let c = &mut self.conns[flow as usize];
        let size = c.records.sent(seq).map_or(0, |record| i64::from(record.size));
        c.packets.timeouts += 1;
        self.counters.timeouts += 1;
        // The entropy value of the lost packet is not recorded; the simulator reports value 0.
        self.learn(flow, 0, Path::Timeout);
        let options = &self.spec.options;
        let (sender_cc, receiver_cc, sleek) = (options.sender_cc, options.receiver_cc, options.sleek);
        let c = &mut self.conns[flow as usize];
        c.records.unlist(seq);
        if sleek && c.sleek.lossy {
            self.sleek_timeout(flow, seq);
            return;
        }
        let was_empty = c.records.none_again();
        // The packet left the list before, so the timer restarts for the next one.
        self.recalculate_timer(flow);
        if sender_cc {
            let c = &mut self.conns[flow as usize];
            c.in_flight -= size;
            c.nscc.on_timeout(&self.set.nscc, size);
        }
        if !was_empty {
            self.stop_speculating(flow);
            self.queue_again(flow, seq);
            if receiver_cc {
                self.send_request(flow);
            }
            return;
        }
        self.queue_again(flow, seq);
        let c = &self.conns[flow as usize];
        // Without window or credit for the packet, a request keeps the flow alive: its answer is the only feedback to
        // come.
        if (sender_cc && c.nscc.window < size + c.in_flight) || (receiver_cc && c.credit <= 0) {
            self.send_request(flow);
            return;
        }
        if self.may_send(flow) {
            self.send_again(flow);
            // The simulator charges the NIC one byte for this packet.
            self.sent_data(self.conns[flow as usize].src, 1);
        }
    }
}
