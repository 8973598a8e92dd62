//! Means, percentiles and fairness of samples.

use hdrhistogram::Histogram;
use paceline_fabric::outcome::RttStats;
use serde::{Deserialize, Serialize};

use super::samples::{Ascending, Samples};

/// Summary statistics of samples.
///
/// ```
/// let d = paceline_lab::stats::Distribution::of(vec![4.0, 1.0, 3.0, 2.0]);
/// assert_eq!((d.mean, d.p50, d.max), (Some(2.5), Some(2.5), Some(4.0)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean; `None` without samples.
    pub mean: Option<f64>,
    /// Median; `None` without samples.
    pub p50: Option<f64>,
    /// 95th percentile, linearly interpolated.
    pub p95: Option<f64>,
    /// 99th percentile, linearly interpolated.
    pub p99: Option<f64>,
    /// Largest of the samples.
    pub max: Option<f64>,
}

impl Distribution {
    /// Computes the statistics of `samples`; all are `None` if there are none.
    pub fn of(samples: impl Into<Samples>) -> Self {
        Self::of_ascending(&samples.into().ascending())
    }

    /// Computes the statistics of sorted samples.
    pub(crate) fn of_ascending(samples: &Ascending) -> Self {
        Self {
            mean: samples.mean(),
            p50: samples.percentile(0.50),
            p95: samples.percentile(0.95),
            p99: samples.percentile(0.99),
            max: samples.max(),
        }
    }
}

/// Returns the arithmetic mean; `None` without samples.
pub fn mean(samples: &[f64]) -> Option<f64> {
    (!samples.is_empty()).then(|| samples.iter().sum::<f64>() / samples.len() as f64)
}

/// Returns the `p`-quantile (0 to 1) of ascending samples, linearly interpolated between the two nearest as numpy's
/// `percentile` does; `None` without samples.
pub fn percentile(ascending: &[f64], p: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    Some(interpolate(last as u64, p, |number| ascending[number as usize]))
}

/// Interpolates the `p`-quantile of ascending numbers that `at` returns by index; `last` is the largest index.
pub(super) fn interpolate(last: u64, p: f64, at: impl Fn(u64) -> f64) -> f64 {
    let index = p.clamp(0.0, 1.0) * last as f64;
    let below = index.floor() as u64;
    let (a, b) = (at(below), at((below + 1).min(last)));
    let t = index - below as f64;
    // Interpolated from the nearer end, as in numpy: the result never passes the other end, so percentiles are
    // monotone.
    if t >= 0.5 {
        b - (b - a) * (1.0 - t)
    } else {
        a + (b - a) * t
    }
}

/// Computes Jain's fairness index, (Σx)² / (n Σx²): 1 if all shares are equal, 1/n if one has everything. Returns
/// `None` if there are no shares or all are zero. (Jain, Chiu, Hawe, DEC-TR-301, 1984.)
pub fn jain(shares: &[f64]) -> Option<f64> {
    let mut moments = Moments::default();
    shares.iter().for_each(|&share| moments.add(share, 1));
    moments.jain()
}

/// Sums over samples that arrive one by one and are not stored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    count: u64,
    sum: f64,
    squares: f64,
}

impl Moments {
    /// Adds a sample with its multiplicity.
    pub(crate) fn add(&mut self, sample: f64, times: u32) {
        self.count += u64::from(times);
        self.sum += sample * f64::from(times);
        self.squares += sample * sample * f64::from(times);
    }

    /// Computes [`jain`]'s index from the sums.
    pub(crate) fn jain(&self) -> Option<f64> {
        (self.squares > 0.0).then(|| self.sum * self.sum / (self.count as f64 * self.squares))
    }
}

/// Statistics of round-trip times, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RttSummary {
    /// Number of round-trip times.
    pub samples: u64,
    /// Arithmetic mean, computed from the exact sum.
    pub mean: Option<f64>,
    /// Median, interpolated in the histogram.
    pub p50: Option<f64>,
    /// 99th percentile, interpolated in the histogram.
    pub p99: Option<f64>,
    /// Largest round-trip time, exact.
    pub max: Option<f64>,
}

impl RttSummary {
    /// Computes the statistics of recorded round-trip times; percentiles are interpolated between samples at the
    /// histogram's resolution.
    pub fn of(rtt: &RttStats) -> Self {
        if rtt.samples == 0 {
            return Self::default();
        }
        let max = rtt.max_ps as f64 / 1e6;
        let quantile = |q| (quantile_ns(&rtt.histogram_ns, q) / 1e3).min(max);
        Self {
            samples: rtt.samples,
            mean: Some(rtt.sum_ps as f64 / rtt.samples as f64 / 1e6),
            p50: Some(quantile(0.50)),
            p99: Some(quantile(0.99)),
            max: Some(max),
        }
    }
}

