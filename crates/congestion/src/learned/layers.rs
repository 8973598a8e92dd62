//! Networks of consecutive layers: decisions of `decc`, and its training.

use super::activation::{sigmoid, tanh};
use super::forest::Forest;

/// Policy that maps a list of features to an action.
pub trait Policy: std::fmt::Debug + Send + Sync {
    /// Returns the action. Allocates nothing; the same features give the same bits on every machine.
    fn decide(&self, features: &[f32]) -> f32;
}

/// Activation of a layer's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Rectified unit, max(x, 0).
    Rectified,
    /// First step of a long short-term memory from zero state: sums are those of the gates input, cell and
    /// output, and each unit is `s(o) tanh(s(i) tanh(g))`. The forget gate and the recurrent weights multiply
    /// zeros and are omitted.
    Cell,
    /// Hyperbolic tangent of the sum.
    Tanh,
    /// Identity: the sum itself.
    Linear,
    /// Gated recurrent unit without a reset gate. The layer's previous outputs are its first inputs. Sums are
    /// those of the gate and of the candidate, and each unit is `s(z) before + (1 - s(z)) tanh(n)`.
    Gated,
}

/// Shape and activation of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Number of inputs the layer reads.
    pub inputs: usize,
    /// Number of outputs, which is that of units.
    pub outputs: usize,
    /// Activation of its units.
    pub units: Units,
}

impl Layer {
    /// Creates a layer of this shape.
    pub const fn new(inputs: usize, outputs: usize, units: Units) -> Self {
        Self {
            inputs,
            outputs,
            units,
        }
    }

    /// Returns the number of sums: several per output for cells and gated units.
    pub const fn columns(&self) -> usize {
        match self.units {
            Units::Cell => 3 * self.outputs,
            Units::Gated => 2 * self.outputs,
            _ => self.outputs,
        }
    }

    /// Returns the number of weights and biases.
    pub const fn size(&self) -> usize {
        (self.inputs + 1) * self.columns()
    }

    /// Writes the activations of `sums`. For gated units `outputs` must hold those of the previous step.
    pub fn outputs_of(&self, sums: &[f32], outputs: &mut [f32]) {
        match self.units {
            Units::Rectified => outputs.iter_mut().zip(sums).for_each(|(y, x)| *y = x.max(0.0)),
            Units::Tanh => outputs.iter_mut().zip(sums).for_each(|(y, x)| *y = tanh(*x)),
            Units::Linear => outputs.copy_from_slice(sums),
            Units::Gated => {
                let (gate, new) = sums.split_at(self.outputs);
                for (k, y) in outputs.iter_mut().enumerate() {
                    let kept = sigmoid(gate[k]);
                    *y = kept * *y + (1.0 - kept) * tanh(new[k]);
                }
            }
            Units::Cell => {
                let (input, rest) = sums.split_at(self.outputs);
                let (cell, output) = rest.split_at(self.outputs);
                for (k, y) in outputs.iter_mut().enumerate() {
                    *y = sigmoid(output[k]) * tanh(sigmoid(input[k]) * tanh(cell[k]));
                }
            }
        }
    }
}

/// Upper limit of a layer's sums and inputs.
pub const WIDEST: usize = 256;

/// Network of consecutive layers. `values` holds, layer after layer, the biases and then the weights, grouped
/// by input.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    layers: Vec<Layer>,
    values: Vec<f32>,
}

impl Network {
    /// Creates a network from its values.
    ///
    /// # Panics
    /// If the number of values is wrong, consecutive layers do not match, or one is wider than [`WIDEST`].
    pub fn new(layers: &[Layer], values: Vec<f32>) -> Self {
        let size: usize = layers.iter().map(Layer::size).sum();
        assert_eq!(size, values.len(), "numbers of a network");
        let fit = layers.windows(2).all(|two| two[0].outputs == two[1].inputs);
        let narrow = layers
            .iter()
            .all(|layer| layer.columns().max(layer.inputs) <= WIDEST);
        assert!(fit && narrow, "layers fit behind each other, and into {WIDEST}");
        Self {
            layers: layers.to_vec(),
            values,
        }
    }

    /// Returns the layers, from input to output.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Returns all biases and weights.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Returns all biases and weights for modification.
    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }

    /// Iterates over the layers with their biases and weights.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = (&Layer, &[f32], &[f32])> {
        let mut from = 0;
        let parts = self.layers.iter().map(move |layer| {
            let own = &self.values[from..from + layer.size()];
            from += layer.size();
            let (bias, weights) = own.split_at(layer.columns());
            (layer, bias, weights)
        });
        parts.collect::<Vec<_>>().into_iter()
    }

    /// Runs the network, and passes the outputs of each layer to `each` in order. Allocates nothing.
    pub fn run(&self, features: &[f32], mut each: impl FnMut(&[f32])) {
        let mut values = self.values.as_slice();
        let (mut sums, mut outputs) = ([0.0f32; WIDEST], [0.0f32; WIDEST]);
        outputs[..features.len()].copy_from_slice(features);
        for layer in &self.layers {
            let columns = layer.columns();
            let (own, rest) = values.split_at(layer.size());
            let (bias, weights) = own.split_at(columns);
            // Zero inputs add nothing and are skipped: about half of the outputs of rectified units.
            let (mut active, mut count) = ([0u16; WIDEST], 0);
            for (k, &x) in outputs[..layer.inputs].iter().enumerate() {
                active[count] = k as u16;
                count += usize::from(x != 0.0);
            }
            sums[..columns].copy_from_slice(bias);
            add(&active[..count], &outputs, weights, &mut sums[..columns]);
            layer.outputs_of(&sums[..columns], &mut outputs[..layer.outputs]);
            each(&outputs[..layer.outputs]);
            values = rest;
        }
    }
}

