//! The files of a trained policy, and of a training that may be resumed.

use paceline_congestion::learned::layers::Network;
use paceline_congestion::learned::model::{
    Card, DECC_NAMES, Data, DataSource, FORMAT, Kind, Metrics, Normalisation, RoundMetrics, Training, sha256,
};

use super::{BATCH, Options, TrainedPolicy, Update};
use crate::Error;
use crate::train::{Tensor, Weights};
use crate::write::{ModelFiles, serialize};

/// The policy's weights and its card.
///
/// # Errors
/// The format refuses.
pub fn files(name: &str, trained: &TrainedPolicy, command: &str) -> Result<ModelFiles, Error> {
    let weights = serialize(&tensors(&trained.policy))?;
    let features = Kind::Decc.features();
    let card = Card {
        format: FORMAT,
        name: name.into(),
        kind: Kind::Decc,
        hidden: 0,
        steps: features.len(),
        features: features.iter().map(|name| (*name).into()).collect(),
        output: Kind::Decc.output().into(),
        smoothing: 1.0,
        normalisation: Normalisation {
            input: "none".into(),
            output: "none".into(),
        },
        weights_sha256: sha256(&weights),
        data: data(trained),
        training: Training {
            command: command.into(),
            rounds: trained.updates.last().map_or(0, |last| last.step as u64),
            batch: BATCH as u64,
            learning_rate: match trained.options.stages.is_empty() {
                true => super::CLONE_RATE,
                false => super::td3::ACTOR_RATE,
            },
            optimiser: "Adam".into(),
            loss: loss(&trained.options).into(),
            seed: trained.options.seed,
            library: "none".into(),
        },
        metrics: metrics(&trained.updates),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let mut text = serde_json::to_vec_pretty(&card)
        .map_err(|error| Error::Options(format!("the card of {name} cannot be written: {error}")))?;
    text.push(b'\n');
    Ok(ModelFiles { weights, card: text })
}

/// What it was trained by.
fn loss(options: &Options) -> &'static str {
    match options.stages.is_empty() {
        true => "cloning of a rule (Swift's, in units of the path)",
        false => "multi-agent deterministic policy gradients (MADDPG, TD3), from a clone of a rule",
    }
}

/// A row of weights per sum, as PyTorch has them.
fn tensors(policy: &Network) -> Weights {
    let mut weights = Weights::new();
    for ((layer, bias, own), name) in policy.parts().zip(DECC_NAMES) {
        let columns = layer.columns();
        let rows = paceline_congestion::learned::dense::transposed((layer.inputs, columns), own);
        weights.insert(
            format!("{name}.weight"),
            Tensor::new(&[columns, layer.inputs], rows),
        );
        weights.insert(format!("{name}.bias"), Tensor::new(&[columns], bias.to_vec()));
    }
    weights
}

fn data(trained: &TrainedPolicy) -> Data {
    let source = |scenario: &str| {
        DataSource {
        scenario: scenario.into(),
        scheme: "external".into(),
        settings: vec![
            "rate, delay, buffer, packets, flows, first rates and latency of decisions drawn for each episode".into(),
        ],
        seed: trained.options.seed,
        fidelity: "exact".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..DataSource::default()
    }
    };
    Data {
        pairs: trained.decisions,
        train: trained.decisions,
        sources: ["rl-cc", "rl-cc-all-to-all"].map(source).to_vec(),
        ..Data::default()
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

/// Where a training is after a stage: all that it needs to go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The seed of the training.
    pub seed: u64,
    /// The stage that comes next.
    pub stage: usize,
    /// Steps that are done.
    pub step: usize,
    /// Decisions that it learned from.
    pub decisions: u64,
    /// The numbers of policy and critics.
    pub(super) values: Vec<f32>,
}

/// How a file of it begins.
const MAGIC: &[u8; 8] = b"DECC-01\n";
/// Numbers before the values, and the hash behind them.
const HEAD: usize = 8 + 4 * 8;
const HASH: usize = 64;

impl Reached {
    /// As a file has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [self.seed, self.stage as u64, self.step as u64, self.decisions] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.values.iter().flat_map(|value| value.to_le_bytes()));
        let hash = sha256(&bytes);
        bytes.extend(hash.as_bytes());
        bytes
    }

    /// Of a file's bytes.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, String> {
        if !bytes.starts_with(MAGIC) {
            return Err("it does not begin as a checkpoint of `train decc` does".to_string());
        }
        let Some((own, hash)) = bytes
            .split_last_chunk::<HASH>()
            .filter(|(own, _)| own.len() >= HEAD)
        else {
            return Err(format!("it ends after {} bytes", bytes.len()));
        };
        let found = sha256(own);
        if found.as_bytes() != hash {
            return Err(format!("it is damaged: its SHA-256 is {found}"));
        }
        let (head, values) = own.split_at(HEAD);
        let mut numbers = head[8..]
            .as_chunks::<8>()
            .0
            .iter()
            .map(|bytes| u64::from_le_bytes(*bytes));
        let mut next = || numbers.next().unwrap_or(0);
        let reached = Self {
            seed: next(),
            stage: next() as usize,
            step: next() as usize,
            decisions: next(),
            values: values
                .as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes))
                .collect(),
        };
        match reached.values.iter().position(|value| !value.is_finite()) {
            Some(place) => Err(format!("its weight {place} is {}", reached.values[place])),
            None => Ok(reached),
        }
    }
}
