//! Models from which a training starts.

use std::sync::Arc;

use paceline_congestion::decc::law::Law;
use paceline_congestion::learned::kind::ModelKind;
use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::model::Model;

use crate::Error;

/// Finds a built-in model by name, or reads a model file.
///
/// # Errors
/// There is no such model.
pub fn base(model: &str) -> Result<Arc<Model>, Error> {
    paceline_scenario::find_model(model).map_err(Error::Options)
}

/// Returns the law of a model that is a pure law.
pub(super) fn law_of(model: &Model) -> Result<Law, Error> {
    match (model.card().kind, model.law()) {
        (ModelKind::Law, Some(law)) => Ok(*law),
        _ => Err(other(model, "a rate law (kind law)")),
    }
}

/// Returns the law of a model and its residual, if it has one.
pub(crate) fn teacher(model: &Model) -> Result<(Law, Option<Arc<Network>>), Error> {
    match (model.card().kind, model.law()) {
        (ModelKind::Law, Some(law)) => Ok((*law, None)),
        (ModelKind::Residual, Some(law)) => Ok((*law, model.layers().cloned().map(Arc::new))),
        _ => Err(other(
            model,
            "a rate law, with or without a residual (kinds law, residual)",
        )),
    }
}

/// A network that was cloned from a law.
#[derive(Clone, Debug)]
pub struct LawClone {
    /// Law that the network replaces.
    pub law: Law,
    /// Network that decides without the law.
    pub network: Network,
}

/// Returns a clone that is not compressed.
///
/// # Errors
/// The model is of another kind.
pub fn clone_of(model: &Model) -> Result<LawClone, Error> {
    let card = model.card();
    if card.quantisation.is_some() {
        return Err(Error::Options(format!("`{}` is compressed already", card.name)));
    }
    match (card.kind, model.law(), model.layers()) {
        (ModelKind::Decc, Some(law), Some(network)) => Ok(LawClone {
            law: *law,
            network: network.clone(),
        }),
        _ => Err(other(model, "a network of DECC (kind decc)")),
    }
}

pub(super) fn other(model: &Model, expected: &str) -> Error {
    let card = model.card();
    Error::Options(format!(
        "`{}` is of kind {}; expected {expected}",
        card.name, card.kind
    ))
}
