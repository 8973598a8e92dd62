//! HPCC-PINT's digest: a utilisation as a power of a base, rounded at random.

use paceline_kernel::rng::Rng;

/// Fraction in whose units utilisations are encoded, so that the smallest is power 0.
pub const SCALE: f64 = 512.0;

/// Encoding with a given base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Code {
    base: f64,
    /// 1 / ln(base), which converts logarithms to powers.
    factor: f64,
}

impl Code {
    /// Creates the encoding with base `base`, above 1.
    pub fn new(base: f64) -> Self {
        Self {
            base,
            factor: 1.0 / libm::log(base),
        }
    }

    /// Returns the bits that a digest needs to reach a utilisation of [`SCALE`]: 8 with base 1.05, 11 with
    /// 1.01.
    pub fn bits(&self) -> u32 {
        let largest = libm::log(SCALE * SCALE) * self.factor;
        libm::ceil(libm::log2(largest)).max(0.0) as u32
    }

    /// Returns [`Code::bits`] rounded up to whole bytes.
    pub fn bytes(&self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Returns the digest of utilisation `u`, rounded at random with `rng`.
    pub fn encode(&self, u: f64, rng: &mut Rng) -> u16 {
        self.encode_with(u, || rng.below(1 << 16) as u32)
    }

    /// Returns the digest of utilisation `u`, rounded with the low 16 bits of one `draw`.
    ///
    /// `draw` is called exactly once, even if both powers are equal: a run that draws from C's `rand()` (0 to
    /// 2^31 - 1) then stays in step with the reference.
    pub fn encode_with(&self, u: f64, draw: impl FnOnce() -> u32) -> u16 {
        let units = (libm::ceil(u * SCALE) as u32).max(1);
        let power = libm::log(f64::from(units)) * self.factor;
        let (below, above) = (libm::floor(power) as u16, libm::ceil(power) as u16);
        let draw = f64::from(draw() % (1 << 16));
        if below == above {
            return below;
        }
        let low = libm::pow(self.base, f64::from(below));
        let high = libm::pow(self.base, f64::from(above));
        if draw < (f64::from(units) - low) / (high - low) * 65536.0 {
            above
        } else {
            below
        }
    }

    /// Returns the utilisation that the digest `power` encodes.
    pub fn decode(&self, power: u16) -> f64 {
        libm::pow(self.base, f64::from(power)) / SCALE
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::rng::Purpose;

    use super::*;

    #[test]
    fn sizes_of_the_digest() {
        assert_eq!((Code::new(1.05).bits(), Code::new(1.05).bytes()), (8, 1));
        assert_eq!((Code::new(1.01).bits(), Code::new(1.01).bytes()), (11, 2));
    }

    #[test]
    fn rounding_by_hand() {
        // Base 2: 3 units lie half-way between 2^1 and 2^2.
        let code = Code::new(2.0);
        let u = 2.5 / 512.0; // ceil: 3 units
        assert_eq!(code.encode_with(u, || 32_767), 2);
        assert_eq!(code.encode_with(u, || 32_768), 1);
        assert_eq!(
            code.encode_with(u, || 65_536 + 32_767),
            2,
            "only the low 16 bits count"
        );
        assert_eq!(code.encode_with(0.0, || 0), 0, "the smallest is one unit");
        assert_eq!(code.decode(10), 2.0);
    }

    #[test]
    fn decoded_values_are_right_on_average() {
        let code = Code::new(1.05);
        let mut rng = Rng::stream(1, Purpose::Pint, 0);
        let n = 20_000;
        for u in [0.1, 0.5, 0.95, 1.3] {
            let units: f64 = libm::ceil(u * SCALE) / SCALE;
            let mean = (0..n).map(|_| code.decode(code.encode(u, &mut rng))).sum::<f64>() / f64::from(n);
            assert!((mean / units - 1.0).abs() < 0.002, "{u}: {mean}");
        }
    }
}
