//! The model file: weights (`NAME.safetensors`) and a card (`NAME.json`) that says what they are.
//!
//! The reader takes bytes. It refuses what it does not know, or what does not fit together, with what it
//! found and what it expected.

use std::fmt;

use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::recurrent::{Cell, Gate, Gru, Lstm, Network, Rnn, Rows, STEPS};

/// The version of the format.
pub const FORMAT: u32 = 1;
/// The features that a network reads, in their order.
pub const FEATURES: [&str; STEPS] = ["K[t-2]", "K[t-1]", "K[t]"];
/// What a network predicts.
pub const OUTPUT: &str = "L[t]";
/// The largest hidden state.
pub const MAX_HIDDEN: usize = 64;

/// Which network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Long short-term memory and a linear layer.
    Lstm,
    /// A gated recurrent unit and a linear layer.
    Gru,
    /// A simple recurrent network and a linear layer.
    Rnn,
    /// Linear in the three features.
    Ar3,
}

impl Kind {
    /// Its name in a card.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lstm => "lstm",
            Self::Gru => "gru",
            Self::Rnn => "rnn",
            Self::Ar3 => "ar3",
        }
    }

    /// Rows of weights per unit of the hidden state.
    const fn gates(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru => 3,
            Self::Rnn => 1,
            Self::Ar3 => 0,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The card of a model: what it reads and predicts, and how it came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The version of the format: [`FORMAT`].
    pub format: u32,
    /// The model's name.
    pub name: String,
    /// Which network.
    pub kind: Kind,
    /// Size of the hidden state; 0 without one.
    pub hidden: usize,
    /// Numbers that the network reads.
    pub steps: usize,
    /// What they are, in order: [`FEATURES`].
    pub features: Vec<String>,
    /// What it predicts: [`OUTPUT`].
    pub output: String,
    /// The weight of a new sample in the average that the features are relative to.
    pub smoothing: f64,
    /// How input and output are scaled.
    pub normalisation: Normalisation,
    /// SHA-256 of the file of weights, in hexadecimal.
    pub weights_sha256: String,
    /// What it learned from.
    pub data: Data,
    /// How it learned.
    pub training: Training,
    /// How well it predicts.
    pub metrics: Metrics,
    /// The version of this program that wrote it.
    pub version: String,
}

/// How input and output are scaled; this version knows `none` only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normalisation {
    /// Of the features.
    pub input: String,
    /// Of the output.
    pub output: String,
}

/// What a model learned from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// SHA-256 of the data set.
    pub sha256: String,
    /// Pairs in it.
    pub pairs: u64,
    /// Pairs that it learned from.
    pub train: u64,
    /// Pairs that it was tested on.
    pub test: u64,
    /// The runs that the pairs came from.
    pub sources: Vec<DataSource>,
}

/// A run that pairs came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataSource {
    /// The scenario.
    pub scenario: String,
    /// The scheme.
    pub scheme: String,
    /// What was set, as on the command line.
    #[serde(default)]
    pub settings: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// Whose behaviour.
    pub fidelity: String,
    /// The version that ran it.
    pub version: String,
    /// SHA-256 of the resolved scenario.
    pub sha256: String,
}

/// How a model learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// The command that makes the same model.
    pub command: String,
    /// Rounds.
    pub rounds: u64,
    /// Pairs of a step.
    pub batch: u64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Optimiser.
    pub optimiser: String,
    /// Loss.
    pub loss: String,
    /// Seed of the initial weights and of the order of pairs.
    pub seed: u64,
    /// The library, with its version.
    pub library: String,
}

/// How well a model predicts: mean absolute relative errors of the round-trip time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Over the test pairs of the last round.
    pub test_mape: f64,
    /// Over the pairs that the last round learned from.
    pub train_mape: f64,
    /// By round.
    pub rounds: Vec<RoundMetrics>,
}

/// A round of the training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundMetrics {
    /// Its number, from 1.
    pub round: u64,
    /// Mean loss of its steps.
    pub loss: f64,
    /// Over the pairs that it learned from.
    pub train_mape: f64,
    /// Over its test pairs.
    pub test_mape: f64,
}

/// Why a model is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The card is not JSON, or lacks something.
    #[error("the card is not a model's card: {0}")]
    Card(String),
    /// Something in the card is not what this version reads.
    #[error("the card's {key} is {found}; expected {expected}")]
    Unknown {
        /// Which entry.
        key: &'static str,
        /// What stands there.
        found: String,
        /// What this version reads.
        expected: String,
    },
    /// The weights are not those that the card describes.
    #[error(
        "the weights are damaged, or of another model: their SHA-256 is {found}; the card expects {expected}"
    )]
    Hash {
        /// Of the file of weights.
        found: String,
        /// In the card.
        expected: String,
    },
    /// The file of weights cannot be read.
    #[error("the weights are not a safetensors file: {0}")]
    Weights(String),
    /// A tensor is absent, or one is there that should not be.
    #[error("the tensors of a model of kind {kind} are {expected}; found {found}")]
    Tensors {
        /// The card's kind.
        kind: Kind,
        /// What is there.
        found: String,
        /// What should be.
        expected: String,
    },
    /// A tensor has another shape or type.
    #[error("the tensor `{tensor}` is {found}; expected {expected}")]
    Shape {
        /// Which.
        tensor: String,
        /// Type and shape.
        found: String,
        /// Type and shape.
        expected: String,
    },
    /// A weight is not a number.
    #[error("the tensor `{tensor}` has the value {value} at index {index}; expected finite numbers only")]
    NotFinite {
        /// Which.
        tensor: String,
        /// Where.
        index: usize,
        /// What stands there.
        value: String,
    },
}

