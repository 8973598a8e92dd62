//! Files of policies based on a rate law.

use paceline_congestion::decc::law::Law;
use paceline_congestion::learned::card::{Card, Metrics, RoundMetrics, Training};
use paceline_congestion::learned::kind::{DECC, ModelKind};
use paceline_congestion::learned::layers::Network;

use super::{BATCH, By, Cloned, Cloning, TrainedPolicy, Tuned};
use crate::Error;
use crate::policy::{self, card, data, training};
use crate::search::law_files;
use crate::write::ModelFiles;

/// Scenarios of training, as cards list them.
const SCENARIOS: [&str; 1] = ["drawn"];

/// Returns the files of a law and a network of this kind; `complete` fills in the card.
pub(super) fn on_law(
    kind: ModelKind,
    name: &str,
    law: &[f32],
    policy: &Network,
    complete: impl FnOnce(Card) -> Card,
) -> Result<ModelFiles, Error> {
    policy::files(complete(card(kind, name)), Some(law), Some(policy))
}

/// Returns the files of a law, with a residual if there is one.
pub(crate) fn same(law: &Law, beside: Option<&Network>) -> Result<ModelFiles, Error> {
    let values = law.values();
    match beside {
        Some(policy) => on_law(ModelKind::Residual, "teacher", &values, policy, |card| card),
        None => {
            let values: Vec<f64> = values.iter().map(|&value| f64::from(value)).collect();
            law_files("teacher", &values, |card| card)
        }
    }
}

/// Returns the files of a policy with these values, as `by` trains it: based on a law, or alone with a note.
pub(crate) fn of_values(
    by: By,
    name: &str,
    law: &[f32],
    values: &[f32],
    about: &str,
) -> Result<ModelFiles, Error> {
    match by {
        By::Printed | By::OwnReward => super::paper::files(name, values, true, about),
        By::Memoryless => super::paper::files(name, values, false, about),
        By::Gradients | By::Proximal => {
            let policy = Network::new(&DECC, values.to_vec());
            on_law(ModelKind::Residual, name, law, &policy, |card| card)
        }
    }
}

/// Returns the files of a trained policy.
///
/// # Errors
/// The weights cannot be serialised.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    let options = &trained.options;
    let round = |update: &super::Update| RoundMetrics {
        round: update.round as u64,
        loss: update.loss,
        ..RoundMetrics::default()
    };
    if options.by.is_printed() {
        let about = format!(
            "the policy as the paper prints it, trained by `{command}`: {} of {} rounds, {} decisions kept, cost in trials {:.3}",
            trained.updates.len(),
            options.rounds,
            trained.decisions,
            trained.best()
        );
        return of_values(options.by, name, &trained.law, &trained.values, &about);
    }
    let policy = Network::new(&DECC, trained.values.clone());
    on_law(ModelKind::Residual, name, &trained.law, &policy, |card| Card {
        data: data(trained.decisions, &SCENARIOS, options.seed),
        training: Training {
            rounds: trained.updates.len() as u64,
            learning_rate: 3e-4,
            loss: match options.by {
                By::Proximal => {
                    "proximal policy optimisation, with a critic that sees all flows, beside a rate law"
                }
                _ => "multi-agent deterministic policy gradients (MADDPG, TD3), beside a rate law",
            }
            .into(),
            ..training(command, BATCH, options.seed)
        },
        metrics: Metrics {
            rounds: trained.updates.iter().map(round).collect(),
            ..Metrics::default()
        },
        ..card
    })
}

/// Returns the files of a clone.
///
/// # Errors
/// The weights cannot be serialised.
pub fn files_of_clone(name: &str, cloned: &Cloned, command: &str) -> Result<ModelFiles, Error> {
    let Cloning { seed, .. } = cloned.options;
    let round = |round: &super::clone::Round| RoundMetrics {
        round: round.number as u64,
        loss: round.off * round.off,
        ..RoundMetrics::default()
    };
    on_law(ModelKind::Decc, name, &cloned.law, &cloned.policy, |card| Card {
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

/// Returns the files of a compressed network.
///
/// # Errors
/// The weights cannot be serialised.
pub fn files_of_compressed(name: &str, tuned: &Tuned, seed: u64, command: &str) -> Result<ModelFiles, Error> {
    let compressed = &tuned.compressed;
    on_law(ModelKind::Decc, name, &tuned.law, &compressed.network, |card| {
        Card {
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
        }
    })
}
