//! Errors that refuse a model.

use crate::learned::forest::ForestError;
use crate::learned::kind::ModelKind;

/// Reason for which a model is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The card is not JSON, or lacks an entry.
    #[error("the model's card {0}")]
    Card(String),
    /// An entry of the card is not supported by this version.
    #[error("the card's {key} is {found}; expected {expected}")]
    Unknown {
        /// Name of the entry.
        key: &'static str,
        /// Value in the card.
        found: String,
        /// Values that this version supports.
        expected: String,
    },
    /// The weights are not those that the card describes.
    #[error(
        "the weights are damaged, or of another model: their SHA-256 is {found}; the card expects {expected}"
    )]
    Hash {
        /// SHA-256 of the weights file.
        found: String,
        /// SHA-256 that the card states.
        expected: String,
    },
    /// The weights file cannot be read.
    #[error("the weights are not a safetensors file: {0}")]
    Weights(String),
    /// A tensor is missing or superfluous.
    #[error("the tensors of a model of kind {kind} are {expected}; found {found}")]
    Tensors {
        /// Kind of model that the card states.
        kind: ModelKind,
        /// Tensors in the file.
        found: String,
        /// Tensors that the kind requires.
        expected: String,
    },
    /// A tensor has the wrong shape or type.
    #[error("the tensor `{tensor}` is {found}; expected {expected}")]
    Shape {
        /// Name of the tensor.
        tensor: String,
        /// Type and shape in the file.
        found: String,
        /// Type and shape that the card requires.
        expected: String,
    },
    /// The weights cannot be used in integer arithmetic.
    #[error("the card's quantisation does not fit the weights: {0}")]
    Quantisation(String),
    /// A weight is not finite.
    #[error("the tensor `{tensor}` has the value {value} at index {index}; expected finite numbers only")]
    NotFinite {
        /// Name of the tensor.
        tensor: String,
        /// Index of the weight in the tensor.
        index: usize,
        /// Text of the value.
        value: String,
    },
    /// A coefficient of a rate law is out of its range.
    #[error("the tensor `law` is no rate law: {0}")]
    Law(String),
    /// The card of a user-trained policy does not fit its weights.
    #[error("{0}")]
    Policy(String),
    /// A forest is refused.
    #[error(transparent)]
    Forest(#[from] ForestError),
}

impl ModelError {
    /// Creates the error for an unreadable card; `has` lists the entries that such a card requires.
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
