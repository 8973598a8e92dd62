//! A sender's record of each unacknowledged packet, in a ring indexed by sequence number.
//!
//! The simulator has four ordered maps for this. Here one ring holds each packet's state: waiting for its
//! acknowledgement, waiting for retransmission, or done. Send times only grow, so the list of packets by send time is
//! append-only.

/// Sequence number that stands for none.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Acknowledged, or not sent yet.
    #[default]
    Done,
    /// Sent and not acknowledged yet.
    Sent,
    /// Lost and queued for retransmission.
    Again,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    /// Time of the last transmission, ps.
    pub(super) sent: u64,
    earlier: u32,
    later: u32,
    pub(super) size: u16,
    /// Number of retransmissions, at most 65535.
    pub(super) resent: u16,
    pub(super) state: State,
    /// True if the packet is in the list by send time.
    listed: bool,
    /// True for a request to send, which has no data.
    pub(super) is_request: bool,
}

/// All packets of a flow.
#[derive(Clone, Debug)]
pub(super) struct Records {
    ring: Vec<Record>,
    /// Sequence numbers before it are acknowledged.
    base: u32,
    /// First sequence number never sent.
    next: u32,
    first: u32,
    last: u32,
    /// Number of packets queued for retransmission; none of them is before `again_from`.
    again: u32,
    again_from: u32,
    /// Number of unacknowledged data packets.
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

    /// Returns the record of a packet that is in flight or queued for retransmission.
    #[inline]
    pub(super) fn get(&self, seq: u32) -> Option<&Record> {
        if seq < self.base || seq >= self.next {
            return None;
        }
        let record = &self.ring[self.slot(seq)];
        (record.state != State::Done).then_some(record)
    }

    /// Returns the record of a packet that waits for its acknowledgement.
    #[inline]
    pub(super) fn sent(&self, seq: u32) -> Option<&Record> {
        self.get(seq).filter(|record| record.state == State::Sent)
    }

    /// Returns true if no packet is queued for retransmission.
    #[inline(always)]
    pub(super) fn none_again(&self) -> bool {
        self.again == 0
    }

    /// Returns sequence number and size of the first packet queued for retransmission.
    #[inline]
    pub(super) fn first_again(&mut self) -> Option<(u32, u16)> {
        if self.again == 0 {
            return None;
        }
        // No packet before this number waits, so the search goes on from there.
        let mut seq = self.again_from.max(self.base);
        while self.ring[self.slot(seq)].state != State::Again {
            seq += 1;
        }
        self.again_from = seq;
        Some((seq, self.ring[self.slot(seq)].size))
    }

    /// Returns send time and sequence number of the listed packet that was sent first.
    #[inline]
    pub(super) fn earliest(&self) -> Option<(u64, u32)> {
        (self.first != NONE).then(|| (self.ring[self.slot(self.first)].sent, self.first))
    }

    /// Records a transmission or retransmission.
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
        // Send times only grow, so the packet belongs at the end of the list.
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

    /// Removes a packet from the list by send time.
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

    /// Queues a sent packet for retransmission.
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

    /// Marks a packet as acknowledged.
    pub(super) fn acknowledge(&mut self, seq: u32) {
        self.unlist(seq);
        let slot = self.slot(seq);
        let record = &mut self.ring[slot];
        self.again -= u32::from(record.state == State::Again);
        self.open -= u32::from(!record.is_request);
        record.state = State::Done;
    }

    /// Forgets all packets before `cum`, which are acknowledged.
    pub(super) fn forget_before(&mut self, cum: u32) {
        self.base = self.base.max(cum);
    }

    /// Returns the first sequence number that may be unacknowledged.
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

/// Size of the receiver's bitmap in the simulator. Sequence numbers this far apart share a bit.
const TOLD_APART: u32 = 1 << 14;

/// Sequence numbers that a receiver holds out of order: a ring of bits that starts at the expected number. It grows
/// to the widest gap seen.
#[derive(Clone, Debug, Default)]
pub(super) struct AckedBits {
    words: Vec<u64>,
}

impl AckedBits {
    /// Returns the first number from `expected` on that shares its bit with `seq`.
    #[inline(always)]
    fn bit_of(seq: u32, expected: u32) -> u32 {
        expected + (seq.wrapping_sub(expected) & (TOLD_APART - 1))
    }

    #[inline(always)]
    fn word(&self, seq: u32) -> usize {
        (seq / 64) as usize & (self.words.len() - 1)
    }

    /// Returns true if `seq` is held. `expected` is the first missing number.
    #[inline]
    pub(super) fn has(&self, seq: u32, expected: u32) -> bool {
        let seq = Self::bit_of(seq, expected);
        // Numbers beyond the ring are not held. The check is needed because they would alias bits of the ring.
        let inside = ((seq / 64 - expected / 64) as usize) < self.words.len();
        inside && self.words[self.word(seq)] >> (seq % 64) & 1 == 1
    }

    /// Marks `seq` as held.
    pub(super) fn insert(&mut self, seq: u32, expected: u32) {
        let seq = Self::bit_of(seq, expected);
        let need = (seq / 64 - expected / 64 + 1) as usize;
        if need > self.words.len() {
            self.grow(need.next_power_of_two(), expected);
        }
        let word = self.word(seq);
        self.words[word] |= 1 << (seq % 64);
    }

    #[cold]
    fn grow(&mut self, size: usize, expected: u32) {
        let first = expected / 64;
        let mut grown = Self { words: vec![0; size] };
        for word in first..first + self.words.len() as u32 {
            let (from, to) = (self.word(word * 64), grown.word(word * 64));
            grown.words[to] = self.words[from];
        }
        *self = grown;
    }

