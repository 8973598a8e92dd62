//! Models that a training starts from.

use std::sync::Arc;

use paceline_congestion::decc::law::Law;
use paceline_congestion::learned::kind::Kind;
use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::model::Model;

use crate::Error;

/// Finds a model by the name that it ships with, or by its file.
///
/// # Errors
/// There is none.
pub fn base(model: &str) -> Result<Arc<Model>, Error> {
    paceline_scenario::find_model(model).map_err(Error::Options)
}

/// The law of a model that is nothing else.
pub(super) fn law_of(model: &Model) -> Result<Law, Error> {
    match (model.card().kind, model.law()) {
        (Kind::Law, Some(law)) => Ok(*law),
        _ => Err(other(model, "a rate law (kind law)")),
    }
}

/// A law, and the residual alongside it, of a model that is both or the former.
pub(crate) fn teacher(model: &Model) -> Result<(Law, Option<Arc<Network>>), Error> {
    match (model.card().kind, model.law()) {
        (Kind::Law, Some(law)) => Ok((*law, None)),
        (Kind::Residual, Some(law)) => Ok((*law, model.layers().cloned().map(Arc::new))),
        _ => Err(other(
            model,
            "a rate law, with or without a residual (kinds law, residual)",
        )),
    }
}

/// A clone that is not compressed: its law and its network.
///
/// # Errors
/// The model is something else.
pub fn clone_of(model: &Model) -> Result<(Law, Network), Error> {
    let card = model.card();
    if card.quantisation.is_some() {
        return Err(Error::Options(format!("`{}` is compressed already", card.name)));
    }
    match (card.kind, model.law(), model.layers()) {
        (Kind::Decc, Some(law), Some(network)) => Ok((*law, network.clone())),
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
