//! Digest of all events of a run, independent of their order within an instant.

use paceline_kernel::rng::mix;
use serde::{Deserialize, Serialize};

/// Digest of events: the time, kind and owner of each. It is made of sums, so it does not depend on the order of events
/// of the same instant at different nodes. The sums are the moments of the events' times, weighted by a hash of kind
/// and owner, so the digest of the same events at a later time follows from this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest([u64; 3]);

impl Digest {
    #[inline(always)]
    pub(super) fn note(&mut self, at: u64, what: u64) {
        let weight = weight(what);
        let moment = weight.wrapping_mul(at);
        self.0[0] = self.0[0].wrapping_add(weight);
        self.0[1] = self.0[1].wrapping_add(moment);
        self.0[2] = self.0[2].wrapping_add(moment.wrapping_mul(at));
    }

    pub(super) fn forget(&mut self, at: u64, what: u64) {
        let mut one = Self::default();
        one.note(at, what);
        *self = self.without(&one);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum = sum.wrapping_add(part);
        }
    }

    /// Returns the digest without the events of `first`.
    pub(crate) fn without(&self, first: &Self) -> Self {
        // Sums can be subtracted, so that the digest of the first events can be taken out again.
        let [a, b, c] = first.0.map(u64::wrapping_neg);
        let mut rest = *self;
        rest.add(&Self([a, b, c]));
        rest
    }

    /// Returns the digest of the same events, `by` ps later; `wrapping_neg` for earlier.
    pub(crate) fn shifted(&self, by: u64) -> Self {
        let [weight, moment, square] = self.0;
        let twice = by.wrapping_mul(2).wrapping_mul(moment);
        let square = square
            .wrapping_add(twice)
            .wrapping_add(weight.wrapping_mul(by.wrapping_mul(by)));
        Self([weight, moment.wrapping_add(weight.wrapping_mul(by)), square])
    }

    /// Returns the digest as one number.
    pub(super) fn finish(&self) -> u64 {
        self.0.into_iter().fold(0, |all, sum| mix(all ^ sum))
    }
}

/// Hashes an event's kind and owner.
#[inline(always)]
const fn weight(what: u64) -> u64 {
    let mixed = ((what >> 32) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events shifted one by one have the digest that is shifted at once.
    #[test]
    fn a_digest_shifts() {
        let events = (0..1000u64).map(|n| (n * n % 7919 * 1000, mix(n)));
        let (mut now, mut later) = (Digest::default(), Digest::default());
        for (at, what) in events.clone() {
            now.note(at, what);
            later.note(at + 123_456_789, what);
        }
        assert_eq!(now.shifted(123_456_789), later);
        assert_eq!(later.shifted(123_456_789u64.wrapping_neg()), now);
        let mut first = Digest::default();
        events
            .clone()
            .take(10)
            .for_each(|(at, what)| first.note(at, what));
        let mut rest = now.without(&first);
        events.skip(10).for_each(|(at, what)| rest.forget(at, what));
        assert_eq!(rest, Digest::default());
        assert_ne!(now.finish(), later.finish());
    }
}
