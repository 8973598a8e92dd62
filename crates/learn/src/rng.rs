//! Random numbers for training, in separate streams, so that one choice does not influence another.

use paceline_kernel::rng::{Purpose, Rng};

pub(crate) use paceline_lab::cma::normal;

/// Separate random streams of a predictor's training.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Stream {
    /// Drawing the pairs of a dataset.
    Draw = 0,
    /// Initial weights of a network.
    Weights = 1,
    /// Order of a round's pairs.
    Order = 2,
}

impl Stream {
    pub(crate) fn rng(self, seed: u64) -> Rng {
        Rng::stream(seed, Purpose::Training, self as u64)
    }
}
