//! Random numbers for training, in separate streams, so that one choice does not influence another.

use paceline_kernel::rng::{Purpose, Rng};

/// Returns a nearly normal number: the sum of twelve uniform ones minus six. Only basic arithmetic is used,
/// so it is the same on all machines.
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.next_f64()).sum::<f64>() - 6.0
}

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
