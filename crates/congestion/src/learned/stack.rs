//! User-trained networks: layers as in PyTorch and ONNX, of any size up to [`WIDEST`].
//!
//! The same input and state give the same bits on every machine, like the networks of the built-in schemes:
//! sums are in input order, and activation functions use basic operations only. PyTorch's own results differ
//! from them by rounding, about 1e-6 of a number near 1.

use super::activation::{sigmoid, tanh};
use super::layers::add;

pub mod card;
mod tensors;

/// Upper limit of a layer's inputs and outputs.
pub const WIDEST: usize = 512;

/// Function applied to each number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// Rectified unit, max(x, 0).
    Relu,
    /// x, or `slope` x below 0.
    LeakyRelu(f32),
    /// x, or `scale` (exp(x) - 1) below 0.
    Elu(f32),
    /// x times its logistic function.
    Silu,
    /// Hyperbolic tangent of x.
    Tanh,
    /// Logistic function of x.
    Sigmoid,
    /// Clamp to these bounds.
    Clip(f32, f32),
}

impl Activation {
    /// Activations that a card may name, with their names.
    pub const NAMED: [(&str, Self); 6] = [
        ("relu", Self::Relu),
        ("leaky-relu", Self::LeakyRelu(0.01)),
        ("elu", Self::Elu(1.0)),
        ("silu", Self::Silu),
        ("tanh", Self::Tanh),
        ("sigmoid", Self::Sigmoid),
    ];

    fn of(self, x: f32) -> f32 {
        match self {
            Self::Relu => x.max(0.0),
            Self::LeakyRelu(slope) => x.max(0.0) + slope * x.min(0.0),
            Self::Elu(scale) if x < 0.0 => scale * (libm::expf(x) - 1.0),
            Self::Elu(_) => x,
            Self::Silu => x * sigmoid(x),
            Self::Tanh => tanh(x),
            Self::Sigmoid => sigmoid(x),
            Self::Clip(low, high) => x.max(low).min(high),
        }
    }
}

/// Weighted sums of the inputs, plus biases.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    inputs: usize,
    bias: Vec<f32>,
    /// Weights, grouped by input.
    weights: Vec<f32>,
}

impl Dense {
    /// Creates a layer from weights with one row per output, as in `torch.nn.Linear`.
    ///
    /// # Panics
    /// If the number of weights is not inputs times outputs.
    pub fn of_rows(inputs: usize, rows: &[f32], bias: Vec<f32>) -> Self {
        assert_eq!(rows.len(), inputs * bias.len(), "a row for each output");
        let weights = match inputs {
            0 => Vec::new(),
            _ => super::dense::transposed(bias.len(), inputs, rows),
        };
        Self::of_columns(inputs, weights, bias)
    }

    /// Creates a layer from weights grouped by input, the order of multiplication.
    ///
    /// # Panics
    /// If the number of weights is not inputs times outputs.
    pub fn of_columns(inputs: usize, weights: Vec<f32>, bias: Vec<f32>) -> Self {
        assert_eq!(weights.len(), inputs * bias.len(), "a column for each output");
        Self {
            inputs,
            bias,
            weights,
        }
    }

    fn sums(&self, from: &[f32], sums: &mut [f32]) {
        // Zero inputs add nothing and are skipped: about half of the outputs of rectified units.
        let (mut active, mut count) = ([0u16; WIDEST], 0);
        for (k, &x) in from[..self.inputs].iter().enumerate() {
            active[count] = k as u16;
            count += usize::from(x != 0.0);
        }
        sums.copy_from_slice(&self.bias);
        add(&active[..count], from, &self.weights, sums);
    }
}

/// Recurrent units: the gates' sums over the inputs, and over the units' previous outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Recurrent {
    /// Weights of the inputs, gate after gate.
    pub input: Dense,
    /// Weights of the previous outputs, gate after gate.
    pub hidden: Dense,
}

impl Recurrent {
    fn units(&self) -> usize {
        self.hidden.inputs
    }
}

