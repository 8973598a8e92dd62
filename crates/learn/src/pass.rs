//! Forward passes of a network on many inputs at once, and hand-written derivatives.

use paceline_congestion::learned::activation::{sigmoid, tanh};
use paceline_congestion::learned::dense::{Shape, product, transposed};
use paceline_congestion::learned::layers::{Layer, Network, Units};
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::Floats;

/// Inputs and sums of each layer.
pub(crate) struct Pass {
    rows: usize,
    pub(crate) inputs: Vec<Vec<f32>>,
    sums: Vec<Vec<f32>>,
    /// Outputs of the network.
    pub(crate) output: Vec<f32>,
}

/// Runs the network on `rows` rows of inputs.
pub(crate) fn forward(network: &Network, rows: usize, input: Vec<f32>) -> Pass {
    let (mut inputs, mut all, mut now) = (Vec::new(), Vec::new(), input);
    for (layer, bias, weights) in network.parts() {
        let columns = layer.columns();
        let mut sums = bias.repeat(rows);
        let shape = Shape {
            rows,
            inner: layer.inputs,
            columns,
        };
        product(shape, &now, weights, &mut sums);
        let mut next = vec![0.0; rows * layer.outputs];
        // A gated layer mixes its previous state, its first inputs, into its outputs.
        if layer.units == Units::Gated {
            let rows = next
                .chunks_exact_mut(layer.outputs)
                .zip(now.chunks_exact(layer.inputs));
            rows.for_each(|(before, row)| before.copy_from_slice(&row[..layer.outputs]));
        }
        let each = sums
            .chunks_exact(columns)
            .zip(next.chunks_exact_mut(layer.outputs));
        each.for_each(|(sums, next)| layer.outputs_of(sums, next));
        inputs.push(std::mem::replace(&mut now, next));
        all.push(sums);
    }
    Pass {
        rows,
        inputs,
        sums: all,
        output: now,
    }
}

impl Pass {
    /// Returns the outputs of the first layer, the recurrent state.
    pub(crate) fn memory(&self) -> &[f32] {
        self.inputs.get(1).unwrap_or(&self.output)
    }
}

/// Adds the derivatives with respect to the network's values to `slope`, if given, from the derivatives
/// `by_output` with respect to its outputs; returns those with respect to the inputs.
pub(crate) fn backward(
    network: &Network,
    pass: &Pass,
    by_output: Vec<f32>,
    slope: Option<&mut [f32]>,
) -> Vec<f32> {
    backward_through(network, pass, by_output, &[], slope)
}

/// As [`backward`], if the first layer's outputs were also passed on as recurrent state: `by_memory` are the
/// derivatives with respect to that, for the first rows.
pub(crate) fn backward_through(
    network: &Network,
    pass: &Pass,
    by_output: Vec<f32>,
    by_memory: &[f32],
    mut slope: Option<&mut [f32]>,
) -> Vec<f32> {
    let (mut by, mut end, rows) = (by_output, network.values().len(), pass.rows);
    let parts: Vec<_> = network.parts().collect();
    for (index, (layer, _, weights)) in parts.into_iter().enumerate().rev() {
        let columns = layer.columns();
        // The recurrent state influences later decisions as well as the next layer.
        if index == 0 {
            by.iter_mut().zip(by_memory).for_each(|(by, more)| *by += more);
        }
        let by_sums = by_sums(layer, &pass.sums[index], &pass.inputs[index], &by);
        let begin = end - layer.size();
        if let Some(slope) = slope.as_deref_mut() {
            let (bias, own) = slope[begin..end].split_at_mut(columns);
            for row in by_sums.chunks_exact(columns) {
                bias.iter_mut().zip(row).for_each(|(sum, by)| *sum += by);
            }
            let input = transposed(rows, layer.inputs, &pass.inputs[index]);
            let shape = Shape {
                rows: layer.inputs,
                inner: rows,
                columns,
            };
            product(shape, &input, &by_sums, own);
        }
        let by_outputs = std::mem::replace(&mut by, vec![0.0; rows * layer.inputs]);
        let weights = transposed(layer.inputs, columns, weights);
        let shape = Shape {
            rows,
            inner: columns,
            columns: layer.inputs,
        };
        product(shape, &by_sums, &weights, &mut by);
        // The previous state also reaches the outputs directly, through the gate.
        if layer.units == Units::Gated {
            let units = layer.outputs;
            let rows = by
                .chunks_exact_mut(layer.inputs)
                .zip(by_outputs.chunks_exact(units));
            for ((by, by_outputs), sums) in rows.zip(pass.sums[index].chunks_exact(columns)) {
                let kept = by_outputs.iter().zip(&sums[..units]);
                by.iter_mut()
                    .zip(kept)
                    .for_each(|(by, (out, gate))| *by += out * sigmoid(*gate));
            }
        }
        end = begin;
    }
    by
}

