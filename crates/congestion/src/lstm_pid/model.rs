//! Model of the scheme's predictor, and its validation.

use std::sync::Arc;

use super::Params;
use crate::learned::{Model, ModelHash, shipped};
use crate::params::{Auto, ParamError};

impl Params {
    /// Returns the model, if it is available: a built-in one, or one read from a file.
    pub(super) fn model(&self) -> Option<Arc<Model>> {
        match (&self.model, self.predictor.shipped()) {
            (Auto::Is(reference), _) => reference.model().cloned(),
            (Auto::Auto, Some(name)) => shipped::find(name),
            (Auto::Auto, None) => None,
        }
    }

    /// Checks that the model matches predictor, smoothing and hash.
    pub(super) fn check_model(&self) -> Result<(), ParamError> {
        let refuse = |param: &str, message: String| Err(ParamError::new(param, message));
        let Some(kind) = self.predictor.kind() else {
            return Ok(());
        };
        let Some(model) = self.model() else {
            let name = match &self.model {
                Auto::Is(reference) => reference.name(),
                Auto::Auto => "auto",
            };
            return refuse("model", shipped::unknown(name));
        };
        let card = model.card();
        if card.kind != kind {
            let message = format!(
                "`{}` is of kind {}; the predictor is {kind}",
                card.name, card.kind
            );
            return refuse("model", message);
        }
        // With another smoothing features would differ from those in training.
        if card.smoothing != self.smoothing {
            let message = format!(
                "{} does not fit the model `{}`, whose features were made with {}",
                self.smoothing, card.name, card.smoothing
            );
            return refuse("smoothing", message);
        }
        let found = ModelHash::of(&model);
        match &self.model_hash {
            Auto::Is(expected) if *expected != found => refuse(
                "model-hash",
                format!(
                    "{expected} is not of the model `{}`, whose weights have {found}",
                    card.name
                ),
            ),
            _ => Ok(()),
        }
    }
}
