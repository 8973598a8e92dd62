//! What a cell makes of its gates, and the way back.
//!
//! A gate has `hidden` rows; `u` is what the input adds to a row and `v` what the hidden state adds, biases included.
//! With `s` the logistic function and `.` by element, in PyTorch's order of gates:
//!
//! * LSTM: `i, f, o = s(u + v)`, `g = tanh(u + v)`; `c' = f . c + i . g`, `h' = o . tanh(c')`.
//! * GRU: `r, z = s(u + v)`, `n = tanh(u + r . v)`; `h' = (1 - z) . n + z . h`.
//! * simple: `h' = tanh(u + v)`.

use paceline_congestion::learned::activation::{sigmoid, tanh};

use super::Network;

/// Kinds of cells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    Lstm,
    Gru,
    Simple,
}

/// A cell after a step.
pub(super) struct State {
    /// The hidden state.
    pub h: Vec<f32>,
    /// What else is kept, of an LSTM.
    pub c: Vec<f32>,
    /// Of every row what came of its gate.
    gates: Vec<f32>,
    /// Of every row what the hidden state added.
    by_hidden: Vec<f32>,
}

/// Derivatives by what a step was made of.
pub(super) struct Slopes {
    /// By what the input adds to each row.
    pub input: Vec<f32>,
    /// By what the hidden state adds to each row.
    pub hidden: Vec<f32>,
    /// By the hidden state before, but for what it adds to the rows.
    pub before: Vec<f32>,
}

/// The derivative of the logistic function where its value is `y`.
fn logistic(y: f32) -> f32 {
    y * (1.0 - y)
}

/// The derivative of the hyperbolic tangent where its value is `y`.
fn hyperbolic(y: f32) -> f32 {
    1.0 - y * y
}

impl Cell {
    /// That of a network, if it has one.
    pub(super) const fn of(network: Network) -> Option<Self> {
        match network {
            Network::Lstm => Some(Self::Lstm),
            Network::Gru => Some(Self::Gru),
            Network::Rnn => Some(Self::Simple),
            Network::Ar3 | Network::Persistence => None,
        }
    }

    /// The factor on the hidden size that the gates make.
    pub(super) const fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
            Self::Simple => 1,
        }
    }

    /// A step: `u` and `v` of all rows, the hidden state before, and what else was kept.
    pub(super) fn step(self, u: &[f32], v: Vec<f32>, h: &[f32], c: &[f32]) -> State {
        let n = h.len();
        let mut gates: Vec<f32> = u.iter().zip(&v).map(|(u, v)| u + v).collect();
        let mut kept = Vec::new();
        let next = match self {
            Self::Lstm => {
                for (row, gate) in gates.iter_mut().enumerate() {
                    *gate = if row / n == 2 { tanh(*gate) } else { sigmoid(*gate) };
                }
                let (i, f, g, o) = (&gates[..n], &gates[n..], &gates[2 * n..], &gates[3 * n..]);
                kept.extend((0..n).map(|k| f[k] * c[k] + i[k] * g[k]));
                (0..n).map(|k| o[k] * tanh(kept[k])).collect()
            }
            Self::Gru => {
                gates[..2 * n].iter_mut().for_each(|gate| *gate = sigmoid(*gate));
                for k in 0..n {
                    gates[2 * n + k] = tanh(u[2 * n + k] + gates[k] * v[2 * n + k]);
                }
                let (z, new) = (&gates[n..], &gates[2 * n..]);
                (0..n).map(|k| (1.0 - z[k]) * new[k] + z[k] * h[k]).collect()
            }
            Self::Simple => {
                gates.iter_mut().for_each(|gate| *gate = tanh(*gate));
                gates.clone()
            }
        };
        State {
            h: next,
            c: kept,
            gates,
            by_hidden: v,
        }
    }

    /// Back through the step that made `after`, where the derivatives by its hidden state are `by_h`. Those by what
    /// else is kept are `by_c`, which become those of before.
    pub(super) fn back(self, after: &State, h: &[f32], c: &[f32], by_h: &[f32], by_c: &mut [f32]) -> Slopes {
        let n = h.len();
        let mut input = vec![0.0; self.gates() * n];
        let mut before = vec![0.0; n];
        let gate = |number: usize, k: usize| after.gates[number * n + k];
        match self {
            Self::Lstm => {
                for k in 0..n {
                    let [i, f, g, o] = [0, 1, 2, 3].map(|number| gate(number, k));
                    let squashed = tanh(after.c[k]);
                    by_c[k] += by_h[k] * o * hyperbolic(squashed);
                    input[k] = by_c[k] * g * logistic(i);
                    // Before the first step nothing is kept.
                    input[n + k] = by_c[k] * c.get(k).unwrap_or(&0.0) * logistic(f);
                    input[2 * n + k] = by_c[k] * i * hyperbolic(g);
                    input[3 * n + k] = by_h[k] * squashed * logistic(o);
                    by_c[k] *= f;
                }
            }
            Self::Gru => {
                for k in 0..n {
                    let [r, z, new] = [0, 1, 2].map(|number| gate(number, k));
                    let by_new = by_h[k] * (1.0 - z) * hyperbolic(new);
                    input[k] = by_new * after.by_hidden[2 * n + k] * logistic(r);
                    input[n + k] = by_h[k] * (h[k] - new) * logistic(z);
                    input[2 * n + k] = by_new;
                    before[k] = by_h[k] * z;
                }
            }
            Self::Simple => {
                for k in 0..n {
                    input[k] = by_h[k] * hyperbolic(gate(0, k));
                }
            }
        }
        let mut hidden = input.clone();
        if matches!(self, Self::Gru) {
            for k in 0..n {
                hidden[2 * n + k] *= gate(0, k);
            }
        }
        Slopes {
            input,
            hidden,
            before,
        }
    }
}
