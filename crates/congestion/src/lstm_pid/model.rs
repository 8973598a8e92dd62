//! The model of a scheme's parameters, and whether it is the one that they speak of.

use std::sync::Arc;

use super::Params;
use crate::learned::{Model, ModelHash, shipped};
use crate::params::{Auto, ParamError};

impl Params {
    /// The model, if it is there: one that ships, or one that was read and attached.
    pub(super) fn model(&self) -> Option<Arc<Model>> {
        match (&self.model, self.predictor.shipped()) {
            (Auto::Is(reference), _) => reference.model().cloned(),
            (Auto::Auto, Some(name)) => shipped::find(name),
            (Auto::Auto, None) => None,
        }
    }

    /// Whether the model is the one that predictor, smoothing and hash speak of.
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
