//! The card of a policy that others trained: a small JSON file alongside its weights.

use serde::Deserialize;

use super::tensors::layers_of;
use super::{Activation, Layer, Stack};
use crate::learned::error::ModelError;

/// What a policy's card says. Names and quantities are texts here; [`crate::policy`] knows what they mean.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PolicyCard {
    /// The version of the format: 1.
    pub format: u32,
    /// `policy`.
    pub kind: String,
    /// The model's name.
    pub name: String,
    /// What the network reads of a question, in order.
    pub observation: Vec<String>,
    /// Of how many questions, the latest last.
    #[serde(default = "one")]
    pub history: usize,
    /// What is done to the numbers before the network reads them.
    #[serde(default)]
    pub normalise: Option<Normalise>,
    /// The layers, and the tensors that they are made of; nothing with weights in ONNX, whose graph says it.
    #[serde(default)]
    pub layers: Option<Vec<LayerSaid>>,
    /// Tensors of the file that are no part of the policy, by the beginnings of their names.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// Which of the numbers that come out is the action, where there are several.
    #[serde(default)]
    pub output: Option<usize>,
    /// Actions by number: the one whose number is largest is taken (policies of discrete actions).
    #[serde(default)]
    pub choices: Option<Vec<f32>>,
    /// What the action does.
    pub action: String,
    /// The largest relative change of a multiplier.
    #[serde(default = "fifth")]
    pub step: f64,
    /// When a flow decides.
    #[serde(default)]
    pub clock: Option<String>,
    /// The least time from one decision of a flow to the next.
    #[serde(default)]
    pub interval: Option<String>,
    /// Round trips without an answer after which a flow decides on its own.
    #[serde(default)]
    pub silence: Option<f64>,
    /// What senders learn alongside round-trip times, marks and losses.
    #[serde(default)]
    pub feedback: Option<String>,
    /// From a question to the effect of its answer.
    #[serde(default)]
    pub decision_latency: Option<String>,
    /// A flow's first rate.
    #[serde(default)]
    pub initial_rate: Option<String>,
    /// The lowest rate.
    #[serde(default)]
    pub min_rate: Option<String>,
    /// Whatever its author has to say: what trained it, and on what.
    #[serde(default)]
    pub about: String,
}

const fn one() -> usize {
    1
}

const fn fifth() -> f64 {
    0.2
}

/// (x - mean) / std of each number, cut to `clip` on both sides.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalise {
    /// What is subtracted: a number for each name of the observation, or for each of all questions.
    pub mean: Vec<f32>,
    /// By what that is divided.
    pub std: Vec<f32>,
    /// The largest number.
    #[serde(default)]
    pub clip: Option<f32>,
}

/// A layer: one of `linear`, `gru` and `lstm`, with what its tensors' names begin with, and what follows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerSaid {
    /// Weighted sums: the tensors `NAME.weight` and `NAME.bias`.
    #[serde(default)]
    pub linear: Option<String>,
    /// Gated recurrent units: `NAME.weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0`, and further `_l1`, ..
    #[serde(default)]
    pub gru: Option<String>,
    /// Long short-term memory, likewise.
    #[serde(default)]
    pub lstm: Option<String>,
    /// The activation behind it.
    #[serde(default)]
    pub then: Option<String>,
}

/// Where the layers of a policy are from.
#[derive(Clone, Debug)]
pub enum Weights {
    /// The bytes of a safetensors file; the card says which tensors make which layer.
    Tensors(Vec<u8>),
    /// Layers that were read from an ONNX graph.
    Graph {
        /// Width of its input.
        inputs: usize,
        /// Layers, from input to output.
        layers: Vec<Layer>,
        /// The file, for its hash.
        bytes: Vec<u8>,
    },
}

impl Weights {
    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Tensors(bytes) | Self::Graph { bytes, .. } => bytes,
        }
    }
}

impl PolicyCard {
    /// Reads a card.
    ///
    /// # Errors
    /// It is none, or contradicts itself.
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

    /// Numbers that the network reads.
    pub fn width(&self) -> usize {
        self.observation.len() * self.history
    }

    /// The ending of the file of weights alongside it.
    pub fn weights_ending(&self) -> &'static str {
        match self.layers {
            Some(_) => "safetensors",
            None => "onnx",
        }
    }

    /// The network, with what normalises before it.
    ///
    /// # Errors
    /// Card and weights do not fit.
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

    /// The action that the outputs say, from -1 to 1.
    pub fn act(&self, outputs: &[f32]) -> f32 {
        let action = match &self.choices {
            Some(choices) => {
                // The first of the largest.
                let mut best = 0;
                for (place, output) in outputs.iter().enumerate() {
                    if *output > outputs[best] {
                        best = place;
                    }
                }
                choices[best]
            }
            None => outputs[self.output.unwrap_or(0)],
        };
        // What is not a number changes nothing.
        if action.is_nan() {
            0.0
        } else {
            action.clamp(-1.0, 1.0)
        }
    }
}
