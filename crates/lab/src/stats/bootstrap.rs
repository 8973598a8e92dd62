//! Bootstrap confidence intervals (BCa).

use paceline_kernel::rng::{Purpose, Rng};

use super::distribution::{mean, percentile};
use super::quantiles::{normal_below, normal_quantile};

/// Number of resamples: 50 beyond each end of an interval of 95 %.
const RESAMPLES: usize = 2000;

/// Computes the BCa confidence interval of a statistic of `units` units, as (lower, upper).
///
/// `statistic` gets the indices (from 0) of the units to use: `units` of them, with repetitions. It returns `None` if
/// it has no value. Units must be independent of each other: repeats, or source hosts with all of their flows. The
/// result is `None` if the statistic has no value for all units or for a resample, or if there are fewer than two
/// units.
///
/// ```
/// let values: Vec<f64> = (1..=50).map(f64::from).collect();
/// let median = |chosen: &[u32]| {
///     let mut sample: Vec<f64> = chosen.iter().map(|&i| values[i as usize]).collect();
///     sample.sort_by(f64::total_cmp);
///     paceline_lab::stats::percentile(&sample, 0.5)
/// };
/// let (lo, hi) = paceline_lab::stats::bootstrap(values.len(), 0.95, median).unwrap();
/// assert!(lo > 15.0 && lo < 23.0 && hi > 28.0 && hi < 36.0);
/// ```
pub fn bootstrap(
    units: usize,
    confidence: f64,
    mut statistic: impl FnMut(&[u32]) -> Option<f64>,
) -> Option<(f64, f64)> {
    let count = u32::try_from(units).ok().filter(|&count| count >= 2)?;
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let all: Vec<u32> = (0..count).collect();
    let whole = statistic(&all)?;
    // The stream does not depend on the values, so the same units are drawn for every scheme.
    let mut rng = Rng::stream(0, Purpose::Resampling, u64::from(count));
    let mut chosen = all.clone();
    let mut draws = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        chosen
            .iter_mut()
            .for_each(|unit| *unit = rng.below(u64::from(count)) as u32);
        draws.push(statistic(&chosen)?);
    }
    draws.sort_by(f64::total_cmp);
    // BCa estimates the acceleration from the statistic without each unit in turn (the jackknife).
    let without: Option<Vec<f64>> = all
        .iter()
        .map(|&left_out| {
            let rest: Vec<u32> = all.iter().copied().filter(|&unit| unit != left_out).collect();
            statistic(&rest)
        })
        .collect();
    let (bias, acceleration) = (bias(&draws, whole), acceleration(&without?));
    // Instead of p, BCa reads a percentile shifted by the bias and the skewness of the statistic.
    let end = |p: f64| {
        let z = bias + normal_quantile(p);
        let adjusted = normal_below(bias + z / (1.0 - acceleration * z));
        percentile(&draws, adjusted)
    };
    let tail = (1.0 - confidence) / 2.0;
    Some((end(tail)?, end(1.0 - tail)?))
}

/// Computes Efron's z0: the distance of the draws' median from the statistic itself, in normal units.
fn bias(ascending: &[f64], whole: f64) -> f64 {
    let below = ascending.partition_point(|&draw| draw < whole);
    let equal = ascending.partition_point(|&draw| draw <= whole) - below;
    // Half of those that are equal, so that a symmetric distribution has no bias; never all or
    // none, of which the quantile is infinite.
    let n = ascending.len() as f64;
    let share = (below as f64 + 0.5 * equal as f64) / n;
    normal_quantile(share.clamp(0.5 / n, 1.0 - 0.5 / n))
}

/// Computes Efron's a: a sixth of the skewness of the statistic with each unit left out.
fn acceleration(without: &[f64]) -> f64 {
    let middle = mean(without).unwrap_or(0.0);
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in without {
        let d = middle - value;
        squares += d * d;
        cubes += d * d * d;
    }
    if squares > 0.0 {
        cubes / (6.0 * squares * squares.sqrt())
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(values: &[f64]) -> impl Fn(&[u32]) -> Option<f64> {
        |chosen| {
            let sum: f64 = chosen.iter().map(|&i| values[i as usize]).sum();
            Some(sum / chosen.len() as f64)
        }
    }

    #[test]
    fn acceleration_by_hand() {
        // Means of {0, 0, 3} with one left out: 1.5, 1.5, 0; mean 1; d = -0.5, -0.5, 1.
        // Squares 1.5, cubes 0.75: 0.75 / (6 * 1.5^1.5).
        assert!((acceleration(&[1.5, 1.5, 0.0]) - 0.75 / (6.0 * 1.5f64.powf(1.5))).abs() < 1e-15);
        assert_eq!(acceleration(&[2.0, 2.0]), 0.0);
    }

    #[test]
    fn bias_by_hand() {
        assert_eq!(bias(&[1.0, 2.0, 2.0, 3.0], 2.0), normal_quantile(0.5));
        assert_eq!(bias(&[1.0, 1.5, 2.0, 3.0], 2.0), normal_quantile(0.625));
        assert!(bias(&[1.0, 2.0], 5.0).is_finite());
    }

    /// A symmetric sample: the interval of its mean has the normal distribution's width (the bootstrap's variance is
    /// the sample's over n).
    #[test]
    fn a_symmetric_mean_has_its_width() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let (lo, hi) = bootstrap(100, 0.95, mean_of(&values)).unwrap();
        // Standard deviation of 0..=99: sqrt((100^2 - 1) / 12) = 28.866; times 1.96 / 10.
        assert!((lo - (49.5 - 5.658)).abs() < 0.4, "{lo}");
        assert!((hi - (49.5 + 5.658)).abs() < 0.4, "{hi}");
    }

    #[test]
    fn it_repeats_and_knows_its_limits() {
        let values = [1.0, 5.0, 2.0, 9.0, 4.0];
        let once = bootstrap(5, 0.95, mean_of(&values));
        assert_eq!(once, bootstrap(5, 0.95, mean_of(&values)));
        let (lo, hi) = once.unwrap();
        assert!((1.0..4.2).contains(&lo) && (4.2..=9.0).contains(&hi));
        assert_eq!(bootstrap(1, 0.95, mean_of(&values)), None);
        assert_eq!(bootstrap(5, 1.0, mean_of(&values)), None);
        assert_eq!(bootstrap(5, 0.95, |_| None), None);
        assert_eq!(bootstrap(5, 0.95, |_| Some(3.0)), Some((3.0, 3.0)));
    }
}
