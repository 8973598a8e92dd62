//! TIMELY, and its patched version: congestion control from round-trip times.
//!
//! # What it does
//! The sender times the round trip of its packets. Between two thresholds it follows the gradient
//! of the round-trip time: falling or level, the rate grows by a step; rising, it is cut in
//! proportion. Below the lower threshold it always grows, above the upper one it is always cut.
//! `variant = "patched"` replaces the gradient's branch by one that also pulls the round-trip time
//! to a reference, which gives flows a unique fair rate.
//!
//! # Signal it needs
//! The round-trip time of each packet: data packets carry the time at which they were sent.
//!
//! # Equations
//! Once per round trip (Algorithm 1 of the paper):
//! ```text
//! diff = (1 - a) diff + a (rtt - rtt_last);  gradient = diff / minRTT
//! rtt < T_low:    R = R + delta
//! rtt > T_high:   R = R (1 - beta (1 - T_high / rtt))
//! gradient <= 0:  R = R + delta, or the larger step after 5 increases in a row
//! otherwise:      R = R max(0, 1 - beta gradient)
//! ```
//! Patched, between the thresholds (Algorithm 2 of Zhu et al.):
//! ```text
//! w = 0 for gradient <= -1/4, 1 for gradient >= 1/4, 2 gradient + 1/2 between
//! error = (rtt - rtt_ref) / rtt_ref
//! R = delta (1 - w) + R (1 - beta w error)
//! ```
//! R stays from `min-rate` to the line's.
//!
//! # Parameters
//! [`Params`]. The paper's steps are 10 Mbit/s and 50 Mbit/s at 10 Gbit/s: scale with the line.
//!
//! # Where we differ from the paper or public code
//! * Once per round trip, as the public code of HPCC, rather than per completed segment.
//! * As that code: flows start at line rate; a is 0.875; `min-rtt` is a constant; the larger step
//!   also applies below T_low; a step in the paper's N δ is its own parameter `rate-hai`.
//! * Patched: below T_low always the small step, as in its paper.
//!
//! # References
//! R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015.
//! Y. Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016.
//! Public code: alibaba-edu/High-Precision-Congestion-Control.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{AckInfo, CongestionControl, Ctx, Needs, PathInfo, SendLimits};
use crate::params::{ParamError, Parameters, Range};
use crate::rate::Bounds;
use crate::registry::{Alias, Definition, DelayLimit, Scheme, WindowMode};

choice! {
    /// Which TIMELY.
    pub enum Variant {
        /// The SIGCOMM 2015 paper's.
        Original = "original",
        /// The CoNEXT 2016 paper's.
        Patched = "patched",
    }
}

impl Variant {
    /// The default of `beta`.
    const fn beta(self) -> f64 {
        match self {
            Self::Original => 0.8,
            Self::Patched => 0.008,
        }
    }
}

