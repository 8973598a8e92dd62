//! Random numbers of training: streams of their own, so that one choice does not move another.

use paceline_kernel::rng::{Purpose, Rng};

/// The sum of twelve even draws, less six: near enough to normal, and of basic operations.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.next_f64()).sum::<f64>() - 6.0
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(crate) enum Stream {
    /// The pairs of a dataset.
    Draw = 0,
    /// Weights before training.
    Weights = 1,
    /// The order of a round's pairs.
    Order = 2,
}

impl Stream {
    pub(crate) fn rng(self, seed: u64) -> Rng {
        Rng::stream(seed, Purpose::Training, self as u64)
    }
}
