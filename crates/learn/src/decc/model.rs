//! The files of policies on top of a rate law.

use std::path::Path;
use std::sync::Arc;

use paceline_congestion::decc::law::Law;
use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::model::{Card, Kind, Metrics, Model, RoundMetrics, Training};
use paceline_congestion::learned::shipped;

use super::{BATCH, By, Cloned, Cloning, TrainedPolicy, Tuned};
use crate::Error;
use crate::policy::{self, card, data, training};
use crate::search::law_files;
use crate::write::ModelFiles;

/// In which policies learn.
const SCENARIOS: [&str; 1] = ["drawn"];

/// A law and a network alongside it, or in its place, as the kind says; `told` completes the card.
pub(super) fn on_law(
    (kind, name): (Kind, &str),
    law: &[f32],
    policy: &Network,
    told: impl FnOnce(Card) -> Card,
) -> Result<ModelFiles, Error> {
    policy::files(told(card(kind, name)), Some(law), Some(policy))
}

/// A law, with a residual if there is one.
pub(super) fn same(law: &Law, beside: Option<&Network>) -> Result<ModelFiles, Error> {
    let values = law.values();
    match beside {
        Some(policy) => on_law((Kind::Residual, "teacher"), &values, policy, |card| card),
        None => {
            let values: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
            law_files("teacher", &values, |card| card)
        }
    }
}

/// The files of a residual that was trained.
///
/// # Errors
/// The format refuses.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    let options = &trained.options;
    let round = |update: &super::Update| RoundMetrics {
        round: update.round as u64,
        loss: update.loss,
        ..RoundMetrics::default()
    };
    on_law((Kind::Residual, name), &trained.law, &trained.policy, |card| {
        Card {
            data: data(trained.decisions, &SCENARIOS, options.seed),
            training: Training {
                rounds: trained.updates.len() as u64,
                learning_rate: 3e-4,
                loss: match options.by {
                    By::Proximal => {
                        "proximal policy optimisation, with a critic that sees all flows, beside a rate law"
                    }
                    By::Gradients => {
                        "multi-agent deterministic policy gradients (MADDPG, TD3), beside a rate law"
                    }
                }
                .into(),
                ..training(command, BATCH, options.seed)
            },
            metrics: Metrics {
                rounds: trained.updates.iter().map(round).collect(),
                ..Metrics::default()
            },
            ..card
        }
    })
}

/// The files of a clone.
///
/// # Errors
/// The format refuses.
pub fn files_of_clone(name: &str, cloned: &Cloned, command: &str) -> Result<ModelFiles, Error> {
    let Cloning { seed, .. } = cloned.options;
    let round = |round: &super::clone::Round| RoundMetrics {
        round: round.number as u64,
        loss: round.off * round.off,
        ..RoundMetrics::default()
    };
    on_law((Kind::Decc, name), &cloned.law, &cloned.policy, |card| Card {
        data: data(cloned.decisions, &SCENARIOS, seed),
        training: Training {
            rounds: cloned.rounds.len() as u64,
            learning_rate: super::clone::RATE,
            loss: "mean square error to a rate law's actions, in states of its own (DAgger)".into(),
            ..training(command, 256, seed)
        },
        metrics: Metrics {
            rounds: cloned.rounds.iter().map(round).collect(),
            ..Metrics::default()
        },
        ..card
    })
}

/// The same of a network that was compressed.
///
/// # Errors
/// The format refuses.
pub fn files_of_compressed(name: &str, tuned: &Tuned, seed: u64, command: &str) -> Result<ModelFiles, Error> {
    let compressed = &tuned.compressed;
    on_law((Kind::Decc, name), &tuned.law, &compressed.network, |card| Card {
        data: data(tuned.observations as u64, &SCENARIOS, seed),
        training: Training {
            rounds: tuned.steps as u64,
            learning_rate: super::tune::RATE,
            loss: format!(
                "pruned by {:.1} % and quantised to {:.2} bits in the mean, then taught what it did before",
                100.0 * compressed.taken,
                compressed.bits
            ),
            ..training(command, BATCH, seed)
        },
        quantisation: Some(tuned.quantisation.clone()),
        ..card
    })
}

/// A model by the name that it ships with, or of a file.
///
/// # Errors
/// There is none.
pub fn base(model: &str) -> Result<Arc<Model>, Error> {
    let path = Path::new(model);
    match shipped::find(model) {
        Some(model) => Ok(model),
        None if !path.with_extension("safetensors").exists() => Err(Error::Options(shipped::unknown(model))),
        None => Ok(Arc::new(crate::write::model(path)?)),
    }
}

/// The law of a model that is nothing else.
pub(crate) fn law_of(model: &Model) -> Result<Law, Error> {
    match (model.card().kind, model.law()) {
        (Kind::Law, Some(law)) => Ok(*law),
        _ => Err(other(model, "a rate law (kind law)")),
    }
}

/// A law, and the residual alongside it, of a model that is both or the former.
pub(super) fn teacher(model: &Model) -> Result<(Law, Option<Arc<Network>>), Error> {
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

fn other(model: &Model, expected: &str) -> Error {
    let card = model.card();
    Error::Options(format!(
        "`{}` is of kind {}; expected {expected}",
        card.name, card.kind
    ))
}