/// Returns the derivatives with respect to a layer's sums.
fn by_sums(layer: &Layer, sums: &[f32], inputs: &[f32], by: &[f32]) -> Vec<f32> {
    match layer.units {
        Units::Gated => {
            let units = layer.outputs;
            let mut out = vec![0.0; sums.len()];
            let rows = out.chunks_exact_mut(2 * units).zip(sums.chunks_exact(2 * units));
            let rows = rows.zip(inputs.chunks_exact(layer.inputs));
            // An output is `kept * before + (1 - kept) * new`, here differentiated by the sums of both gates.
            for (((out, sums), before), by) in rows.zip(by.chunks_exact(units)) {
                for unit in 0..units {
                    let (kept, new) = (sigmoid(sums[unit]), tanh(sums[units + unit]));
                    out[unit] = by[unit] * (before[unit] - new) * kept * (1.0 - kept);
                    out[units + unit] = by[unit] * (1.0 - kept) * (1.0 - new * new);
                }
            }
            out
        }
        Units::Linear => by.to_vec(),
        Units::Rectified => {
            let each = by.iter().zip(sums);
            each.map(|(by, sum)| if *sum > 0.0 { *by } else { 0.0 }).collect()
        }
        Units::Tanh => {
            let each = by.iter().zip(sums);
            each.map(|(by, sum)| by * (1.0 - tanh(*sum) * tanh(*sum)))
                .collect()
        }
        Units::Cell => {
            let units = layer.outputs;
            let mut out = vec![0.0; sums.len()];
            let rows = out.chunks_exact_mut(3 * units).zip(sums.chunks_exact(3 * units));
            for ((out, sums), by) in rows.zip(by.chunks_exact(units)) {
                for unit in 0..units {
                    let input = sigmoid(sums[unit]);
                    let cell = tanh(sums[units + unit]);
                    let output = sigmoid(sums[2 * units + unit]);
                    let kept = tanh(input * cell);
                    let by_cell = by[unit] * output * (1.0 - kept * kept);
                    out[unit] = by_cell * cell * input * (1.0 - input);
                    out[units + unit] = by_cell * input * (1.0 - cell * cell);
                    out[2 * units + unit] = by[unit] * kept * output * (1.0 - output);
                }
            }
            out
        }
    }
}

/// Adam optimiser (Kingma and Ba, 2015) for a list of values.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Adam {
    mean: Vec<f32>,
    square: Vec<f32>,
    lacking: (f64, f64),
}

impl Adam {
    const DECAY: (f64, f64) = (0.9, 0.999);
    const EPSILON: f32 = 1e-8;

    pub(crate) fn new(size: usize) -> Self {
        Self {
            mean: vec![0.0; size],
            square: vec![0.0; size],
            lacking: (1.0, 1.0),
        }
    }

    /// Makes a step along `slope`, whose length is first limited to `longest`.
    pub(crate) fn step(&mut self, values: &mut [f32], slope: &[f32], rate: f64, longest: f32) {
        let length = slope.iter().map(|by| by * by).sum::<f32>().sqrt();
        let cut = if length > longest { longest / length } else { 1.0 };
        self.lacking.0 *= Self::DECAY.0;
        self.lacking.1 *= Self::DECAY.1;
        // Corrects the bias of averages that start at zero.
        let whole = (1.0 / (1.0 - self.lacking.1)) as f32;
        let rate = (rate / (1.0 - self.lacking.0)) as f32;
        let (kept, square_kept) = (Self::DECAY.0 as f32, Self::DECAY.1 as f32);
        let means = self.mean.iter_mut().zip(&mut self.square);
        for ((value, by), (mean, square)) in values.iter_mut().zip(slope).zip(means) {
            let by = by * cut;
            *mean = kept * *mean + (1.0 - kept) * by;
            *square = square_kept * *square + (1.0 - square_kept) * by * by;
            *value -= rate * *mean / ((*square * whole).sqrt() + Self::EPSILON);
        }
    }
}

/// Upper limit of a gradient's length.
const LONGEST: f32 = 1.0;

/// Network with the state of its optimiser.
#[derive(Clone)]
pub(crate) struct Fitted {
    pub(crate) network: Network,
    adam: Adam,
}

impl Fitted {
    pub(crate) fn new(network: Network) -> Self {
        Self {
            adam: Adam::new(network.values().len()),
            network,
        }
    }

    pub(crate) fn step(&mut self, slope: &[f32], rate: f64) {
        self.adam.step(self.network.values_mut(), slope, rate, LONGEST);
    }

    /// Returns the state for a checkpoint.
    pub(crate) fn state(&self) -> FittedState {
        FittedState {
            values: Floats(self.network.values().to_vec()),
            adam: self.adam.clone(),
        }
    }

    /// Restores a network from [`Self::state`].
    pub(crate) fn of(layers: &[Layer], state: FittedState) -> Result<Self, Error> {
        Ok(Self {
            network: network(layers, state.values)?,
            adam: state.adam,
        })
    }
}

/// Values of a network and state of its optimiser.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct FittedState {
    values: Floats,
    adam: Adam,
}

/// Draws rows of `width` inputs with their labels, with replacement.
pub(crate) fn sample(
    inputs: &[f32],
    width: usize,
    labels: &[f32],
    rows: usize,
    rng: &mut Rng,
) -> (Vec<f32>, Vec<f32>) {
    let (mut drawn, mut goals) = (Vec::with_capacity(rows * width), Vec::with_capacity(rows));
    for _ in 0..rows {
        let row = rng.below(labels.len().max(1) as u64) as usize;
        drawn.extend_from_slice(&inputs[row * width..(row + 1) * width]);
        goals.push(labels[row]);
    }
    (drawn, goals)
}

/// Creates a network of these layers and values.
pub(crate) fn network(layers: &[Layer], values: Floats) -> Result<Network, Error> {
    let size = layers.iter().map(Layer::size).sum::<usize>();
    Ok(Network::new(layers, values.expect(size)?))
}

/// Returns random initial weights that preserve the scale through rectified units; those of the last layer
/// are small.
pub(crate) fn first(layers: &[Layer], rng: &mut Rng) -> Network {
    let mut values = Vec::new();
    for (index, layer) in layers.iter().enumerate() {
        values.resize(values.len() + layer.columns(), 0.0);
        let last = index + 1 == layers.len();
        let reach = (6.0 / layer.inputs as f64).sqrt() * if last { 0.1 } else { 1.0 };
        let weights =
            (0..layer.inputs * layer.columns()).map(|_| ((2.0 * rng.next_f64() - 1.0) * reach) as f32);
        values.extend(weights);
    }
    Network::new(layers, values)
}
