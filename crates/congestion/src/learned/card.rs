//! Model cards: a model's network, training and accuracy.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::ModelError;
use super::forest::Forest;
use super::hash::sha256;
use super::kind::ModelKind;
use super::mlp::{INPUTS, UNITS};
use super::recurrent::STEPS;
use super::stack::card::PolicyCard;
use super::whole::Quantisation;

/// Version of the card format.
pub const FORMAT: u32 = 1;
/// Name of the tensor that holds a rate law's coefficients.
pub const LAW: &str = "law";
/// Upper limit of the hidden state's size.
pub const MAX_HIDDEN: usize = 64;

/// Card of a model: inputs, outputs, and how it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Version of the format, always [`FORMAT`].
    pub format: u32,
    /// Name of the model.
    pub name: String,
    /// Kind of the model's network.
    pub kind: ModelKind,
    /// Size of the hidden state; 0 without one.
    pub hidden: usize,
    /// Number of inputs of the network.
    pub steps: usize,
    /// Names of the inputs, in order: [`super::kind::FEATURES`].
    pub features: Vec<String>,
    /// Name of the output: [`super::kind::OUTPUT`].
    pub output: String,
    /// Weight of a new sample in the moving average to which the features are relative.
    pub smoothing: f64,
    /// Scaling of inputs and output.
    pub normalisation: Normalisation,
    /// SHA-256 of the weights file, in hexadecimal.
    pub weights_sha256: String,
    /// Training data of the model.
    pub data: Data,
    /// Training settings of the model.
    pub training: Training,
    /// Accuracy of the model.
    pub metrics: Metrics,
    /// Integer arithmetic of its decisions; `None` if it decides in floating point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<Quantisation>,
    /// Version of Paceline that wrote the card.
    pub version: String,
}

/// Scaling of inputs and output; this version supports `none` only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normalisation {
    /// Scaling of the inputs.
    pub input: String,
    /// Scaling of the output.
    pub output: String,
}

/// Training data of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// SHA-256 of the data set.
    pub sha256: String,
    /// Number of pairs in the data set.
    pub pairs: u64,
    /// Number of pairs used for training.
    pub train: u64,
    /// Number of pairs used for testing.
    pub test: u64,
    /// Runs from which the pairs were recorded.
    pub sources: Vec<DataSource>,
}

/// Run from which pairs were recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataSource {
    /// Scenario file of the run.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Settings, in the command line's syntax.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Seed of the run.
    pub seed: u64,
    /// Fidelity of the run: exact, or the simulator that it imitates.
    pub fidelity: String,
    /// Seed of the random order of simultaneous events, if it was random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u64>,
    /// SHA-256 of the weights of the model that predicted in the run, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_sha256: Option<String>,
    /// SHA-256 of the resolved scenario, without keys that do not change a run.
    #[serde(default)]
    pub scenario_sha256: String,
    /// Version of Paceline that ran it.
    pub version: String,
    /// SHA-256 of its samples: flow, time, round-trip time.
    pub sha256: String,
}

/// Training settings of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Command that reproduces the model.
    pub command: String,
    /// Number of training rounds.
    pub rounds: u64,
    /// Pairs per optimiser step.
    pub batch: u64,
    /// Learning rate of the optimiser.
    pub learning_rate: f64,
    /// Name of the optimiser.
    pub optimiser: String,
    /// Name of the loss function.
    pub loss: String,
    /// Seed of the initial weights and of the order of pairs.
    pub seed: u64,
    /// Training library and its version; "none" if Paceline itself trained.
    pub library: String,
}

/// Accuracy of a model. For a predictor: mean absolute relative errors of the round-trip time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Error on the test pairs of the last round; zero for policies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub test_mape: f64,
    /// Error on the training pairs of the last round.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub train_mape: f64,
    /// Results of each round, in order.
    pub rounds: Vec<RoundMetrics>,
}

/// Result of one training round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundMetrics {
    /// Number of the round, from 1.
    pub round: u64,
    /// Mean loss over its steps.
    pub loss: f64,
    /// Error on its training pairs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub train_mape: f64,
    /// Error on its test pairs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub test_mape: f64,
}

