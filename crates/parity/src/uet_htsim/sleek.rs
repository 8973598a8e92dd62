//! SLEEK: a sender detects losses by gaps and probes, without waiting for its timer.

use super::packet::{Packet, PacketType, bit};
use super::schedule::NONE;
use super::sim::Sim;
use super::source::HEADER;

impl Sim {
    /// Returns the queueing delay measured by a probe's answer.
    pub(super) fn sleek_sample(&mut self, flow: u32, ack: &Packet, marked: bool) -> u64 {
        let now = self.now();
        let c = &mut self.conns[flow as usize];
        // Only the last probe's send time is known.
        if ack.seq != c.sleek.probe {
            return c.nscc.average;
        }
        let raw = now - c.sleek.probe_sent;
        c.sleek.probed = raw.max(c.nscc.base);
        if raw < c.nscc.base {
            return 0;
        }
        c.nscc.update_average(&self.set.nscc, raw, marked);
        raw - c.nscc.base
    }

    /// Detects losses after an ACK, and schedules the next probe.
    pub(super) fn sleek_ack(&mut self, flow: u32, ack: &Packet, cum: u32, delay: u64) {
        let now = self.now();
        let (target, payload) = (self.set.nscc.target, self.set.payload);
        let c = &mut self.conns[flow as usize];
        if c.sleek.probe_at != 0 {
            c.sleek.probe_at = 0;
            let node = c.sleek.probe_node;
            if node == NONE {
                self.stop("a probe is cancelled that would be sent after the end of the run");
                return;
            }
            self.schedule.cancel(node);
        }
        // Any ACK postpones the probe: it is only needed while the sender gets no feedback.
        let c = &mut self.conns[flow as usize];
        if cum < c.next_seq || c.backlog > 0 {
            let wait = match c.backlog {
                0 => c.nscc.base + target,
                _ => 3 * c.nscc.base,
            };
            self.schedule_probe(flow, now + wait);
        }
        // A probe that came back fast while packets are missing: they are lost rather than queued.
        let c = &mut self.conns[flow as usize];
        if ack.has(bit::PROBE) && delay < target {
            c.sleek.lossy = true;
            c.sleek.recovery = c.next_seq;
            c.sleek.highest = cum;
        }
        let window = c.nscc.window;
        let threshold = ((1.5_f32 * window as f32) as i64)
            .min(c.nscc.max_window)
            .max(5 * payload);
        if c.sleek.lossy && cum >= c.sleek.recovery {
            c.sleek.lossy = false;
        }
        // Without a fast probe, only a gap above the threshold counts as loss; a smaller one may be reordering.
        if !c.sleek.lossy {
            if i64::from(ack.held) < threshold / payload {
                return;
            }
            if c.records.none_again() {
                c.sleek.lossy = true;
                c.sleek.recovery = c.next_seq;
            }
        }
        let until = i64::from(c.sleek.recovery).min(i64::from(cum) + window / payload);
        for seq in cum..until.max(0) as u32 {
            self.sleek_lose(flow, seq);
        }
        self.try_to_send(flow);
    }

    /// Declares a packet lost, unless it was already.
    fn sleek_lose(&mut self, flow: u32, seq: u32) {
        let c = &mut self.conns[flow as usize];
        if seq < c.sleek.highest {
            return;
        }
        let Some(record) = c.records.sent(seq) else {
            return;
        };
        let (sent, size) = (record.sent, i64::from(record.size));
        self.counters.sleek_packets += 1;
        let c = &mut self.conns[flow as usize];
        c.records.unlist(seq);
        c.in_flight -= size;
        c.sleek.highest = seq + 1;
        self.lose(flow, seq, sent);
    }

    fn schedule_probe(&mut self, flow: u32, at: u64) {
        let node = self.timer(at, flow);
        let sleek = &mut self.conns[flow as usize].sleek;
        sleek.probe_at = at;
        sleek.probe_node = node;
    }

    /// Sends a probe if it is due now.
    pub(super) fn sleek_event(&mut self, flow: u32) {
        let now = self.now();
        let c = &mut self.conns[flow as usize];
        if c.sleek.probe_at != now || now == 0 {
            return;
        }
        c.sleek.probe += 1;
        c.sleek.probe_sent = now;
        let seq = c.sleek.probe;
        let ev = self.next_ev(flow);
        let c = &self.conns[flow as usize];
        let packet = Packet {
            conn: flow,
            seq,
            size: HEADER,
            ev,
            bits: Packet::bits(PacketType::Data, bit::PROBE),
            ..Packet::default()
        };
        let (host, wait) = (c.src, 5 * c.nscc.base);
        let id = self.packets.add(packet);
        self.send_control(host, id);
        self.schedule_probe(flow, now + wait);
    }

    /// Handles an expired timer in loss recovery: only a packet that was retransmitted already is declared lost
    /// again.
    pub(super) fn sleek_timeout(&mut self, flow: u32, seq: u32) {
        let c = &mut self.conns[flow as usize];
        if c.records.sent(seq).is_some_and(|record| record.resent > 0) {
            c.sleek.highest = seq;
            return;
        }
        self.recalculate_timer(flow);
    }
}
