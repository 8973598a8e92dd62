//! Distributions of round-trip times, which every acknowledgement adds to.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use paceline_kernel::memory::copy_of_sparse;
use paceline_run::outcome::RttStats;

/// Times below this, in ns, are counted one by one.
const SHORT: usize = 1 << 15;
/// Number of bins for each power of two of longer times: four digits, the resolution of the histogram.
const ROW: usize = SHORT / 2;

/// Round-trip times so far, in the bins of the histogram that is made from them at the end. The histogram itself grows
/// by copying, and takes longer to find a bin.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "RoundTripCounts", into = "RoundTripCounts")]
pub(crate) struct RoundTrips {
    /// Number of samples of each whole number of nanoseconds.
    short: Box<[u64]>,
    /// Row of times from `SHORT << n` ns; only rows that were needed.
    long: Vec<Box<[u64]>>,
    /// Smallest of the long times, in ns.
    least_long: u64,
    sum_ps: u128,
    max_ps: u64,
    samples: u64,
}

/// Some round-trip times in compact form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RoundTripCounts {
    /// Row (0 for short times), bin and count of each bin that is not empty.
    bins: Vec<(u32, u32, u64)>,
    least_long: u64,
    sum_ps: u128,
    max_ps: u64,
    samples: u64,
}

/// Rounds to the nearest nanosecond.
fn whole_ns(ps: u64) -> u64 {
    (ps + 500) / 1000
}

/// Leaves the memory of bins without samples untouched: a run in parts has a copy for each.
impl Clone for RoundTrips {
    fn clone(&self) -> Self {
        let copy = |bins: &[u64]| copy_of_sparse(bins).into_boxed_slice();
        Self {
            short: copy(&self.short),
            long: self.long.iter().map(|row| copy(row)).collect(),
            ..*self
        }
    }
}

impl From<RoundTrips> for RoundTripCounts {
    fn from(mut times: RoundTrips) -> Self {
        times.take()
    }
}

impl From<RoundTripCounts> for RoundTrips {
    fn from(counts: RoundTripCounts) -> Self {
        let mut times = Self::new();
        times.add(&counts);
        times
    }
}

impl Default for RoundTrips {
    fn default() -> Self {
        Self::new()
    }
}

impl RoundTrips {
    pub(super) fn new() -> Self {
        Self {
            short: vec![0; SHORT].into(),
            long: Vec::new(),
            least_long: u64::MAX,
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
        let ns = whole_ns(ps);
        match self.short.get_mut(ns as usize) {
            Some(count) => *count += 1,
            None => self.record_long(ns),
        }
    }

    #[inline(never)]
    fn record_long(&mut self, ns: u64) {
        self.least_long = self.least_long.min(ns);
        *self.long_bin(ns) += 1;
    }

    fn long_bin(&mut self, ns: u64) -> &mut u64 {
        let row = (ns.ilog2() - SHORT.ilog2()) as usize;
        &mut self.row(row)[(ns >> (row + 1)) as usize - ROW]
    }

    fn row(&mut self, row: usize) -> &mut [u64] {
        while self.long.len() <= row {
            self.long.push(vec![0; ROW].into());
        }
        &mut self.long[row]
    }

    /// Adds the times of another part of the network.
    pub(crate) fn merge(&mut self, other: &Self) {
        let add = |mine: &mut [u64], theirs: &[u64]| {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs;
            }
        };
        add(&mut self.short, &other.short);
        for (row, theirs) in other.long.iter().enumerate() {
            add(self.row(row), theirs);
        }
        self.least_long = self.least_long.min(other.least_long);
        self.sum_ps += other.sum_ps;
        self.max_ps = self.max_ps.max(other.max_ps);
        self.samples += other.samples;
    }

