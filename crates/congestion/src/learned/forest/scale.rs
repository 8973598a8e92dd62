//! Quantisation of features to integers, in the same order.

/// Last position of a fixed grid; the first is its negative.
pub const LAST: i32 = i16::MAX as i32;

/// Mapping of a feature to an integer, its *position*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Fixed point in 16 bits with this many fractional bits: rounds to nearest, ties to even, and saturates.
    Fixed(u8),
    /// Every 32-bit floating-point number has its own position.
    Float,
}

impl Scale {
    /// Upper limit of the fractional bits of a fixed grid.
    pub const MAX_FRACTION: u8 = 15;

    /// Returns the position of a number; the lowest one for NaN.
    #[inline]
    pub fn position(self, x: f32) -> i32 {
        match self {
            Self::Fixed(fraction) => fixed(x, grid(fraction)),
            Self::Float => float(x),
        }
    }

    /// Returns the number at a position.
    pub fn number(self, position: i32) -> f32 {
        match self {
            Self::Fixed(fraction) => position as f32 / grid(fraction),
            Self::Float => f32::from_bits(unfold(position) as u32),
        }
    }

    /// Returns the lowest and the highest position.
    pub fn range(self) -> [i32; 2] {
        match self {
            Self::Fixed(_) => [-LAST, LAST],
            Self::Float => [f32::NEG_INFINITY, f32::INFINITY].map(float),
        }
    }
}

/// Returns the positions per unit.
pub(super) fn grid(fraction: u8) -> f32 {
    (1u32 << fraction) as f32
}

/// Returns the position on a fixed grid. Adding 1.5 * 2^23 rounds numbers below 2^22 to integers, and the
/// difference of the bits is that integer.
#[inline]
pub(super) fn fixed(x: f32, grid: f32) -> i32 {
    const ROUND: f32 = 12_582_912.0;
    let x = x * grid;
    // NaN fails these comparisons and becomes the lowest position.
    let x = if x > -LAST as f32 { x } else { -LAST as f32 };
    let x = if x < LAST as f32 { x } else { LAST as f32 };
    (x + ROUND).to_bits() as i32 - ROUND.to_bits() as i32
}

/// Returns the position of a floating-point number, in the numbers' order; both zeros have the same.
#[inline]
pub(super) fn float(x: f32) -> i32 {
    if x.is_nan() {
        return i32::MIN;
    }
    unfold((x + 0.0).to_bits() as i32)
}

/// Reverses the order of negative numbers, whose bits grow the other way. The function is its own inverse.
fn unfold(bits: i32) -> i32 {
    if bits < 0 { bits ^ i32::MAX } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_rounds_to_the_nearest_and_ends() {
        let scale = Scale::Fixed(4);
        for (x, position) in [
            (0.0, 0),
            (0.03125, 0),
            (0.0313, 1),
            (0.09375, 2),
            (-0.0313, -1),
            (1.0, 16),
            (2047.9375, LAST),
            (5000.0, LAST),
            (f32::INFINITY, LAST),
            (f32::NEG_INFINITY, -LAST),
            (f32::NAN, -LAST),
        ] {
            assert_eq!(scale.position(x), position, "{x}");
        }
        for position in [-LAST, -3, 0, 7, LAST] {
            assert_eq!(scale.position(scale.number(position)), position);
        }
    }

    #[test]
    fn floating_point_numbers_keep_their_order() {
        let numbers = [
            f32::NEG_INFINITY,
            f32::MIN,
            -1.0,
            -f32::MIN_POSITIVE,
            0.0,
            f32::MIN_POSITIVE,
            0.1,
            f32::MAX,
            f32::INFINITY,
        ];
        let positions = numbers.map(|x| Scale::Float.position(x));
        assert!(positions.is_sorted_by(|a, b| a < b), "{positions:?}");
        assert_eq!(Scale::Float.position(-0.0), Scale::Float.position(0.0));
        assert!(Scale::Float.position(f32::NAN) < positions[0]);
        for (x, position) in numbers.into_iter().zip(positions) {
            assert_eq!(Scale::Float.number(position), x);
        }
    }
}
