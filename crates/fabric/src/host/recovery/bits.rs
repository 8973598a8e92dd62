//! A bit for each packet of a window that slides over a flow: a ring of words, as large as the window has ever been.

/// Bits of packets; those outside the window are zero.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Bits {
    words: Vec<u64>,
    /// Number of bits that are set.
    count: u32,
}

impl Bits {
    /// Returns the bytes of the packets whose bits are set. All are before `next`, of a flow of `total` packets whose
    /// last may be short.
    pub(super) fn bytes(&self, total: u32, next: u32, mtu: u64, size: u64) -> u64 {
        if self.count() == 0 {
            return 0;
        }
        let has_last = next == total && self.get(total - 1);
        let missing = if has_last {
            u64::from(total) * mtu - size
        } else {
            0
        };
        u64::from(self.count()) * mtu - missing
    }

    /// Clears all bits, and keeps the memory.
    pub(super) fn reset(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    /// Makes room for a window of `packets` that begins at packet `from`.
    #[inline]
    pub(super) fn reserve(&mut self, from: u32, packets: u32) {
        if packets as usize > self.words.len() * 64 {
            self.grow(from, packets);
        }
    }

    #[cold]
    fn grow(&mut self, from: u32, packets: u32) {
        let old = self.words.len() as u32 * 64;
        let words = (packets as usize).div_ceil(64).next_power_of_two();
        let mut grown = Self {
            words: vec![0; words],
            count: 0,
        };
        // A packet's bit depends on the length of the ring, so bits are moved one by one.
        for packet in from..from.saturating_add(old) {
            if self.get(packet) {
                grown.set(packet);
            }
        }
        *self = grown;
    }

    #[inline]
    fn index(&self, packet: u32) -> (usize, u64) {
        (
            (packet / 64) as usize & (self.words.len() - 1),
            1 << (packet % 64),
        )
    }

    #[inline]
    pub(super) fn get(&self, packet: u32) -> bool {
        let (word, bit) = self.index(packet);
        self.words[word] & bit != 0
    }

    /// Returns the bit of a packet that may be outside of the ring, for a window that begins at packet `from`.
    pub(super) fn has(&self, from: u32, packet: u32) -> bool {
        packet >= from && ((packet - from) as usize) < self.words.len() * 64 && self.get(packet)
    }

    /// Sets a bit. Returns true if it was zero.
    #[inline]
    pub(super) fn set(&mut self, packet: u32) -> bool {
        let (word, bit) = self.index(packet);
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += u32::from(new);
        new
    }

    /// Clears a bit. Returns true if it was set.
    #[inline]
    pub(super) fn clear(&mut self, packet: u32) -> bool {
        let (word, bit) = self.index(packet);
        let old = self.words[word] & bit != 0;
        self.words[word] &= !bit;
        self.count -= u32::from(old);
        old
    }

    /// Makes room for a packet of a window that begins at `first`, and sets its bit.
    pub(super) fn add(&mut self, first: u32, packet: u32) {
        self.reserve(first, packet - first + 1);
        self.set(packet);
    }

    /// Moves the window past its first packet, which has arrived, and past all that have arrived directly behind it.
    /// Returns the first packet that has not.
    pub(super) fn pass(&mut self, first: u32) -> u32 {
        let next = first + 1;
        if self.count == 0 {
            return next;
        }
        // No more packets than bits are set can follow, which bounds the search.
        let behind = self.first_clear(next, next + self.count);
        self.clear_range(next, behind);
        behind
    }

    /// Clears the bits from `from` up to `until`.
    #[inline]
    pub(super) fn clear_range(&mut self, from: u32, until: u32) {
        // Usually no bit is set, and the window moves without a loop.
        if self.count == 0 {
            return;
        }
        for packet in from..until {
            self.clear(packet);
        }
    }

    /// Returns the first packet in `from..until` whose bit is set.
    #[inline]
    pub(super) fn first_set(&self, from: u32, until: u32) -> Option<u32> {
        self.first(from, until, 0)
    }

    /// Returns the first packet in `from..until` whose bit is zero, or `until`.
    #[inline]
    pub(super) fn first_clear(&self, from: u32, until: u32) -> u32 {
        self.first(from, until, u64::MAX).unwrap_or(until)
    }

    #[inline]
    fn first(&self, from: u32, until: u32, flip: u64) -> Option<u32> {
        let mut packet = from;
        while packet < until {
            let (word, _) = self.index(packet);
            let rest = (self.words[word] ^ flip) >> (packet % 64);
            if rest != 0 {
                let found = packet + rest.trailing_zeros();
                return (found < until).then_some(found);
            }
            packet = (packet / 64 + 1) * 64;
        }
        None
    }

    #[inline]
    pub(in crate::host) fn count(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares a window that slides and grows with a set of numbers.
        #[test]
        fn bits_are_a_set(steps in prop::collection::vec((0u32..8, 0u32..300, 0u32..90), 1..200)) {
            let (mut bits, mut set) = (Bits::default(), BTreeSet::new());
            let (mut from, mut until) = (0, 1);
            bits.reserve(0, 1);
            for (what, at, by) in steps {
                let packet = from + at % (until - from);
                match what {
                    0..=2 => prop_assert_eq!(bits.set(packet), set.insert(packet)),
                    3 => prop_assert_eq!(bits.clear(packet), set.remove(&packet)),
                    4..=5 => {
                        until += by;
                        bits.reserve(from, until - from);
                    }
                    _ => {
                        let start = (from + by).min(until - 1);
                        bits.clear_range(from, start);
                        set.retain(|&packet| packet >= start);
                        from = start;
                    }
                }
                prop_assert_eq!(bits.count() as usize, set.len());
                prop_assert_eq!(bits.get(packet), set.contains(&packet));
                prop_assert_eq!(bits.first_set(packet.max(from), until), set.range(packet.max(from)..until).next().copied());
                // Packets outside the window are not set, even if they share a bit of the ring.
                for far in [packet + at * 64, until + by, from.saturating_sub(at)] {
                    prop_assert_eq!(bits.has(from, far), set.contains(&far));
                }
                let clear = (packet.max(from)..until).find(|packet| !set.contains(packet));
                prop_assert_eq!(bits.first_clear(packet.max(from), until), clear.unwrap_or(until));
            }
        }
    }
}
