//! Quantised version of [`super::layers::Network`], in integer arithmetic.
//!
//! Weights are multiples of a step per layer, inputs multiples of 1/4096, outputs of rectified units
//! multiples of 1/127 of the largest that was observed. With D the step, q the unit of a layer's inputs and r
//! that of its outputs:
//! ```text
//! y = min((sum(code x) + bias) D q / r, 127),   D q / r = factor / 2^shift              (1)
//! ```
//! The sigmoid and the hyperbolic tangent are tables of 256 entries, of 15 bits; the table of the last layer
//! is interpolated linearly, because a settled flow's behaviour depends on small actions.

use serde::{Deserialize, Serialize};

use super::activation::{sigmoid, tanh};
use super::layers::{Layer, Network, Policy, Units, WIDEST};

/// Quantisation of a network, layer by layer, as in its card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantisation {
    /// Step of which a layer's weights are multiples.
    pub steps: Vec<f32>,
    /// Largest output of rectified units; unused for others.
    pub largest: Vec<f32>,
}

/// Fractional bits: of inputs; of gates' sums in `GATE`; of an action before its hyperbolic tangent in
/// `ACTION`.
const INPUT: i32 = 12;
const GATE: i32 = 5;
const ACTION: i32 = 13;
/// Code of the largest output of a rectified unit.
const TOP: i32 = 127;
/// Largest multiple of a step: it fits into eight bits.
const MOST: i32 = 127;
/// Products added in one block. Compilers use instructions that add neighbouring products for this size, but
/// not for half or twice of it.
const LANES: usize = 32;

/// Multiplication by a 15-bit factor and a shift; `before` first shifts sums to 15 bits and a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rescale {
    before: u32,
    factor: i32,
    shift: u32,
}

impl Rescale {
    /// Creates the scaling for sums of up to `bound`, or returns `None` if 32 bits do not suffice.
    fn new(ratio: f64, bound: i64) -> Option<Self> {
        let bits = 64 - bound.max(1).leading_zeros();
        let before = bits.saturating_sub(15);
        let exponent = libm::floor(libm::log2(ratio)) as i32;
        // factor / 2^shift = ratio 2^before, with 15 bits for the factor.
        let shift = 14 - exponent - before as i32;
        let factor = libm::round(ratio * libm::exp2(f64::from(14 - exponent))) as i32;
        let fits = bits <= 31 && (1..31).contains(&shift) && factor <= 1 << 15;
        fits.then_some(Self {
            before,
            factor: factor.min((1 << 15) - 1),
            shift: shift as u32,
        })
    }

    fn of(self, sum: i32) -> i32 {
        // The added half makes the shift round to nearest.
        ((sum >> self.before) * self.factor + (1 << (self.shift - 1))) >> self.shift
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Part {
    layer: Layer,
    /// Number of inputs, padded to whole blocks.
    width: usize,
    /// Weight codes, one row per sum.
    codes: Vec<i16>,
    bias: Vec<i32>,
    rescale: Rescale,
}

/// Quantised network that can decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    parts: Vec<Part>,
    sigmoid: Vec<i32>,
    tanh: Vec<i32>,
    /// Table of the hyperbolic tangent from -1 to 1.
    inner: Vec<i32>,
}

/// Tabulates `at(k)` in 15 bits, for k from -128 to 128.
fn table(at: impl Fn(f32) -> f32) -> Vec<i32> {
    let entry = |k: i32| (32_767.0 * at(k as f32)).round() as i32;
    (-128..=128).map(entry).collect()
}

impl Whole {
    /// Quantises a network whose weights are multiples of the steps.
    ///
    /// # Errors
    /// A weight is no multiple of its step, or sums exceed 32 bits.
    pub fn new(network: &Network, quantisation: &Quantisation) -> Result<Self, String> {
        let layers = network.layers().len();
        let (steps, largest) = (&quantisation.steps, &quantisation.largest);
        if steps.len() != layers || largest.len() != layers {
            return Err(format!(
                "{} steps and {} largest outputs; expected {layers} of each",
                steps.len(),
                largest.len()
            ));
        }
        let positive = |value: &f32| value.is_finite() && *value > 0.0;
        if let Some(wrong) = steps.iter().chain(largest).find(|value| !positive(value)) {
            return Err(format!("{wrong}; expected numbers above 0"));
        }
        let mut unit = libm::exp2(-f64::from(INPUT));
        let mut reach = i64::from(i16::MAX);
        let mut parts = Vec::new();
        for (index, (layer, bias, weights)) in network.parts().enumerate() {
            let step = f64::from(steps[index]);
            let out = match layer.units {
                Units::Rectified => f64::from(largest[index]) / f64::from(TOP),
                Units::Cell => libm::exp2(-f64::from(GATE)),
                Units::Tanh => libm::exp2(-f64::from(ACTION)),
                Units::Linear | Units::Gated => {
                    return Err("layers of linear or gated units are not of whole numbers".to_string());
                }
            };
            parts.push(Part::new(
                layer,
                bias,
                weights,
                &Scales { unit, step, out },
                reach,
            )?);
            (unit, reach) = match layer.units {
                Units::Rectified => (out, i64::from(TOP)),
                _ => (1.0 / 128.0, 128),
            };
        }
        Ok(Self {
            parts,
            // Two sums of a gate share an entry, which holds the value half-way between them.
            sigmoid: table(|k| sigmoid(k / 16.0 + 1.0 / 64.0)),
            tanh: table(|k| tanh(k / 32.0)),
            inner: table(|k| tanh((k + 0.5) / 128.0)),
        })
    }

