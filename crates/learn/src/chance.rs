//! Chance in what a policy does: how actions are drawn from what it says, and how likely they were.

use paceline_congestion::learned::activation::sigmoid;

/// The logarithm of the density of a normal distribution, less a constant.
pub(crate) fn likelihood(action: f64, mean: f64, deviation: f64) -> f64 {
    let off = (action - mean) / deviation;
    -0.5 * off * off - libm::log(deviation)
}

/// How actions are drawn from what the policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    /// Each about what it says, with one spread.
    Spread,
    /// The first is 1 with the probability that it says on a logistic scale, else 0; the others are drawn, and matter,
    /// where it is 1. It is [`FORCED`] where that was not left to chance.
    Triggered,
}

/// A trigger that had to be.
pub(crate) const FORCED: f32 = 2.0;

impl Chance {
    /// From which action on there is a spread in what was done; the actions up to there do not have one.
    fn spread_from(self, action: &[f32]) -> usize {
        match self {
            Self::Spread => 0,
            Self::Triggered if action[0] > 0.5 => 1,
            Self::Triggered => action.len(),
        }
    }

    /// The logarithm of how likely an action is.
    pub(crate) fn likelihood(self, action: &[f32], said: &[f32], deviation: f64) -> f64 {
        let from = self.spread_from(action);
        let each = action[from..].iter().zip(&said[from..]);
        let spread = each.map(|(action, mean)| likelihood(f64::from(*action), f64::from(*mean), deviation));
        let spread: f64 = spread.sum();
        match self {
            Self::Triggered if action[0] < FORCED => {
                let toward = if action[0] > 0.5 { said[0] } else { -said[0] };
                spread - libm::log1p(libm::exp(-f64::from(toward)))
            }
            _ => spread,
        }
    }

    /// Its derivatives by what the policy says, and by the logarithm of the deviation, each times `pull`.
    pub(crate) fn slopes(
        self,
        (action, said): (&[f32], &[f32]),
        deviation: f64,
        pull: f64,
        by: &mut [f64],
    ) -> f64 {
        let (from, mut by_spread) = (self.spread_from(action), 0.0);
        for place in from..action.len() {
            let off = (f64::from(action[place]) - f64::from(said[place])) / deviation;
            by[place] = pull * off / deviation;
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

    /// With what is said of the trigger at 0 its probability is one half; an action one deviation off its mean.
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
            let spread = chance.slopes((&action, &said), 2.0, 1.0, &mut by);
            assert_eq!((by, spread), (slopes, by_spread), "{trigger}");
        }
    }
}
