//! Aurora: a network multiplies the rate twice per round trip, by the growth of the delay, the delay, and the share of
//! data that arrived.
//!
//! # What it does
//! Time is divided into monitor intervals of half a round trip of the empty network. At the end of each, the sender
//! computes three numbers from delay and delivered bytes. A neural network reads those of the last ten intervals, and
//! its output multiplies the rate. It was trained in the simulator by proximal policy optimisation
//! (`paceline train aurora`), for few long flows. Each flow maximises its own reward, and no term of it is about other
//! flows (Jay et al., ICML 2019).
//!
//! # Signal it needs
//! Round-trip times and acknowledged bytes. Data packets carry their send time. Switches do nothing.
//!
//! # Equations
//! With R the mean round-trip time of an interval of length T, d the empty network's:
//! ```text
//! growth  = (R[t] - R[t-1]) / T, from -10 to 10                                  (1)
//! latency = min(R[t] / d, 10)                                                    (2)
//! sent    = rate / delivered, at most 10; 1 where nothing was                    (3)
//! a = network of (1) to (3) over the last ten intervals, from -10 to 10          (4)
//! rate = rate (1 + step a) where a >= 0, rate / (1 - step a) otherwise           (5)
//! ```
//! The network is 30-32-16-1, with hyperbolic tangents and a linear output. In training, the reward of an interval
//! depends on the delivered bytes as a share of the line, and on the share of ACKs that reported a loss:
//! ```text
//! 10 delivered - 2 (R / d - 1) - 2000 loss                                       (6)
//! ```
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! * Trained in data-centre networks: 25 to 400 Gbit/s, round trips of 4 to 40 us, 1 to 16 flows of which each learns
//!   and decides for itself. The authors' networks have 100 to 500 packets per second, 50 to 500 ms, and one flow.
//! * (6) uses the line and the empty network's round trip as units. The authors use packets per second and seconds
//!   (10, 1000 and 2000).
//! * (1) is the difference from the previous interval; the authors take that of an interval's halves. If many flows
//!   share a line, an interval has fewer than two ACKs.
//! * (2) is relative to the empty network's round trip; the authors take the smallest that the flow has seen.
//! * An interval is half of the empty network's round trip, or lasts until the next ACK if none arrives for longer.
//!   The authors' is half the mean round-trip time.
//! * In training, rewards below -5 count as -5; otherwise flows learned only to brake.
//! * The cuts at 10 are ours. A decision changes the rate by a quarter at most.
//!
//! # References
//! N. Jay et al., "A Deep Reinforcement Learning Perspective on Internet Congestion Control", ICML 2019.
//! J. Schulman et al., "Proximal Policy Optimization Algorithms", 2017.
//! Public code: PCCproject/PCC-RL (Apache-2.0).

use std::sync::Arc;

use paceline_kernel::{BitRate, Span};

use crate::adpg::moved;
use crate::api::{CongestionControl, Observation, PathInfo, SendLimits};
use crate::external::{self, Clock};
pub use crate::learned::features::{AURORA_HISTORY as HISTORY, AURORA_INPUTS as INPUTS, AURORA_ONCE as ONCE};
use crate::learned::inside::{Decider, Inside, policy_decides};
use crate::learned::{Model, ModelHash, ModelKind, ModelRef, shipped};
use crate::params::{Auto, Parameters, Range};
use crate::registry::{Definition, Scheme, WindowMode};

params! {
    /// Parameters of Aurora; equation numbers are those of the module.
    pub struct Params {
        /// Network: a built-in model (`paceline list models`) or the path of a model file. `auto`: `aurora`.
        model: Auto<ModelRef> = Auto::Auto, in Range::Any, from "trained here: `paceline train aurora`";
        /// Required SHA-256 of the model's weights; another model is an error. `auto`: the model's own hash.
        model_hash: Auto<ModelHash> = Auto::Auto, in Range::Any, from "ours";
        /// Relative change of the rate for an action of 1.
        step: f64 = STEP, in Range::AboveUpTo(0.0, 1.0), from "PCC-RL: DELTA_SCALE";
        /// Length of a monitor interval. `auto`: half a round trip of the empty network.
        interval: Auto<Span> = Auto::Auto, in Range::Above(0.0), from "PCC-RL: half the mean round-trip time";
        /// First rate of a flow. `auto`: half the line rate.
        initial_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "PCC-RL: 0.3 to 1.5 of the link's";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(1_000_000), in Range::Above(0.0), from "ours: 8192 flows share 100 Gbit/s";
        /// Time from a decision to its effect on the rate: the NIC's computing time.
        decision_latency: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// Decisions that a NIC computes at once, over all its flows; others wait. 0: no limit.
        decisions_in_service: u32 = 0, in Range::Any, from "ours";
    }
}

