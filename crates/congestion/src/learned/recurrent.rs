//! Small recurrent networks over three numbers, and a linear layer on the last hidden state.
//!
//! The hidden state has `H` lanes: a network with fewer is filled up with lanes whose weights are zero,
//! which stay at zero and add nothing, to the bit. Weights are kept with the rows of a gate side by side
//! (transposed), so that loops over lanes become vectors; sums over the hidden state go in its order.

use super::activation::{sigmoid, tanh};

/// Numbers that a network reads.
pub const STEPS: usize = 3;

/// The rows of one gate: weights of the input, of the hidden state (by its lane first), and a bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate<const H: usize> {
    input: [f32; H],
    hidden: [[f32; H]; H],
    bias: [f32; H],
}

/// A gate's rows as a model file has them: `rows` of each, the hidden weights row by row.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Weights of the input.
    pub input: &'a [f32],
    /// Weights of the hidden state.
    pub hidden: &'a [f32],
    /// Biases.
    pub bias: &'a [f32],
}

impl<const H: usize> Gate<H> {
    /// Of rows in the order of a model file, at most `H`.
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

    /// Input and bias.
    #[inline]
    fn of_input(&self, x: f32) -> [f32; H] {
        let mut sum = self.bias;
        for (sum, weight) in sum.iter_mut().zip(&self.input) {
            *sum += weight * x;
        }
        sum
    }

    /// The hidden state on top.
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

/// What happens to a hidden state in one step.
pub trait Cell<const H: usize> {
    /// All that is kept between steps.
    type State;
    /// The state after the first number; the one before is zero.
    fn first(&self, x: f32) -> Self::State;
    /// The state after the next.
    fn next(&self, state: &Self::State, x: f32) -> Self::State;
    /// The hidden state.
    fn hidden(state: &Self::State) -> &[f32; H];
}

/// Long short-term memory, gates in PyTorch's order: input, forget, cell, output.
#[derive(Clone, Debug, PartialEq)]
pub struct Lstm<const H: usize>(pub [Gate<H>; 4]);

/// Hidden and cell state.
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

/// Gated recurrent unit in PyTorch's form: gates reset, update and new; the reset gate takes effect
/// behind the hidden weights of the third, whose biases are apart therefore.
#[derive(Clone, Debug, PartialEq)]
pub struct Gru<const H: usize> {
    /// Reset and update, with the sum of both biases.
    pub gates: [Gate<H>; 2],
    /// New, with the input's bias.
    pub new: Gate<H>,
    /// New, the hidden state's bias.
    pub new_bias: [f32; H],
}

impl<const H: usize> Gru<H> {
    /// The step, given what the hidden state adds to each gate.
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

/// The simple recurrent network, with tanh.
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

/// A cell over three numbers, and a linear layer on its last hidden state.
#[derive(Clone, Debug, PartialEq)]
pub struct Network<C, const H: usize> {
    /// The cell.
    pub cell: C,
    /// Weights of the linear layer.
    pub linear: [f32; H],
    /// Its bias.
    pub bias: f32,
}

impl<C: Cell<H>, const H: usize> Network<C, H> {
    /// The output for three numbers, the oldest first.
    pub fn run(&self, x: &[f32; STEPS]) -> f32 {
        let state = self.cell.first(x[0]);
        let state = self.cell.next(&state, x[1]);
        let state = self.cell.next(&state, x[2]);
        let h = C::hidden(&state);
        // Four partial sums: four additions in the air at a time.
        let mut sums = [0.0f32; 4];
        for (w, h) in self.linear.chunks_exact(4).zip(h.chunks_exact(4)) {
            for k in 0..4 {
                sums[k] += w[k] * h[k];
            }
        }
        self.bias + ((sums[0] + sums[1]) + (sums[2] + sums[3]))
    }
}
