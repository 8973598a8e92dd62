//! Model files: weights (`NAME.safetensors`) and a card that describes them (`NAME.json`).
//!
//! The reader takes bytes. It refuses unknown or inconsistent contents, and reports the value found and the
//! value expected.

use std::fmt;

use safetensors::tensor::{Dtype, SafeTensors};
use serde::Deserialize;

use super::card::{Card, LAW};
use super::error::ModelError;
use super::forest::Forest;
use super::hash::sha256;
use super::kind::ModelKind;
use super::layers::{self, Policy};
use super::mlp::{INPUTS, Mlp};
use super::recurrent::{Cell, Gate, Gru, Lstm, Network, Rnn, Rows, STEPS};
use super::stack::Stack;
use super::stack::card::{PolicyCard, Weights};
use super::whole::Whole;
use crate::decc::law::Law;

/// Predictor of any size; each size of network is a type of its own.
trait Run: fmt::Debug + Send + Sync {
    fn run(&self, features: &[f32; STEPS]) -> f32;
}

impl<C, const H: usize> Run for Network<C, H>
where
    C: Cell<H> + fmt::Debug + Send + Sync,
{
    fn run(&self, features: &[f32; STEPS]) -> f32 {
        Self::run(self, features)
    }
}

/// Linear function of the features.
#[derive(Debug)]
struct Linear {
    weight: [f32; STEPS],
    bias: f32,
}

impl Run for Linear {
    fn run(&self, k: &[f32; STEPS]) -> f32 {
        let w = &self.weight;
        self.bias + (w[0] * k[0] + w[1] * k[1] + w[2] * k[2])
    }
}

/// Model that can predict or decide: a network or a forest, and its card.
#[derive(Debug)]
pub struct Model {
    card: Card,
    network: Net,
    /// Rate law of DECC's policies.
    law: Option<Box<Law>>,
}

#[derive(Debug)]
enum Net {
    Predictor(Box<dyn Run>),
    Policy(Box<Mlp>),
    /// Layers, and their integer version if decisions use it.
    Layers(Box<layers::Network>, Option<Box<Whole>>),
    Forest(Box<Forest>),
    /// User-trained policy and its card.
    Stack(Box<(PolicyCard, Stack)>),
    /// No network: the rate law decides alone.
    None,
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.card == other.card
    }
}

impl Model {
    /// Parses a card and a weights file.
    ///
    /// # Errors
    /// They are inconsistent, or not supported by this version.
    pub fn parse(card: &[u8], weights: &[u8]) -> Result<Self, ModelError> {
        let card = Card::parse(card)?;
        Self::of_card(card, weights)
    }

