//! Policies with cards for tests.

use std::sync::Arc;

use crate::learned::stack::card::Weights;
use crate::learned::{Model, ModelError, ModelRef};

use super::models::{Tensors, file};

/// Returns a card with these entries in addition to the mandatory ones.
pub fn card(entries: &str) -> String {
    format!(r#"{{"format": 1, "kind": "policy", "name": "mine", {entries}}}"#)
}

/// Creates the policy of a card and its tensors.
///
/// # Errors
/// Card and tensors do not match.
pub fn policy(card: &str, tensors: &Tensors) -> Result<ModelRef, ModelError> {
    let weights = Weights::Tensors(file(tensors));
    let model = Model::read(card.as_bytes(), |_| Ok::<_, ModelError>(weights))?;
    Ok(ModelRef::read_from("mine", Arc::new(model)))
}

/// Returns a named tensor.
pub fn tensor(name: &str, shape: &[usize], values: &[f32]) -> (String, Vec<usize>, Vec<f32>) {
    (name.to_string(), shape.to_vec(), values.to_vec())
}
