//! Where a training is between two rounds, as its checkpoint has it.

use paceline_kernel::rng::Rng;
use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::net::Values;
use super::weights::Weights;
use super::{Recurrent, Round, Training};
use crate::Error;
use crate::dataset::Dataset;

/// Where a training by steps is, between two rounds.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    /// The hash of the data.
    data: String,
    /// The rounds that are over, and the weights after each.
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

    /// Refuses what is of other data.
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

/// What of it a checkpoint has.
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
    /// What a checkpoint has of one by steps.
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
