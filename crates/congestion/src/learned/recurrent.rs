//! Small recurrent networks over three inputs, with a linear layer on the last hidden state.
//!
//! The hidden state has `H` lanes. A smaller network is padded with lanes of zero weights, which stay at zero
//! and change no bit of the result. Weights are stored transposed, so that loops over lanes vectorise; sums
//! over the hidden state are in index order.

use super::activation::{sigmoid, tanh};

/// Number of inputs, one per step.
pub const STEPS: usize = 3;

/// Rows of one gate: input weights, hidden weights (indexed by the hidden lane first) and biases.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate<const H: usize> {
    input: [f32; H],
    hidden: [[f32; H]; H],
    bias: [f32; H],
}

/// Rows of a gate as in a model file: one per unit, hidden weights row by row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Weights of the input.
    pub input: &'a [f32],
    /// Weights of the hidden state.
    pub hidden: &'a [f32],
    /// Biases, one per unit.
    pub bias: &'a [f32],
}

impl<const H: usize> Gate<H> {
    /// Creates a gate from at most `H` rows in the order of a model file.
    pub fn new(rows: &Rows<'_>) -> Self {
        let n = rows.input.len();
        let mut gate = Self {
            input: [0.0; H],
            hidden: [[0.0; H]; H],
            bias: [0.0; H],
        };
        gate.input[..n].copy_from_slice(rows.input);
        gate.bias[..n].copy_from_slice(rows.bias);
        for (row, weights) in rows.hidden.chunks_exact(n).enumerate() {
            for (lane, &weight) in weights.iter().enumerate() {
                gate.hidden[lane][row] = weight;
            }
        }
        gate
    }

    /// Returns the contributions of input and bias.
    #[inline]
    fn of_input(&self, x: f32) -> [f32; H] {
        let mut sum = self.bias;
        for (sum, weight) in sum.iter_mut().zip(&self.input) {
            *sum += weight * x;
        }
        sum
    }

    /// Adds the contribution of the hidden state.
    #[inline]
    fn add_hidden(&self, mut sum: [f32; H], h: &[f32; H]) -> [f32; H] {
        for (row, &hj) in self.hidden.iter().zip(h) {
            for (sum, weight) in sum.iter_mut().zip(row) {
                *sum += weight * hj;
            }
        }
        sum
    }

    #[inline]
    fn of(&self, x: f32, h: &[f32; H]) -> [f32; H] {
        self.add_hidden(self.of_input(x), h)
    }
}

/// Recurrent cell: one step of a hidden state.
pub trait Cell<const H: usize> {
    /// State that is kept between steps.
    type State;
    /// Returns the state after the first input, starting from zero.
    fn first(&self, x: f32) -> Self::State;
    /// Returns the state after the next input.
    fn next(&self, state: &Self::State, x: f32) -> Self::State;
    /// Returns the hidden state.
    fn hidden(state: &Self::State) -> &[f32; H];
}

/// Long short-term memory, gates in PyTorch's order: input, forget, cell, output.
#[derive(Clone, Debug, PartialEq)]
pub struct Lstm<const H: usize>(pub [Gate<H>; 4]);

/// Hidden state `h` and cell state `c`.
#[derive(Clone, Copy, Debug)]
pub struct LstmState<const H: usize> {
    h: [f32; H],
    c: [f32; H],
}

impl<const H: usize> LstmState<H> {
    #[inline]
    fn new(c: [f32; H], output: &[f32; H]) -> Self {
        let mut h = [0.0; H];
        for k in 0..H {
            h[k] = sigmoid(output[k]) * tanh(c[k]);
        }
        Self { h, c }
    }
}

impl<const H: usize> Cell<H> for Lstm<H> {
    type State = LstmState<H>;

    #[inline]
    fn first(&self, x: f32) -> LstmState<H> {
        let [i, _, g, o] = &self.0;
        let (i, g, o) = (i.of_input(x), g.of_input(x), o.of_input(x));
        let mut c = [0.0; H];
        for k in 0..H {
            c[k] = sigmoid(i[k]) * tanh(g[k]);
        }
        LstmState::new(c, &o)
    }

