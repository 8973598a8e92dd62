//! Random selection of a dataset from traces.

use paceline_kernel::order::Sort as _;

use super::{Dataset, Pair, STRATA, Trace};
use crate::Error;
use crate::rng::Stream;

impl Dataset {
    /// Draws `count` pairs from `traces`, about equally many of each stratum, in random order. A stratum with
    /// too few is used entirely, and the others contribute more.
    ///
    /// # Errors
    /// There are fewer pairs.
    pub fn draw(traces: &[Trace], count: usize, seed: u64) -> Result<Self, Error> {
        let mut strata: [Vec<Pair>; STRATA] = Default::default();
        let mut found = 0;
        for (trace, source) in traces.iter().zip(0..) {
            for pair in trace.candidates(source) {
                strata[usize::from(pair.stratum)].push(pair);
                found += 1;
            }
        }
        if found < count {
            return Err(Error::TooFewPairs { wanted: count, found });
        }
        let shares = shares(count, &strata.each_ref().map(Vec::len));
        let mut rng = Stream::Draw.rng(seed);
        let mut pairs = Vec::with_capacity(count);
        for (mut stratum, share) in strata.into_iter().zip(shares) {
            // A random part of each stratum, not the first runs.
            rng.shuffle(&mut stratum);
            pairs.extend_from_slice(&stratum[..share]);
        }
        // Rounds are consecutive chunks, which must have the same mix of strata.
        rng.shuffle(&mut pairs);
        Ok(Self::of(traces, pairs, seed))
    }

    /// Returns every pair of `traces`, as often as it occurred, in order of source, flow and time.
    pub fn whole(traces: &[Trace]) -> Self {
        let sources = traces.iter().zip(0..);
        let pairs = sources.flat_map(|(trace, source)| trace.candidates(source));
        Self::of(traces, pairs.collect(), 0)
    }

    fn of(traces: &[Trace], pairs: Vec<Pair>, seed: u64) -> Self {
        Self {
            pairs,
            origins: traces.iter().map(|trace| trace.origin.clone()).collect(),
            scenarios: traces.iter().map(|trace| trace.scenario.clone()).collect(),
            seed,
        }
    }
}

/// Returns the number of pairs from each stratum, as equal as the available numbers allow.
pub(super) fn shares(count: usize, there: &[usize; STRATA]) -> [usize; STRATA] {
    let mut order: [usize; STRATA] = std::array::from_fn(|i| i);
    order.order_by_key(|&i| there[i]);
    let (mut shares, mut left) = ([0; STRATA], count);
    // From the smallest stratum on, the remainder is divided equally between those that are left.
    for (index, &i) in order.iter().enumerate() {
        shares[i] = there[i].min(left / (STRATA - index));
        left -= shares[i];
    }
    shares
}
