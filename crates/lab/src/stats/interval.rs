//! Confidence intervals of means over repeats.

use serde::{Deserialize, Serialize};

use super::bootstrap::bootstrap;
use super::distribution::mean;
use super::quantiles::student;

/// Confidence of the intervals that the program shows.
pub const CONFIDENCE: f64 = 0.95;

/// Number of values from which intervals are the bootstrap's; below it they are Student's.
pub const BOOTSTRAP_FROM: usize = 30;

/// Mean with a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "InFile", into = "InFile")]
pub struct Interval {
    /// Mean of the values (geometric for ratios).
    pub mean: f64,
    /// Both ends. `None` if all values are equal, since these do not show the uncertainty of their mean.
    ends: Option<(f64, f64)>,
    /// Number of values; 1 for runs that do not depend on the seed.
    pub n: usize,
}

/// Form in files: `lo` and `hi` are null if there are no ends.
#[derive(Serialize, Deserialize)]
struct InFile {
    mean: f64,
    lo: Option<f64>,
    hi: Option<f64>,
    n: usize,
}

impl From<InFile> for Interval {
    fn from(InFile { mean, lo, hi, n }: InFile) -> Self {
        match lo.zip(hi) {
            Some((lo, hi)) => Self::new(mean, lo, hi, n),
            None => Self::of_one(mean, n),
        }
    }
}

impl From<Interval> for InFile {
    fn from(Interval { mean, ends, n }: Interval) -> Self {
        let (lo, hi) = ends.unzip();
        Self { mean, lo, hi, n }
    }
}

impl Interval {
    /// Creates an interval with these ends, unless they are equal.
    pub fn new(mean: f64, lo: f64, hi: f64, n: usize) -> Self {
        let ends = Some((lo, hi)).filter(|(lo, hi)| lo != hi);
        Self { mean, ends, n }
    }

    /// Creates the interval of `n` equal values, which has no ends.
    pub fn of_one(mean: f64, n: usize) -> Self {
        Self { mean, ends: None, n }
    }

    /// Returns the lower and the upper end, unless all values are equal.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.ends
    }

    /// Returns the larger of the distances from the mean to both ends, unless all values are equal.
    pub fn half_width(&self) -> Option<f64> {
        let (lo, hi) = self.ends?;
        Some((hi - self.mean).max(self.mean - lo))
    }

    /// Returns true if `value` lies outside; never if there are no ends.
    pub fn excludes(&self, value: f64) -> bool {
        self.ends.is_some_and(|(lo, hi)| value < lo || hi < value)
    }

    /// Maps mean and ends from logarithms to the values themselves.
    pub(crate) fn exp(self) -> Self {
        Self {
            mean: libm::exp(self.mean),
            ends: self.ends.map(|(lo, hi)| (libm::exp(lo), libm::exp(hi))),
            n: self.n,
        }
    }
}

/// Computes the mean of independent values, one of each repeat, with its interval of `confidence` (0 to 1). Below
/// [`BOOTSTRAP_FROM`] values it uses Student's t, from there on the bootstrap: see the [module](super). Returns `None`
/// for fewer than two values, and if one is not finite.
///
/// ```
/// // Five seeds: mean 10, standard deviation sqrt(2.5), t = 2.776.
/// let of_five = paceline_lab::stats::interval(&[8.0, 9.0, 10.0, 11.0, 12.0], 0.95).unwrap();
/// assert_eq!((of_five.mean, of_five.n), (10.0, 5));
/// assert!((of_five.half_width().unwrap() - 1.963).abs() < 1e-3);
/// ```
pub fn interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let sensible = confidence > 0.0 && confidence < 1.0;
    if values.len() < 2 || !sensible || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let n = values.len();
    if values.iter().all(|value| value == &values[0]) {
        // Without the noise of the last digit.
        return Some(Interval::of_one(values[0], n));
    }
    let mean = mean(values)?;
    let (lo, hi) = if n < BOOTSTRAP_FROM {
        let half = student(n - 1, confidence) * standard_error(values, mean);
        (mean - half, mean + half)
    } else {
        bootstrap(n, confidence, |chosen| {
            let sum: f64 = chosen.iter().map(|&i| values[i as usize]).sum();
            Some(sum / chosen.len() as f64)
        })?
    };
    Some(Interval::new(mean, lo, hi, n))
}

