//! Adaptation of a receiver's pacer to congestion inside an oversubscribed network, as a pure state machine of one
//! host.
//!
//! About every one and a half round trips, with jitter, it computes the share of marked and trimmed packets among all
//! arrivals and sets the pacer's rate. This is the behaviour of uet-htsim at 40ccb05.

/// Parameters of the adaptation (`-Ai`, `-Md`, `-alpha`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gains {
    pub(super) additive: f64,
    pub(super) multiplicative: f64,
    pub(super) averaging: f64,
    /// Lower limit of the rate, as a share of the link's.
    pub(super) floor: f64,
}

/// Arrivals since the last evaluation, and the state of one host's adaptation.
#[derive(Clone, Debug, Default)]
pub(super) struct Oversubscribed {
    /// Data packets, trimmed packets and requests.
    pub(super) all: u64,
    pub(super) marked: u64,
    /// Packets trimmed in the queue to this host (`trimmed_here`), or elsewhere in the network (`trimmed_inside`).
    pub(super) trimmed_here: u64,
    pub(super) trimmed_inside: u64,
    rate: Option<f64>,
    average: f64,
    increases: i32,
}

/// Smoothed share of marked packets above which the rate falls.
const TOLERATED: f64 = 0.3;

impl Oversubscribed {
    /// Evaluates the arrivals and returns the new rate, as a share of the link's rate.
    pub(super) fn evaluate(&mut self, gains: &Gains) -> f64 {
        let mut rate = self.rate.unwrap_or(1.0);
        let whole = self.all - self.trimmed_here - self.trimmed_inside;
        let share = if whole > 0 {
            self.marked as f64 / whole as f64
        } else {
            0.0
        };
        let mut falls = false;
        // Trims at the last hop do not count: they show incast at this host, not congestion inside the network.
        if self.trimmed_inside > 0 {
            rate -= self.trimmed_inside as f64 / self.all as f64;
            falls = true;
        }
        self.average = self.average * (1.0 - gains.averaging) + gains.averaging * share;
        if self.average > TOLERATED && gains.multiplicative > 0.0 {
            rate *= 1.0 - (self.average - TOLERATED) * gains.multiplicative;
            falls = true;
        }
        if falls {
            self.increases = 0;
        } else {
            rate += match self.marked {
                0 => gains.additive * libm::exp2(f64::from(self.increases)),
                _ => gains.additive,
            };
            self.increases += 1;
        }
        let rate = rate.max(gains.floor).min(1.0);
        *self = Self {
            rate: Some(rate),
            average: self.average,
            increases: self.increases,
            ..Self::default()
        };
        rate
    }

    /// Returns the time until the next evaluation, ps. `random` is between 0 and 1.
    pub(super) fn interval(random: f64, rtt: u64) -> u64 {
        (((0.75 + random / 2.0) * 1.5) * rtt as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_by_what_was_trimmed_inside_and_recovers() {
        let gains = Gains {
            additive: 0.01,
            multiplicative: 0.5,
            averaging: 0.5,
            floor: 0.225,
        };
        let mut host = Oversubscribed {
            all: 100,
            trimmed_here: 30,
            trimmed_inside: 25,
            ..Oversubscribed::default()
        };
        assert_eq!(host.evaluate(&gains), 0.75);
        assert_eq!(host.evaluate(&gains), 0.76);
        assert_eq!(host.evaluate(&gains), 0.78);
        host.all = 10;
        host.trimmed_inside = 9;
        assert_eq!(host.evaluate(&gains), 0.225);
    }
}
