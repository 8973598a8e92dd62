//! From a feature to a whole number, in the same order.

/// The last position of a fixed grid; the first is minus it.
pub const LAST: i32 = i16::MAX as i32;

/// How a feature becomes a whole number, its *position*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// 16 bits, so many of them behind the point: the nearest on the grid, the even one of two, the ends for what
    /// is beyond.
    Fixed(u8),
    /// Every 32-bit floating-point number has a position of its own.
    Float,
}

impl Scale {
    /// The most fractional bits of a fixed grid.
    pub const MAX_FRACTION: u8 = 15;

    /// The position of a number; the lowest for what is none.
    #[inline]
    pub fn position(self, x: f32) -> i32 {
        match self {
            Self::Fixed(fraction) => fixed(x, grid(fraction)),
            Self::Float => float(x),
        }
    }

    /// The number at a position.
    pub fn number(self, position: i32) -> f32 {
        match self {
            Self::Fixed(fraction) => position as f32 / grid(fraction),
            Self::Float => f32::from_bits(unfold(position) as u32),
        }
    }

    /// Its lowest and its highest position.
    pub fn range(self) -> [i32; 2] {
        match self {
            Self::Fixed(_) => [-LAST, LAST],
            Self::Float => [f32::NEG_INFINITY, f32::INFINITY].map(float),
        }
    }
}

/// Positions of a unit.
pub(super) fn grid(fraction: u8) -> f32 {
    (1u32 << fraction) as f32
}

/// On a fixed grid. Adding and taking away 1.5 * 2^23 rounds what is below 2^22 to whole numbers; the bits in between
/// are that number.
#[inline]
pub(super) fn fixed(x: f32, grid: f32) -> i32 {
    const ROUND: f32 = 12_582_912.0;
    let x = x * grid;
    // Comparisons that what is no number fails.
    let x = if x > -LAST as f32 { x } else { -LAST as f32 };
    let x = if x < LAST as f32 { x } else { LAST as f32 };
    (x + ROUND).to_bits() as i32 - ROUND.to_bits() as i32
}

/// Floating-point numbers in their order; both zeros are one.
#[inline]
pub(super) fn float(x: f32) -> i32 {
    if x.is_nan() {
        return i32::MIN;
    }
    unfold((x + 0.0).to_bits() as i32)
}

/// Bits of negative numbers grow the other way. It is its own inverse.
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