    /// Computes the outputs of a layer from its sums, in the unit of the next layer's inputs; actions have 15
    /// bits.
    fn outputs(&self, part: &Part, sums: &[i32], outputs: &mut [i16]) {
        let rescale = part.rescale;
        match part.layer.units {
            Units::Rectified => {
                for (y, sum) in outputs.iter_mut().zip(sums) {
                    *y = rescale.of(*sum).clamp(0, TOP) as i16;
                }
            }
            Units::Cell => {
                let units = part.layer.outputs;
                let gate = |sum: i32| self.sigmoid[((rescale.of(sum) >> 1).clamp(-128, 127) + 128) as usize];
                for (k, y) in outputs.iter_mut().enumerate() {
                    let cell = self.tanh[(rescale.of(sums[units + k]).clamp(-128, 127) + 128) as usize];
                    let kept = (gate(sums[k]) * cell) >> 15;
                    let activated = self.inner[((kept >> 8) + 128) as usize];
                    *y = ((gate(sums[2 * units + k]) * activated) >> 23) as i16;
                }
            }
            Units::Tanh | Units::Linear | Units::Gated => {
                for (y, sum) in outputs.iter_mut().zip(sums) {
                    let at = rescale.of(*sum).clamp(-(1 << 15), (1 << 15) - 1);
                    let (index, rest) = (((at >> 8) + 128) as usize, at & 255);
                    // Actions are interpolated, because the table is too coarse for them.
                    let (low, high) = (self.tanh[index], self.tanh[index + 1]);
                    *y = (low + (((high - low) * rest) >> 8)) as i16;
                }
            }
        }
    }
}

/// Values of one in the integers of a layer.
struct Scales {
    /// Unit of the inputs.
    unit: f64,
    /// Step of the weights.
    step: f64,
    /// Unit of the outputs.
    out: f64,
}

impl Part {
    fn new(
        layer: &Layer,
        bias: &[f32],
        weights: &[f32],
        scales: &Scales,
        reach: i64,
    ) -> Result<Self, String> {
        let Scales { unit, step, out } = *scales;
        let (columns, width) = (layer.columns(), layer.inputs.next_multiple_of(LANES));
        let mut codes = vec![0; columns * width];
        for (index, weight) in weights.iter().enumerate() {
            let multiple = f64::from(*weight) / step;
            let code = libm::round(multiple);
            if (multiple - code).abs() > 1e-3 * multiple.abs().max(1.0) || code.abs() > f64::from(MOST) {
                return Err(format!(
                    "the weight {weight} is {multiple:.3} steps; expected a whole number up to {MOST}"
                ));
            }
            // Transposed: the network groups weights by input, the integer sums read them by output.
            codes[(index % columns) * width + index / columns] = code as i16;
        }
        let bias: Vec<i64> = bias
            .iter()
            .map(|bias| libm::round(f64::from(*bias) / (unit * step)) as i64)
            .collect();
        // The largest possible sums: all inputs at their bound, with the signs of the weights.
        let sizes = codes.chunks_exact(width).zip(&bias).map(|(row, bias)| {
            row.iter().map(|code| i64::from(code.unsigned_abs())).sum::<i64>() * reach + bias.abs()
        });
        let bound = sizes.max().unwrap_or(0);
        let rescale = Rescale::new(unit * step / out, bound);
        Ok(Self {
            layer: *layer,
            width,
            codes,
            rescale: rescale
                .ok_or_else(|| format!("sums of up to {bound} do not become outputs in 32 bits"))?,
            bias: bias.into_iter().map(|bias| bias as i32).collect(),
        })
    }

