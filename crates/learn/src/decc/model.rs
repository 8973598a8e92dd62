//! The files of a trained policy.

use std::path::Path;
use std::sync::Arc;

use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::model::{Card, Kind, Metrics, RoundMetrics, Training};
use paceline_congestion::learned::shipped;

use super::{BATCH, By, Options, TrainedPolicy, Tuned, Update};
use crate::policy::{self, card, data, training};
use crate::write::ModelFiles;
use crate::{Error, course};

/// In which it learns.
const SCENARIOS: [&str; 2] = [course::MANY_TO_ONE, course::ALL_TO_ALL];

/// The policy's weights and its card.
///
/// # Errors
/// The format refuses.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    let training = Training {
        rounds: trained.steps as u64,
        learning_rate: match trained.options.stages.is_empty() {
            true => super::CLONE_RATE,
            false if trained.options.by == By::Proximal => super::on_policy::MANNER.rate,
            false => super::td3::ACTOR_RATE,
        },
        loss: loss(&trained.options).into(),
        ..training(command, BATCH, trained.options.seed)
    };
    let card = Card {
        data: data(trained.decisions, &SCENARIOS, trained.options.seed),
        training,
        metrics: metrics(&trained.updates),
        ..card(Kind::Decc, name)
    };
    policy::files(card, &trained.policy)
}

/// The same of a policy that was compressed.
///
/// # Errors
/// The format refuses.
pub fn files_of_compressed(
    name: &str,
    tuned: &Tuned,
    options: &Options,
    command: &str,
) -> Result<ModelFiles, Error> {
    let compressed = &tuned.compressed;
    let training = Training {
        rounds: tuned.steps as u64,
        learning_rate: super::tune::RATE,
        loss: format!(
            "pruned by {:.1} % and quantised to {:.2} bits in the mean, then taught what it did before",
            100.0 * compressed.taken,
            compressed.bits
        ),
        ..training(command, BATCH, options.seed)
    };
    let card = Card {
        data: data(tuned.observations as u64, &SCENARIOS, options.seed),
        training,
        quantisation: Some(tuned.quantisation.clone()),
        ..card(Kind::Decc, name)
    };
    policy::files(card, &compressed.network)
}

/// A policy by the name that it ships with, or of a file; and its name.
///
/// # Errors
/// There is none, or it is none of DECC's.
pub fn policy_of(model: &str) -> Result<(String, Network), Error> {
    let model = match shipped::find(model) {
        Some(model) => model,
        None => Arc::new(crate::write::model(Path::new(model))?),
    };
    let card = model.card();
    match model.layers().filter(|_| card.kind == Kind::Decc) {
        Some(_) if card.quantisation.is_some() => {
            Err(Error::Options(format!("`{}` is compressed already", card.name)))
        }
        Some(network) => Ok((card.name.clone(), network.clone())),
        None => Err(Error::Options(format!(
            "`{}` is of kind {}; expected one of kind {}",
            card.name,
            card.kind,
            Kind::Decc
        ))),
    }
}

/// What it was trained by.
fn loss(options: &Options) -> &'static str {
    match options.stages.is_empty() {
        true => "cloning of a rule (Swift's, in units of the path)",
        false if options.by == By::Proximal => {
            "proximal policy optimisation (PPO), with a critic that sees all flows, from a clone of a rule"
        }
        false => "multi-agent deterministic policy gradients (MADDPG, TD3), from a clone of a rule",
    }
}

/// The mean loss since the trial before, by trial.
fn metrics(updates: &[Update]) -> Metrics {
    let round = |update: &Update| RoundMetrics {
        round: update.step as u64,
        loss: update.loss,
        ..RoundMetrics::default()
    };
    let tried = updates.iter().filter(|update| update.trial.is_some());
    Metrics {
        rounds: tried.map(round).collect(),
        ..Metrics::default()
    }
}
