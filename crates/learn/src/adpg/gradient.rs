//! Loss of a window, its hand-written derivatives, and the optimiser.

use paceline_congestion::learned::mlp::{INPUTS, Mlp, Pass, UNITS};
use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use crate::rng::normal;

/// Observations and passes of a flow between two updates.
#[derive(Clone, Debug, Default)]
pub struct Window {
    seen: Vec<[f32; INPUTS]>,
    passes: Vec<Pass>,
}

impl Window {
    /// Adds a decision: its inputs and the network's pass.
    pub fn push(&mut self, seen: [f32; INPUTS], pass: Pass) {
        self.seen.push(seen);
        self.passes.push(pass);
    }

    /// Returns the number of decisions.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Returns true if there are no decisions.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Iterates over z of each decision.
    pub fn errors(&self) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.seen.iter().map(|seen| f64::from(seen[INPUTS - 1]))
    }

    /// Returns G of each decision: the discounted mean of z from there on.
    fn futures(&self, discount: Discount) -> Vec<f64> {
        let Discount { gamma, largest } = discount;
        let mut sum = 0.0;
        let later = self.errors().rev().zip(1..).map(|(z, count)| {
            sum = z.min(largest) + gamma * sum;
            sum / f64::from(count)
        });
        let mut futures: Vec<f64> = later.collect();
        futures.reverse();
        futures
    }
}

/// Weights of the errors z that follow a decision.
#[derive(Clone, Copy, Debug)]
pub struct Discount {
    /// Factor from one decision to the next.
    pub gamma: f64,
    /// Upper limit of z: a single jam would outweigh everything else.
    pub largest: f64,
}

/// Returns the loss (1) of the module, for a discount and a cap on z, and adds `share` times its derivatives
/// to `slope`.
pub fn gradient(policy: &Mlp, window: &Window, discount: Discount, share: f64, slope: &mut [f64]) -> f64 {
    let count = window.len() as f64;
    let actions = || window.passes.iter().map(|pass| f64::from(pass.output));
    let mean = actions().sum::<f64>() / count;
    let mut loss = 0.0;
    for ((pass, seen), future) in window
        .passes
        .iter()
        .zip(&window.seen)
        .zip(window.futures(discount))
    {
        let action = f64::from(pass.output);
        // The sum over pairs equals that of squares about the mean.
        loss += (action * future + (action - mean) * (action - mean)) / count;
        let by_action = (future + 2.0 * (action - mean)) / count;
        back(policy, seen, pass, share * by_action, slope);
    }
    loss
}

/// Adds the derivatives with respect to the weights, given the one with respect to the output.
fn back(policy: &Mlp, seen: &[f32; INPUTS], pass: &Pass, by_output: f64, slope: &mut [f64]) {
    let output = f64::from(pass.output);
    // The output is a hyperbolic tangent of its sum.
    let by_sum = by_output * (1.0 - output * output);
    let (first, rest) = slope.split_at_mut(UNITS * INPUTS);
    let (second, last) = rest.split_at_mut(UNITS * UNITS);
    let mut by_first = [0.0; UNITS];
    for unit in 0..UNITS {
        last[unit] += by_sum * f64::from(pass.second[unit]);
        // A rectified unit at zero passes no derivative on.
        if pass.second[unit] <= 0.0 {
            continue;
        }
        let by_unit = by_sum * f64::from(policy.last[unit]);
        for below in 0..UNITS {
            second[unit * UNITS + below] += by_unit * f64::from(pass.first[below]);
            by_first[below] += by_unit * f64::from(policy.second[unit][below]);
        }
    }
    for unit in 0..UNITS {
        if pass.first[unit] <= 0.0 {
            continue;
        }
        for input in 0..INPUTS {
            first[unit * INPUTS + input] += by_first[unit] * f64::from(seen[input]);
        }
    }
}

/// Adam optimiser of a network's weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Adam {
    rate: f64,
    steps: i32,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl Adam {
    const BETAS: (f64, f64) = (0.9, 0.999);
    const EPSILON: f64 = 1e-5;

    /// Creates the optimiser for `weights` weights.
    pub fn new(weights: usize, rate: f64) -> Self {
        Self {
            rate,
            steps: 0,
            mean: vec![0.0; weights],
            square: vec![0.0; weights],
        }
    }

    /// Returns the number of weights in each of its two means.
    pub(super) fn lengths(&self) -> [usize; 2] {
        [self.mean.len(), self.square.len()]
    }

    /// Returns the weights after a step along `slope`, whose components are clamped to `clip`.
    pub fn step(&mut self, policy: &Mlp, slope: &[f64], clip: f64) -> Mlp {
        self.steps += 1;
        let (keep, keep_square) = Self::BETAS;
        // Corrects the bias of averages that start at zero.
        let scale = 1.0 - keep.powi(self.steps);
        let scale_square = 1.0 - keep_square.powi(self.steps);
        let moved = policy
            .weights()
            .zip(slope)
            .enumerate()
            .map(|(index, (weight, slope))| {
                let slope = slope.clamp(-clip, clip);
                let (mean, square) = (&mut self.mean[index], &mut self.square[index]);
                *mean = keep * *mean + (1.0 - keep) * slope;
                *square = keep_square * *square + (1.0 - keep_square) * slope * slope;
                let down = *mean / scale / ((*square / scale_square).sqrt() + Self::EPSILON);
                weight - (self.rate * down) as f32
            });
        let moved: Vec<f32> = moved.collect();
        Mlp::of(moved)
    }
}

/// Returns a matrix whose rows (or columns, if those are fewer) are orthogonal with a length of the square
/// root of two.
pub(super) fn orthogonal(rng: &mut Rng, rows: usize, columns: usize) -> Vec<f32> {
    let (count, length) = (rows.min(columns), rows.max(columns));
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while basis.len() < count {
        let mut vector: Vec<f64> = (0..length).map(|_| normal(rng)).collect();
        for other in &basis {
            let along: f64 = vector.iter().zip(other).map(|(a, b)| a * b).sum();
            vector.iter_mut().zip(other).for_each(|(a, b)| *a -= along * b);
        }
        let norm = vector.iter().map(|a| a * a).sum::<f64>().sqrt();
        // Normalising a vector that nearly depends on the others would only amplify rounding errors.
        if norm > 1e-6 {
            basis.push(vector.iter().map(|a| a / norm).collect());
        }
    }
    let at = |row: usize, column: usize| match rows <= columns {
        true => basis[row][column],
        false => basis[column][row],
    };
    let entries = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    entries
        .map(|(row, column)| (at(row, column) * std::f64::consts::SQRT_2) as f32)
        .collect()
}
