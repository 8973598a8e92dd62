//! The recurrent networks, in the training library.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor as Array, Var};
use candle_nn::rnn::{GRU, GRUConfig, LSTM, LSTMConfig, RNN as _};
use candle_nn::{AdamW, Optimizer as _, ParamsAdamW, VarBuilder};
use paceline_kernel::rng::Rng;

use super::{Network, Tensor, Weights};
use crate::Error;
use crate::dataset::Pair;

/// Pairs that are computed at once where nothing is learned: enough to be fast, and so few that the
/// library stays on one thread.
const AT_ONCE: usize = 200;

/// A recurrent network over three features, and a linear layer on its last state.
pub struct Net {
    cell: Cell,
    linear: (Array, Array),
    /// What is trained, by name.
    pub(super) vars: Vec<(String, Var)>,
}

enum Cell {
    Lstm(LSTM),
    Gru(GRU),
    /// `h = tanh(W x + b + U h + c)`: the library has none.
    Simple([Array; 4]),
}

/// The factor on the hidden size that the gates make.
const fn gates(network: Network) -> usize {
    match network {
        Network::Lstm => 4,
        Network::Gru => 3,
        _ => 1,
    }
}

/// Names and shapes of a network's tensors, in the order in which they are drawn.
pub(super) fn shapes(network: Network, hidden: usize) -> Vec<(String, Vec<usize>)> {
    let rows = gates(network) * hidden;
    let cell = |name: &str, shape: &[usize]| (format!("{}.{name}_l0", network.name()), shape.to_vec());
    vec![
        cell("weight_ih", &[rows, 1]),
        cell("weight_hh", &[rows, hidden]),
        cell("bias_ih", &[rows]),
        cell("bias_hh", &[rows]),
        ("linear.weight".into(), vec![1, hidden]),
        ("linear.bias".into(), vec![1]),
    ]
}

/// Weights before training, uniform in `±1/√hidden` as PyTorch draws them.
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

impl Net {
    /// The network with these weights.
    ///
    /// # Errors
    /// A tensor is missing or of another shape.
    pub fn new(network: Network, hidden: usize, weights: &Weights) -> Result<Self, Error> {
        let mut vars = Vec::new();
        for (name, shape) in shapes(network, hidden) {
            let tensor = weights.get(&name).filter(|tensor| tensor.shape == shape);
            let tensor = tensor.ok_or_else(|| {
                Error::Options(format!(
                    "weights of a {network} of {hidden} need `{name}` of shape {shape:?}"
                ))
            })?;
            vars.push((name, Var::from_tensor(&tensor.to_library()?)?));
        }
        let arrays: HashMap<String, Array> = vars
            .iter()
            .map(|(name, var)| (name.clone(), var.as_tensor().clone()))
            .collect();
        let builder = VarBuilder::from_tensors(arrays, DType::F32, &Device::Cpu);
        let own = builder.pp(network.name());
        let cell = match network {
            Network::Lstm => Cell::Lstm(LSTM::new(1, hidden, LSTMConfig::default(), own)?),
            Network::Gru => Cell::Gru(GRU::new(1, hidden, GRUConfig::default(), own)?),
            Network::Rnn => Cell::Simple([
                own.get((hidden, 1), "weight_ih_l0")?,
                own.get((hidden, hidden), "weight_hh_l0")?,
                own.get(hidden, "bias_ih_l0")?,
                own.get(hidden, "bias_hh_l0")?,
            ]),
            Network::Ar3 | Network::Persistence => {
                return Err(Error::Options(format!("{network} is not a recurrent network")));
            }
        };
        let linear = (
            builder.get((1, hidden), "linear.weight")?,
            builder.get(1, "linear.bias")?,
        );
        Ok(Self { cell, linear, vars })
    }

    /// The outputs for features `[n, 3, 1]`, as `[n]`.
    fn forward(&self, input: &Array) -> Result<Array, Error> {
        let last = match &self.cell {
            Cell::Lstm(lstm) => lstm.seq(input)?.last().map(|state| state.h().clone()),
            Cell::Gru(gru) => gru.seq(input)?.last().map(|state| state.h.clone()),
            Cell::Simple(weights) => Some(simple(weights, input)?),
        };
        let last = last.expect("there are three steps");
        let (weight, bias) = &self.linear;
        Ok(last.matmul(&weight.t()?)?.broadcast_add(bias)?.squeeze(1)?)
    }

    /// The outputs for each pair's features.
    ///
    /// # Errors
    /// Those of the library.
    pub fn predict(&self, pairs: &[Pair]) -> Result<Vec<f32>, Error> {
        let mut out = Vec::with_capacity(pairs.len());
        for chunk in pairs.chunks(AT_ONCE) {
            out.extend(self.forward(&features(chunk)?)?.to_vec1::<f32>()?);
        }
        Ok(out)
    }

    /// The outputs and the mean absolute error against `L`, which can be differentiated.
    pub(super) fn loss(&self, pairs: &[Pair]) -> Result<(Vec<f32>, Array), Error> {
        let out = self.forward(&features(pairs)?)?;
        let labels: Vec<f32> = pairs.iter().map(|pair| pair.l).collect();
        let labels = Array::from_vec(labels, pairs.len(), &Device::Cpu)?;
        let loss = (&out - labels)?.abs()?.mean_all()?;
        Ok((out.to_vec1::<f32>()?, loss))
    }

    /// The weights as they are now.
    pub(super) fn weights(&self) -> Result<Weights, Error> {
        let tensors = self.vars.iter();
        tensors
            .map(|(name, var)| Ok((name.clone(), Tensor::of_library(var.as_tensor())?)))
            .collect()
    }
}

fn features(pairs: &[Pair]) -> Result<Array, Error> {
    let values: Vec<f32> = pairs.iter().flat_map(|pair| pair.k).collect();
    Ok(Array::from_vec(values, (pairs.len(), 3, 1), &Device::Cpu)?)
}

fn simple([w, u, b, c]: &[Array; 4], input: &Array) -> Result<Array, Error> {
    let (n, steps, _) = input.dims3()?;
    let mut h = Array::zeros((n, u.dim(0)?), DType::F32, &Device::Cpu)?;
    for step in 0..steps {
        let x = input.narrow(1, step, 1)?.squeeze(1)?.contiguous()?;
        let seen = x.matmul(&w.t()?)?.broadcast_add(b)?;
        let kept = h.matmul(&u.t()?)?.broadcast_add(c)?;
        h = (seen + kept)?.tanh()?;
    }
    Ok(h)
}

/// Adam, without decay of weights.
pub(super) fn adam(net: &Net, learning_rate: f64) -> Result<AdamW, Error> {
    let params = ParamsAdamW {
        lr: learning_rate,
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay: 0.0,
    };
    let vars = net.vars.iter().map(|(_, var)| var.clone()).collect();
    Ok(AdamW::new(vars, params)?)
}
