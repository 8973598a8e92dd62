//! What a sender keeps of each packet that is not acknowledged: a ring by sequence number.
//!
//! The simulator has four ordered maps for this. Here they are one ring: a packet either waits for its acknowledgement, or to
//! be sent again, or is done with. Since time only moves on, packets by the time they were sent are a list to which new ones
//! are appended.

/// No sequence number.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Acknowledged, or not sent yet.
    #[default]
    Done,
    /// Sent and not acknowledged.
    Sent,
    /// To be sent again.
    Again,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// When it was last sent, ps.
    pub(super) sent: u64,
    earlier: u32,
    later: u32,
    pub(super) size: u16,
    /// How often it was sent again.
    pub(super) resent: u16,
    pub(super) state: State,
    /// Whether it is in the list by time.
    listed: bool,
    /// A request to send: no data.
    pub(super) is_request: bool,
}

/// A flow's packets.
#[derive(Clone, Debug)]
pub(super) struct Records {
    ring: Vec<Record>,
    /// Everything before is acknowledged.
    base: u32,
    /// The next sequence number.
    next: u32,
    first: u32,
    last: u32,
    /// Packets to be sent again, none of which is before `again_from`.
    again: u32,
    again_from: u32,
    /// Data packets that are not acknowledged.
    pub(super) open: u32,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            ring: Vec::new(),
            base: 0,
            next: 0,
            first: NONE,
            last: NONE,
            again: 0,
            again_from: 0,
            open: 0,
        }
    }
}

impl Records {
    #[inline(always)]
    fn slot(&self, seq: u32) -> usize {
        seq as usize & (self.ring.len() - 1)
    }

    /// What is known of a packet, if it is sent or to be sent again.
    #[inline]
    pub(super) fn get(&self, seq: u32) -> Option<&Record> {
        if seq < self.base || seq >= self.next {
            return None;
        }
        let record = &self.ring[self.slot(seq)];
        (record.state != State::Done).then_some(record)
    }

    /// The same of a packet that waits for its acknowledgement.
    #[inline]
    pub(super) fn sent(&self, seq: u32) -> Option<&Record> {
        self.get(seq).filter(|record| record.state == State::Sent)
    }

    /// Whether nothing is to be sent again.
    #[inline(always)]
    pub(super) fn none_again(&self) -> bool {
        self.again == 0
    }

    /// The first packet that is to be sent again.
    #[inline]
    pub(super) fn first_again(&mut self) -> Option<(u32, u16)> {
        if self.again == 0 {
            return None;
        }
        let mut seq = self.again_from.max(self.base);
        while self.ring[self.slot(seq)].state != State::Again {
            seq += 1;
        }
        self.again_from = seq;
        Some((seq, self.ring[self.slot(seq)].size))
    }

    /// The packet that was sent first of those that are not acknowledged.
    #[inline]
    pub(super) fn earliest(&self) -> Option<(u64, u32)> {
        (self.first != NONE).then(|| (self.ring[self.slot(self.first)].sent, self.first))
    }

    /// A packet is sent, for the first time or again.
    pub(super) fn send(&mut self, seq: u32, size: u16, now: u64, is_request: bool) {
        if seq == self.next {
            if (self.next - self.base) as usize == self.ring.len() {
                self.grow();
            }
            self.next += 1;
            self.open += u32::from(!is_request);
            let slot = self.slot(seq);
            self.ring[slot] = Record {
                size,
                is_request,
                ..Record::default()
            };
        } else {
            let slot = self.slot(seq);
            let record = &mut self.ring[slot];
            record.resent = record.resent.saturating_add(1);
            record.size = size;
            self.again -= u32::from(record.state == State::Again);
        }
        let slot = self.slot(seq);
        let last = self.last;
        let record = &mut self.ring[slot];
        record.sent = now;
        record.state = State::Sent;
        record.listed = true;
        record.earlier = last;
        record.later = NONE;
        if last == NONE {
            self.first = seq;
        } else {
            let slot = self.slot(last);
            self.ring[slot].later = seq;
        }
        self.last = seq;
    }

    /// Takes a packet out of the list by time.
    pub(super) fn unlist(&mut self, seq: u32) {
        let slot = self.slot(seq);
        let record = &mut self.ring[slot];
        if !std::mem::take(&mut record.listed) {
            return;
        }
        let (earlier, later) = (record.earlier, record.later);
        if earlier == NONE {
            self.first = later;
        } else {
            let slot = self.slot(earlier);
            self.ring[slot].later = later;
        }
        if later == NONE {
            self.last = earlier;
        } else {
            let slot = self.slot(later);
            self.ring[slot].earlier = earlier;
        }
    }

