//! Forward and backward step of a recurrent cell.
//!
//! A gate has `hidden` rows; `u` is the input's contribution to a row and `v` the hidden state's, each with
//! its bias. With `s` the logistic function and `.` by element, in PyTorch's order of gates:
//!
//! * LSTM: `i, f, o = s(u + v)`, `g = tanh(u + v)`; `c' = f . c + i . g`, `h' = o . tanh(c')`.
//! * GRU: `r, z = s(u + v)`, `n = tanh(u + r . v)`; `h' = (1 - z) . n + z . h`.
//! * simple: `h' = tanh(u + v)`.

use paceline_congestion::learned::activation::{sigmoid, tanh};

use super::Network;

/// Kinds of recurrent cells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    Lstm,
    Gru,
    Simple,
}

/// State of a cell after a step.
pub(super) struct State {
    /// Hidden state after the step.
    pub h: Vec<f32>,
    /// Cell state of an LSTM; empty for others.
    pub c: Vec<f32>,
    /// Gate values of all rows.
    gates: Vec<f32>,
    /// Contributions of the hidden state to all rows.
    by_hidden: Vec<f32>,
}

/// Derivatives by the inputs of a step.
pub(super) struct Slopes {
    /// Derivatives by the input's contribution to each row.
    pub input: Vec<f32>,
    /// Derivatives by the hidden state's contribution to each row.
    pub hidden: Vec<f32>,
    /// Derivatives by the previous hidden state, without its contributions to the rows.
    pub before: Vec<f32>,
}

/// Returns the derivative of the logistic function from its value `y`.
fn logistic(y: f32) -> f32 {
    y * (1.0 - y)
}

/// Returns the derivative of the hyperbolic tangent from its value `y`.
fn hyperbolic(y: f32) -> f32 {
    1.0 - y * y
}

impl Cell {
    /// Returns the cell of a network; `None` if it is not recurrent.
    pub(super) const fn of(network: Network) -> Option<Self> {
        match network {
            Network::Lstm => Some(Self::Lstm),
            Network::Gru => Some(Self::Gru),
            Network::Rnn => Some(Self::Simple),
            Network::Ar3 | Network::Persistence => None,
        }
    }

    /// Returns the number of gates.
    pub(super) const fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
            Self::Simple => 1,
        }
    }

    /// Makes a step from the contributions `u` and `v` of all rows, the previous hidden state and the
    /// previous cell state.
    pub(super) fn step(self, u: &[f32], v: Vec<f32>, h: &[f32], c: &[f32]) -> State {
        let n = h.len();
        let mut gates: Vec<f32> = u.iter().zip(&v).map(|(u, v)| u + v).collect();
        let mut kept = Vec::new();
        let next = match self {
            Self::Lstm => {
                for (row, gate) in gates.iter_mut().enumerate() {
                    // PyTorch's order of gates: the third part is the candidate for the cell.
                    *gate = if row / n == 2 { tanh(*gate) } else { sigmoid(*gate) };
                }
                let (i, f, g, o) = (&gates[..n], &gates[n..], &gates[2 * n..], &gates[3 * n..]);
                kept.extend((0..n).map(|k| f[k] * c[k] + i[k] * g[k]));
                (0..n).map(|k| o[k] * tanh(kept[k])).collect()
            }
            Self::Gru => {
                // PyTorch's order of gates: reset, update, new; its reset gate acts on the hidden state's part alone.
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

    /// Returns the derivatives of the step that gave `after`, where `by_h` are the derivatives by its hidden
    /// state. `by_c` are the derivatives by its cell state and are replaced by those by the previous one.
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
                    // There is no cell state before the first step.
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
                // The reset gate multiplies the hidden state's contribution to the new state only.
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