    /// Reads a model from the bytes of `NAME.json`: a forest, or the card of a network. `weights` is called
    /// with the file extension of its weights.
    ///
    /// # Errors
    /// The files are inconsistent or not supported by this version, or `weights` fails.
    pub fn read<E: From<ModelError>>(
        json: &[u8],
        weights: impl FnOnce(&'static str) -> Result<Weights, E>,
    ) -> Result<Self, E> {
        let is = |kind: ModelKind| kind_of(json).is_some_and(|found| found == kind.name());
        if is(ModelKind::Forest) {
            return Self::of_forest(Forest::parse(json).map_err(ModelError::from)?).map_err(E::from);
        }
        if is(ModelKind::Policy) {
            let card = PolicyCard::parse(json)?;
            let weights = weights(card.weights_ending())?;
            let stack = card.stack(&weights)?;
            return Ok(Self {
                card: Card::of_policy(&card, json, weights.bytes()),
                network: Net::Stack(Box::new((card, stack))),
                law: None,
            });
        }
        let card = Card::parse(json)?;
        Ok(Self::of_card(card, weights("safetensors")?.bytes())?)
    }

    /// Creates a model from a forest. One of DECC has the coefficients of its law under `law` in its notes.
    ///
    /// # Errors
    /// The entry `law` is no valid law.
    pub fn of_forest(forest: Forest) -> Result<Self, ModelError> {
        let law = forest.parts().about.get(LAW).map(|stored| {
            let values: Vec<f32> =
                serde_json::from_value(stored.clone()).map_err(|error| error.to_string())?;
            Law::new(&values)
        });
        Ok(Self {
            card: Card::of_forest(&forest),
            network: Net::Forest(Box::new(forest)),
            law: law.transpose().map_err(ModelError::Law)?.map(Box::new),
        })
    }

    fn of_card(card: Card, weights: &[u8]) -> Result<Self, ModelError> {
        let found = sha256(weights);
        // The card would describe other weights.
        if found != card.weights_sha256.to_lowercase() {
            return Err(ModelError::Hash {
                found,
                expected: card.weights_sha256,
            });
        }
        let tensors = read_tensors(&card, weights)?;
        let network = match card.kind {
            ModelKind::Adpg => Net::Policy(Box::new(Mlp::of(tensors.iter().flatten().copied()))),
            ModelKind::Decc | ModelKind::Residual | ModelKind::Aurora | ModelKind::Spine => {
                let network = of_layers(card.kind, &tensors);
                let whole = card.quantisation.as_ref().map(|said| Whole::new(&network, said));
                let whole = whole.transpose().map_err(ModelError::Quantisation)?;
                Net::Layers(Box::new(network), whole.map(Box::new))
            }
            ModelKind::Law => Net::None,
            kind => Net::Predictor(build(kind, card.hidden, &tensors)),
        };
        let law = match (card.kind.has_law(), tensors.last()) {
            (true, Some(values)) => Some(Box::new(Law::new(values).map_err(ModelError::Law)?)),
            _ => None,
        };
        Ok(Self { card, network, law })
    }

    /// Returns the model's card.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Returns the output L for the features K, oldest first; 0 if the model is no predictor.
    pub fn predict(&self, features: &[f32; STEPS]) -> f32 {
        match &self.network {
            Net::Predictor(network) => network.run(features),
            _ => 0.0,
        }
    }

    /// Returns the action of ADPG's policy, from -1 to 1; 0 if the model is no such policy.
    pub fn act(&self, seen: &[f32; INPUTS]) -> f32 {
        match &self.network {
            Net::Policy(policy) => policy.act(seen),
            Net::Forest(forest) => forest.decide(seen).clamp(-1.0, 1.0),
            _ => 0.0,
        }
    }

    /// Returns the network of ADPG's policy, if the model is one.
    pub fn policy(&self) -> Option<&Mlp> {
        match &self.network {
            Net::Policy(policy) => Some(policy),
            _ => None,
        }
    }

    /// Returns the policy of DECC or Aurora, a network or a forest, if the model is one.
    pub fn decides(&self) -> Option<&dyn Policy> {
        match &self.network {
            Net::Layers(_, Some(whole)) => Some(&**whole),
            Net::Layers(network, None) => Some(&**network),
            Net::Forest(forest) => Some(&**forest),
            _ => None,
        }
    }

    /// Returns the network of layers of DECC, Aurora or SPINE, if the model is one.
    pub fn layers(&self) -> Option<&layers::Network> {
        match &self.network {
            Net::Layers(network, _) => Some(network),
            _ => None,
        }
    }

    /// Returns the forest, if the model is one.
    pub fn forest(&self) -> Option<&Forest> {
        match &self.network {
            Net::Forest(forest) => Some(forest),
            _ => None,
        }
    }

    /// Returns the card and the network of a user-trained policy, if the model is one.
    pub fn stack(&self) -> Option<(&PolicyCard, &Stack)> {
        match &self.network {
            Net::Stack(both) => Some((&both.0, &both.1)),
            _ => None,
        }
    }

    /// Returns the rate law on which the model is based, if any.
    pub fn law(&self) -> Option<&Law> {
        self.law.as_deref()
    }

    /// Checks that the model is a policy of this kind: its network, or a forest with the same inputs and
    /// output. For DECC a rate law and a policy with a card fit too.
    ///
    /// # Errors
    /// It is not; the text says why.
    pub fn fits(&self, expected: ModelKind) -> Result<(), String> {
        let card = &self.card;
        let Some(forest) = self.forest() else {
            let (is_law, or_law) = match expected {
                ModelKind::Decc => (
                    card.kind.has_law() || card.kind == ModelKind::Policy,
                    ", a rate law, a policy with a card, or a forest",
                ),
                // These policies may be recurrent, which forests are not.
                ModelKind::Spine | ModelKind::Policy => (false, ""),
                _ => (false, ", or a forest"),
            };
            return match card.kind == expected || is_law {
                true => Ok(()),
                false => Err(format!(
                    "`{}` is of kind {}; expected one of kind {expected}{or_law}",
                    card.name, card.kind
                )),
            };
        };
        if matches!(expected, ModelKind::Spine | ModelKind::Policy) {
            let name = &card.name;
            return Err(format!("`{name}` is a forest; expected one of kind {expected}"));
        }
        let read = forest
            .reads(expected.features())
            .map_err(|error| error.to_string());
        let given = match card.output == expected.output() {
            true => Ok(()),
            false => Err(format!(
                "its output is \"{}\"; expected \"{}\"",
                card.output,
                expected.output()
            )),
        };
        let law = match expected == ModelKind::Decc && self.law.is_none() {
            true => Err("it has no rate law to build on, under `law` in what it says of itself".to_string()),
            false => Ok(()),
        };
        read.and(given)
            .and(law)
            .map_err(|what| format!("the forest `{}` does not fit: {what}", card.name))
    }

    /// Returns the number of trained values: weights, or thresholds and leaves.
    pub fn parameters(&self) -> usize {
        match &self.network {
            Net::Forest(forest) => {
                let trees = forest.parts().trees.iter();
                trees.map(|tree| tree.splits.len() + tree.leaves.len()).sum()
            }
            Net::Stack(both) => both.1.parameters(),
            _ => self.card.parameters(),
        }
    }
}

/// Converts a file's tensors, which have one row of weights per sum, to layers, whose weights are grouped by
/// input.
fn of_layers(kind: ModelKind, tensors: &[Vec<f32>]) -> layers::Network {
    let layers = kind.layers().map_or(&[][..], |(layers, _)| layers);
    let mut values = Vec::new();
    for (layer, tensors) in layers.iter().zip(tensors.chunks_exact(2)) {
        let (weights, bias) = (&tensors[0], &tensors[1]);
        values.extend_from_slice(bias);
        for input in 0..layer.inputs {
            values.extend(weights.iter().skip(input).step_by(layer.inputs));
        }
    }
    layers::Network::new(layers, values)
}

/// Returns the kind that a JSON file states, valid or not.
fn kind_of(json: &[u8]) -> Option<String> {
    /// Entry that distinguishes the kinds of files.
    #[derive(Deserialize)]
    struct Start {
        kind: String,
    }
    let start = serde_json::from_slice::<Start>(json).ok();
    start.map(|start| start.kind)
}

/// Reads the tensors in the order of [`Card::tensors`].
fn read_tensors(card: &Card, weights: &[u8]) -> Result<Vec<Vec<f32>>, ModelError> {
    let file = SafeTensors::deserialize(weights).map_err(|error| ModelError::Weights(error.to_string()))?;
    let expected = card.tensors();
    let mut found: Vec<&str> = file.names().into_iter().collect();
    let mut names: Vec<&str> = expected.iter().map(|(name, _)| name.as_str()).collect();
    found.sort_unstable();
    names.sort_unstable();
    if found != names {
        return Err(ModelError::Tensors {
            kind: card.kind,
            found: found.join(", "),
            expected: names.join(", "),
        });
    }
    expected
        .iter()
        .map(|(name, shape)| {
            let view = file
                .tensor(name)
                .map_err(|error| ModelError::Weights(error.to_string()))?;
            if view.dtype() != Dtype::F32 || view.shape() != shape {
                return Err(ModelError::Shape {
                    tensor: name.clone(),
                    found: format!("{:?} {:?}", view.dtype(), view.shape()),
                    expected: format!("{:?} {shape:?}", Dtype::F32),
                });
            }
            let values = view.data().as_chunks::<4>().0;
            let values: Vec<f32> = values.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            // A single NaN would make all decisions NaN.
            match values.iter().position(|value| !value.is_finite()) {
                Some(index) => Err(ModelError::NotFinite {
                    tensor: name.clone(),
                    index,
                    value: values[index].to_string(),
                }),
                None => Ok(values),
            }
        })
        .collect()
}

fn build(kind: ModelKind, hidden: usize, tensors: &[Vec<f32>]) -> Box<dyn Run> {
    match hidden {
        _ if kind == ModelKind::Ar3 => Box::new(Linear {
            weight: filled(&tensors[0]),
            bias: tensors[1][0],
        }),
        // The number of lanes is a constant, for which the compiler vectorises loops.
        0..=16 => sized::<16>(kind, hidden, tensors),
        17..=32 => sized::<32>(kind, hidden, tensors),
        _ => sized::<64>(kind, hidden, tensors),
    }
}

/// Builds a recurrent network in `H` lanes.
fn sized<const H: usize>(kind: ModelKind, hidden: usize, tensors: &[Vec<f32>]) -> Box<dyn Run> {
    let [input, weights, bias_input, bias_hidden] = &tensors[..4] else {
        unreachable!("a recurrent network has four tensors before its linear layer")
    };
    // The two biases of a gate are only added, except in the GRU's new gate.
    let bias: Vec<f32> = bias_input.iter().zip(bias_hidden).map(|(a, b)| a + b).collect();
    let rows = |gate: usize, bias: &[f32]| {
        let range = gate * hidden..(gate + 1) * hidden;
        Gate::<H>::new(&Rows {
            input: &input[range.clone()],
            hidden: &weights[range.start * hidden..range.end * hidden],
            bias: &bias[range],
        })
    };
    let (linear, linear_bias) = (filled::<H>(&tensors[4]), tensors[5][0]);
    match kind {
        ModelKind::Lstm => Box::new(Network {
            cell: Lstm([0, 1, 2, 3].map(|gate| rows(gate, &bias))),
            linear,
            bias: linear_bias,
        }),
        ModelKind::Gru => Box::new(Network {
            cell: Gru {
                gates: [0, 1].map(|gate| rows(gate, &bias)),
                new: rows(2, bias_input),
                new_bias: filled(&bias_hidden[2 * hidden..]),
            },
            linear,
            bias: linear_bias,
        }),
        // The kinds above and this one are all recurrent kinds.
        _ => Box::new(Network {
            cell: Rnn(rows(0, &bias)),
            linear,
            bias: linear_bias,
        }),
    }
}

/// Returns the values, padded with zeros.
fn filled<const H: usize>(values: &[f32]) -> [f32; H] {
    std::array::from_fn(|k| values.get(k).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests;
