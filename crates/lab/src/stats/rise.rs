//! Test for a series that still rises at its end.

/// Maximum number of values in the test, which compares all pairs.
const MOST: usize = 400;
/// Minimum number of values: with fewer, chance alone produces a rise one time in six.
const FEWEST: usize = 4;
/// Significance level, one-sided 5 %: the standard normal distribution's 95th percentile.
const SIGNIFICANT: f64 = 1.645;
/// Relative rise below which nothing is reported.
const WORTH_TELLING: f64 = 0.1;

/// Rise that chance does not explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    /// Number of values, from the end, over which the series rises.
    pub over: usize,
    /// Value of the trend at the first of these.
    pub from: f64,
    /// Value of the trend at the last of these.
    pub to: f64,
}

/// Finds a rise over the second half of `series`, at least four values, by a tenth of their median or more. A rise that
/// ended before that is a start-up effect, not a trend.
///
/// Significance is by the test of Mann (Econometrica 1945) and Kendall, which counts the pairs whose later value is
/// larger. The slope is Sen's (JASA 1968), the median over all pairs. Both are insensitive to single outliers, and
/// neither assumes a normal distribution.
pub fn rise(series: &[f64]) -> Option<Rise> {
    let over = series.len().div_ceil(2).clamp(FEWEST, MOST);
    let last = series.get(series.len().checked_sub(over)?..)?;
    let mut slopes = Vec::with_capacity(over * (over - 1) / 2);
    let mut score = 0;
    for (i, earlier) in last.iter().enumerate() {
        for (behind, later) in (1..).zip(&last[i + 1..]) {
            score += i64::from(later > earlier) - i64::from(later < earlier);
            slopes.push((later - earlier) / f64::from(behind));
        }
    }
    let n = over as f64;
    // The normal approximation, with the correction for continuity; ties only make it more careful.
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let slope = median(slopes);
    let rises = slope * (n - 1.0);
    let middle = median(last.to_vec());
    if (score - 1) as f64 / deviation < SIGNIFICANT || rises < WORTH_TELLING * middle {
        return None;
    }
    let start = (0..).zip(last).map(|(i, value)| value - slope * f64::from(i));
    let from = median(start.collect());
    Some(Rise {
        over,
        from,
        to: from + rises,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    super::percentile(&values, 0.5).unwrap_or_default()
}
