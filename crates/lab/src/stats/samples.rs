//! Multisets of samples, with multiplicities instead of repeated values.

use super::distribution::interpolate;

/// Multiset of numbers, without NaN.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    values: Vec<f64>,
    /// Multiplicities; empty if all are 1.
    times: Vec<u32>,
}

impl Samples {
    /// Adds a number with its multiplicity.
    pub fn push(&mut self, value: f64, times: u32) {
        if times != 1 && self.times.is_empty() {
            self.times = vec![1; self.values.len()];
        }
        if times != 1 || !self.times.is_empty() {
            self.times.push(times);
        }
        self.values.push(value);
    }

    /// Sorts the samples in ascending order.
    pub fn ascending(self) -> Ascending {
        if self.times.is_empty() {
            return Ascending {
                values: sorted(self.values),
                up_to: Vec::new(),
            };
        }
        let keys = self.values.into_iter().map(key);
        let mut all: Vec<(i64, u32)> = keys.zip(self.times).collect();
        all.sort_unstable();
        let mut ascending = Ascending::default();
        let mut count = 0;
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            count += same.iter().map(|&(_, times)| u64::from(times)).sum::<u64>();
            ascending.values.push(value(same[0].0));
            ascending.up_to.push(count);
        }
        ascending
    }
}

impl Extend<(f64, u32)> for Samples {
    fn extend<I: IntoIterator<Item = (f64, u32)>>(&mut self, all: I) {
        all.into_iter().for_each(|(value, times)| self.push(value, times));
    }
}

impl FromIterator<(f64, u32)> for Samples {
    fn from_iter<I: IntoIterator<Item = (f64, u32)>>(all: I) -> Self {
        let mut samples = Self::default();
        samples.extend(all);
        samples
    }
}

impl From<Vec<f64>> for Samples {
    fn from(values: Vec<f64>) -> Self {
        Self {
            values,
            times: Vec::new(),
        }
    }
}

/// Sorted numbers with multiplicities.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ascending {
    values: Vec<f64>,
    /// Cumulative multiplicities; empty if all are 1.
    up_to: Vec<u64>,
}

impl Ascending {
    /// Returns the number of samples, counted with multiplicity.
    pub fn count(&self) -> u64 {
        self.up_to.last().copied().unwrap_or(self.values.len() as u64)
    }

    /// Returns the sample with this rank, from 0.
    fn at(&self, number: u64) -> f64 {
        match self.up_to.is_empty() {
            true => self.values[number as usize],
            false => self.values[self.up_to.partition_point(|&up_to| up_to <= number)],
        }
    }

    /// Returns the `p`-quantile, as [`super::percentile`] does.
    pub fn percentile(&self, p: f64) -> Option<f64> {
        let last = self.count().checked_sub(1)?;
        Some(interpolate(last, p, |number| self.at(number)))
    }

    /// Returns element int(n p), from 0, of n.
    pub(crate) fn element(&self, p: f64) -> Option<f64> {
        let number = (self.count() as f64 * p) as u64;
        (number < self.count()).then(|| self.at(number))
    }

    /// Returns the arithmetic mean; `None` without samples.
    pub fn mean(&self) -> Option<f64> {
        let mut before = 0;
        let each = self.ranks().map(|(value, up_to)| {
            let times = up_to - std::mem::replace(&mut before, up_to);
            value * times as f64
        });
        let sum: f64 = each.sum();
        (!self.values.is_empty()).then(|| sum / self.count() as f64)
    }

    /// Returns the largest sample.
    pub fn max(&self) -> Option<f64> {
        self.values.last().copied()
    }

    /// Lists the distinct samples, each with the number of samples up to it.
    pub fn ranks(&self) -> impl Iterator<Item = (f64, u64)> + Clone {
        let up_to = |i: usize| self.up_to.get(i).copied().unwrap_or(i as u64 + 1);
        (self.values.iter().enumerate()).map(move |(i, &value)| (value, up_to(i)))
    }
}

/// Sorts in the order of [`f64::total_cmp`], by integer keys, which takes half the time.
fn sorted(samples: Vec<f64>) -> Vec<f64> {
    let mut keys: Vec<i64> = samples.into_iter().map(key).collect();
    // Equal keys mean equal bits, so an unstable sort is deterministic.
    keys.sort_unstable();
    keys.into_iter().map(value).collect()
}

/// Returns an integer that sorts like the number.
fn key(sample: f64) -> i64 {
    turned(sample.to_bits() as i64)
}

fn value(key: i64) -> f64 {
    f64::from_bits(turned(key) as u64)
}

/// Inverts all bits but the sign of a negative number; applied twice, it restores the original.
fn turned(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::percentile;

    proptest! {
        #[test]
        fn samples_are_sorted_as_floats(bits in prop::collection::vec(any::<u64>(), 0..50)) {
            let samples: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
            let mut expected = samples.clone();
            expected.sort_unstable_by(f64::total_cmp);
            let bits = |samples: &[f64]| samples.iter().map(|sample| sample.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&sorted(samples)), bits(&expected));
        }

        /// Numbers with multiplicities have the same statistics as repeated numbers.
        #[test]
        fn counted_samples_are_those_written_out(
            all in prop::collection::vec((-5i32..5, 1u32..4), 0..40),
            p in 0.0f64..=1.0,
        ) {
            let all: Vec<(f64, u32)> = all.into_iter().map(|(v, times)| (f64::from(v), times)).collect();
            let out = all.iter().flat_map(|&(value, times)| std::iter::repeat_n(value, times as usize));
            let (out, counted) = (sorted(out.collect()), all.iter().copied().collect::<Samples>().ascending());
            prop_assert_eq!(counted.count(), out.len() as u64);
            prop_assert_eq!(counted.percentile(p), percentile(&out, p));
            prop_assert_eq!(counted.element(p), out.get((out.len() as f64 * p) as usize).copied());
            prop_assert_eq!(counted.max(), out.last().copied());
            prop_assert_eq!(counted.mean(), crate::stats::mean(&out));
        }
    }
}