impl Policy for Network {
    fn decide(&self, features: &[f32]) -> f32 {
        let mut action = 0.0;
        self.run(features, |outputs| action = outputs[0]);
        action
    }
}

impl Policy for Forest {
    fn decide(&self, features: &[f32]) -> f32 {
        Self::decide(self, features)
    }
}

/// Adds the products of active inputs and their weights to the sums.
pub(super) fn add(active: &[u16], inputs: &[f32], weights: &[f32], sums: &mut [f32]) {
    let columns = sums.len();
    let (mut from, mut rest) = (0, sums);
    while rest.len() >= 32 {
        let (block, behind) = rest.split_at_mut(32);
        lanes::<32>(active, inputs, &weights[from..], columns, block);
        (from, rest) = (from + 32, behind);
    }
    if rest.len() >= 16 {
        let (block, behind) = rest.split_at_mut(16);
        lanes::<16>(active, inputs, &weights[from..], columns, block);
        (from, rest) = (from + 16, behind);
    }
    for (lane, sum) in rest.iter_mut().enumerate() {
        for &k in active {
            let k = usize::from(k);
            *sum += inputs[k] * weights[k * columns + from + lane];
        }
    }
}

#[inline]
fn lanes<const N: usize>(active: &[u16], inputs: &[f32], weights: &[f32], columns: usize, block: &mut [f32]) {
    let mut sums = [0.0f32; N];
    sums.copy_from_slice(block);
    for &k in active {
        let k = usize::from(k);
        let x = inputs[k];
        let row = &weights[k * columns..][..N];
        for lane in 0..N {
            sums[lane] += x * row[lane];
        }
    }
    block.copy_from_slice(&sums);
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
            0.5, -1.0, // biases
            1.0, 2.0, // of the first input
            0.0, -4.0, // of the second
            0.1, 0.2, 0.3, // gates: input, cell, output
            1.0, -1.0, 0.5, // of the first unit
            9.0, 9.0, 9.0, // of the second, which rests
            0.25, 2.0,
        ];
        let network = Network::new(&layers, values);
        // First: 0.5 + 1 = 1.5, and -1 + 2 - 2 < 0. Gates: 1.6, -1.3, 1.05.
        let cell = sigmoid(1.05) * tanh(sigmoid(1.6) * tanh(-1.3));
        let expected = tanh(0.25 + cell * 2.0);
        assert_eq!(network.decide(&[1.0, 0.5]).to_bits(), expected.to_bits());
    }

    /// Two gated units that keep half and all of their state, and an output, computed by hand.
    #[test]
    fn gated_units_by_hand() {
        let layers = [Layer::new(3, 2, Units::Gated), Layer::new(2, 1, Units::Linear)];
        let values = vec![
            0.0, 50.0, 0.5, 0.0, // biases: gates, what is new
            0.0, 0.0, 1.0, 0.0, // of the first unit before
            0.0, 0.0, 0.0, 0.0, // of the second
            0.0, 0.0, 2.0, 0.0, // of what is read
            0.0, 1.0, 1.0,
        ];
        let network = Network::new(&layers, values);
        let mut got = Vec::new();
        network.run(&[0.25, -0.75, 0.125], |outputs| got.push(outputs.to_vec()));
        let first = 0.5 * 0.25 + 0.5 * tanh(0.5 + 0.25 + 0.25);
        assert_eq!(got, [vec![first, -0.75], vec![first - 0.75]]);
    }

    /// Sums in blocks equal sums one after the other, bit by bit.
    #[test]
    fn blocks_of_lanes_are_sums_in_order() {
        let layers = [
            Layer::new(5, 53, Units::Rectified),
            Layer::new(53, 1, Units::Linear),
        ];
        let size = layers.iter().map(Layer::size).sum::<usize>();
        let number = |k: usize| ((k * 37 % 101) as f32 - 50.0) / 64.3;
        let network = Network::new(&layers, (0..size).map(number).collect());
        let features = [0.3, 0.0, -0.7, 0.2, 1.1];
        let mut seen = features.to_vec();
        for (layer, bias, weights) in network.parts() {
            let sums = (0..layer.columns()).map(|column| {
                let mut sum = bias[column];
                for (k, x) in seen.iter().enumerate() {
                    sum += x * weights[k * layer.columns() + column];
                }
                if layer.units == Units::Rectified {
                    sum.max(0.0)
                } else {
                    sum
                }
            });
            seen = sums.collect();
        }
        assert_eq!(network.decide(&features).to_bits(), seen[0].to_bits());
    }
}