impl Card {
    /// Reads and checks a card.
    ///
    /// # Errors
    /// It is none, or of a model that this version does not know.
    pub fn parse(json: &[u8]) -> Result<Self, ModelError> {
        /// What has to be known before the rest can be read.
        #[derive(Deserialize)]
        struct Start {
            format: u32,
        }
        let not_a_card = |error: serde_json::Error| ModelError::Card(error.to_string());
        let start: Start = serde_json::from_slice(json).map_err(not_a_card)?;
        fits("format", &start.format.to_string(), &FORMAT.to_string())?;
        let card: Self = serde_json::from_slice(json).map_err(not_a_card)?;
        card.check()?;
        Ok(card)
    }

    fn check(&self) -> Result<(), ModelError> {
        fits(
            "features",
            &format!("{:?}", self.features),
            &format!("{FEATURES:?}"),
        )?;
        fits("output", &self.output, OUTPUT)?;
        fits("steps", &self.steps.to_string(), &STEPS.to_string())?;
        fits("normalisation.input", &self.normalisation.input, "none")?;
        fits("normalisation.output", &self.normalisation.output, "none")?;
        let recurrent = self.kind.gates() > 0;
        if recurrent && !(1..=MAX_HIDDEN).contains(&self.hidden) {
            return Err(ModelError::Unknown {
                key: "hidden",
                found: self.hidden.to_string(),
                expected: format!("1 to {MAX_HIDDEN}"),
            });
        }
        if !(self.smoothing > 0.0 && self.smoothing <= 1.0) {
            return Err(ModelError::Unknown {
                key: "smoothing",
                found: self.smoothing.to_string(),
                expected: "a number above 0, at most 1".to_string(),
            });
        }
        Ok(())
    }

    /// Numbers that were trained.
    pub fn parameters(&self) -> usize {
        let size = |(_, shape): (String, Vec<usize>)| shape.iter().product::<usize>();
        self.tensors().into_iter().map(size).sum()
    }

    /// The tensors of the model, with their shapes.
    pub(crate) fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (kind, h) = (self.kind, self.hidden);
        let rows = kind.gates() * h;
        let mut tensors = Vec::new();
        if rows > 0 {
            for (name, shape) in [
                ("weight_ih_l0", vec![rows, 1]),
                ("weight_hh_l0", vec![rows, h]),
                ("bias_ih_l0", vec![rows]),
                ("bias_hh_l0", vec![rows]),
            ] {
                tensors.push((format!("{kind}.{name}"), shape));
            }
        }
        tensors.push(("linear.weight".into(), vec![1, if rows > 0 { h } else { STEPS }]));
        tensors.push(("linear.bias".into(), vec![1]));
        tensors
    }
}

fn fits(key: &'static str, found: &str, expected: &str) -> Result<(), ModelError> {
    if found == expected {
        return Ok(());
    }
    Err(ModelError::Unknown {
        key,
        found: found.to_string(),
        expected: expected.to_string(),
    })
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Runs a network; a network of each size is a type of its own.
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

/// Linear in the features.
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

/// A network with its card, ready to predict.
#[derive(Debug)]
pub struct Model {
    card: Card,
    network: Box<dyn Run>,
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.card == other.card
    }
}

impl Model {
    /// Of the bytes of a card and of a file of weights.
    ///
    /// # Errors
    /// They do not fit together, or are not what this version reads.
    pub fn parse(card: &[u8], weights: &[u8]) -> Result<Self, ModelError> {
        let card = Card::parse(card)?;
        let found = sha256(weights);
        if found != card.weights_sha256.to_lowercase() {
            return Err(ModelError::Hash {
                found,
                expected: card.weights_sha256,
            });
        }
        let tensors = read_tensors(&card, weights)?;
        let network = build(card.kind, card.hidden, &tensors);
        Ok(Self { card, network })
    }

    /// The card.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The output L for the features K, the oldest first.
    pub fn predict(&self, features: &[f32; STEPS]) -> f32 {
        self.network.run(features)
    }
}

/// The tensors in the order of [`Card::tensors`].
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

fn build(kind: Kind, hidden: usize, tensors: &[Vec<f32>]) -> Box<dyn Run> {
    match hidden {
        _ if kind == Kind::Ar3 => Box::new(Linear {
            weight: filled(&tensors[0]),
            bias: tensors[1][0],
        }),
        0..=16 => sized::<16>(kind, hidden, tensors),
        17..=32 => sized::<32>(kind, hidden, tensors),
        _ => sized::<64>(kind, hidden, tensors),
    }
}

/// A recurrent network in `H` lanes.
fn sized<const H: usize>(kind: Kind, hidden: usize, tensors: &[Vec<f32>]) -> Box<dyn Run> {
    let [input, weights, bias_input, bias_hidden] = &tensors[..4] else {
        unreachable!("a recurrent network has four tensors before its linear layer")
    };
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
        Kind::Lstm => Box::new(Network {
            cell: Lstm([0, 1, 2, 3].map(|gate| rows(gate, &bias))),
            linear,
            bias: linear_bias,
        }),
        Kind::Gru => Box::new(Network {
            cell: Gru {
                gates: [0, 1].map(|gate| rows(gate, &bias)),
                new: rows(2, bias_input),
                new_bias: filled(&bias_hidden[2 * hidden..]),
            },
            linear,
            bias: linear_bias,
        }),
        Kind::Rnn | Kind::Ar3 => Box::new(Network {
            cell: Rnn(rows(0, &bias)),
            linear,
            bias: linear_bias,
        }),
    }
}

/// The values, and zeros behind them.
fn filled<const H: usize>(values: &[f32]) -> [f32; H] {
    std::array::from_fn(|k| values.get(k).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests;
