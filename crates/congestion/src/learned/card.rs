//! The card of a model: what its weights are, what they were trained on, and how well they do.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::error::ModelError;
use super::forest::Forest;
use super::hash::sha256;
use super::kind::Kind;
use super::mlp::{INPUTS, UNITS};
use super::recurrent::STEPS;
use super::stack::card::PolicyCard;
use super::whole::Quantisation;

/// The version of the format.
pub const FORMAT: u32 = 1;
/// The tensor of a rate law: its coefficients.
pub const LAW: &str = "law";
/// The largest hidden state.
pub const MAX_HIDDEN: usize = 64;

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
    /// What they are, in order: [`super::kind::FEATURES`].
    pub features: Vec<String>,
    /// What it predicts: [`super::kind::OUTPUT`].
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
    /// How it decides in whole numbers, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantisation: Option<Quantisation>,
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
    /// Seed of its random order of simultaneous events, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<u64>,
    /// SHA-256 of the weights of the model that predicted in it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_sha256: Option<String>,
    /// SHA-256 of the resolved scenario, without what does not move a run.
    #[serde(default)]
    pub scenario_sha256: String,
    /// The version that ran it.
    pub version: String,
    /// SHA-256 of its samples: flow, time, round-trip time.
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
    /// The library that trained, with its version; "none" where Paceline itself did.
    pub library: String,
}

/// How well a model does. Of a predictor: mean absolute relative errors of the round-trip time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Over the test pairs of the last round; no policy has any.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub test_mape: f64,
    /// Over the pairs that the last round learned from.
    #[serde(default, skip_serializing_if = "is_zero")]
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
    #[serde(default, skip_serializing_if = "is_zero")]
    pub train_mape: f64,
    /// Over its test pairs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub test_mape: f64,
}

/// Of errors of predictions: what does not predict has none.
fn is_zero(value: &f64) -> bool {
    *value == 0.0
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
        if self.kind == Kind::Spine {
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

    /// The card of a forest: what its file says of how it came to be.
    pub(super) fn of_forest(forest: &Forest) -> Self {
        let parts = forest.parts();
        Self {
            format: FORMAT,
            name: parts.name.clone(),
            kind: Kind::Forest,
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

    /// The card of a policy that somebody trained, of the bytes of its files.
    pub(super) fn of_policy(said: &PolicyCard, json: &[u8], weights: &[u8]) -> Self {
        Self {
            format: FORMAT,
            name: said.name.clone(),
            kind: Kind::Policy,
            hidden: 0,
            steps: said.width(),
            features: said.observation.clone(),
            output: said.action.clone(),
            smoothing: 1.0,
            normalisation: Normalisation {
                input: "none".into(),
                output: "none".into(),
            },
            // What it does follows from both files.
            weights_sha256: sha256(&[json, weights].concat()),
            data: Data::default(),
            training: Training::default(),
            metrics: Metrics::default(),
            quantisation: None,
            version: String::new(),
        }
    }

    /// Numbers that were trained; of a forest, and of somebody's policy, the model knows.
    pub fn parameters(&self) -> usize {
        let size = |(_, shape): (String, Vec<usize>)| shape.iter().product::<usize>();
        self.tensors().into_iter().map(size).sum()
    }

    /// The tensors of the model, with their shapes.
    pub(crate) fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (kind, h) = (self.kind, self.hidden);
        if kind == Kind::Adpg {
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
        if kind == Kind::Law {
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

/// What a forest's file says under a key, if it does: a forest from elsewhere may say anything there.
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