params! {
    /// Parameters of TIMELY.
    pub struct Params {
        /// The original, or the patched version with a unique fixed point.
        variant: Variant = Variant::Original, in Range::Any, from "SIGCOMM 2015 and CoNEXT 2016";
        /// Weight of a new sample in the average of round-trip time differences.
        ewma: f64 = 0.875, in Range::AboveUpTo(0.0, 1.0), from "public code";
        /// Factor of decreases; the default depends on the variant.
        beta: Option<f64> = None,
            shown format!("{} (original), {} (patched)", Variant::Original.beta(), Variant::Patched.beta()),
            in Range::AboveUpTo(0.0, 1.0), from "the papers";
        /// Below this round-trip time the rate grows.
        t_low: Span = Span::from_us(50), in Range::AtLeast(0.0), from "the papers";
        /// Above this round-trip time the rate is cut.
        t_high: Span = Span::from_us(500), in Range::Above(0.0), from "the papers";
        /// What differences of round-trip times are divided by to make a gradient.
        min_rtt: Span = Span::from_us(20), in Range::Above(0.0), from "the paper and public code";
        /// Round-trip time that the patched version aims at; the default is `t-low`.
        rtt_ref: Option<Span> = None, shown "t-low".to_string(), in Range::Above(0.0), from "CoNEXT 2016";
        /// Step of an increase.
        rate_ai: BitRate = BitRate::from_bps(100_000_000), in Range::Above(0.0), from "public code's launcher at 100 Gbit/s: the paper's 10 Mbit/s at 10";
        /// Step of an increase after `hai-after` others in a row.
        rate_hai: BitRate = BitRate::from_bps(500_000_000), in Range::Above(0.0), from "public code's launcher at 100 Gbit/s: the paper's N = 5 steps";
        /// Increases in a row after which the step is `rate-hai`.
        hai_after: u32 = 5, in Range::AtLeast(0.0), from "paper §4.3";
        /// The lowest rate.
        min_rate: BitRate = BitRate::from_gbps(1), in Range::Above(0.0), from "public code's launcher";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "timely",
        aliases: &[
            Alias {
                name: "timely-win",
                help: "with the bytes in flight bounded by a window that follows the rate",
                settings: &[],
                window: Some(WindowMode::Variable),
            },
            Alias {
                name: "timely-patched",
                help: "with the fixed point of Zhu et al., CoNEXT 2016",
                settings: &[("variant", "patched")],
                window: None,
            },
        ],
        title: "TIMELY",
        paper: "Mittal et al., TIMELY: RTT-based Congestion Control for the Datacenter, SIGCOMM 2015",
        summary: "Follows the gradient of the round-trip time between two thresholds.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: include_str!("timely.rs"),
    };

    fn explicit(&self) -> Self {
        Self {
            beta: Some(self.beta.unwrap_or(self.variant.beta())),
            rtt_ref: Some(self.rtt_ref.unwrap_or(self.t_low)),
            ..self.clone()
        }
    }

    fn check(&self) -> Result<(), ParamError> {
        if self.t_low > self.t_high {
            return Err(ParamError::new(
                "t-low",
                format!("{} is above t-high, {}", self.t_low, self.t_high),
            ));
        }
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs {
            timestamp: true,
            ..Needs::default()
        }
    }

    fn delay_limit(&self, _links: usize) -> Option<DelayLimit> {
        Some(DelayLimit {
            param: "t-high",
            rtt: self.t_high,
        })
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Timely::new(self, path))
    }
}

/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct Timely {
    params: Params,
    beta: f64,
    rtt_ref: Span,
    bounds: Bounds,
    rate: BitRate,
    last_rtt: Span,
    /// The averaged difference of round-trip times, in ns.
    rtt_diff: f64,
    increases: u32,
    last_update_seq: u64,
}

impl Timely {
    /// A sender at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            beta: params.beta.unwrap_or(params.variant.beta()),
            rtt_ref: params.rtt_ref.unwrap_or(params.t_low),
            bounds: Bounds::new(params.min_rate, path.line_rate),
            params: params.clone(),
            rate: path.line_rate,
            last_rtt: Span::ZERO,
            rtt_diff: 0.0,
            increases: 0,
            last_update_seq: 0,
        }
    }

    /// The averaged difference between round-trip times one round trip apart, in ns.
    pub fn rtt_diff_ns(&self) -> f64 {
        self.rtt_diff
    }

    /// The gradient of the round-trip time.
    pub fn gradient(&self) -> f64 {
        self.rtt_diff / self.params.min_rtt.as_ns_f64()
    }

    fn update(&mut self, rtt: Span) {
        let new_diff = (rtt.as_ps() as i64 - self.last_rtt.as_ps() as i64) as f64 / 1000.0;
        let a = self.params.ewma;
        self.rtt_diff = (1.0 - a) * self.rtt_diff + a * new_diff;
        let gradient = self.gradient();
        if rtt < self.params.t_low {
            self.increase();
        } else if rtt > self.params.t_high {
            let excess = 1.0 - self.params.t_high.as_ns_f64() / rtt.as_ns_f64();
            self.decrease(1.0 - self.beta * excess);
        } else if self.params.variant == Variant::Patched {
            self.pull(gradient, rtt);
        } else if gradient <= 0.0 {
            self.increase();
        } else {
            self.decrease((1.0 - self.beta * gradient).max(0.0));
        }
    }

    fn increase(&mut self) {
        let hyper = self.params.variant == Variant::Original && self.increases >= self.params.hai_after;
        let step = if hyper {
            self.params.rate_hai
        } else {
            self.params.rate_ai
        };
        self.rate = self.bounds.clamp(self.rate.saturating_add(step));
        self.increases = self.increases.saturating_add(1);
    }

    fn decrease(&mut self, factor: f64) {
        self.rate = self.bounds.clamp(self.rate.scale(factor));
        self.increases = 0;
    }

    /// The patched version between the thresholds.
    fn pull(&mut self, gradient: f64, rtt: Span) {
        let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
        let reference = self.rtt_ref.as_ns_f64();
        let error = (rtt.as_ns_f64() - reference) / reference;
        let step = self.params.rate_ai.scale(1.0 - weight);
        let kept = self.rate.scale((1.0 - self.beta * weight * error).max(0.0));
        self.rate = self.bounds.clamp(kept.saturating_add(step));
        self.increases = 0;
    }
}

