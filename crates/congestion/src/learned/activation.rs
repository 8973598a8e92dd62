//! Activation functions built from basic operations, so that they give the same bits on every machine.

/// Argument above which tanh rounds to one, to within the last bit of an `f32`.
const SATURATED: f32 = 8.5;

/// Coefficients of x, x^3, .. of the numerator. With the denominator below, the relative error is at most
/// 1.3e-8 for |x| <= 8.5 in real numbers: fitted to tanh, weighted least squares with weights that follow the
/// largest errors.
const NUMERATOR: [f32; 5] = [1.0, 0.134_139_54, 0.003_534_846_4, 2.126_374_5e-5, 1.428_537e-8];

/// Coefficients of 1, x^2, .. of the denominator.
const DENOMINATOR: [f32; 5] = [1.0, 0.467_472_77, 0.026_025_92, 3.350_171e-4, 8.152_037e-7];

/// Returns the hyperbolic tangent, accurate to 1e-6 for every number; NaN stays NaN.
#[inline]
pub fn tanh(x: f32) -> f32 {
    // Comparisons instead of `clamp`: each is one instruction if the compiler vectorises over lanes.
    let x = if x > SATURATED { SATURATED } else { x };
    let x = if x < -SATURATED { -SATURATED } else { x };
    let y = x * x;
    let [p0, p1, p2, p3, p4] = NUMERATOR;
    let [q0, q1, q2, q3, q4] = DENOMINATOR;
    let p = x * (p0 + y * (p1 + y * (p2 + y * (p3 + y * p4))));
    let q = q0 + y * (q1 + y * (q2 + y * (q3 + y * q4)));
    p / q
}

/// Returns the logistic function, accurate to 1e-6.
#[inline]
pub fn sigmoid(x: f32) -> f32 {
    0.5 + 0.5 * tanh(0.5 * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_close_to_the_functions() {
        let mut worst = (0.0f64, 0.0f64);
        for i in -400_000..=400_000i32 {
            let x = i as f32 * 1e-4;
            let exact = libm::tanh(f64::from(x));
            worst.0 = worst.0.max((f64::from(tanh(x)) - exact).abs());
            let exact = 1.0 / (1.0 + libm::exp(-f64::from(x)));
            worst.1 = worst.1.max((f64::from(sigmoid(x)) - exact).abs());
        }
        assert!(worst.0 < 1e-6 && worst.1 < 1e-6, "{worst:?}");
        for x in [1e3, 1e30, f32::MAX, f32::INFINITY] {
            assert!((tanh(x) - 1.0).abs() < 1e-6 && (tanh(-x) + 1.0).abs() < 1e-6);
            assert!((sigmoid(x) - 1.0).abs() < 1e-6 && sigmoid(-x).abs() < 1e-6);
        }
        assert_eq!((tanh(0.0), sigmoid(0.0)), (0.0, 0.5));
        assert!(tanh(f32::NAN).is_nan());
    }

    #[test]
    fn tanh_is_odd_to_the_bit() {
        for i in 0..10_000 {
            let x = i as f32 * 1.3e-3;
            assert_eq!(tanh(-x).to_bits(), (-tanh(x)).to_bits());
        }
    }

    /// FNV-1a over the bits of many values: a machine that rounds differently anywhere fails this test.
    #[test]
    fn the_bits_are_the_same_everywhere() {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for i in -20_000..=20_000i32 {
            let x = i as f32 * 6.1e-4;
            for value in [tanh(x), sigmoid(x)] {
                for byte in value.to_bits().to_le_bytes() {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
        assert_eq!(hash, 8_475_587_721_127_485_556);
        assert_eq!(
            [0.1f32, 1.0, -3.0].map(|x| tanh(x).to_bits()),
            [1_036_787_388, 1_061_353_430, 3_212_753_897]
        );
    }
}