    fn sums(&self, inputs: &[i16; WIDEST], sums: &mut [i32]) {
        let inputs = inputs[..self.width].as_chunks().0;
        let rows = self.codes.chunks_exact(self.width).zip(&self.bias);
        for ((row, bias), sum) in rows.zip(sums) {
            let products = row.as_chunks().0.iter().zip(inputs);
            *sum = bias + products.map(|(codes, x)| dot(codes, x)).sum::<i32>();
        }
    }
}

#[inline(always)]
fn dot(codes: &[i16; LANES], inputs: &[i16; LANES]) -> i32 {
    let mut sum = 0;
    for lane in 0..LANES {
        sum += i32::from(codes[lane]) * i32::from(inputs[lane]);
    }
    sum
}

impl Policy for Whole {
    fn decide(&self, features: &[f32]) -> f32 {
        let (mut sums, mut inputs) = ([0i32; WIDEST], [0i16; WIDEST]);
        for (x, feature) in inputs.iter_mut().zip(features) {
            *x = (feature * (1 << INPUT) as f32).round() as i16;
        }
        for part in &self.parts {
            let sums = &mut sums[..part.layer.columns()];
            part.sums(&inputs, sums);
            self.outputs(part, sums, &mut inputs[..part.layer.outputs]);
            inputs[part.layer.outputs..].fill(0);
        }
        f32::from(inputs[0]) / 32_768.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rectified units, a cell and an output, computed by hand.
    #[test]
    fn layers_by_hand() {
        let layers = [
            Layer::new(2, 2, Units::Rectified),
            Layer::new(2, 1, Units::Cell),
            Layer::new(1, 1, Units::Tanh),
        ];
        let values = vec![
            0.5, -1.0, 1.0, 2.0, 0.0, -4.0, // as below, all multiples of 1/2
            0.25, 0.5, 0.75, 1.0, -1.0, 0.5, 3.0, 3.0, 3.0, // of 1/4
            0.25, 2.0, // of 1/8
        ];
        let network = Network::new(&layers, values);
        let quantisation = Quantisation {
            steps: vec![0.5, 0.25, 0.125],
            largest: vec![2.0, 1.0, 1.0],
        };
        let whole = Whole::new(&network, &quantisation).unwrap();
        // First layer: 1.5 of 2 are 95 of 127, and negative sums become zero. Gates: 0.25 + 1.496 = 1.746,
        // -0.996, 1.498.
        let cell = sigmoid(1.498) * tanh(sigmoid(1.746) * tanh(-0.996));
        let expected = tanh(0.25 + 2.0 * cell);
        let found = whole.decide(&[1.0, 0.5]);
        assert!((found - expected).abs() < 0.02, "{found} {expected}");
        assert!((found - network.decide(&[1.0, 0.5])).abs() < 0.02);
        // NaN counts as zero, and numbers that are too large as the largest.
        assert_eq!(whole.decide(&[f32::NAN, 0.5]), whole.decide(&[0.0, 0.5]));
        assert_eq!(whole.decide(&[f32::MAX, 0.5]), whole.decide(&[8.0, 0.5]));
    }

    #[test]
    fn sums_are_rescaled_to_the_nearest() {
        for (ratio, bound) in [
            (0.01, 3_000),
            (1e-4, 90_000_000),
            (0.3, 60_000),
            (1.0 / 4096.0, 1 << 30),
        ] {
            let rescale = Rescale::new(ratio, bound).unwrap();
            for k in -20..=20 {
                let sum = bound / 20 * k;
                let exact = ratio * sum as f64;
                let found = f64::from(rescale.of(sum as i32));
                let slack = 0.51 + exact.abs() * 1e-4 + ratio * libm::exp2(f64::from(rescale.before));
                assert!((found - exact).abs() <= slack, "{ratio} {sum}: {found} {exact}");
            }
        }
        assert_eq!(Rescale::new(0.5, 1 << 40), None);
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let network = Network::new(&[Layer::new(2, 1, Units::Tanh)], vec![0.0, 0.5, 0.3]);
        let refused = |steps: Vec<f32>, largest: Vec<f32>| {
            Whole::new(&network, &Quantisation { steps, largest }).unwrap_err()
        };
        assert!(refused(vec![0.25], vec![1.0]).contains("the weight 0.3 is 1.200 steps"));
        assert!(refused(vec![0.001], vec![1.0]).contains("whole number up to 127"));
        assert!(refused(vec![], vec![1.0]).contains("0 steps"));
        assert!(refused(vec![f32::NAN], vec![1.0]).contains("NaN; expected numbers above 0"));
    }
}
