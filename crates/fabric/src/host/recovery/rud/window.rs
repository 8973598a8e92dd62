//! A sender's state of its packets under reliable unordered delivery.

use std::collections::VecDeque;

use crate::host::qp::Qp;
use crate::host::recovery::bits::Bits;
use crate::host::recovery::lost::Lost;

/// A sender's state of its packets, by their numbers.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Sender {
    /// First packet without cumulative acknowledgement, next new packet, and number of packets in all.
    pub(super) una: u32,
    pub(super) next: u32,
    pub(super) total: u32,
    /// Bits of packets with selective acknowledgement.
    pub(super) sacked: Bits,
    /// Packets to be retransmitted.
    pub(super) lost: Lost,
    /// Time and entropy value of each packet's last transmission: a ring whose length is a power of two.
    pub(super) sent: Vec<(u64, u16)>,
    /// Transmissions in order of time: time and packet. Entries whose packet was acknowledged, lost or retransmitted
    /// since are removed when they come to the front.
    pub(super) waiting: VecDeque<(u64, u32)>,
}

impl Sender {
    pub(super) fn make_room(&mut self) {
        let packets = (self.next - self.una).max(1);
        self.sacked.reserve(self.una, packets);
        self.lost.reserve(self.una, packets);
        let length = self.sent.len();
        if packets as usize > length {
            let grown = (packets as usize).next_power_of_two().max(16);
            let mut sent = vec![(0, 0); grown];
            // An entry's position depends on the length of the ring.
            if length > 0 {
                for packet in self.una..self.una + length as u32 {
                    sent[packet as usize & (grown - 1)] = self.sent[packet as usize & (length - 1)];
                }
            }
            self.sent = sent;
        }
    }

    pub(super) fn index(&self, packet: u32) -> usize {
        packet as usize & (self.sent.len() - 1)
    }

    pub(super) fn advance(&mut self, una: u32) {
        if una > self.una {
            self.sacked.clear_range(self.una, una);
            self.lost.clear_range(self.una, una);
            self.una = una;
        }
    }

    /// Notes that a packet has arrived.
    pub(super) fn take(&mut self, packet: u32) {
        if (self.una..self.next).contains(&packet) {
            self.sacked.set(packet);
            self.lost.clear(packet);
        }
    }

    /// Marks a packet for retransmission. Returns true if it was not marked before.
    pub(super) fn lose(&mut self, packet: u32) -> bool {
        if !(self.una..self.next).contains(&packet) || self.sacked.get(packet) {
            return false;
        }
        self.lost.add(packet)
    }

    /// Records that `packet` leaves at `now`.
    pub(super) fn note_sent(&mut self, packet: u32, now: u64) {
        let index = self.index(packet);
        self.sent[index].0 = now;
        self.waiting.push_back((now, packet));
    }

    /// Returns the packet in flight that was sent longest ago, and the time of its transmission.
    pub(super) fn oldest(&mut self) -> Option<(u64, u32)> {
        while let Some(&(at, packet)) = self.waiting.front() {
            let in_flight = (self.una..self.next).contains(&packet)
                && !self.sacked.get(packet)
                && !self.lost.get(packet)
                // A packet that was retransmitted has a later entry, and its time runs from there.
                && self.sent[self.index(packet)].0 == at;
            if in_flight {
                return Some((at, packet));
            }
            self.waiting.pop_front();
        }
        None
    }

    /// Returns the bytes of the packets that are acknowledged selectively, and of those that are lost.
    pub(super) fn bytes(&self, mtu: u64, size: u64) -> (u64, u64) {
        let bytes = |bits: &Bits| bits.bytes(self.total, self.next, mtu, size);
        (bytes(&self.sacked), bytes(&self.lost))
    }

    /// Updates the limits of the queue pair from this state.
    pub(super) fn settle(&self, qp: &mut Qp, mtu: u64) {
        let (sacked, lost) = self.bytes(mtu, qp.progress.size);
        (qp.progress.sacked, qp.progress.absent) = (sacked, sacked + lost);
        qp.limits.repairs = self.lost.count() > 0;
        qp.recompute_bound();
    }
}
