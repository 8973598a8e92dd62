//! Comparison of two schemes on the same traffic.

use serde::{Deserialize, Serialize};

use super::interval::{Interval, interval};

/// Differences between two schemes in one metric, paired by seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Mean of other minus reference.
    pub difference: Interval,
    /// Geometric mean of other over reference; null unless all values are above zero.
    pub ratio: Option<Interval>,
    /// True if the interval of the difference excludes zero; never if the difference is [`constant`](Self::constant).
    pub clear: bool,
    /// True if the difference is the same in every pair. Values that do not vary have no interval.
    #[serde(default)]
    pub constant: bool,
}

/// Compares `other` with `reference` value by value: `other[i]` and `reference[i]` are from the same seed. Returns
/// `None` for fewer than two pairs, for values that are not finite, and for lists that differ in length.
///
/// ```
/// let (a, b) = ([10.0, 20.0, 40.0], [11.0, 22.0, 44.0]);
/// let paired = paceline_lab::stats::paired(&a, &b, 0.95).unwrap();
/// assert!((paired.ratio.unwrap().mean - 1.1).abs() < 1e-12);
/// ```
pub fn paired(reference: &[f64], other: &[f64], confidence: f64) -> Option<Paired> {
    if reference.len() != other.len() {
        return None;
    }
    let pairs = || reference.iter().zip(other);
    let differences: Vec<f64> = pairs().map(|(a, b)| b - a).collect();
    let difference = interval(&differences, confidence)?;
    // Only positive values have logarithms.
    let ratio = if pairs().all(|(&a, &b)| a > 0.0 && b > 0.0) {
        let logarithms: Vec<f64> = pairs().map(|(a, b)| libm::log(b / a)).collect();
        interval(&logarithms, confidence).map(Interval::exp)
    } else {
        None
    };
    // Without any spread an interval has no width and would exclude zero always.
    let constant = differences.iter().all(|one| *one == differences[0]);
    Some(Paired {
        difference,
        ratio,
        clear: !constant && difference.excludes(0.0),
        constant,
    })
}

#[cfg(test)]
mod tests {
    use paceline_kernel::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn differences_by_hand() {
        // Differences 1, 2, 3: mean 2, standard error 1/sqrt(3), t(2) = 4.303.
        let p = paired(&[10.0, 20.0, 30.0], &[11.0, 22.0, 33.0], 0.95).unwrap();
        assert_eq!(p.difference.mean, 2.0);
        assert!((p.difference.half_width().unwrap() - 4.303 / 3f64.sqrt()).abs() < 1e-3);
        assert!(!p.clear);
        let ratio = p.ratio.unwrap();
        assert!((ratio.mean - 1.1).abs() < 1e-12 && ratio.half_width().is_none_or(|half| half < 1e-12));
        // With the schemes swapped, the ratio is the inverse.
        let q = paired(&[11.0, 22.0, 33.0], &[10.0, 20.0, 30.0], 0.95).unwrap();
        assert!((q.ratio.unwrap().mean * ratio.mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn pairs_see_what_the_means_hide() {
        // Traffic moves both by up to 100; the difference is 1 with little noise.
        let mut rng = Rng::stream(3, Purpose::Workload, 0);
        let traffic: Vec<f64> = (0..8).map(|_| 100.0 * rng.next_f64()).collect();
        let other: Vec<f64> = traffic.iter().map(|x| x + 1.0 + 0.2 * rng.next_f64()).collect();
        let (a, b) = (interval(&traffic, 0.95).unwrap(), interval(&other, 0.95).unwrap());
        assert!(!a.excludes(b.mean) && !b.excludes(a.mean));
        assert!(paired(&traffic, &other, 0.95).unwrap().clear);
    }

    #[test]
    fn what_cannot_be_paired() {
        assert_eq!(paired(&[1.0], &[2.0], 0.95), None);
        assert_eq!(paired(&[1.0, 2.0], &[2.0], 0.95), None);
        // Zeros have a difference but no ratio; equal zeros are not a difference.
        let zeros = paired(&[0.0, 0.0], &[0.0, 0.0], 0.95).unwrap();
        assert_eq!((zeros.ratio, zeros.clear), (None, false));
        // A constant difference is not significant: it has no variance from which to judge it.
        let always = paired(&[0.0, 1.0], &[2.0, 3.0], 0.95).unwrap();
        assert_eq!(
            (always.difference.mean, always.constant, always.clear),
            (2.0, true, false)
        );
        let nearly = paired(&[0.0, 1.0, 0.0], &[2.0, 3.0, 2.1], 0.95).unwrap();
        assert_eq!((nearly.constant, nearly.clear), (false, true));
    }
}
