//! The files of a trained policy.

use paceline_congestion::learned::model::{Card, Kind, Metrics, RoundMetrics, Training};

use super::{MANNER, TrainedPolicy, Update};
use crate::policy::{self, card, data, training};
use crate::ppo::BATCH;
use crate::write::ModelFiles;
use crate::{Error, course};

/// The policy's weights and its card.
///
/// # Errors
/// The format refuses.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    let rounds = trained.updates.len().saturating_sub(1) as u64;
    let seed = trained.options.seed;
    let card = Card {
        data: data(trained.decisions() as u64, &[course::MANY_TO_ONE], seed),
        training: Training {
            rounds,
            learning_rate: MANNER.rate,
            loss: "proximal policy optimisation (PPO), each flow for itself".into(),
            ..training(command, BATCH, seed)
        },
        metrics: metrics(&trained.updates),
        ..card(Kind::Aurora, name)
    };
    policy::files(card, None, Some(&trained.policy))
}

/// The reward in trials, as a loss.
fn metrics(updates: &[Update]) -> Metrics {
    let round = |update: &Update| {
        Some(RoundMetrics {
            round: update.round as u64,
            loss: -update.trial?,
            ..RoundMetrics::default()
        })
    };
    Metrics {
        rounds: updates.iter().filter_map(round).collect(),
        ..Metrics::default()
    }
}