/// Layer of a network.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// Weighted sums of all inputs.
    Linear(Dense),
    /// Factor and offset for each number.
    Scale(Vec<f32>, Vec<f32>),
    /// Function applied to each number.
    Each(Activation),
    /// Gated recurrent unit in PyTorch's form: gates reset, update and new.
    Gru(Recurrent),
    /// Long short-term memory: gates input, forget, cell and output.
    Lstm(Recurrent),
}

impl Layer {
    /// Returns the name in messages.
    fn name(&self) -> &'static str {
        match self {
            Self::Linear(_) => "linear",
            Self::Scale(..) => "scale",
            Self::Each(_) => "activation",
            Self::Gru(_) => "gru",
            Self::Lstm(_) => "lstm",
        }
    }

    /// Returns the numbers of inputs and outputs, or `None` if the layer takes any number.
    fn widths(&self) -> Option<(usize, usize)> {
        match self {
            Self::Linear(dense) => Some((dense.inputs, dense.bias.len())),
            Self::Scale(factors, _) => Some((factors.len(), factors.len())),
            Self::Each(_) => None,
            Self::Gru(cell) | Self::Lstm(cell) => Some((cell.input.inputs, cell.units())),
        }
    }

    /// Returns the number of outputs, or `None` if it equals that of the inputs.
    pub fn gives(&self) -> Option<usize> {
        self.widths().map(|(_, gives)| gives)
    }

    /// Returns the size of its state.
    fn remembers(&self) -> usize {
        match self {
            Self::Gru(cell) => cell.units(),
            Self::Lstm(cell) => 2 * cell.units(),
            _ => 0,
        }
    }

    fn parameters(&self) -> usize {
        let dense = |dense: &Dense| dense.bias.len() + dense.weights.len();
        match self {
            Self::Linear(one) => dense(one),
            Self::Scale(..) | Self::Each(_) => 0,
            Self::Gru(cell) | Self::Lstm(cell) => dense(&cell.input) + dense(&cell.hidden),
        }
    }
}

/// Network of consecutive layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    layers: Vec<Layer>,
    inputs: usize,
    outputs: usize,
}

impl Stack {
    /// Creates a network of these layers with `inputs` inputs.
    ///
    /// # Errors
    /// Consecutive layers do not match, or one is too wide.
    pub fn new(layers: Vec<Layer>, inputs: usize) -> Result<Self, String> {
        let mut width = inputs;
        let mut before = format!("the observation has {inputs}");
        for (index, layer) in (1..).zip(&layers) {
            let name = layer.name();
            let Some((reads, gives)) = layer.widths() else {
                continue;
            };
            if reads != width {
                return Err(format!("layer {index} ({name}) reads {reads} numbers; {before}"));
            }
            // `step` keeps its numbers in arrays of this size on the stack.
            if gives == 0 || gives.max(reads) > WIDEST {
                return Err(format!(
                    "layer {index} ({name}) reads {reads} numbers and gives {gives}; expected 1 to {WIDEST}"
                ));
            }
            (width, before) = (gives, format!("layer {index} ({name}) gives {gives}"));
        }
        if inputs > WIDEST {
            return Err(format!("{before} numbers; expected at most {WIDEST}"));
        }
        Ok(Self {
            layers,
            inputs,
            outputs: width,
        })
    }

    /// Returns the number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the size of the recurrent state, which starts as zeros.
    pub fn remembers(&self) -> usize {
        self.layers.iter().map(Layer::remembers).sum()
    }