/// Returns true for an error of zero, which only models without predictions have; it is left out of the card.
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Card {
    /// Parses and checks a card.
    ///
    /// # Errors
    /// The bytes are no card, or describe a model that this version does not support.
    pub fn parse(json: &[u8]) -> Result<Self, ModelError> {
        /// Version field, which decides how to read the rest.
        #[derive(Deserialize)]
        struct Start {
            format: u32,
        }
        const HAS: &str = "`format`, `name`, `kind`, `hidden`, `steps`, `features`, `output`, `smoothing`, `normalisation`, \
                           `weights_sha256`, `data`, `training`, `metrics` and `version`";
        let not_a_card = |error: serde_json::Error| ModelError::card(&error, HAS);
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
            &format!("{:?}", self.kind.features()),
        )?;
        fits("output", &self.output, self.kind.output())?;
        fits(
            "steps",
            &self.steps.to_string(),
            &self.kind.features().len().to_string(),
        )?;
        fits("normalisation.input", &self.normalisation.input, "none")?;
        fits("normalisation.output", &self.normalisation.output, "none")?;
        if self.kind == ModelKind::Spine {
            let expected = self.kind.hidden().to_string();
            fits("hidden", &self.hidden.to_string(), &expected)?;
        }
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

    /// Creates the card of a forest from its file's notes.
    pub(super) fn of_forest(forest: &Forest) -> Self {
        let parts = forest.parts();
        Self {
            format: FORMAT,
            name: parts.name.clone(),
            kind: ModelKind::Forest,
            hidden: 0,
            steps: parts.features.len(),
            features: parts
                .features
                .iter()
                .map(|feature| feature.name.clone())
                .collect(),
            output: parts.output.clone(),
            smoothing: 1.0,
            normalisation: Normalisation {
                input: "none".into(),
                output: "none".into(),
            },
            weights_sha256: forest.sha256().into(),
            data: about(forest, "data"),
            training: about(forest, "training"),
            metrics: Metrics::default(),
            quantisation: None,
            version: about(forest, "version"),
        }
    }

    /// Creates the card of a user-trained policy from the bytes of its files.
    pub(super) fn of_policy(said: &PolicyCard, json: &[u8], weights: &[u8]) -> Self {
        Self {
            format: FORMAT,
            name: said.name.clone(),
            kind: ModelKind::Policy,
            hidden: 0,
            steps: said.width(),
            features: said.observation.clone(),
            output: said.action.clone(),
            smoothing: 1.0,
            normalisation: Normalisation {
                input: "none".into(),
                output: "none".into(),
            },
            // Both files determine its decisions, so both are hashed.
            weights_sha256: sha256(&[json, weights].concat()),
            data: Data::default(),
            training: Training::default(),
            metrics: Metrics::default(),
            quantisation: None,
            version: String::new(),
        }
    }

    /// Returns the number of trained values; for forests and user-trained policies, ask the model.
    pub fn parameters(&self) -> usize {
        let size = |(_, shape): (String, Vec<usize>)| shape.iter().product::<usize>();
        self.tensors().into_iter().map(size).sum()
    }

    /// Returns the names and shapes of the model's tensors.
    pub(crate) fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (kind, h) = (self.kind, self.hidden);
        if kind == ModelKind::Adpg {
            let layers = [
                ("first", UNITS, INPUTS),
                ("second", UNITS, UNITS),
                ("last", 1, UNITS),
            ];
            return layers
                .map(|(name, rows, inputs)| (name.into(), vec![rows, inputs]))
                .to_vec();
        }
        let law = kind
            .has_law()
            .then(|| (LAW.into(), vec![crate::decc::law::COUNT]));
        if kind == ModelKind::Law {
            return law.into_iter().collect();
        }
        if let Some((layers, names)) = kind.layers() {
            let layers = layers.iter().zip(names);
            let tensors = layers.flat_map(|(layer, name)| {
                let weight = (format!("{name}.weight"), vec![layer.columns(), layer.inputs]);
                [weight, (format!("{name}.bias"), vec![layer.columns()])]
            });
            return tensors.chain(law).collect();
        }
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

/// Returns a forest file's note under `key`, or the default if it has none of that type: forests from
/// elsewhere may contain anything.
fn about<T: DeserializeOwned + Default>(forest: &Forest, key: &str) -> T {
    let entry = forest.parts().about.get(key);
    let read = entry.map(|entry| T::deserialize(entry).ok());
    read.flatten().unwrap_or_default()
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
