//! DECC: a rate law that was searched for in the simulator moves a rate that goes far below one packet per round trip;
//! or a network of five layers does.
//!
//! # What it does
//! Once per round trip the sender takes the mean and the newest round-trip time since its last decision, the time since
//! then, and the share of negative acknowledgements, and moves its rate by a law of these. The law is scale-free: it knows
//! rates as shares of the line and times in round trips of the empty network. Its coefficients are a model, for which
//! `paceline train decc` searches: it runs candidates in networks that it draws. A model may be a network in
//! its place, which reads the last five round trips; such a network is trained with critics that see all flows of a
//! bottleneck (MADDPG), as the paper's is. A decision takes effect after `decision-latency`.
//!
//! # Signal it needs
//! The round-trip times, what was acknowledged and what was lost. Data packets carry the time at which they were sent.
//! Switches do nothing.
//!
//! # Equations
//! The law, with w the rate as a share of the line, r the round-trip time in base round trips, P packets of a
//! bandwidth-delay product, and e the base round trips since the last decision. A coefficient that is a pair is blended
//! by lo:
//! ```text
//! lo     = 1 / (1 + w P),   q = q_many + lo (q_few - q_many)                                                (1)
//! r      = mean + last (newest - mean)                                                                      (2)
//! target = t0 - tl log2(min(w, 1)) + ts / sqrt(w) + cw / (8192 w)^pw                                        (3)
//! r < target:  d = min(umax min((target - r) / (target - 1), 1)^up e^gup, 0.7)                              (4)
//! otherwise:   d = max(-down (r - target) / r, -dmax)                                                       (5)
//! d      = d - clip(kd (r - r_before), -0.3, 0.3) - kl nacks / acks;  d = -kt if nothing came back          (6)
//! w      = w exp(d), from 2^-18 to 1.5;  at first `init` packets per base round trip                        (7)
//! until r >= target, or a loss, for the first time:  d = max(d, grow) in (4)
//! rate   = rg w / max(r, 1)^rho,   in flight at most max((wcap w P + wadd) packets, 1 packet)               (8)
//! ```
//! A network, with c the line's rate, d the empty network's round trip, B = c d, of what was counted since the last
//! decision:
//! ```text
//! s = [log2(delivered / c) / 16, min(R / d, 10) / 4, loss, log2(in flight / B) / 8, log2(rate / c) / 16, a]   (9)
//! a[t] = network(s[t-4], .., s[t]), from -1 to 1                                                           (10)
//! w = w (1 + step a) where a >= 0, w / (1 - step a) otherwise; from 1/64 of a packet to 1.5 B              (11)
//! rate = w / max(R, d); at most max(w, one packet) in flight                                               (12)
//! ```
//! with R the mean round-trip time and logarithms of at least -16. The network is 30-128-64-32, rectified units, a long
//! short-term memory of 32 cells, 16 rectified units, and the hyperbolic tangent of their sum. Its memory starts at zero
//! in each decision, as the round trips before are among its inputs: so its forget gate and its recurrent weights have
//! nothing to multiply, and are not there.
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! There is no public code. Of the paper:
//! * A rate law decides by default, not a network: fewer than forty numbers that were searched for.
//! * Features of networks are logarithms: on a linear scale 1/4096 and 1/8192 of a line are one number.
//! * It tells neither when a flow decides nor how long a round of decisions is: here with the first acknowledgement of a
//!   packet that was sent after the last decision, and not before `interval`; or, with a loss of 1, when nothing came back
//!   for three round trips (three times between packets, where those are longer).
//! * Acknowledgements are all its feedback; the paper's switches send notices as well.
//! * The memory is not carried from decision to decision.
//! * The reward in a network's training is not the printed one, which counts latency for nothing where flows are many:
//!   `explain` of the environment's reward `decc` has it. An action has 85 % of the printed step at its end, as printed.
//! * A rate that is idle is kept.
//!
//! # References
//! Chen J. Q. et al., 数据处理单元赋能的智算中心网络拥塞控制机制 (congestion control of networks of computing centres, by
//! data processing units), Beijing University of Posts and Telecommunications: `seed`.
//! N. Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772: the search.
//! R. Lowe et al., "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments", NeurIPS 2017.
//! S. Fujimoto et al., "Addressing Function Approximation Error in Actor-Critic Methods", ICML 2018.

use std::sync::Arc;

use paceline_kernel::{BitRate, Span};

