//! The files of a trained policy, and of a training that may be resumed.

use std::path::Path;
use std::sync::Arc;

use paceline_congestion::learned::layers::{Layer, Network};
use paceline_congestion::learned::model::{Card, DECC, Kind, Metrics, RoundMetrics, Training, sha256};
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

/// Where a training is after a stage: all that it needs to go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached {
    /// The seed of the training.
    pub seed: u64,
    /// By what it learns.
    pub by: By,
    /// The stage that comes next.
    pub stage: usize,
    /// Steps that are done.
    pub step: usize,
    /// Decisions that it learned from.
    pub decisions: u64,
    /// The numbers of policy and critics.
    pub(super) values: Vec<f32>,
    /// Those of the clone.
    pub(super) clone: Vec<f32>,
}

/// How a file of it begins.
const MAGIC: &[u8; 8] = b"DECC-03\n";
/// Numbers before the values, and the hash behind them.
const HEAD: usize = 8 + 5 * 8;
const HASH: usize = 64;

impl Reached {
    /// As a file has it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let (by, stage, step) = (self.by as u64, self.stage as u64, self.step as u64);
        for number in [self.seed, by, stage, step, self.decisions] {
            bytes.extend(number.to_le_bytes());
        }
        let values = self.clone.iter().chain(&self.values);
        bytes.extend(values.flat_map(|value| value.to_le_bytes()));
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
        let values = values.as_chunks::<4>().0.iter();
        let values: Vec<f32> = values.map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if let Some(place) = values.iter().position(|value| !value.is_finite()) {
            return Err(format!("its weight {place} is {}", values[place]));
        }
        let size = DECC.iter().map(Layer::size).sum::<usize>();
        let Some((clone, values)) = values.split_at_checked(size) else {
            return Err(format!(
                "it has {} weights; expected {size} and more",
                values.len()
            ));
        };
        Ok(Self {
            seed: next(),
            by: match next() {
                0 => By::Gradients,
                _ => By::Proximal,
            },
            stage: next() as usize,
            step: next() as usize,
            decisions: next(),
            values: values.to_vec(),
            clone: clone.to_vec(),
        })
    }
}