    /// Returns the number of weights and biases.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(Layer::parameters).sum()
    }

    /// Returns the widths of the layers with weights, such as `4-64-gru 32-1`.
    pub fn shape(&self) -> String {
        let mut shape = self.inputs.to_string();
        for layer in &self.layers {
            if let (Some((_, gives)), name @ ("linear" | "gru" | "lstm")) = (layer.widths(), layer.name()) {
                let kind = if name == "linear" {
                    String::new()
                } else {
                    format!("{name} ")
                };
                shape += &format!("-{kind}{gives}");
            }
        }
        shape
    }

    /// Returns the outputs for rows of inputs, one step each, starting from an empty memory.
    pub fn run(&self, rows: &[f32]) -> Vec<f32> {
        let (mut state, mut numbers) = (vec![0.0; self.remembers()], [0.0; WIDEST]);
        let mut outputs = Vec::with_capacity(rows.len() / self.inputs * self.outputs);
        for row in rows.chunks_exact(self.inputs) {
            numbers[..self.inputs].copy_from_slice(row);
            self.step(&mut numbers, &mut state);
            outputs.extend_from_slice(&numbers[..self.outputs]);
        }
        outputs
    }

    /// Runs one step: reads its inputs from the start of `numbers` and overwrites them with the outputs.
    /// Allocates nothing.
    pub fn step(&self, numbers: &mut [f32; WIDEST], state: &mut [f32]) {
        let (mut width, mut rest) = (self.inputs, state);
        for layer in &self.layers {
            let (own, behind) = rest.split_at_mut(layer.remembers());
            rest = behind;
            match layer {
                Layer::Linear(dense) => {
                    let mut sums = [0.0f32; WIDEST];
                    let outputs = dense.bias.len();
                    dense.sums(numbers, &mut sums[..outputs]);
                    numbers[..outputs].copy_from_slice(&sums[..outputs]);
                }
                Layer::Scale(factors, offsets) => {
                    for ((x, factor), offset) in numbers.iter_mut().zip(factors).zip(offsets) {
                        *x = *x * factor + offset;
                    }
                }
                Layer::Each(activation) => {
                    numbers[..width].iter_mut().for_each(|x| *x = activation.of(*x));
                }
                Layer::Gru(cell) => gru(cell, numbers, own),
                Layer::Lstm(cell) => lstm(cell, numbers, own),
            }
            width = layer.gives().unwrap_or(width);
        }
    }
}

/// Runs a GRU: r = s(Wr x + br + Ur h + cr), z likewise, n = tanh(Wn x + bn + r (Un h + cn)), h = (1 - z) n +
/// z h.
fn gru(cell: &Recurrent, numbers: &mut [f32; WIDEST], h: &mut [f32]) {
    let units = cell.units();
    let (mut input, mut hidden) = ([0.0f32; 3 * WIDEST], [0.0f32; 3 * WIDEST]);
    cell.input.sums(numbers, &mut input[..3 * units]);
    cell.hidden.sums(h, &mut hidden[..3 * units]);
    for (k, h) in h.iter_mut().enumerate() {
        let reset = sigmoid(input[k] + hidden[k]);
        let update = sigmoid(input[units + k] + hidden[units + k]);
        let new = tanh(input[2 * units + k] + reset * hidden[2 * units + k]);
        *h = (1.0 - update) * new + update * *h;
        numbers[k] = *h;
    }
}

/// Runs an LSTM: c = s(f) c + s(i) tanh(g), h = s(o) tanh(c), each gate Wx + b + Uh + c.
fn lstm(cell: &Recurrent, numbers: &mut [f32; WIDEST], state: &mut [f32]) {
    let units = cell.units();
    let (h, c) = state.split_at_mut(units);
    let (mut input, mut hidden) = ([0.0f32; 4 * WIDEST], [0.0f32; 4 * WIDEST]);
    cell.input.sums(numbers, &mut input[..4 * units]);
    cell.hidden.sums(h, &mut hidden[..4 * units]);
    for (k, (h, c)) in h.iter_mut().zip(c).enumerate() {
        let gate = |gate: usize| input[gate * units + k] + hidden[gate * units + k];
        *c = sigmoid(gate(1)) * *c + sigmoid(gate(0)) * tanh(gate(2));
        *h = sigmoid(gate(3)) * tanh(*c);
        numbers[k] = *h;
    }
}

#[cfg(test)]
mod tests;
