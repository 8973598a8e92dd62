//! Arithmetic of rates that the schemes share: whole bit/s, fractions cut off.

use paceline_kernel::BitRate;

/// The rates between which a sender stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) min: BitRate,
    pub(crate) line: BitRate,
}

impl Bounds {
    /// From `min` to `line`; on a line slower than `min`, the line rate and nothing else.
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

/// `rate` divided by `c` in real numbers, cut to whole bit/s.
///
/// A quotient too large for 64 bits is the largest rate. So is one that is not a number, which a
/// zero window in HPCC's utilisation can cause; x86 converts it to 2^63, which is above every line.
pub(crate) fn divide(rate: BitRate, c: f64) -> BitRate {
    let quotient = rate.as_bps() as f64 / c;
    BitRate::from_bps(if quotient.is_nan() {
        u64::MAX
    } else {
        quotient as u64
    })
}

/// Half of one rate plus half of the other, each cut to whole bit/s before the sum.
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
