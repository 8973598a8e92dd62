//! Why a model is refused.

use crate::learned::forest::ForestError;
use crate::learned::kind::Kind;

/// Why a model is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The card is not JSON, or lacks something.
    #[error("the model's card {0}")]
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
    /// The weights do not decide in whole numbers.
    #[error("the card's quantisation does not fit the weights: {0}")]
    Quantisation(String),
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
    /// A coefficient of a rate law is out of its range.
    #[error("the tensor `law` is no rate law: {0}")]
    Law(String),
    /// The card of somebody's policy and its weights do not fit.
    #[error("{0}")]
    Policy(String),
    /// A forest is refused.
    #[error(transparent)]
    Forest(#[from] ForestError),
}

impl ModelError {
    /// A card that cannot be read; `has` lists what a card of its kind has at least.
    pub(crate) fn card(error: &serde_json::Error, has: &str) -> Self {
        let text = error.to_string();
        let missing = text
            .strip_prefix("missing field ")
            .and_then(|rest| rest.split_once(" at "));
        Self::Card(match (error.classify(), missing) {
            (serde_json::error::Category::Data, Some((field, _))) => {
                format!("has no {field}; expected at least {has}")
            }
            (serde_json::error::Category::Data, None) => format!("has something else than expected: {text}"),
            _ => format!("is not JSON: {text}"),
        })
    }
}
