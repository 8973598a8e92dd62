//! Recurrent networks: outputs, and the derivatives of a loss by every weight.
//!
//! Networks with about 10^3 weights and three inputs need no library: loops in a fixed order give the same
//! bits on every machine. The tests compare them with a library, and the derivatives with finite differences.

mod cell;

use paceline_kernel::rng::Rng;

use super::{Network, Tensor, Weights};
use crate::Error;
use crate::dataset::Pair;
use cell::{Cell, Slopes, State};

/// Number of a network's inputs.
const STEPS: usize = 3;

/// Indices of a network's tensors, in the order of [`shapes`].
const W_IH: usize = 0;
const W_HH: usize = 1;
const B_IH: usize = 2;
const B_HH: usize = 3;
const LINEAR: usize = 4;
const LINEAR_BIAS: usize = 5;

/// One value per weight: the weights themselves, or derivatives by them.
pub(super) type Values = [Vec<f32>; 6];

/// Recurrent network over three features, with a linear layer on its last state.
pub(super) struct Net {
    network: Network,
    cell: Cell,
    hidden: usize,
    /// Weights in the order of [`shapes`].
    pub(super) values: Values,
}

/// Returns the names and shapes of a network's tensors, in the order in which they are drawn.
pub(super) fn shapes(network: Network, hidden: usize) -> [(String, Vec<usize>); 6] {
    let rows = Cell::of(network).map_or(1, Cell::gates) * hidden;
    let cell = |name: &str, shape: &[usize]| (format!("{}.{name}_l0", network.name()), shape.to_vec());
    [
        cell("weight_ih", &[rows, 1]),
        cell("weight_hh", &[rows, hidden]),
        cell("bias_ih", &[rows]),
        cell("bias_hh", &[rows]),
        ("linear.weight".into(), vec![1, hidden]),
        ("linear.bias".into(), vec![1]),
    ]
}

/// Draws initial weights, uniform in `±1/√hidden` as in PyTorch.
pub(super) fn initial(network: Network, hidden: usize, rng: &mut Rng) -> Weights {
    let bound = 1.0 / (hidden as f64).sqrt();
    let mut draw = |count: usize| -> Vec<f32> {
        let one = |_| (bound * (2.0 * rng.next_f64() - 1.0)) as f32;
        (0..count).map(one).collect()
    };
    shapes(network, hidden)
        .into_iter()
        .map(|(name, shape)| {
            let values = draw(shape.iter().product());
            (name, Tensor::new(&shape, values))
        })
        .collect()
}

/// Step of the cell, with the values that its derivative needs.
struct Step {
    x: f32,
    before: Vec<f32>,
    state: State,
}

impl Net {
    /// Returns the network with these weights.
    ///
    /// # Errors
    /// A tensor is missing or has another shape, or the network is not recurrent.
    pub(super) fn new(network: Network, hidden: usize, weights: &Weights) -> Result<Self, Error> {
        let cell = Cell::of(network)
            .ok_or_else(|| Error::Options(format!("{network} is not a recurrent network")))?;
        let mut values = Values::default();
        for (values, (name, shape)) in values.iter_mut().zip(shapes(network, hidden)) {
            let tensor = weights.get(&name).filter(|tensor| tensor.shape == shape);
            let tensor = tensor.ok_or_else(|| {
                Error::Options(format!(
                    "weights of a {network} of {hidden} need `{name}` of shape {shape:?}"
                ))
            })?;
            values.clone_from(&tensor.values);
        }
        Ok(Self {
            network,
            cell,
            hidden,
            values,
        })
    }

    /// Returns the outputs for each pair's features.
    pub(super) fn predict(&self, pairs: &[Pair]) -> Vec<f32> {
        let one = |pair: &Pair| self.output(&self.steps(&pair.k));
        pairs.iter().map(one).collect()
    }

    /// Returns the outputs, the mean absolute error against `L`, and its derivatives.
    pub(super) fn learn(&self, pairs: &[Pair]) -> (Vec<f32>, f32, Values) {
        let mut slopes = self.values.each_ref().map(|values| vec![0.0; values.len()]);
        let count = pairs.len() as f32;
        let mut sum = 0.0;
        let one = |pair: &Pair| {
            let steps = self.steps(&pair.k);
            let out = self.output(&steps);
            sum += (out - pair.l).abs();
            // The derivative of an absolute value; at 0 either side will do.
            let slope = if out >= pair.l { 1.0 } else { -1.0 };
            // The loss is a mean over the batch.
            self.back(&steps, slope / count, &mut slopes);
            out
        };
        let outputs = pairs.iter().map(one).collect();
        (outputs, sum / count, slopes)
    }

    /// Returns the present weights as tensors.
    pub(super) fn weights(&self) -> Weights {
        let tensors = self.values.iter().zip(shapes(self.network, self.hidden));
        tensors
            .map(|(values, (name, shape))| (name, Tensor::new(&shape, values.clone())))
            .collect()
    }

    fn steps(&self, features: &[f32; STEPS]) -> Vec<Step> {
        let nothing = vec![0.0; self.hidden];
        let mut steps: Vec<Step> = Vec::with_capacity(STEPS);
        for &x in features {
            let last = steps.last().map(|step| &step.state);
            let (h, c) = last.map_or((&nothing, &nothing), |state| (&state.h, &state.c));
            let by_input = self.affine(B_IH, |row| self.values[W_IH][row] * x);
            let rows = &self.values[W_HH];
            let by_hidden = self.affine(B_HH, |row| dot(&rows[row * self.hidden..][..self.hidden], h));
            steps.push(Step {
                x,
                before: h.clone(),
                state: self.cell.step(&by_input, by_hidden, h, c),
            });
        }
        steps
    }

    /// Adds `of` to the bias of every row.
    fn affine(&self, bias: usize, of: impl Fn(usize) -> f32) -> Vec<f32> {
        let rows = self.values[bias].iter().enumerate();
        rows.map(|(row, bias)| of(row) + bias).collect()
    }

    fn output(&self, steps: &[Step]) -> f32 {
        dot(&self.values[LINEAR], &steps[STEPS - 1].state.h) + self.values[LINEAR_BIAS][0]
    }

    /// Adds to `slopes` the derivatives by the weights, where `slope` is the derivative by the output.
    fn back(&self, steps: &[Step], slope: f32, slopes: &mut Values) {
        add(&mut slopes[LINEAR], slope, &steps[STEPS - 1].state.h);
        slopes[LINEAR_BIAS][0] += slope;
        let mut by_h: Vec<f32> = self.values[LINEAR].iter().map(|weight| slope * weight).collect();
        let mut by_c = vec![0.0; self.hidden];
        for (at, step) in steps.iter().enumerate().rev() {
            let c_before = at.checked_sub(1).map_or(&[][..], |at| &steps[at].state.c);
            let Slopes {
                input,
                hidden,
                before,
            } = self
                .cell
                .back(&step.state, &step.before, c_before, &by_h, &mut by_c);
            by_h = before;
            for (row, (&by_input, &by_hidden)) in input.iter().zip(&hidden).enumerate() {
                slopes[W_IH][row] += by_input * step.x;
                slopes[B_IH][row] += by_input;
                slopes[B_HH][row] += by_hidden;
                let own = row * self.hidden..(row + 1) * self.hidden;
                add(&mut slopes[W_HH][own.clone()], by_hidden, &step.before);
                add(&mut by_h, by_hidden, &self.values[W_HH][own]);
            }
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(sums: &mut [f32], factor: f32, values: &[f32]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += factor * value;
    }
}
