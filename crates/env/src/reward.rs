//! Reward functions for agents.

use paceline_congestion::agent::Unknown;
use paceline_congestion::agent::{Measured, adpg};

/// Reward that an agent gets with a question. It covers the time since the last question, so the effect of
/// the last action is included only from the time it took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// Reward function of RL-CC.
    Adpg,
    /// Aurora's reward, in a data centre's units.
    Aurora,
    /// DECC's reward, common to all agents of a bottleneck.
    Decc,
}

/// Statistics of an agent for a common reward.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Course {
    /// Measurements at the last question: delivery rate of all its flows in Gbit/s, delay, loss, sending rate
    /// and bottleneck rate.
    delivered: f64,
    latency: f64,
    loss: f64,
    rate_gbps: f64,
    bottleneck_gbps: f64,
    /// Moving average and variance of its delivery rate over about five questions, and its coefficient of
    /// variation.
    mean: f64,
    variance: f64,
    variation: f64,
    begun: bool,
}

/// Weight of a new sample in the moving averages.
const NEW: f64 = 0.2;

impl Course {
    pub(crate) fn push(&mut self, measured: &Measured) {
        let now = measured.delivered_gbps;
        if self.begun {
            let off = now - self.mean;
            self.variance = (1.0 - NEW) * (self.variance + NEW * off * off);
            self.mean += NEW * off;
        } else {
            (self.mean, self.begun) = (now, true);
        }
        self.delivered = measured.flows * now;
        self.latency = measured.latency();
        self.loss = measured.loss;
        self.rate_gbps = measured.rate_gbps;
        self.bottleneck_gbps = measured.bottleneck_gbps;
        self.variation = libm::sqrt(self.variance) / self.mean.max(1e-9);
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.begun
    }
}

impl Reward {
    /// All reward functions, in the order of help texts.
    pub const ALL: [Self; 3] = [Self::Adpg, Self::Aurora, Self::Decc];

