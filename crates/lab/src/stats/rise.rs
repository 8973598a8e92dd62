//! Whether a series still rises at its end.

/// So many values are looked at, at most: pairs of them are compared.
const MOST: usize = 400;
/// With fewer, a rise is as likely by chance as one time in six.
const FEWEST: usize = 4;
/// One-sided, 5 %: the standard normal distribution's 95th percentile.
const SIGNIFICANT: f64 = 1.645;
/// A rise of less than this share of the values is not worth telling.
const WORTH_TELLING: f64 = 0.1;

/// A rise that chance does not explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    /// How many of the last values rise.
    pub over: usize,
    /// Where the trend is at the first of these.
    pub from: f64,
    /// Where it is at the last.
    pub to: f64,
}

/// Whether the second half of `series`, and four values at least, rise by a tenth of their median or more: a rise that
/// has come to its end before that is a start, not a trend.
///
/// That it is no chance is the test of Mann (Econometrica 1945) and Kendall, which counts the pairs whose later value is
/// the larger; how steep it is says Sen's slope (JASA 1968), the median over all pairs. Neither is moved by single values
/// that lie far off, and neither takes the values to be normal.
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