impl CongestionControl for Timely {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if ack.seq <= self.last_update_seq {
            return;
        }
        if self.last_update_seq != 0 {
            self.update(ack.rtt);
        }
        if ack.snd_nxt > self.last_update_seq {
            self.last_update_seq = ack.snd_nxt;
            self.last_rtt = ack.rtt;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    /// A sender that has seen one round trip of `first_us`, and what it does at each of `rest_us`.
    fn rates(params: &Params, first_us: u64, rest_us: &[u64]) -> Vec<u64> {
        let mut pair = Pair::new(star_path(), |path| Timely::new(params, path));
        let mut seq = 1000;
        let mut feed = |rtt_us| {
            pair.ack(&AckInfo {
                rtt: Span::from_us(rtt_us),
                ..ack(seq, seq + 500)
            });
            seq += 1000;
            pair.rate().as_bps()
        };
        feed(first_us);
        rest_us.iter().map(|&rtt| feed(rtt)).collect()
    }

    #[test]
    fn each_branch_by_hand() {
        let params = Params::default();
        // diff = 0.875 * 8 us = 7 us; gradient 0.35; factor 1 - 0.8 * 0.35 = 0.72.
        assert_eq!(rates(&params, 60, &[68]), [72_000_000_000]);
        // Above T_high, whatever the gradient: 1 - 0.8 (1 - 500/1000) = 0.6.
        assert_eq!(rates(&params, 1000, &[1000]), [60_000_000_000]);
        // A steep rise: a factor below zero counts as zero, and the rate is the lowest. Then a fall:
        // steps of 0.1, from the sixth in a row of 0.5 Gbit/s.
        let falls = rates(&params, 60, &[400, 60, 60, 60, 60, 60, 60, 60]);
        let gbps: Vec<f64> = falls.iter().map(|&bps| bps as f64 / 1e9).collect();
        assert_eq!(gbps, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.0, 2.5]);
        // Below T_low the gradient does not count.
        assert_eq!(rates(&params, 10, &[49]), [100_000_000_000]);
    }

    #[test]
    fn patched_by_hand() {
        let params = Params {
            variant: Variant::Patched,
            ..Params::default()
        };
        // Level at 100 us: w = 1/2, error = 1: 0.05 + 100 (1 - 0.008/2) Gbit/s.
        assert_eq!(rates(&params, 100, &[100]), [99_650_000_000]);
        // Steeply rising (gradient 0.35 >= 1/4): w = 1: 100 (1 - 0.008 * 0.36).
        assert_eq!(rates(&params, 60, &[68]), [99_712_000_000]);
        // Steeply falling: w = 0: one step, capped by the line.
        assert_eq!(rates(&params, 400, &[100]), [100_000_000_000]);
        // Above T_high the patched beta counts too: 1 - 0.008/2; then a step.
        assert_eq!(
            rates(&params, 1000, &[1000, 10]),
            [99_600_000_000, 99_700_000_000]
        );
    }

    #[test]
    fn one_update_per_round_trip() {
        let mut pair = Pair::new(star_path(), |path| Timely::new(&Params::default(), path));
        let slow = |seq, snd_nxt| AckInfo {
            rtt: Span::from_us(1000),
            ..ack(seq, snd_nxt)
        };
        pair.ack(&slow(1000, 50_000));
        pair.ack(&slow(50_000, 90_000));
        assert_eq!(pair.rate(), BitRate::from_gbps(100));
        pair.ack(&slow(51_000, 91_000));
        assert_eq!(pair.rate(), BitRate::from_gbps(60));
        pair.ack(&slow(91_000, 95_000));
        assert_eq!(pair.rate(), BitRate::from_gbps(60));
    }

    #[test]
    fn defaults_of_the_variants() {
        let explicit = |variant| {
            Params {
                variant,
                ..Params::default()
            }
            .explicit()
        };
        assert_eq!(explicit(Variant::Original).beta, Some(0.8));
        assert_eq!(explicit(Variant::Patched).beta, Some(0.008));
        assert_eq!(explicit(Variant::Patched).rtt_ref, Some(Span::from_us(50)));
    }
}
