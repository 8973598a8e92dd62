//! Checkpoints of a predictor's training between two rounds.

use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::net::Values;
use super::weights::Weights;
use super::{Recurrent, Round, Training};
use crate::Error;
use crate::dataset::Dataset;

/// Checkpoint of a training by steps, between two rounds.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    /// Hash of the dataset.
    data: String,
    /// Complete rounds, and the weights after each.
    pub(super) rounds: Vec<(Round, Weights)>,
    pub(super) recurrent: RecurrentState,
}

impl State {
    pub(super) fn new(data: &Dataset, rounds: &[(Round, Weights)], recurrent: RecurrentState) -> Self {
        Self {
            data: data.hash(),
            rounds: rounds.to_vec(),
            recurrent,
        }
    }

    /// Returns an error if it belongs to another dataset.
    pub(super) fn check(self, data: &Dataset) -> Result<Self, Error> {
        match self.data == data.hash() {
            true => Ok(self),
            false => Err(Error::Options(
                "the unfinished training there is of other data: start again with --force, or elsewhere with --out"
                    .to_string(),
            )),
        }
    }
}

/// State of a recurrent predictor in a checkpoint.
#[derive(Serialize, Deserialize)]
pub(super) struct RecurrentState {
    values: Values,
    adam: Adam,
    rng: Rng,
    steps: usize,
}

impl Recurrent {
    pub(super) fn go_on_from(&mut self, state: RecurrentState) {
        self.net.values = state.values;
        (self.adam, self.rng, self.steps) = (state.adam, state.rng, state.steps);
    }
}

impl Training {
    /// Returns the state for a checkpoint; `None` for predictors that are not trained by steps.
    pub(super) fn state(&self) -> Option<RecurrentState> {
        match self {
            Self::Recurrent(recurrent) => Some(RecurrentState {
                values: recurrent.net.values.clone(),
                adam: recurrent.adam.clone(),
                rng: recurrent.rng.clone(),
                steps: recurrent.steps,
            }),
            Self::Linear(..) | Self::Persistence => None,
        }
    }
}
