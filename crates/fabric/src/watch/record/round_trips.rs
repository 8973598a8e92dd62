//! Distributions of round-trip times, which every acknowledgement adds to.

use hdrhistogram::Histogram;

use crate::outcome::RttStats;

/// Times below this, in ns, are counted one by one: the histogram tells them apart as well, but takes longer.
const SHORT: usize = 1 << 15;

/// Round-trip times so far.
#[derive(Clone, Debug)]
pub(crate) struct RoundTrips {
    /// How many had each whole number of nanoseconds.
    short: Box<[u64]>,
    long: Histogram<u64>,
    sum_ps: u128,
    max_ps: u64,
    samples: u64,
}

impl RoundTrips {
    pub(super) fn new() -> Self {
        let mut long = Histogram::new(4).expect("four digits are within what the histogram can");
        long.auto(true);
        Self {
            short: vec![0; SHORT].into(),
            long,
            sum_ps: 0,
            max_ps: 0,
            samples: 0,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, ps: u64) {
        self.samples += 1;
        self.sum_ps += u128::from(ps);
        self.max_ps = self.max_ps.max(ps);
        // To the nearest nanosecond.
        let ns = (ps + 500) / 1000;
        match self.short.get_mut(ns as usize) {
            Some(count) => *count += 1,
            None => self.record_long(ns),
        }
    }

    #[inline(never)]
    fn record_long(&mut self, ns: u64) {
        self.long.record(ns).expect("the histogram resizes itself");
    }

    /// Adds those of another part of the network.
    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.short.iter_mut().zip(&other.short) {
            *mine += theirs;
        }
        let added = self.long.add(&other.long);
        added.expect("the histogram resizes itself");
        self.sum_ps += other.sum_ps;
        self.max_ps = self.max_ps.max(other.max_ps);
        self.samples += other.samples;
    }

    /// All of them.
    pub(crate) fn finish(mut self) -> RttStats {
        for (ns, &count) in (0..).zip(&self.short) {
            if count > 0 {
                let added = self.long.record_n(ns, count);
                added.expect("the histogram resizes itself");
            }
        }
        RttStats {
            histogram_ns: self.long,
            sum_ps: self.sum_ps,
            max_ps: self.max_ps,
            samples: self.samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short and long ones are where a histogram of all has them.
    #[test]
    fn the_distribution_is_the_histograms() {
        let mut all = Histogram::<u64>::new(4).unwrap();
        all.auto(true);
        let mut found = RoundTrips::new();
        for i in 0..50_000u64 {
            let ps = i * i * 37 + 499;
            all.record((ps + 500) / 1000).unwrap();
            found.record(ps);
        }
        let found = found.finish();
        assert_eq!(found.histogram_ns, all);
        assert_eq!(
            (found.samples, found.max_ps),
            (50_000, 49_999 * 49_999 * 37 + 499)
        );
    }

    /// Those of two parts together are those of the whole.
    #[test]
    fn distributions_merge() {
        let (mut whole, mut parts) = (RoundTrips::new(), [RoundTrips::new(), RoundTrips::new()]);
        for i in 0..20_000u64 {
            let ps = i * i * i % 90_000_000 + (i % 17) * 1_000_000_000;
            whole.record(ps);
            parts[(i % 3 / 2) as usize].record(ps);
        }
        let [mut merged, other] = parts;
        merged.merge(&other);
        let (whole, merged) = (whole.finish(), merged.finish());
        assert_eq!(whole.histogram_ns, merged.histogram_ns);
        assert_eq!(
            (whole.sum_ps, whole.max_ps, whole.samples),
            (merged.sum_ps, merged.max_ps, merged.samples)
        );
    }
}