/// Relative change of the rate for an action of 1, in equation (5).
pub const STEP: f64 = 0.025;
/// Bound of the action, in both directions.
pub const CUT: f32 = 10.0;
/// Upper bound of each feature.
const LARGEST: f64 = 10.0;
/// Built-in model that `model = "auto"` selects.
const BUILT_IN: &str = "aurora";

/// Returns equation (1); both arguments share any unit of time.
pub fn growth(now: f64, before: f64, span: f64) -> f64 {
    match span > 0.0 {
        true => ((now - before) / span).clamp(-LARGEST, LARGEST),
        false => 0.0,
    }
}

/// Returns equation (3); both rates share any unit.
pub fn sent(rate: f64, delivered: f64) -> f64 {
    match delivered > 0.0 {
        true => (rate / delivered).min(LARGEST),
        false => 1.0,
    }
}

/// Returns equation (2) of a latency in round trips of the empty network.
pub fn latency(rtt_per_base: f32) -> f32 {
    rtt_per_base.min(LARGEST as f32)
}

/// Returns the monitor interval: half a round trip of the empty network.
pub fn interval(base_rtt: Span) -> Span {
    Span::from_ps((base_rtt.as_ps() / 2).max(1))
}

/// Returns equations (1) to (3) for a sender's observation.
fn observe(report: &Observation, path: &PathInfo) -> [f32; ONCE] {
    let (span_us, rtt_us) = (report.span().as_us_f64(), report.tally.rtt_mean().as_us_f64());
    let delivered = match span_us > 0.0 {
        true => report.tally.acked as f64 * 8e-3 / span_us,
        false => 0.0,
    };
    // The first interval has no earlier one: its growth is 0.
    let before = match report.asked {
        1 => rtt_us,
        _ => report.rtt_before.as_us_f64(),
    };
    [
        growth(rtt_us, before, span_us) as f32,
        latency((rtt_us / path.base_rtt.as_us_f64().max(1e-9)) as f32),
        sent(report.limits.rate.as_gbps_f64(), delivered) as f32,
    ]
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "aurora",
        aliases: &[],
        title: "Aurora (PCC-RL)",
        paper: crate::papers::AURORA.citation,
        summary: "Multiplies the rate twice per round trip by what a small network says of delay and of what arrives.",
        scope: "a few flows without end, as it was trained.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("aurora.rs"),
    };

    policy_decides!(ModelKind::Aurora, BUILT_IN);

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Aurora::sender(self, path))
    }
}

/// Decision logic of one flow.
#[derive(Clone, Debug)]
pub struct Aurora {
    model: Arc<Model>,
    step: f64,
    /// Inputs of the network, oldest first; `None` before the first decision.
    seen: Option<[f32; INPUTS]>,
}

impl Aurora {
    /// Creates a sender at its initial rate.
    ///
    /// # Panics
    /// If the model is missing or is not an Aurora policy; validate the parameters first.
    pub fn sender(params: &Params, path: &PathInfo) -> Inside<Self> {
        let half = BitRate::from_bps((path.line_rate.as_bps() / 2).max(1));
        let asks = external::Params {
            clock: Clock::Feedback,
            interval: params.interval.or(interval(path.base_rtt)),
            initial_rate: params.initial_rate.or(half),
            min_rate: params.min_rate,
            ..external::Params::default()
        };
        let decider = Self {
            model: shipped::policy(ModelKind::Aurora, &params.model, BUILT_IN),
            step: params.step,
            seen: None,
        };
        Inside::new(&asks, path, decider)
    }
}

impl Decider for Aurora {
    /// Applies equations (1) to (5).
    fn decide(&mut self, report: &Observation, path: &PathInfo) -> SendLimits {
        let now = observe(report, path);
        let seen = match self.seen {
            Some(mut seen) => {
                seen.copy_within(ONCE.., 0);
                seen[INPUTS - ONCE..].copy_from_slice(&now);
                seen
            }
            // The first interval has no history; its own features fill all ten.
            None => std::array::from_fn(|k| now[k % ONCE]),
        };
        self.seen = Some(seen);
        let policy = self.model.decides().expect("it is a policy of Aurora");
        let action = (policy.decide(&seen) / CUT).clamp(-1.0, 1.0);
        moved(report.limits.rate, action, self.step * f64::from(CUT))
    }
}

#[cfg(test)]
mod tests;
