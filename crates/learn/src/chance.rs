//! Exploration: distributions from which actions are drawn, and their likelihoods.

use paceline_congestion::learned::activation::sigmoid;

/// Returns the logarithm of a normal distribution's density, without its constant.
pub(crate) fn likelihood(action: f64, mean: f64, deviation: f64) -> f64 {
    let off = (action - mean) / deviation;
    -0.5 * off * off - libm::log(deviation)
}

/// Distribution of actions, given the policy's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// Normal distributions around the outputs, with a common standard deviation.
    Spread,
    /// The first action is 1 with a logistic probability given by its output, otherwise 0. The others are
    /// drawn, and matter, only if it is 1. It is [`FORCED`] if it was not left to chance.
    Triggered,
}

/// Value of a trigger that was forced.
pub(crate) const FORCED: f32 = 2.0;

impl Chance {
    /// Returns the index of the first action with a normal distribution in what was done.
    fn spread_from(self, action: &[f32]) -> usize {
        match self {
            Self::Spread => 0,
            Self::Triggered if action[0] > 0.5 => 1,
            Self::Triggered => action.len(),
        }
    }

    /// Returns the log-likelihood of an action.
    pub(crate) fn likelihood(self, action: &[f32], said: &[f32], deviation: f64) -> f64 {
        let from = self.spread_from(action);
        let each = action[from..].iter().zip(&said[from..]);
        let spread = each.map(|(action, mean)| likelihood(f64::from(*action), f64::from(*mean), deviation));
        let spread: f64 = spread.sum();
        match self {
            Self::Triggered if action[0] < FORCED => {
                // -ln(1 + exp(-x)) is the logarithm of the logistic function.
                let toward = if action[0] > 0.5 { said[0] } else { -said[0] };
                spread - libm::log1p(libm::exp(-f64::from(toward)))
            }
            _ => spread,
        }
    }

    /// Computes the derivatives of the log-likelihood, times `pull`, with respect to the policy's outputs;
    /// returns that with respect to the logarithm of the standard deviation.
    pub(crate) fn slopes(
        self,
        action: &[f32],
        said: &[f32],
        deviation: f64,
        pull: f64,
        by: &mut [f64],
    ) -> f64 {
        let (from, mut by_spread) = (self.spread_from(action), 0.0);
        for index in from..action.len() {
            let off = (f64::from(action[index]) - f64::from(said[index])) / deviation;
            by[index] = pull * off / deviation;
            by_spread += pull * (off * off - 1.0);
        }
        if self == Self::Triggered && action[0] < FORCED {
            by[0] = pull * (f64::from(action[0]) - f64::from(sigmoid(said[0])));
        }
        by_spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a trigger output of 0 the probability is one half; an action one standard deviation off its mean.
    #[test]
    fn triggers_by_hand() {
        let (chance, said, half) = (Chance::Triggered, [0.0, 1.0], 0.5f64.ln());
        let spread = likelihood(3.0, 1.0, 2.0);
        for (trigger, expected, slopes, by_spread) in [
            (1.0f32, half + spread, [0.5, 0.5], 0.0),
            (0.0, half, [-0.5, 0.0], 0.0),
            (FORCED, spread, [0.0, 0.5], 0.0),
        ] {
            let action = [trigger, 3.0];
            let found = chance.likelihood(&action, &said, 2.0);
            assert!((found - expected).abs() < 1e-12, "{trigger}: {found} {expected}");
            let mut by = [0.0; 2];
            let spread = chance.slopes(&action, &said, 2.0, 1.0, &mut by);
            assert_eq!((by, spread), (slopes, by_spread), "{trigger}");
        }
    }
}
