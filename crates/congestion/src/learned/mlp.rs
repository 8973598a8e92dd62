//! Small policy network: two hidden layers of rectified units without biases, and a hyperbolic tangent at the
//! output.

use super::activation::tanh;

/// Number of the policy's inputs.
pub const INPUTS: usize = 4;
/// Units of each hidden layer.
pub const UNITS: usize = 12;

/// Weights, one row per unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    /// Weights of the first layer.
    pub first: [[f32; INPUTS]; UNITS],
    /// Weights of the second layer.
    pub second: [[f32; UNITS]; UNITS],
    /// Weights of the output.
    pub last: [f32; UNITS],
}

/// Outputs of each layer, which training needs.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Outputs of the first layer.
    pub first: [f32; UNITS],
    /// Outputs of the second layer.
    pub second: [f32; UNITS],
    /// Output of the network, from -1 to 1.
    pub output: f32,
}

impl Mlp {
    /// Creates the network from weights in the order of a model file's tensors; missing ones are zero.
    pub fn of(weights: impl IntoIterator<Item = f32>) -> Self {
        let mut weights = weights.into_iter();
        let mut next = || weights.next().unwrap_or(0.0);
        Self {
            first: std::array::from_fn(|_| std::array::from_fn(|_| next())),
            second: std::array::from_fn(|_| std::array::from_fn(|_| next())),
            last: std::array::from_fn(|_| next()),
        }
    }

    /// Returns the weights in the order of a model file's tensors.
    pub fn weights(&self) -> impl Iterator<Item = f32> + '_ {
        let first = self.first.iter().flatten();
        let second = self.second.iter().flatten();
        first.chain(second).chain(&self.last).copied()
    }

    /// Runs the network and returns the outputs of all layers.
    pub fn pass(&self, input: &[f32; INPUTS]) -> Pass {
        let first = std::array::from_fn(|unit| dot(&self.first[unit], input).max(0.0));
        let second = std::array::from_fn(|unit| dot(&self.second[unit], &first).max(0.0));
        Pass {
            first,
            second,
            output: tanh(dot(&self.last, &second)),
        }
    }

    /// Returns the output, from -1 to 1.
    pub fn act(&self, input: &[f32; INPUTS]) -> f32 {
        self.pass(input).output
    }
}

/// Returns the dot product, summed in index order.
fn dot<const N: usize>(a: &[f32; N], b: &[f32; N]) -> f32 {
    let mut sum = 0.0;
    for k in 0..N {
        sum += a[k] * b[k];
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_by_hand() {
        let mut mlp = Mlp::of([]);
        mlp.first[0] = [1.0, 0.0, 0.0, 2.0];
        mlp.first[1] = [-1.0, 0.0, 0.0, 0.0];
        mlp.second[3][0] = 0.5;
        mlp.second[4][1] = 1.0;
        mlp.last[3] = -0.5;
        mlp.last[4] = 3.0;
        // First layer: 0.2 + 2 * 0.4 = 1, and negative sums become zero; second: 0.5; last: -0.25.
        let pass = mlp.pass(&[0.2, 9.0, 9.0, 0.4]);
        assert_eq!((pass.first[0], pass.first[1], pass.second[3]), (1.0, 0.0, 0.5));
        assert_eq!(pass.output, tanh(-0.25));
        let again = Mlp::of(mlp.weights());
        assert_eq!(again, mlp);
        assert_eq!(mlp.weights().count(), INPUTS * UNITS + UNITS * UNITS + UNITS);
    }
}