    /// Returns its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adpg => "adpg",
            Self::Aurora => "aurora",
            Self::Decc => "decc",
        }
    }

    /// Returns its definition for help texts.
    pub const fn help(self) -> &'static str {
        match self {
            Self::Adpg => "-(max(rtt - 1.5, 0) sqrt(rate) - 0.064)^2, rtt in base RTTs, rate of the line",
            Self::Aurora => "10 delivered - 2 (rtt - 1) - 2000 loss, delivered of the line, rtt in base RTTs",
            Self::Decc => {
                "0.1 tanh(10 R), R = 0.1 sum(delivered) - 0.02 max(mean rtt - 1.1, 0) min(4, max rate / mean rate) - \
                 mean loss - 0.02 cv(delivered) - 0.01 mean(variation over time), over the agents of a bottleneck"
            }
        }
    }

    /// Returns the lower and upper bound of the reward.
    pub const fn range(self) -> (f32, f32) {
        match self {
            Self::Adpg => (-10_000.0, 0.0),
            Self::Aurora => (-10_000.0, 20.0),
            Self::Decc => (-0.1, 0.1),
        }
    }

    /// Finds a reward function by its name.
    ///
    /// # Errors
    /// There is no reward function with this name.
    pub fn find(name: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|reward| reward.name() == name);
        found.ok_or_else(|| Unknown::new("reward", name, &Self::ALL.map(Self::name)))
    }

    /// Returns true if the reward is common to all agents of a bottleneck.
    pub(crate) const fn is_common(self) -> bool {
        matches!(self, Self::Decc)
    }

    /// Returns an agent's individual reward; 0 for a common reward function.
    pub(crate) fn of(self, measured: &Measured) -> f32 {
        let value = match self {
            Self::Adpg => {
                let off = adpg(measured) / 12.5;
                -off * off
            }
            Self::Aurora => {
                let delivered = measured.delivered_gbps / measured.line_gbps.max(1e-9);
                10.0 * delivered - 2.0 * (measured.latency() - 1.0) - 2000.0 * measured.loss
            }
            Self::Decc => return 0.0,
        };
        self.cut(value)
    }

    /// Returns the common reward of a bottleneck's agents.
    pub(crate) fn of_all<'a>(self, agents: impl Iterator<Item = &'a Course> + Clone) -> f32 {
        let agents = agents.filter(|course| course.begun);
        // One pass over the agents, because this is computed for each bottleneck of each batch.
        let (mut sums, mut count, mut fastest) = (Course::default(), 0.0, 0.0f64);
        for one in agents.clone() {
            sums.delivered += one.delivered;
            sums.latency += one.latency;
            sums.loss += one.loss;
            sums.rate_gbps += one.rate_gbps;
            sums.bottleneck_gbps += one.bottleneck_gbps;
            sums.mean += one.mean;
            sums.variation += one.variation;
            fastest = fastest.max(one.rate_gbps);
            count += 1.0;
        }
        let count = f64::max(count, 1.0);
        let mean = sums.mean / count;
        let off: f64 = agents.map(|one| (one.mean - mean) * (one.mean - mean)).sum();
        let throughput = count * (sums.delivered / count) / (sums.bottleneck_gbps / count).max(1e-9);
        let rate = (sums.rate_gbps / count).max(1e-9);
        let latency = (sums.latency / count - 1.1).max(0.0) * (fastest / rate).min(4.0);
        let unfair = libm::sqrt(off / count) / mean.max(1e-9);
        let (unstable, lost) = (sums.variation / count, sums.loss / count);
        let sum = 0.1 * throughput - 0.02 * latency - lost - 0.02 * unfair - 0.01 * unstable;
        self.cut(0.1 * libm::tanh(10.0 * sum))
    }

    fn cut(self, value: f64) -> f32 {
        let (low, high) = self.range();
        // Clamping would keep NaN.
        if value.is_nan() {
            return low;
        }
        (value as f32).clamp(low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fair(latency: f64, share: f64) -> Measured {
        Measured {
            flows: 1.0,
            rtt_us: 8.0 * latency,
            base_rtt_us: 8.0,
            rate_gbps: 100.0 * share,
            delivered_gbps: 100.0 * share,
            line_gbps: 100.0,
            bottleneck_gbps: 100.0,
            ..Measured::default()
        }
    }

    #[test]
    fn by_hand() {
        // x = (2.5 - 1.5) sqrt(1/4) = 0.5.
        let value = Reward::Adpg.of(&fair(2.5, 0.25));
        assert!((value + 0.436 * 0.436).abs() < 1e-6, "{value}");
        let value = Reward::Aurora.of(&Measured {
            loss: 0.01,
            ..fair(2.0, 0.25)
        });
        assert!((value - (2.5 - 2.0 - 20.0)).abs() < 1e-4, "{value}");
        let mut courses = [Course::default(); 4];
        for course in &mut courses {
            course.push(&fair(1.6, 0.25));
        }
        // R = 0.1 - 0.02 * 0.5, without loss.
        let value = Reward::Decc.of_all(courses.iter());
        assert!((f64::from(value) - 0.1 * libm::tanh(0.9)).abs() < 1e-6, "{value}");
    }

    #[test]
    fn unfair_or_unsteady_is_worth_less() {
        let of = |shares: [[f64; 2]; 2]| {
            let mut courses = [Course::default(); 2];
            for now in shares {
                for (course, share) in courses.iter_mut().zip(now) {
                    course.push(&fair(1.0, share));
                }
            }
            Reward::Decc.of_all(courses.iter())
        };
        let even = of([[0.5, 0.5], [0.5, 0.5]]);
        assert!(of([[0.8, 0.2], [0.8, 0.2]]) < even);
        assert!(of([[0.4, 0.4], [0.5, 0.5]]) < even);
    }

    #[test]
    fn what_is_not_a_number_is_the_least() {
        let value = Reward::Aurora.of(&Measured {
            loss: f64::NAN,
            ..fair(1.0, 0.5)
        });
        assert_eq!(value, Reward::Aurora.range().0);
    }
}
