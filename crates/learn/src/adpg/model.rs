//! Files of a trained policy.

use paceline_congestion::learned::card::{
    Card, Data, DataSource, FORMAT, Metrics, Normalisation, RoundMetrics, Training,
};
use paceline_congestion::learned::kind::ModelKind;
use paceline_congestion::learned::mlp::{INPUTS, Mlp, UNITS};
use paceline_congestion::learned::sha256;

use super::{CASES, SET, TrainedPolicy};
use crate::Error;
use crate::train::{Tensor, Weights};
use crate::write::{ModelFiles, serialize};

/// Updates averaged into one row of the card.
const ROW: usize = 50;

/// Returns the weights and the card.
///
/// # Errors
/// The weights cannot be serialised.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    let weights = serialize(&tensors(&trained.policy))?;
    let card = Card {
        format: FORMAT,
        name: name.into(),
        kind: ModelKind::Adpg,
        hidden: UNITS,
        steps: INPUTS,
        features: ModelKind::Adpg
            .features()
            .iter()
            .map(|name| (*name).into())
            .collect(),
        output: ModelKind::Adpg.output().into(),
        // Samples are not smoothed.
        smoothing: 1.0,
        normalisation: Normalisation {
            input: "none".into(),
            output: "none".into(),
        },
        weights_sha256: sha256(&weights),
        data: data(trained),
        training: Training {
            command: command.into(),
            rounds: trained.updates.len() as u64,
            batch: trained.options.steps as u64,
            learning_rate: trained.options.learning_rate,
            optimiser: "Adam".into(),
            loss: "analytic deterministic policy gradients (ADPG)".into(),
            seed: trained.options.seed,
            library: "none".into(),
        },
        metrics: metrics(trained),
        quantisation: None,
        version: crate::identity::version().into(),
    };
    let mut text = serde_json::to_vec_pretty(&card)
        .map_err(|error| Error::Options(format!("the card of {name} cannot be written: {error}")))?;
    text.push(b'\n');
    Ok(ModelFiles { weights, card: text })
}

fn tensors(policy: &Mlp) -> Weights {
    let named = |name: &str, shape: [usize; 2], values: &[f32]| {
        (name.to_string(), Tensor::new(&shape, values.to_vec()))
    };
    Weights::from([
        named("first", [UNITS, INPUTS], policy.first.as_flattened()),
        named("second", [UNITS, UNITS], policy.second.as_flattened()),
        named("last", [1, UNITS], &policy.last),
    ])
}

fn data(trained: &TrainedPolicy) -> Data {
    let decisions = trained.decisions() as u64;
    Data {
        pairs: decisions,
        train: decisions,
        sources: sources([&SET[1..], &[]], trained.options.seed),
        ..Data::default()
    }
}

/// Returns the scenarios of the training; `before` and `after` are common settings around each scenario's
/// own.
pub(crate) fn sources([before, after]: [&[&str]; 2], seed: u64) -> Vec<DataSource> {
    let source = |case: &super::Case| DataSource {
        scenario: case.scenario.into(),
        scheme: "external".into(),
        settings: [before, case.set, after]
            .concat()
            .into_iter()
            .map(String::from)
            .collect(),
        seed,
        fidelity: "exact".into(),
        version: crate::identity::version().into(),
        ..DataSource::default()
    };
    CASES.iter().map(source).collect()
}

fn metrics(trained: &TrainedPolicy) -> Metrics {
    let row = |updates: &[super::Update]| RoundMetrics {
        round: updates.last().map_or(0, |last| last.number as u64),
        loss: updates.iter().map(|update| update.loss).sum::<f64>() / updates.len().max(1) as f64,
        ..RoundMetrics::default()
    };
    Metrics {
        rounds: trained.updates.chunks(ROW).map(row).collect(),
        ..Metrics::default()
    }
}
