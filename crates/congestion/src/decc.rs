//! DECC: a network of five layers, trained for all flows of a bottleneck at once, multiplies a window that goes far below
//! one packet.
//!
//! # What it does
//! Once per round trip the sender makes six numbers of what it has counted, puts those of the last five round trips
//! into a network, and multiplies its window by what comes out. Packets are paced at window over round-trip time, so a
//! window of less than one packet is less than a packet per round trip. The network was trained in the simulator, with
//! critics that saw all flows of a bottleneck (MADDPG): `paceline train decc`. A decision takes effect after
//! `decision-latency`.
//!
//! # Signal it needs
//! The round-trip times, what was acknowledged and what was lost. Data packets carry the time at which they were sent.
//! Switches do nothing.
//!
//! # Equations
//! With c the line's rate, d the empty network's round trip, B = c d, of what was counted since the last decision:
//! ```text
//! s = [log2(delivered / c) / 16, min(R / d, 10) / 4, loss, log2(in flight / B) / 8, log2(rate / c) / 16, a]   (1)
//! a[t] = network(s[t-4], .., s[t]), from -1 to 1                                                            (2)
//! w = w (1 + step a) where a >= 0, w / (1 - step a) otherwise; from 1/64 of a packet to 1.5 B                (3)
//! rate = w / max(R, d); at most max(w, one packet) in flight                                                (4)
//! ```
//! with R the mean round-trip time and logarithms of at least -16. The network is 30-128-64-32, rectified units, a long
//! short-term memory of 32 cells, 16 rectified units, and the hyperbolic tangent of their sum. Its memory begins at zero
//! in each decision, as the round trips before are among its inputs: so its forget gate and its recurrent weights have
//! nothing to multiply, and are not there.
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! There is no public code. Of the paper:
//! * Features are logarithms: on a linear scale 1/4096 and 1/8192 of a line are one number.
//! * It tells neither when a flow decides nor how long a round of decisions is: here with the first acknowledgement of a
//!   packet that was sent after the last decision, and not before `interval`; or, with a loss of 1, when nothing came back
//!   for three round trips (three times between packets, where those are longer).
//! * Acknowledgements are all its feedback; the paper's switches send notices as well.
//! * The memory is not carried from decision to decision.
//! * The reward in training is not the printed one, which counts latency for nothing where flows are many:
//!   `explain` of the environment's reward `decc` has it. An action has 85 % of the printed step at its end, as printed.
//! * A window that is idle is kept.
//!
//! # References
//! Chen J. Q. et al., 数据处理单元赋能的智算中心网络拥塞控制机制 (congestion control of networks of computing centres, by
//! data processing units), Beijing University of Posts and Telecommunications: `seed`.
//! R. Lowe et al., "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments", NeurIPS 2017.
//! S. Fujimoto et al., "Addressing Function Approximation Error in Actor-Critic Methods", ICML 2018.

use std::sync::Arc;

use paceline_kernel::{BitRate, Span};

use crate::api::{CongestionControl, PathInfo, Report, SendLimits};
use crate::external::{self, Clock};
use crate::learned::inside::{Decider, Inside, policy_decides};
use crate::learned::{Kind, Model, ModelHash, ModelRef, shipped};
use crate::params::{Auto, Parameters, Range};
use crate::registry::{Definition, Scheme, WindowMode};

pub mod features;
pub mod window;

use features::{Seen, observe};

params! {
    /// Parameters of DECC.
    pub struct Params {
        /// The network: the name of a model that ships (`paceline list models`), or the path of a model file;
        /// auto is `decc-clone`.
        model: Auto<ModelRef> = Auto::Auto, in Range::Any, from "trained here: `paceline train decc`";
        /// SHA-256 of the model's weights; if it is given, another model is an error. Auto is what the
        /// model has.
        model_hash: Auto<ModelHash> = Auto::Auto, in Range::Any, from "ours";
        /// The largest relative change of the window: 0.85 times an action of at most 0.5.
        step: f64 = STEP, in Range::AboveUpTo(0.0, 10.0), from "seed";
        /// The least time from one decision of a flow to the next; else once per round trip.
        interval: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// A flow's first rate; auto is 1/64 of the line's.
        initial_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "ours";
        /// The lowest rate.
        min_rate: BitRate = BitRate::from_bps(1_000_000), in Range::Above(0.0), from "ours: 8192 flows share 100 Gbit/s";
        /// From a question to the effect of its answer: the time that a NIC computes. The seed has 458us for its
        /// network, 17us for the compressed one, and 1.53us for trees.
        decision_latency: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// Decisions that a NIC computes at a time, of all its flows; others wait. 0 for any number.
        decisions_in_service: u32 = 0, in Range::Any, from "ours";
    }
}

/// Of equation (3).
pub const STEP: f64 = 0.425;
/// After so many round trips, or times between packets where those are longer, without an answer to what it sent a
/// flow decides on its own, with a loss of 1.
pub const SILENCE: f64 = 3.0;
/// The model that ships.
const SHIPPED: &str = "decc-clone";

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "decc",
        aliases: &[],
        title: "DECC",
        paper: crate::papers::DECC.citation,
        summary: "Multiplies a window by what a network says of the last five round trips; trained with critics\n\
                  that see all flows of a bottleneck.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: include_str!("decc.rs"),
    };

    policy_decides!(Kind::Decc, SHIPPED, true);

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Decc::sender(self, path))
    }
}

/// A flow's first rate, where nothing else is said.
pub fn first_rate(line: BitRate) -> BitRate {
    BitRate::from_bps((line.as_bps() / 64).max(1))
}

/// What decides for a flow.
#[derive(Clone, Debug)]
pub struct Decc {
    model: Arc<Model>,
    step: f64,
    /// What the network reads; nothing before the first decision.
    seen: Option<Seen>,
    action: f32,
    window: f64,
}

impl Decc {
    /// A sender at its first rate.
    ///
    /// # Panics
    /// If the model is not there, or no policy of DECC: parameters are to be validated first.
    pub fn sender(params: &Params, path: &PathInfo) -> Inside<Self> {
        let asks = external::Params {
            clock: Clock::RoundTrip,
            interval: params.interval,
            silence: SILENCE,
            initial_rate: params.initial_rate.or(first_rate(path.line_rate)),
            min_rate: params.min_rate,
            ..external::Params::default()
        };
        let decider = Self {
            model: shipped::policy(Kind::Decc, &params.model, SHIPPED),
            step: params.step,
            seen: None,
            action: 0.0,
            window: 0.0,
        };
        Inside::new(&asks, path, decider)
    }
}

impl Decider for Decc {
    /// Equations (1) to (4).
    fn decide(&mut self, report: &Report, path: &PathInfo) -> SendLimits {
        let now = observe(report, path, self.action);
        let seen = match self.seen {
            Some(mut seen) => {
                seen.push(now);
                seen
            }
            None => Seen::first(now),
        };
        self.seen = Some(seen);
        let policy = self.model.decides().expect("it is a policy of DECC");
        self.action = policy.decide(&seen.0).clamp(-1.0, 1.0);
        let at = (report.limits.rate, report.tally.rtt_mean());
        window::moved((self.action, self.step), at, path, &mut self.window)
    }
}

#[cfg(test)]
mod tests;
