//! Drawing a dataset from traces.

use super::{Dataset, Pair, STRATA, Trace};
use crate::Error;
use crate::rng::Stream;

impl Dataset {
    /// Draws `count` pairs of all that `traces` have, about equally many of each stratum: where one has
    /// too few, all of it and more of the others. In random order.
    ///
    /// # Errors
    /// There are fewer pairs than that.
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
            rng.shuffle(&mut stratum);
            pairs.extend_from_slice(&stratum[..share]);
        }
        rng.shuffle(&mut pairs);
        Ok(Self::of(traces, pairs, seed))
    }

    /// Every pair that `traces` have, as often as it occurred, in order of source, flow and time.
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

/// How many of each stratum, as equal as what is there allows.
pub(super) fn shares(count: usize, there: &[usize; STRATA]) -> [usize; STRATA] {
    let mut order: [usize; STRATA] = std::array::from_fn(|i| i);
    order.sort_by_key(|&i| there[i]);
    let (mut shares, mut left) = ([0; STRATA], count);
    for (place, &i) in order.iter().enumerate() {
        shares[i] = there[i].min(left / (STRATA - place));
        left -= shares[i];
    }
    shares
}