/// Computes the standard error of the mean.
fn standard_error(values: &[f64], mean: f64) -> f64 {
    (variance(values, mean) / values.len() as f64).sqrt()
}

/// Computes the standard deviation of a sample; `None` for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    if values.iter().all(|value| value == &values[0]) {
        // Without the noise of the last digit.
        return Some(0.0);
    }
    Some(variance(values, mean).sqrt())
}

/// Computes the sample's variance, with n - 1.
fn variance(values: &[f64], mean: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    squares / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use paceline_kernel::rng::{Purpose, Rng};

    use super::*;

    /// Returns the share of `draws` samples of `n` from a distribution with mean `truth` whose interval contains it.
    fn coverage(draws: u64, n: usize, truth: f64, next: fn(&mut Rng) -> f64) -> f64 {
        let covers = |draw: &u64| {
            let mut rng = Rng::stream(1, Purpose::Workload, *draw);
            let values: Vec<f64> = (0..n).map(|_| next(&mut rng)).collect();
            !interval(&values, 0.95).unwrap().excludes(truth)
        };
        (0..draws).filter(covers).count() as f64 / draws as f64
    }

    /// Draws the sum of twelve uniform variables, which is normal except in its far tails.
    fn normal(rng: &mut Rng) -> f64 {
        (0..12).map(|_| rng.next_f64()).sum()
    }

    #[test]
    fn few_repeats_are_covered() {
        for n in [2, 3, 5, 10, 29] {
            let share = coverage(2000, n, 6.0, normal);
            assert!((0.94..=0.96).contains(&share), "{n}: {share}");
        }
    }

    #[test]
    fn many_repeats_are_covered() {
        let share = coverage(400, 30, 6.0, normal);
        assert!((0.93..=0.97).contains(&share), "normal: {share}");
    }

    /// The bootstrap is not used for few values: it covers 85 % (see the module).
    #[test]
    fn few_repeats_are_too_few_for_the_bootstrap() {
        let covers = |draw: &u64| {
            let mut rng = Rng::stream(1, Purpose::Workload, *draw);
            let values: Vec<f64> = (0..5).map(|_| normal(&mut rng)).collect();
            let of = |chosen: &[u32]| mean(&chosen.iter().map(|&i| values[i as usize]).collect::<Vec<_>>());
            let (lo, hi) = bootstrap(5, 0.95, of).unwrap();
            lo <= 6.0 && 6.0 <= hi
        };
        let share = (0..400).filter(covers).count() as f64 / 400.0;
        assert!((0.79..=0.89).contains(&share), "{share}");
    }

    #[test]
    fn skew_is_followed_where_there_are_enough() {
        let share = coverage(400, 50, 1.0, Rng::next_exponential);
        assert!((0.92..=0.97).contains(&share), "exponential: {share}");
        let mut rng = Rng::stream(1, Purpose::Workload, 0);
        let values: Vec<f64> = (0..50).map(|_| rng.next_exponential()).collect();
        let skewed = interval(&values, 0.95).unwrap();
        // The tail is on the right, so the mean may well be larger, less likely smaller.
        let (lo, hi) = skewed.ends().unwrap();
        assert!(hi - skewed.mean > skewed.mean - lo);
    }

    #[test]
    fn what_has_no_interval() {
        assert_eq!(interval(&[], 0.95), None);
        assert_eq!(interval(&[1.0], 0.95), None);
        assert_eq!(interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(interval(&[1.0, 2.0], 1.0), None);
        let same = interval(&[0.1; 3], 0.95).unwrap();
        assert_eq!((same.mean, same.ends(), same.half_width()), (0.1, None, None));
        assert!(!same.excludes(0.0));
        let text = serde_json::to_string(&same).unwrap();
        assert_eq!(text, r#"{"mean":0.1,"lo":null,"hi":null,"n":3}"#);
        assert_eq!(serde_json::from_str::<Interval>(&text).unwrap(), same);
    }

    #[test]
    fn more_confidence_is_wider() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0];
        let (a, b) = (interval(&values, 0.9).unwrap(), interval(&values, 0.99).unwrap());
        let (a, b) = (a.ends().unwrap(), b.ends().unwrap());
        assert!(b.0 < a.0 && a.1 < b.1);
    }
}
