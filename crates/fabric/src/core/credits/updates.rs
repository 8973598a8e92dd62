//! State of the updates of Ethernet's credits, and the counters in their packets.

use crate::world::classes::STRICT;

/// Kind of [`crate::core::event::Event::Special`] for the arrival of a CF_Update.
pub(crate) const FREED: u8 = 24;
/// Tag of a CC_Update among flow-control packets.
pub(crate) const COUNTS: u8 = u8::MAX;

/// Arguments of [`super::TELL`]: a CF_Update is due, one may have to be repeated.
pub(super) const NEWS: u32 = 1;
pub(super) const REPEAT: u32 = 2;

/// Bits of a counter, and the counters in a word of a packet.
const BITS: u32 = 20;
const IN_WORD: usize = 3;

/// CF_Updates and CC_Updates of a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Updates {
    /// Lanes with news, a class bit each.
    pub(super) owed: u16,
    /// Class that the last CF_Update ended with: the next begins with the one after.
    pub(super) last: u8,
    /// Start of the last CF_Update, in ps.
    pub(super) sent_at: Option<u64>,
    /// True while a CF_Update is due, and while one may have to be repeated.
    pub(super) is_due: bool,
    pub(super) repeats: bool,
    /// CC_Updates that were sent and received.
    pub(super) counts: [u64; 2],
    /// CF_Updates that were sent and received, and credits restored, by lane.
    pub(super) of_lane: [[u64; 3]; 7],
}

impl Updates {
    /// Takes the next class with news.
    pub(super) fn take(&mut self) -> Option<u8> {
        let later = self.owed & (!1 << self.last);
        let among = if later != 0 { later } else { self.owed };
        (among != 0).then(|| {
            self.last = among.trailing_zeros() as u8;
            self.owed &= !(1 << self.last);
            self.last
        })
    }

    pub(super) fn of(&mut self, class: u8) -> &mut [u64; 3] {
        &mut self.of_lane[usize::from(class - STRICT - 1)]
    }
}

/// Packs up to seven counters of 20 bits into the words of a packet.
pub(super) fn pack(counts: impl Iterator<Item = u32>) -> (u64, u64, u32) {
    let mut words = (0, 0, 0);
    for (i, count) in counts.enumerate() {
        let shifted = u64::from(count) << (BITS * (i % IN_WORD) as u32);
        match i / IN_WORD {
            0 => words.0 |= shifted,
            1 => words.1 |= shifted,
            _ => words.2 = count,
        }
    }
    words
}

/// Returns the counters in the words of a packet.
pub(super) fn unpack((first, second, last): (u64, u64, u32)) -> impl Iterator<Item = u32> {
    let of = |word: u64, i: u32| (word >> (BITS * i)) as u32 & ((1 << BITS) - 1);
    let words = [first, second].into_iter();
    let packed = words.flat_map(move |word| (0..IN_WORD as u32).map(move |i| of(word, i)));
    packed.chain([last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_fit_into_a_packet() {
        let counts = [0xF_FFFF, 1, 0xA_BCDE, 0, 0x8_0000, 0xF_FFFE, 0x1_2345];
        let found: Vec<u32> = unpack(pack(counts.into_iter())).collect();
        assert_eq!(found, counts);
    }

    #[test]
    fn lanes_have_their_turns_in_updates() {
        let mut updates = Updates {
            owed: 0b1_1100,
            ..Updates::default()
        };
        assert_eq!([updates.take(), updates.take()], [Some(2), Some(3)]);
        updates.owed |= 1 << 2;
        assert_eq!(
            [updates.take(), updates.take(), updates.take()],
            [Some(4), Some(2), None]
        );
    }
}