    #[inline]
    fn next(&self, state: &LstmState<H>, x: f32) -> LstmState<H> {
        let [i, f, g, o] = &self.0;
        let (i, f) = (i.of(x, &state.h), f.of(x, &state.h));
        let (g, o) = (g.of(x, &state.h), o.of(x, &state.h));
        let mut c = [0.0; H];
        for k in 0..H {
            c[k] = sigmoid(f[k]) * state.c[k] + sigmoid(i[k]) * tanh(g[k]);
        }
        LstmState::new(c, &o)
    }

    #[inline]
    fn hidden(state: &LstmState<H>) -> &[f32; H] {
        &state.h
    }
}

/// Gated recurrent unit in PyTorch's form: gates reset, update and new. The reset gate multiplies the third
/// gate's hidden sum, bias included, so that gate keeps its two biases separate.
#[derive(Clone, Debug, PartialEq)]
pub struct Gru<const H: usize> {
    /// Reset and update gates, each with the sum of both biases.
    pub gates: [Gate<H>; 2],
    /// New gate, with the input's bias.
    pub new: Gate<H>,
    /// Hidden state's bias of the new gate.
    pub new_bias: [f32; H],
}

impl<const H: usize> Gru<H> {
    /// Computes a step from the sums of the gates.
    #[inline]
    fn step(&self, h: &[f32; H], reset: &[f32; H], update: &[f32; H], x: f32, new: &[f32; H]) -> [f32; H] {
        let input = self.new.of_input(x);
        let mut next = [0.0; H];
        for k in 0..H {
            let n = tanh(input[k] + sigmoid(reset[k]) * new[k]);
            let z = sigmoid(update[k]);
            next[k] = (1.0 - z) * n + z * h[k];
        }
        next
    }
}

impl<const H: usize> Cell<H> for Gru<H> {
    type State = [f32; H];

    #[inline]
    fn first(&self, x: f32) -> [f32; H] {
        let [reset, update] = &self.gates;
        self.step(
            &[0.0; H],
            &reset.of_input(x),
            &update.of_input(x),
            x,
            &self.new_bias,
        )
    }

    #[inline]
    fn next(&self, h: &[f32; H], x: f32) -> [f32; H] {
        let [reset, update] = &self.gates;
        let new = self.new.add_hidden(self.new_bias, h);
        self.step(h, &reset.of(x, h), &update.of(x, h), x, &new)
    }

    #[inline]
    fn hidden(state: &[f32; H]) -> &[f32; H] {
        state
    }
}

/// Simple recurrent network with tanh.
#[derive(Clone, Debug, PartialEq)]
pub struct Rnn<const H: usize>(pub Gate<H>);

impl<const H: usize> Cell<H> for Rnn<H> {
    type State = [f32; H];

    #[inline]
    fn first(&self, x: f32) -> [f32; H] {
        self.0.of_input(x).map(tanh)
    }

    #[inline]
    fn next(&self, h: &[f32; H], x: f32) -> [f32; H] {
        self.0.of(x, h).map(tanh)
    }

    #[inline]
    fn hidden(state: &[f32; H]) -> &[f32; H] {
        state
    }
}

/// Cell over three inputs, and a linear layer on its last hidden state.
#[derive(Clone, Debug, PartialEq)]
pub struct Network<C, const H: usize> {
    /// Recurrent cell of the network.
    pub cell: C,
    /// Weights of the linear layer.
    pub linear: [f32; H],
    /// Bias of the linear layer.
    pub bias: f32,
}

impl<C: Cell<H>, const H: usize> Network<C, H> {
    /// Returns the output for three inputs, oldest first.
    pub fn run(&self, x: &[f32; STEPS]) -> f32 {
        let state = self.cell.first(x[0]);
        let state = self.cell.next(&state, x[1]);
        let state = self.cell.next(&state, x[2]);
        let h = C::hidden(&state);
        // Four independent partial sums allow four additions in flight.
        let mut sums = [0.0f32; 4];
        for (w, h) in self.linear.chunks_exact(4).zip(h.chunks_exact(4)) {
            for k in 0..4 {
                sums[k] += w[k] * h[k];
            }
        }
        self.bias + ((sums[0] + sums[1]) + (sums[2] + sums[3]))
    }
}