    /// Removes and returns all times.
    pub(crate) fn take(&mut self) -> RoundTripCounts {
        if self.samples == 0 {
            return RoundTripCounts::default();
        }
        let mut bins = Vec::new();
        // Bins beyond the largest sample are empty.
        let longest = (whole_ns(self.max_ps) as usize).min(SHORT - 1);
        let short = &mut self.short[..=longest];
        for (row, counts) in
            (0..).zip(std::iter::once(short).chain(self.long.iter_mut().map(|row| &mut row[..])))
        {
            for (bin, count) in (0..).zip(counts).filter(|(_, count)| **count > 0) {
                bins.push((row, bin, std::mem::take(count)));
            }
        }
        RoundTripCounts {
            bins,
            least_long: std::mem::replace(&mut self.least_long, u64::MAX),
            sum_ps: std::mem::take(&mut self.sum_ps),
            max_ps: std::mem::take(&mut self.max_ps),
            samples: std::mem::take(&mut self.samples),
        }
    }

    /// Adds times in compact form.
    pub(crate) fn add(&mut self, counts: &RoundTripCounts) {
        if counts.samples == 0 {
            return;
        }
        for &(row, bin, count) in &counts.bins {
            let counts = match row {
                0 => &mut self.short[..],
                row => self.row(row as usize - 1),
            };
            counts[bin as usize] += count;
        }
        self.least_long = self.least_long.min(counts.least_long);
        self.sum_ps += counts.sum_ps;
        self.max_ps = self.max_ps.max(counts.max_ps);
        self.samples += counts.samples;
    }

    /// Returns the distribution of all times.
    pub(crate) fn finish(mut self) -> RttStats {
        // Without room for the largest value from the start, it would grow in many steps and copy itself in each.
        let largest = whole_ns(self.max_ps).max(2);
        let mut histogram_ns =
            Histogram::new_with_max(largest, 4).expect("four digits are within what the histogram can");
        histogram_ns.auto(true);
        let mut add = |ns: u64, count: u64| {
            if count > 0 {
                let added = histogram_ns.record_n(ns, count);
                added.expect("the histogram resizes itself");
            }
        };
        // The histogram gets the extremes to the nanosecond.
        let max = whole_ns(self.max_ps);
        if max >= SHORT as u64 {
            *self.long_bin(max) -= 1;
            add(max, 1);
        }
        for (ns, &count) in (0..).zip(&self.short) {
            add(ns, count);
        }
        for (row, counts) in self.long.iter().enumerate() {
            for (bin, &count) in (ROW as u64..).zip(counts) {
                add((bin << (row + 1)).max(self.least_long), count);
            }
        }
        RttStats {
            histogram_ns,
            sum_ps: self.sum_ps,
            max_ps: self.max_ps,
            samples: self.samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short and long times are in the bins that a histogram of all would have.
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

    /// The smallest and the largest of a few are exact to the nanosecond.
    #[test]
    fn the_extremes_are_the_histograms() {
        for times in [
            &[40_001][..],
            &[40_001, 40_001],
            &[65_537, 65_538],
            &[65_539, 1_000_001],
            &[3, 70_001],
        ] {
            let mut all = Histogram::<u64>::new(4).unwrap();
            all.auto(true);
            let mut found = RoundTrips::new();
            for &ns in times {
                all.record(ns).unwrap();
                found.record(ns * 1000);
            }
            assert_eq!(found.finish().histogram_ns, all, "{times:?}");
        }
    }

    /// The merged times of two parts are those of the whole.
    #[test]
    fn distributions_merge() {
        let (mut whole, mut parts) = (RoundTrips::new(), [RoundTrips::new(), RoundTrips::new()]);
        for i in 0..20_000u64 {
            let ps = i * i * i % 90_000_000 + (i % 17) * 1_000_000_000;
            whole.record(ps);
            parts[(i % 3 / 2) as usize].record(ps);
        }
        let [mut merged, mut other] = parts;
        let copy = other.clone();
        let taken = other.take();
        assert_eq!(other.take(), RoundTripCounts::default());
        other.add(&taken);
        assert_eq!(other.finish().histogram_ns, copy.clone().finish().histogram_ns);
        merged.merge(&copy);
        let (whole, merged) = (whole.finish(), merged.finish());
        assert_eq!(whole.histogram_ns, merged.histogram_ns);
        assert_eq!(
            (whole.sum_ps, whole.max_ps, whole.samples),
            (merged.sum_ps, merged.max_ps, merged.samples)
        );
    }
}