/// Returns the `q`-quantile in ns, interpolated as in [`percentile`].
fn quantile_ns(histogram: &Histogram<u64>, q: f64) -> f64 {
    let index = q * histogram.len().saturating_sub(1) as f64;
    let below = index.floor() as u64;
    let mut seen = 0;
    let mut pair = [None; 2];
    for step in histogram.iter_recorded() {
        seen += step.count_since_last_iteration();
        let value = histogram.lowest_equivalent(step.value_iterated_to()) as f64;
        for (value_at, rank) in pair.iter_mut().zip([below, below + 1]) {
            if value_at.is_none() && seen > rank {
                *value_at = Some(value);
            }
        }
        if pair[1].is_some() {
            break;
        }
    }
    let low = pair[0].unwrap_or(0.0);
    let high = pair[1].unwrap_or(low);
    percentile(&[low, high], index - below as f64).unwrap_or(low)
}

/// Returns the `q`-quantile of samples counted in bins of 1000 bytes, as the upper edge of its bin.
pub fn quantile_of_kb_bins(bins: &[u64], q: f64) -> Option<u64> {
    let total: u64 = bins.iter().sum();
    if total == 0 {
        return None;
    }
    let wanted = (q * total as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    let bin = bins.iter().position(|&count| {
        seen += count;
        seen >= wanted
    });
    bin.map(|k| if k == 0 { 0 } else { (k as u64 + 1) * 1000 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_numpys() {
        // numpy.percentile([15, 20, 35, 40, 50], [0, 40, 50, 95, 99, 100])
        let v = [15.0, 20.0, 35.0, 40.0, 50.0];
        for (p, expected) in [
            (0.0, 15.0),
            (0.4, 29.0),
            (0.5, 35.0),
            (0.95, 48.0),
            (0.99, 49.6),
            (1.0, 50.0),
        ] {
            let got = percentile(&v, p).unwrap();
            assert!((got - expected).abs() < 1e-12, "p{p}: {got}");
        }
        assert_eq!(percentile(&[], 0.5), None);
        assert_eq!(percentile(&[7.0], 0.99), Some(7.0));
    }

    #[test]
    fn fairness() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0]), None);
    }

    #[test]
    fn bins_give_upper_edges() {
        assert_eq!(quantile_of_kb_bins(&[99, 0, 1], 0.99), Some(0));
        assert_eq!(quantile_of_kb_bins(&[98, 0, 2], 0.99), Some(3000));
        assert_eq!(quantile_of_kb_bins(&[0, 0], 0.99), None);
        assert_eq!(quantile_of_kb_bins(&[0, 5], 0.5), Some(2000));
    }

    #[test]
    fn round_trips() {
        let mut histogram_ns = Histogram::new(4).unwrap();
        for ns in [4_000u64, 4_000, 4_000, 9_000] {
            histogram_ns.record(ns).unwrap();
        }
        let rtt = RttSummary::of(&RttStats {
            histogram_ns,
            sum_ps: 21_000_400,
            max_ps: 9_000_400,
            samples: 4,
        });
        assert_eq!(rtt.mean, Some(5.2501));
        assert_eq!(rtt.p50, Some(4.0));
        // numpy.percentile([4000, 4000, 4000, 9000], 99)
        assert!((rtt.p99.unwrap() - 8.85).abs() < 1e-9);
        assert_eq!(rtt.max, Some(9.0004));
    }

    proptest::proptest! {
        #[test]
        fn percentiles_are_monotone_and_within(
            mut samples in proptest::collection::vec(-1e12f64..1e12, 1..200),
            p in 0.0f64..1.0,
            q in 0.0f64..1.0,
        ) {
            samples.sort_by(f64::total_cmp);
            let (low, high) = (p.min(q), p.max(q));
            let (a, b) = (percentile(&samples, low).unwrap(), percentile(&samples, high).unwrap());
            proptest::prop_assert!(a <= b, "{a} > {b}");
            proptest::prop_assert!(samples[0] <= a && b <= samples[samples.len() - 1]);
        }

        #[test]
        fn percentiles_of_histograms_are_those_of_samples(
            mut samples in proptest::collection::vec(1u64..16_384, 1..100),
            q in 0.0f64..1.0,
        ) {
            let mut histogram = Histogram::<u64>::new(4).unwrap();
            samples.iter().for_each(|&ns| histogram.record(ns).unwrap());
            samples.sort_unstable();
            let exact: Vec<f64> = samples.iter().map(|&ns| ns as f64).collect();
            let difference = quantile_ns(&histogram, q) - percentile(&exact, q).unwrap();
            proptest::prop_assert!(difference.abs() < 1e-6, "{difference}");
        }

        #[test]
        fn fairness_is_between_a_share_and_one(shares in proptest::collection::vec(0.0f64..1e12, 1..50)) {
            if let Some(index) = jain(&shares) {
                proptest::prop_assert!(index <= 1.0 + 1e-9 && index >= 1.0 / shares.len() as f64 - 1e-9);
            }
        }
    }
}
