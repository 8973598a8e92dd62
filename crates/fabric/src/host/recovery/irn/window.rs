//! What a sender with selective repeat knows of its packets.

use paceline_run::spec::Irn;

use crate::host::recovery::bits::Bits;
use crate::host::recovery::lost::Lost;

#[cfg(test)]
mod tests;

/// What a sender knows of its packets, by their numbers.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Sender {
    /// The first that is not acknowledged cumulatively; the next new one; how many there are.
    pub(super) una: u32,
    pub(super) next: u32,
    pub(super) total: u32,
    /// How many may be in flight.
    pub(super) cap: u32,
    /// Behind the highest that was acknowledged in any way.
    pub(super) high: u32,
    /// Up to here gaps have been judged to be losses.
    pub(super) judged: u32,
    pub(super) recovering: bool,
    /// Recovery ends when all before this one are acknowledged.
    pub(super) until: u32,
    /// When the last retransmission was sent; none in this recovery: the end of time.
    pub(super) resent_at: u64,
    /// Whether any bit below is set, or recovery lasts.
    pub(super) dirty: bool,
    /// Acknowledged selectively.
    pub(super) sacked: Bits,
    /// To be sent again.
    pub(super) lost: Lost,
    /// Sent again since the last timeout.
    pub(super) resent: Bits,
}

/// What a NACK says of the packet that it answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrived {
    Whole(u32),
    Trimmed(u32),
}

impl Sender {
    /// A flow of `total` packets begins, of which `cap` may be in flight. Keeps its memory.
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

    /// An acknowledgement of all packets before `una`, and perhaps of one beyond, whose data packet was
    /// sent at `sent_at`, after which nothing arrived that was sent before. Says whether it tells of a loss that was not known.
    pub(super) fn acknowledge(
        &mut self,
        una: u32,
        beyond: Option<Arrived>,
        sent_at: Option<u64>,
        reordering: u32,
    ) -> bool {
        let advanced = una > self.una;
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
                self.resent.clear(packet);
                loss |= self.lose(packet);
            }
            _ => {}
        }
        if self.una >= self.until {
            self.recovering = false;
        }
        // What was sent before the retransmission that has arrived, and has not arrived, is lost.
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

    /// Takes gaps below what has arrived for losses, each once.
    pub(super) fn judge(&mut self, reordering: u32) -> bool {
        let until = self.high.saturating_sub(reordering.saturating_add(1));
        let (mut packet, mut loss) = (self.judged.max(self.una), false);
        while packet < until {
            packet = self.sacked.first_clear(packet, until);
            if packet < until && !self.resent.get(packet) {
                loss |= self.lose(packet);
            }
            packet += 1;
        }
        self.judged = self.judged.max(until);
        loss
    }

    /// The packet is to be sent again; says whether that is new.
    pub(super) fn lose(&mut self, packet: u32) -> bool {
        if !self.recovering {
            self.recovering = true;
            self.until = self.next;
            self.resent_at = u64::MAX;
        }
        self.lost.add(packet)
    }

    /// The first lost packet is sent again.
    pub(super) fn resend(&mut self, now: u64) -> Option<u32> {
        let packet = self.lost.take(self.una, self.next)?;
        self.resent.set(packet);
        self.until = self.next;
        self.resent_at = now;
        Some(packet)
    }

    /// Nothing came for too long: starts over with the first packet that is not acknowledged, and with
    /// every gap.
    pub(super) fn time_out(&mut self, reordering: u32) {
        self.dirty = true;
        self.make_room();
        self.resent.reset();
        self.judged = self.una;
        self.recovering = false;
        self.lose(self.una);
        self.judge(reordering);
    }

    /// How long the sender waits for progress now.
    pub(super) fn timeout(&self, irn: &Irn) -> u64 {
        if self.in_flight() < irn.low_packets {
            irn.rto_low.as_ps()
        } else {
            irn.rto_high.as_ps()
        }
    }

    /// Up to where new packets may be sent, of `size` bytes.
    pub(super) fn limit(&self, size: u64, mtu: u64) -> u64 {
        size.min((u64::from(self.una) + u64::from(self.cap)) * mtu)
    }

    /// Bytes acknowledged selectively only.
    pub(super) fn sacked_bytes(&self, mtu: u64, size: u64) -> u64 {
        self.sacked.bytes(self.total, self.high, mtu, size)
    }
}
