//! Model files of a rate law.

use std::sync::Arc;

use paceline_congestion::learned::card::Card;
use paceline_congestion::learned::kind::ModelKind;
use paceline_congestion::learned::stack::card::Weights;
use paceline_congestion::learned::{Model, ModelError};

use crate::Error;
use crate::policy::{card, files};
use crate::write::ModelFiles;

/// Returns the files of a law with these coefficients; `complete` adds to the card.
pub(crate) fn law(
    name: &str,
    values: &[f64],
    complete: impl FnOnce(Card) -> Card,
) -> Result<ModelFiles, Error> {
    let values: Vec<f32> = values.iter().map(|&value| value as f32).collect();
    files(complete(card(ModelKind::Law, name)), Some(&values), None)
}

/// Reads a model from its files.
pub(crate) fn model_of(files: &ModelFiles) -> Result<Arc<Model>, Error> {
    let weights = |_: &str| Ok::<_, ModelError>(Weights::Tensors(files.weights.clone()));
    let model = Model::read(&files.card, weights);
    Ok(Arc::new(
        model.map_err(|error| Error::Options(error.to_string()))?,
    ))
}