use crate::api::{CongestionControl, PathInfo, Report, SendLimits};
use crate::external::{self, Clock};
use crate::learned::inside::{Decider, Inside, policy_decides};
use crate::learned::{Kind, Model, ModelHash, ModelRef, shipped};
use crate::params::{Auto, ParamError, Parameters, Range};
use crate::registry::{Definition, Scheme, WindowMode};

pub mod features;
pub mod law;
pub mod window;

use features::{Seen, observe};
use law::State;

params! {
    /// Parameters of DECC.
    pub struct Params {
        /// The rate law, or the network: the name of a model that ships (`paceline list models`), or the path of a
        /// model file; auto is `decc-law`.
        model: Auto<ModelRef> = Auto::Auto, in Range::Any, from "trained here: `paceline train decc`";
        /// SHA-256 of the model's weights; if it is given, another model is an error. Auto is what the
        /// model has.
        model_hash: Auto<ModelHash> = Auto::Auto, in Range::Any, from "ours";
        /// The largest relative change of the window by a network: 0.85 times an action of at most 0.5. A rate law
        /// has its own.
        step: f64 = STEP, in Range::AboveUpTo(0.0, 10.0), from "seed";
        /// The least time from one decision of a flow to the next; else once per round trip.
        interval: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// A flow's first rate; auto is the law's, or 1/64 of the line's with a network.
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

/// Of equation (11).
pub const STEP: f64 = 0.425;
/// After so many round trips, or times between packets where those are longer, without an answer to what it sent a
/// flow decides on its own, with a loss of 1.
pub const SILENCE: f64 = 3.0;
/// The model that ships.
const SHIPPED: &str = "decc-law";

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "decc",
        aliases: &[],
        title: "DECC",
        paper: crate::papers::DECC.citation,
        summary: "Moves a rate by a scale-free law of round-trip times that was searched for in the simulator;\n\
                  or by a network, trained with critics that see all flows of a bottleneck.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: include_str!("decc.rs"),
    };

    policy_decides!(Kind::Decc, SHIPPED, true, Self::check_step);

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Decc::sender(self, path))
    }
}

impl Params {
    /// Only a network has steps.
    fn check_step(&self) -> Result<(), ParamError> {
        let model = shipped::model(&self.model, SHIPPED);
        let is_law = model.is_some_and(|model| model.law().is_some());
        if is_law && self.step != STEP {
            let message = format!(
                "{} has no effect with a rate law; expected {STEP}, or a network as `model`",
                self.step
            );
            return Err(ParamError::new("step", message));
        }
        Ok(())
    }
}

/// A flow's first rate under a network, where nothing else is said.
pub fn first_rate(line: BitRate) -> BitRate {
    BitRate::from_bps((line.as_bps() / 64).max(1))
}

/// What decides for a flow.
#[derive(Clone, Debug)]
pub enum Decc {
    /// A rate law, and where the flow is.
    Law(Arc<Model>, State),
    /// A network or trees.
    Network(Network),
}

/// A flow that a network, or trees, decide for.
#[derive(Clone, Debug)]
pub struct Network {
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
        let model = shipped::policy(Kind::Decc, &params.model, SHIPPED);
        let mut first = first_rate(path.line_rate);
        let decider = match model.law() {
            Some(law) => {
                let mut state = law.start(path);
                if let Auto::Is(rate) = params.initial_rate {
                    state.w = rate.as_bps() as f64 / path.line_rate.as_bps().max(1) as f64;
                }
                first = law.limits(state.w, 1.0, path).rate;
                Self::Law(model, state)
            }
            None => Self::Network(Network {
                model,
                step: params.step,
                seen: None,
                action: 0.0,
                window: 0.0,
            }),
        };
        let asks = external::Params {
            clock: Clock::RoundTrip,
            interval: params.interval,
            silence: SILENCE,
            initial_rate: params.initial_rate.or(first),
            min_rate: params.min_rate,
            ..external::Params::default()
        };
        Inside::new(&asks, path, decider)
    }
}

impl Decider for Decc {
    fn decide(&mut self, report: &Report, path: &PathInfo) -> SendLimits {
        match self {
            Self::Law(model, state) => {
                let law = model.law().expect("it is a rate law");
                law.decide(state, &law::Seen::of(report, path), 0.0, path)
            }
            Self::Network(network) => network.decide(report, path),
        }
    }
}

impl Network {
    /// Equations (9) to (12).
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
