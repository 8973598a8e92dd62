//! Arithmetic of ns-3 for the fidelity modes.

use crate::{BitRate, Span};

/// Converts seconds to a span as ns-3 does: to 64.64 fixed point, then truncated (not rounded) to whole
/// nanoseconds.
///
/// So `2.000000050` may become one nanosecond less, depending on its binary fraction.
pub fn span_of_seconds(seconds: f64) -> Span {
    // The casts truncate; the multiplication by a power of two is exact.
    let whole = seconds as u64;
    let fraction = ((seconds - whole as f64) * 18_446_744_073_709_551_616.0) as u64;
    let ns = whole * 1_000_000_000 + ((fraction as u128 * 1_000_000_000) >> 64) as u64;
    Span::from_ns(ns)
}

/// Converts nanoseconds to seconds as ns-3 does, by multiplication with an inverse in 64.64 fixed point.
///
/// ```
/// use paceline_kernel::ns3::seconds_of_ns;
/// assert!((seconds_of_ns(249) - 2.49e-7).abs() < 1e-18);
/// ```
pub fn seconds_of_ns(ns: u64) -> f64 {
    const INVERSE: u128 = u128::MAX / 1_000_000_000 + 1;
    let (high, low) = (INVERSE >> 64, INVERSE & u64::MAX as u128);
    let fixed = ns as u128 * high + ((ns as u128 * low) >> 64);
    fixed as f64 / 18_446_744_073_709_551_616.0
}

/// Returns the serialisation time of `bytes` at `rate` as ns-3 computes it: seconds as a real number,
/// truncated to whole nanoseconds. At 100 Gbit/s, 1048 bytes take 83 ns instead of 83.84.
pub fn time_to_send(rate: BitRate, bytes: u32) -> Span {
    span_of_seconds(f64::from(bytes) * 8.0 / rate.as_bps() as f64)
}

/// Returns the serialisation time as later versions of ns-3 compute it: the exact quotient, truncated to
/// whole nanoseconds.
pub fn whole_time_to_send(rate: BitRate, bytes: u32) -> Span {
    let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate.as_bps().max(1));
    Span::from_ns(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_times_of_the_reference() {
        let cases: [(u64, u32, u64); 11] = [
            (100, 1048, 83),
            (100, 1056, 84),
            (100, 1090, 87),
            (100, 60, 4),
            (100, 88, 7),
            (100, 43, 3),
            (400, 1048, 20),
            (400, 1090, 21),
            (400, 60, 1),
            (400, 88, 1),
            (400, 43, 0),
        ];
        for (gbps, bytes, ns) in cases {
            assert_eq!(
                time_to_send(BitRate::from_gbps(gbps), bytes),
                Span::from_ns(ns),
                "{bytes} B at {gbps}G"
            );
        }
    }

    #[test]
    fn start_times_of_the_reference() {
        // Start times in flow files, and those in the reference run's fct.txt.
        assert_eq!(span_of_seconds(2.0), Span::from_ns(2_000_000_000));
        assert_eq!(span_of_seconds(2.000005), Span::from_ns(2_000_004_999));
        assert_eq!(span_of_seconds(2.010), Span::from_ns(2_009_999_999));
    }
}
