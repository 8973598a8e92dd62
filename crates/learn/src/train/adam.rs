//! Adam (Kingma and Ba, 2015), without weight decay.

use serde::{Deserialize, Serialize};

use super::net::Values;

/// Decay factors of the mean derivatives and of the mean squares, β1 and β2.
const DECAY: (f64, f64) = (0.9, 0.999);

/// Constant ε, added to the root of the mean square.
const EPSILON: f32 = 1e-8;

/// Moving averages of derivatives and of their squares.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Adam {
    means: Values,
    squares: Values,
    /// Powers of β1 and β2, which correct the bias of starting at zero.
    lacking: (f64, f64),
}

impl Adam {
    /// Returns an optimiser for weights of these sizes.
    pub(super) fn new(weights: &Values) -> Self {
        let nothing = || weights.each_ref().map(|values| vec![0.0; values.len()]);
        Self {
            means: nothing(),
            squares: nothing(),
            lacking: (1.0, 1.0),
        }
    }

    /// Moves the weights by one step along their derivatives.
    pub(super) fn step(&mut self, weights: &mut Values, slopes: &Values, rate: f64) {
        self.lacking.0 *= DECAY.0;
        self.lacking.1 *= DECAY.1;
        // Corrects the bias of averages that start at zero.
        let whole = |lacking: f64| (1.0 / (1.0 - lacking)) as f32;
        let (mean_scale, square_scale) = (whole(self.lacking.0), whole(self.lacking.1));
        let ([kept, fresh], [square_kept, square_fresh]) = (shares(DECAY.0), shares(DECAY.1));
        let rate = rate as f32;
        let means = self.means.iter_mut().flatten();
        let squares = self.squares.iter_mut().flatten();
        let weights = weights.iter_mut().flatten().zip(slopes.iter().flatten());
        for ((weight, &slope), (mean, square)) in weights.zip(means.zip(squares)) {
            *mean = *mean * kept + slope * fresh;
            *square = *square * square_kept + slope * slope * square_fresh;
            *weight -= *mean * mean_scale / ((*square * square_scale).sqrt() + EPSILON) * rate;
        }
    }
}

/// Returns the factors of the old average and of the new value.
fn shares(kept: f64) -> [f32; 2] {
    [kept as f32, (1.0 - kept) as f32]
}