    /// A packet that was sent is to be sent again.
    pub(super) fn queue_again(&mut self, seq: u32) {
        self.unlist(seq);
        let slot = self.slot(seq);
        self.ring[slot].state = State::Again;
        self.again_from = if self.again == 0 {
            seq
        } else {
            self.again_from.min(seq)
        };
        self.again += 1;
    }

    /// A packet is acknowledged.
    pub(super) fn acknowledge(&mut self, seq: u32) {
        self.unlist(seq);
        let slot = self.slot(seq);
        let record = &mut self.ring[slot];
        self.again -= u32::from(record.state == State::Again);
        self.open -= u32::from(!record.is_request);
        record.state = State::Done;
    }

    /// Everything before `cum` is acknowledged, and forgotten.
    pub(super) fn forget_before(&mut self, cum: u32) {
        self.base = self.base.max(cum);
    }

    /// The first sequence number that may be unacknowledged.
    #[inline(always)]
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    fn grow(&mut self) {
        let mut ring = vec![Record::default(); (self.ring.len() * 2).max(32)];
        let mask = ring.len() - 1;
        for seq in self.base..self.next {
            ring[seq as usize & mask] = self.ring[self.slot(seq)];
        }
        self.ring = ring;
    }
}

/// Sequence numbers that a receiver holds out of order: a ring of bits.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    words: Vec<u64>,
}

impl Held {
    #[inline]
    pub(super) fn has(&self, seq: u32) -> bool {
        let words = self.words.len();
        words > 0 && self.words[(seq as usize / 64) & (words - 1)] >> (seq % 64) & 1 == 1
    }

    /// Holds one, of which `expected` is the first that is missing.
    pub(super) fn insert(&mut self, seq: u32, expected: u32) {
        // With two words to spare nothing that lies behind or ahead has the same place.
        let need = ((seq - expected) / 64 + 4) as usize;
        if need > self.words.len() {
            self.grow(need.next_power_of_two(), expected);
        }
        let words = self.words.len();
        self.words[(seq as usize / 64) & (words - 1)] |= 1 << (seq % 64);
    }

    fn grow(&mut self, size: usize, expected: u32) {
        let mut words = vec![0; size];
        for seq in expected..expected + self.words.len() as u32 * 64 {
            if self.has(seq) {
                words[(seq as usize / 64) & (size - 1)] |= 1_u64 << (seq % 64);
            }
        }
        self.words = words;
    }

    /// Lets go of one, if it is held.
    #[inline]
    pub(super) fn remove(&mut self, seq: u32) -> bool {
        let held = self.has(seq);
        if held {
            let words = self.words.len();
            self.words[(seq as usize / 64) & (words - 1)] &= !(1 << (seq % 64));
        }
        held
    }

    /// Whether each of the 64 from here on is held, one bit each.
    #[inline]
    pub(super) fn bits(&self, first: u32) -> u64 {
        let words = self.words.len();
        if words == 0 {
            return 0;
        }
        let (word, shift) = (first as usize / 64, first % 64);
        let low = self.words[word & (words - 1)] >> shift;
        match shift {
            0 => low,
            _ => low | self.words[(word + 1) & (words - 1)] << (64 - shift),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_listed_by_the_time_they_were_sent() {
        let mut records = Records::default();
        for seq in 0..100 {
            records.send(seq, 100, u64::from(seq), false);
        }
        records.queue_again(0);
        records.queue_again(7);
        assert_eq!(records.earliest(), Some((1, 1)));
        assert_eq!(records.first_again(), Some((0, 100)));
        records.send(0, 100, 200, false);
        assert_eq!(records.first_again(), Some((7, 100)));
        assert_eq!(records.sent(0).unwrap().resent, 1);
        for seq in 1..100 {
            records.acknowledge(seq);
        }
        assert_eq!((records.earliest(), records.open), (Some((200, 0)), 1));
        assert!(records.none_again());
    }

    #[test]
    fn held_bits_are_where_they_belong() {
        let mut held = Held::default();
        for seq in [3, 64, 700] {
            held.insert(seq, 2);
        }
        assert_eq!(held.bits(3), 1 | 1 << 61);
        assert_eq!(held.bits(690), 1 << 10);
        assert!(held.remove(64) && !held.remove(64));
        assert_eq!((held.bits(1), held.bits(64)), (4, 0));
    }
}