    /// Removes the expected number. Returns true if it was held.
    #[inline]
    pub(super) fn take(&mut self, expected: u32) -> bool {
        let held = self.has(expected, expected);
        if held {
            let word = self.word(expected);
            self.words[word] &= !(1 << (expected % 64));
        }
        held
    }

    /// Returns one bit for each of the 64 numbers from `first` on, set if held.
    #[inline]
    pub(super) fn bits(&self, first: u32, expected: u32) -> u64 {
        let from = Self::bit_of(first, expected);
        if from - expected > TOLD_APART - 64 {
            // Some numbers lie before the expected one, or alias such numbers.
            let has = |bit: &u32| self.has(first + bit, expected);
            return (0..64).filter(has).fold(0, |bits, bit| bits | 1 << bit);
        }
        let word = |word: u32| match ((word - expected / 64) as usize) < self.words.len() {
            true => self.words[self.word(word * 64)],
            false => 0,
        };
        let (low, shift) = (word(from / 64) >> (from % 64), from % 64);
        match shift {
            0 => low,
            _ => low | word(from / 64 + 1) << (64 - shift),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

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

    proptest! {
        /// Compares `Held` with a set of numbers modulo the simulator's bitmap, for gaps of any length and queries
        /// anywhere.
        #[test]
        fn held_is_a_set(
            start in 0u32..3000,
            steps in prop::collection::vec((0u32..10, 0u32..15, 0u32..1 << 14), 1..400),
        ) {
            let (mut held, mut set, mut expected) = (AckedBits::default(), BTreeSet::new(), start);
            let index = |seq: u32| seq % TOLD_APART;
            for (what, scale, draw) in steps {
                // Most gaps are short; some are as long as the whole bitmap, or longer.
                let ahead = expected + 1 + (draw & ((1 << scale) - 1)) + if scale == 14 { draw } else { 0 };
                let behind = expected.saturating_sub(draw & ((1 << scale) - 1));
                match what {
                    0..=4 => {
                        held.insert(ahead, expected);
                        set.insert(index(ahead));
                    }
                    // The expected packet arrives, and those held behind it follow.
                    5 => {
                        expected += 1;
                        while held.take(expected) {
                            prop_assert!(set.remove(&index(expected)));
                            expected += 1;
                        }
                        prop_assert!(!set.contains(&index(expected)));
                    }
                    _ => {}
                }
                for seq in [ahead, behind, expected] {
                    prop_assert_eq!(held.has(seq, expected), set.contains(&index(seq)), "{} of {}", seq, expected);
                    let bits = (0..64).filter(|bit| set.contains(&index(seq + bit)));
                    prop_assert_eq!(held.bits(seq, expected), bits.fold(0, |bits, bit| bits | 1 << bit));
                }
            }
        }

        /// Compares `Records` with plain maps for a sliding window of packets.
        #[test]
        fn records_are_maps(steps in prop::collection::vec((0u32..8, 0u32..600), 1..400)) {
            let (mut records, mut next, mut cum) = (Records::default(), 0u32, 0u32);
            let (mut sent, mut again) = (BTreeMap::<u32, u64>::new(), BTreeSet::new());
            for (now, (what, draw)) in (0u64..).zip(steps) {
                let known: Vec<u32> = sent.keys().chain(&again).copied().collect();
                let one = known.get(draw as usize % known.len().max(1)).copied();
                match (what, one) {
                    (0..=2, _) => {
                        for _ in 0..=draw % 40 {
                            records.send(next, 100, now, false);
                            sent.insert(next, now);
                            next += 1;
                        }
                    }
                    (3 | 4, Some(seq)) if sent.remove(&seq).is_some() => {
                        records.queue_again(seq);
                        again.insert(seq);
                    }
                    (5, _) => {
                        if let Some(seq) = again.pop_first() {
                            records.send(seq, 100, now, false);
                            sent.insert(seq, now);
                        }
                    }
                    (6, Some(seq)) => {
                        records.acknowledge(seq);
                        sent.remove(&seq);
                        again.remove(&seq);
                    }
                    _ => {
                        let until = (cum + draw % 80).min(next);
                        for seq in (cum..until).filter(|seq| known.contains(seq)) {
                            records.acknowledge(seq);
                            sent.remove(&seq);
                            again.remove(&seq);
                        }
                        records.forget_before(until);
                        cum = until;
                    }
                }
                prop_assert_eq!(records.first_again().map(|(seq, _)| seq), again.first().copied());
                prop_assert_eq!(records.open as usize, sent.len() + again.len());
                let earliest = sent.values().min();
                prop_assert_eq!(records.earliest().map(|(at, _)| at), earliest.copied());
                for seq in [draw, cum + draw, next.saturating_sub(draw), next + draw * 32, cum.saturating_sub(draw)] {
                    prop_assert_eq!(records.sent(seq).is_some(), sent.contains_key(&seq));
                    prop_assert_eq!(records.get(seq).is_some(), sent.contains_key(&seq) || again.contains(&seq));
                }
            }
        }
    }

    /// Regression test: a gap of 226 packets is longer than the ring of four words.
    #[test]
    fn what_lies_beyond_the_ring_is_not_held() {
        let mut held = AckedBits::default();
        for seq in 11..=40 {
            held.insert(seq, 10);
        }
        assert!((11..=40).all(|seq| held.has(seq, 10)));
        assert!((41..TOLD_APART).all(|seq| !held.has(seq, 10)));
        assert_eq!((held.bits(0, 10), held.bits(267, 10)), (0x1ff_ffff_f800, 0));
    }
}
