//! Random numbers: one stream per (seed, purpose, entity), never a shared generator.
//!
//! So changing the scheme or adding a recorder does not move the traffic, and two runs that differ
//! in one mechanism see the same arrivals (common random numbers).

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream is for: streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Choosing sources, destinations and sizes of flows.
    Workload = 1,
    /// Arrival times of flows.
    Arrival = 2,
    /// Marking packets.
    Mark = 3,
    /// Losing packets on links.
    LinkError = 4,
    /// Randomised rounding of HPCC-PINT's digests.
    Pint = 5,
    /// A flow's own congestion control.
    Congestion = 6,
    /// Shuffling events of the same instant.
    Ties = 7,
    /// Seeds of hash functions that spread flows over paths.
    Ecmp = 8,
}

/// One random stream.
#[derive(Clone, Debug)]
pub struct Rng(Source);

#[derive(Clone, Debug)]
enum Source {
    Stream(Xoshiro256PlusPlus),
}

impl Rng {
    /// The stream of `entity` for `purpose` in a run with `seed`.
    pub fn stream(seed: u64, purpose: Purpose, entity: u64) -> Self {
        let mixed = mix(mix(mix(seed) ^ purpose as u64) ^ entity);
        Self(Source::Stream(Xoshiro256PlusPlus::seed_from_u64(mixed)))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        match &mut self.0 {
            Source::Stream(generator) => generator.next_u64(),
        }
    }

    /// A real number in [0, 1).
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number below `n`, each equally likely.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is below zero");
        // Lemire's method, without bias.
        loop {
            let product = self.next_u64() as u128 * n as u128;
            if product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// A sample of the exponential distribution with mean 1.
    pub fn next_exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.next_f64())
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// Spreads the bits of `x` over 64 bits (the finaliser of SplitMix64).
pub const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_entity_and_repeat() {
        let first = |seed, purpose, entity| Rng::stream(seed, purpose, entity).next_u64();
        let base = first(1, Purpose::Mark, 0);
        assert_eq!(base, first(1, Purpose::Mark, 0));
        for other in [
            first(2, Purpose::Mark, 0),
            first(1, Purpose::Pint, 0),
            first(1, Purpose::Mark, 1),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn uniform_and_exponential_have_their_means() {
        let mut rng = Rng::stream(7, Purpose::Workload, 0);
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| rng.next_f64()).sum::<f64>() / n as f64;
        let exponential: f64 = (0..n).map(|_| rng.next_exponential()).sum::<f64>() / n as f64;
        assert!((uniform - 0.5).abs() < 0.01, "{uniform}");
        assert!((exponential - 1.0).abs() < 0.02, "{exponential}");
    }
}
