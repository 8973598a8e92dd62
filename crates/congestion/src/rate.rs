//! Rate arithmetic that schemes share: whole bit/s, truncated.

use paceline_kernel::BitRate;

/// Range of a sender's rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) min: BitRate,
    pub(crate) line: BitRate,
}

impl Bounds {
    /// Creates the range from `min` to `line`; on a line slower than `min` only the line rate is left.
    pub(crate) fn new(min: BitRate, line: BitRate) -> Self {
        Self {
            min: min.min(line),
            line,
        }
    }

    pub(crate) fn clamp(&self, rate: BitRate) -> BitRate {
        rate.clamp(self.min, self.line)
    }
}

/// Scales `value`, published for lines of rate `at`, to another line, truncated to whole bit/s.
pub(crate) fn in_proportion(value: BitRate, at: BitRate, line: BitRate) -> BitRate {
    let bps = u128::from(value.as_bps()) * u128::from(line.as_bps()) / u128::from(at.as_bps().max(1));
    BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

/// Divides `rate` by the real number `c`, truncated to whole bit/s.
///
/// A quotient too large for 64 bits becomes the largest rate. So does NaN, which a zero window in HPCC's
/// utilisation can cause: x86 converts it to 2^63, which is above every line.
pub(crate) fn divide(rate: BitRate, c: f64) -> BitRate {
    let quotient = rate.as_bps() as f64 / c;
    BitRate::from_bps(if quotient.is_nan() {
        u64::MAX
    } else {
        quotient as u64
    })
}

/// Adds half of each rate, each truncated to whole bit/s before the sum.
pub(crate) fn average(a: BitRate, b: BitRate) -> BitRate {
    BitRate::from_bps(a.as_bps() / 2 + b.as_bps() / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_cut_and_never_wrap() {
        let rate = BitRate::from_bps(10);
        assert_eq!(divide(rate, 3.0), BitRate::from_bps(3));
        assert_eq!(divide(rate, 0.0), BitRate::from_bps(u64::MAX));
        assert_eq!(divide(rate, f64::INFINITY), BitRate::from_bps(0));
        assert_eq!(divide(rate, f64::NAN), BitRate::from_bps(u64::MAX));
    }

    #[test]
    fn published_values_go_with_the_line() {
        let (value, at) = (BitRate::from_bps(50_000_000), BitRate::from_gbps(100));
        let on = |gbps| in_proportion(value, at, BitRate::from_gbps(gbps)).as_bps();
        assert_eq!([on(10), on(100), on(400)], [5_000_000, 50_000_000, 200_000_000]);
    }

    #[test]
    fn halves_are_cut_before_the_sum() {
        assert_eq!(
            average(BitRate::from_bps(3), BitRate::from_bps(5)),
            BitRate::from_bps(3)
        );
    }

    #[test]
    fn a_line_below_the_minimum_is_the_only_rate() {
        let bounds = Bounds::new(BitRate::from_gbps(1), BitRate::from_bps(500));
        assert_eq!(bounds.clamp(BitRate::from_bps(1)), BitRate::from_bps(500));
        assert_eq!(bounds.clamp(BitRate::from_gbps(9)), BitRate::from_bps(500));
    }
}
