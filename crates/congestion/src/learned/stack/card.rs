//! Card of a user-trained policy: a small JSON file next to its weights.

use serde::Deserialize;

use super::tensors::layers_of;
use super::{Activation, Layer, Stack};
use crate::learned::error::ModelError;

/// Contents of a policy's card. Names and quantities are text here; [`crate::policy`] interprets them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PolicyCard {
    /// Version of the format: 1.
    pub format: u32,
    /// Kind of the file, always `policy`.
    pub kind: String,
    /// Name of the model.
    pub name: String,
    /// Names of the features that the network reads per decision, in order.
    pub observation: Vec<String>,
    /// Number of decisions whose features it reads, the latest last.
    #[serde(default = "one")]
    pub history: usize,
    /// Normalisation of the inputs, if any.
    #[serde(default)]
    pub normalise: Option<Normalise>,
    /// Layers and the names of their tensors; `None` for ONNX weights, whose graph defines the layers.
    #[serde(default)]
    pub layers: Option<Vec<LayerSaid>>,
    /// Prefixes of tensor names that do not belong to the policy.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Index of the output that is the action, if there are several outputs.
    #[serde(default)]
    pub output: Option<usize>,
    /// Actions of a discrete policy: the one with the largest output is taken.
    #[serde(default)]
    pub choices: Option<Vec<f32>>,
    /// Name of the action.
    pub action: String,
    /// Largest relative change of a multiplier.
    #[serde(default = "fifth")]
    pub step: f64,
    /// Times at which a flow decides.
    #[serde(default)]
    pub clock: Option<String>,
    /// Least time between two decisions of a flow.
    #[serde(default)]
    pub interval: Option<String>,
    /// Round trips without feedback after which a flow decides anyway.
    #[serde(default)]
    pub silence: Option<f64>,
    /// Feedback in addition to round-trip times, marks and losses.
    #[serde(default)]
    pub feedback: Option<String>,
    /// Time from a decision's start to its effect.
    #[serde(default)]
    pub decision_latency: Option<String>,
    /// Initial rate of a flow.
    #[serde(default)]
    pub initial_rate: Option<String>,
    /// Lowest rate of a flow.
    #[serde(default)]
    pub min_rate: Option<String>,
    /// Author's notes, such as training code and data.
    #[serde(default)]
    pub about: String,
}

const fn one() -> usize {
    1
}

const fn fifth() -> f64 {
    0.2
}

/// Maps each input to (x - mean) / std, clamped to ± `clip`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalise {
    /// Values subtracted: one per name of the observation, or one per input.
    pub mean: Vec<f32>,
    /// Divisors, in the same number.
    pub std: Vec<f32>,
    /// Bound of the result; `None` without one.
    #[serde(default)]
    pub clip: Option<f32>,
}

/// Layer of a card: exactly one of `linear`, `gru` and `lstm` with the prefix of its tensors' names, and its
/// activation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerSaid {
    /// Weighted sums: the tensors `NAME.weight` and `NAME.bias`.
    #[serde(default)]
    pub linear: Option<String>,
    /// Gated recurrent units: `NAME.weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and `bias_hh_l0`; further
    /// layers `_l1` and so on.
    #[serde(default)]
    pub gru: Option<String>,
    /// Long short-term memory, with the same tensor names as `gru`.
    #[serde(default)]
    pub lstm: Option<String>,
    /// Activation after the layer, by name.
    #[serde(default)]
    pub then: Option<String>,
}

/// Source of a policy's layers.
#[derive(Clone, Debug)]
pub enum Weights {
    /// Bytes of a safetensors file; the card assigns its tensors to layers.
    Tensors(Vec<u8>),
    /// Layers read from an ONNX graph.
    Graph {
        /// Number of inputs of the graph.
        inputs: usize,
        /// Layers, from input to output.
        layers: Vec<Layer>,
        /// Bytes of the file, which are hashed.
        bytes: Vec<u8>,
    },
}

impl Weights {
    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Tensors(bytes) | Self::Graph { bytes, .. } => bytes,
        }
    }
}

impl PolicyCard {
    /// Parses and checks a card.
    ///
    /// # Errors
    /// The bytes are no card, or contradict themselves.
    pub fn parse(json: &[u8]) -> Result<Self, ModelError> {
        const HAS: &str = "`format`, `kind`, `name`, `observation` and `action`";
        let read = serde_json::from_slice(json);
        let card: Self = read.map_err(|error| ModelError::card(&error, HAS))?;
        card.check().map_err(ModelError::Policy)?;
        Ok(card)
    }

