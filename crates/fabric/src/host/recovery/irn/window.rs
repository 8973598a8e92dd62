//! A sender's state of its packets under selective repeat.

use paceline_run::spec::Irn;

use crate::host::recovery::bits::Bits;
use crate::host::recovery::lost::Lost;

#[cfg(test)]
mod tests;

/// A sender's state of its packets, by their numbers.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Sender {
    /// First packet without cumulative acknowledgement, next new packet, and number of packets in all.
    pub(super) una: u32,
    pub(super) next: u32,
    pub(super) total: u32,
    /// Upper limit of packets in flight.
    pub(super) cap: u32,
    /// Number after the highest packet that was acknowledged in any way.
    pub(super) high: u32,
    /// Number before which gaps have been judged to be losses.
    pub(super) judged: u32,
    pub(super) recovering: bool,
    /// Number before which all packets have to be acknowledged for recovery to end.
    pub(super) until: u32,
    /// Time of the last retransmission; `u64::MAX` if there was none in this recovery.
    pub(super) resent_at: u64,
    /// True if any bit below is set, or recovery lasts.
    pub(super) dirty: bool,
    /// Bits of packets with selective acknowledgement.
    pub(super) sacked: Bits,
    /// Packets to be retransmitted.
    pub(super) lost: Lost,
    /// Bits of packets retransmitted since the last timeout.
    pub(super) resent: Bits,
}

/// Packet that a NACK is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrived {
    Whole(u32),
    Trimmed(u32),
}

impl Sender {
    /// Starts a flow of `total` packets, of which `cap` may be in flight. Keeps the memory of the last flow.
    pub(super) fn begin(&mut self, total: u32, cap: u32) {
        let (mut sacked, mut lost, mut resent) = (
            std::mem::take(&mut self.sacked),
            std::mem::take(&mut self.lost),
            std::mem::take(&mut self.resent),
        );
        sacked.reset();
        lost.reset();
        resent.reset();
        *self = Self {
            total,
            cap,
            sacked,
            lost,
            resent,
            ..Self::default()
        };
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.next - self.una
    }

    /// Takes an acknowledgement of all packets before `una`, and perhaps of one beyond. Its data packet was sent at
    /// `sent_at`; `None` if that says nothing about packets sent before. Returns true if it reveals a new loss.
    pub(super) fn acknowledge(
        &mut self,
        una: u32,
        beyond: Option<Arrived>,
        sent_at: Option<u64>,
        reordering: u32,
    ) -> bool {
        let advanced = una > self.una;
        // Without losses there is nothing but a cumulative number to keep.
        if !self.dirty && beyond.is_none() {
            self.una = self.una.max(una);
            return false;
        }
        self.dirty = true;
        self.make_room();
        if advanced {
            self.advance(una);
        }
        let mut loss = false;
        match beyond {
            Some(Arrived::Whole(packet)) if packet >= self.una => {
                self.sacked.set(packet);
                self.lost.clear(packet);
                self.high = self.high.max(packet + 1);
            }
            Some(Arrived::Trimmed(packet)) if packet >= self.una && !self.sacked.get(packet) => {
                // A trimmed retransmission is known to be lost, so it may be retransmitted again without a timeout.
                self.resent.clear(packet);
                loss |= self.lose(packet);
            }
            _ => {}
        }
        if self.una >= self.until {
            self.recovering = false;
        }
        // A packet that was sent before the retransmission that has arrived, and is still missing, is lost.
        let after_resent = self.recovering && advanced && sent_at >= Some(self.resent_at);
        if after_resent && !self.resent.get(self.una) && !self.sacked.get(self.una) {
            loss |= self.lose(self.una);
        }
        loss |= self.judge(reordering);
        self.dirty = self.recovering || self.sacked.count() > 0 || self.lost.count() > 0;
        loss
    }

    pub(super) fn make_room(&mut self) {
        let packets = self.in_flight().max(1);
        for bits in [&mut self.sacked, &mut *self.lost, &mut self.resent] {
            bits.reserve(self.una, packets);
        }
    }

    pub(super) fn advance(&mut self, una: u32) {
        for bits in [&mut self.sacked, &mut *self.lost, &mut self.resent] {
            bits.clear_range(self.una, una);
        }
        self.una = una;
        self.high = self.high.max(una);
        self.judged = self.judged.max(una);
    }

    /// Declares gaps below the packets that arrived lost, each gap once.
    pub(super) fn judge(&mut self, reordering: u32) -> bool {
        let until = self.high.saturating_sub(reordering.saturating_add(1));
        let (mut packet, mut loss) = (self.judged.max(self.una), false);
        while packet < until {
            packet = self.sacked.first_clear(packet, until);
            // Acknowledgements of packets sent before the retransmission still show the gap; only the timeout may
            // repeat it.
            if packet < until && !self.resent.get(packet) {
                loss |= self.lose(packet);
            }
            packet += 1;
        }
        self.judged = self.judged.max(until);
        loss
    }

    /// Marks a packet for retransmission. Returns true if it was not marked before.
    pub(super) fn lose(&mut self, packet: u32) -> bool {
        if !self.recovering {
            self.recovering = true;
            // Acknowledgements of what is in flight now will still show this loss, so they do not start a new recovery.
            self.until = self.next;
            self.resent_at = u64::MAX;
        }
        self.lost.add(packet)
    }

    /// Takes the first lost packet, which is retransmitted now.
    pub(super) fn resend(&mut self, now: u64) -> Option<u32> {
        let packet = self.lost.take(self.una, self.next)?;
        self.resent.set(packet);
        // Recovery now lasts until everything sent before this retransmission is acknowledged.
        self.until = self.next;
        self.resent_at = now;
        Some(packet)
    }

    /// Starts again with the first unacknowledged packet and every gap, after a timeout.
    pub(super) fn time_out(&mut self, reordering: u32) {
        self.dirty = true;
        self.make_room();
        // Retransmissions may be lost too: each packet may be sent once more.
        self.resent.reset();
        self.judged = self.una;
        self.recovering = false;
        self.lose(self.una);
        self.judge(reordering);
    }

    /// Returns the current timeout, in ps.
    pub(super) fn timeout(&self, irn: &Irn) -> u64 {
        // With few packets in flight, no later ones may come to reveal a loss, and a premature timeout repeats little
        // (3.1).
        if self.in_flight() < irn.low_packets {
            irn.rto_low.as_ps()
        } else {
            irn.rto_high.as_ps()
        }
    }

    /// Returns the end of the new data that may be sent, of `size` bytes.
    pub(super) fn limit(&self, size: u64, mtu: u64) -> u64 {
        size.min((u64::from(self.una) + u64::from(self.cap)) * mtu)
    }

    /// Returns the bytes that are acknowledged only selectively.
    pub(super) fn sacked_bytes(&self, mtu: u64, size: u64) -> u64 {
        self.sacked.bytes(self.total, self.high, mtu, size)
    }
}