    fn check(&self) -> Result<(), String> {
        if self.format != 1 {
            return Err(format!("format: {}; expected 1", self.format));
        }
        if self.observation.is_empty() {
            return Err("observation: there is none; expected at least one name".into());
        }
        if !(1..=64).contains(&self.history) {
            return Err(format!("history: {}; expected 1 to 64 questions", self.history));
        }
        if let Some(normalise) = &self.normalise {
            let (once, all) = (self.observation.len(), self.width());
            for (key, values) in [("mean", &normalise.mean), ("std", &normalise.std)] {
                let found = values.len();
                // One value per name is repeated for each decision of the history.
                if found != once && found != all {
                    let or_all = match once == all {
                        true => String::new(),
                        false => format!(", or {all} for all questions"),
                    };
                    return Err(format!(
                        "normalise.{key}: {found} numbers; expected {once}, one for each name of the observation{or_all}"
                    ));
                }
                if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                    return Err(format!("normalise.{key}: {value}; expected finite numbers"));
                }
            }
            if let Some(value) = normalise.std.iter().find(|value| **value <= 0.0) {
                return Err(format!("normalise.std: {value}; expected numbers above 0"));
            }
            if let Some(clip) = normalise.clip.filter(|clip| *clip <= 0.0 || clip.is_nan()) {
                return Err(format!("normalise.clip: {clip}; expected a number above 0"));
            }
        }
        if !(self.step > 0.0 && self.step <= 10.0) {
            return Err(format!(
                "step: {}; expected a number above 0, at most 10",
                self.step
            ));
        }
        Ok(())
    }

    /// Returns the number of inputs of the network.
    pub fn width(&self) -> usize {
        self.observation.len() * self.history
    }

    /// Returns the file extension of the weights.
    pub fn weights_ending(&self) -> &'static str {
        match self.layers {
            Some(_) => "safetensors",
            None => "onnx",
        }
    }

    /// Returns the network, preceded by its normalisation.
    ///
    /// # Errors
    /// Card and weights do not match.
    pub fn stack(&self, weights: &Weights) -> Result<Stack, ModelError> {
        let mut layers = self.normalising();
        match (weights, &self.layers) {
            (Weights::Tensors(bytes), Some(said)) => layers.extend(layers_of(said, &self.ignore, bytes)?),
            (Weights::Graph { inputs, .. }, _) if *inputs != self.width() => {
                return Err(ModelError::Policy(format!(
                    "the graph reads {inputs} numbers; the observation has {}",
                    self.width()
                )));
            }
            (Weights::Graph { layers: graph, .. }, _) => layers.extend(graph.iter().cloned()),
            (Weights::Tensors(_), None) => {
                let message = "layers: there are none; expected a list, such as [{\"linear\": \"0\", \"then\": \"tanh\"}, \
                               {\"linear\": \"2\"}]";
                return Err(ModelError::Policy(message.into()));
            }
        }
        let stack = Stack::new(layers, self.width()).map_err(ModelError::Policy)?;
        self.check_outputs(stack.outputs()).map_err(ModelError::Policy)?;
        Ok(stack)
    }

    fn check_outputs(&self, outputs: usize) -> Result<(), String> {
        match (&self.choices, self.output) {
            (Some(_), Some(_)) => Err("output: a policy with `choices` has none".into()),
            (Some(choices), None) if choices.len() != outputs => Err(format!(
                "choices: {} actions; expected {outputs}, as many as the last layer gives numbers",
                choices.len()
            )),
            (Some(choices), None) => match choices.iter().find(|choice| !(-1.0..=1.0).contains(*choice)) {
                Some(choice) => Err(format!("choices: {choice}; expected actions from -1 to 1")),
                None => Ok(()),
            },
            (None, Some(output)) if output >= outputs => Err(format!(
                "output: {output}; the last layer gives {outputs} numbers, the first of which is 0"
            )),
            (None, None) if outputs != 1 => Err(format!(
                "the last layer gives {outputs} numbers; expected 1, or `output` with the number of the one that is the \
                 action, or `choices` with an action for each"
            )),
            _ => Ok(()),
        }
    }

    fn normalising(&self) -> Vec<Layer> {
        let Some(normalise) = &self.normalise else {
            return Vec::new();
        };
        let whole =
            |values: &[f32]| -> Vec<f32> { values.iter().cycle().take(self.width()).copied().collect() };
        let (mean, std) = (whole(&normalise.mean), whole(&normalise.std));
        let offsets = mean.iter().zip(&std).map(|(mean, std)| -mean / std);
        let scale = Layer::Scale(std.iter().map(|std| 1.0 / std).collect(), offsets.collect());
        let clip = normalise
            .clip
            .map(|clip| Layer::Each(Activation::Clip(-clip, clip)));
        std::iter::once(scale).chain(clip).collect()
    }

    /// Returns the action that the outputs select, from -1 to 1.
    pub fn act(&self, outputs: &[f32]) -> f32 {
        let action = match &self.choices {
            Some(choices) => {
                // Of equal outputs the first wins.
                let mut best = 0;
                for (index, output) in outputs.iter().enumerate() {
                    if *output > outputs[best] {
                        best = index;
                    }
                }
                choices[best]
            }
            None => outputs[self.output.unwrap_or(0)],
        };
        // NaN keeps the flow unchanged.
        if action.is_nan() {
            0.0
        } else {
            action.clamp(-1.0, 1.0)
        }
    }
}
