//! DECC: a rate law found by direct search in the simulator, networks and trees built on it, or the policy as its
//! paper prints it.
//!
//! # What it does
//! Once per round trip, the sender reads the round-trip times since its last decision, the time since then, and the
//! share of negative acknowledgements. A law of these moves its rate. The law is scale-free: rates are shares of the
//! line, times are round trips of the empty network. Its coefficients are a model that `paceline train decc law` finds by
//! running candidates in random networks. DECC is for incasts and all-to-all traffic of AI clusters (Chen et al.).
//!
//! The round-trip times are the mean and the newest. A message of a few bandwidth-delay products starts at line rate.
//! A longer one starts lower, and jumps to its fair share with the first answers. A decision takes effect after
//! `decision-latency`.
//!
//! Other models build on a law. A residual network moves the rate slightly in addition to the law. A network or
//! boosted trees cloned from the law decide instead of it; compressed networks and trees do so in integers.
//!
//! `model = "paper"` is the policy as printed, trained here by `paceline train decc paper`. It reads five
//! features of five decisions, has a memory, and moves a window. Switches send notices of their own, unless
//! `feedback = "ack"`. It is a policy with a card, like those of the scheme `policy`, and any other such policy can
//! replace it.
//!
//! A law can keep learning where it is used. `paceline run --upload DIR` records the network of a run and the run's
//! results. `paceline train decc refine MODEL --experience DIR` continues the search from that law, and keeps it
//! good in the networks in which it was found.
//!
//! # Signal it needs
//! Round-trip times, acknowledged data and losses. Data packets carry their send time. Switches do nothing; under a
//! policy with a card they answer, if `feedback` is `switch-ack`.
//!
//! # Equations
//! The law, with w the rate as a share of the line, r the round-trip time in base round trips, P packets per
//! bandwidth-delay product, and e the base round trips since the last decision. lo blends each coefficient that is a
//! pair:
//! ```text
//! lo     = 1 / (1 + w P),   q = q_many + lo (q_few - q_many)                                                (1)
//! r      = mean + last (newest - mean)                                                                      (2)
//! target = t0 - tl log2(min(w, 1)) + ts / sqrt(w) + cw / (8192 w)^pw                                        (3)
//! r < target:  d = min(umax min((target - r) / (target - 1), 1)^up e^gup, 0.7)                              (4)
//! otherwise:   d = max(-down (r - target) / r, -dmax)                                                       (5)
//! d      = d - clip(kd (r - r_before), -0.3, 0.3) - kl nacks / acks;  d = -kt if nothing came back          (6)
//! w      = w exp(d), from 2^-18 to 1.5                                                                      (7)
//! rate   = rg w / max(r, 1)^rho,   in flight at most max((wcap w P + wadd) packets, 1 packet)               (8)
//! ```
//! The start of a flow depends on the data that it has to send. S is its size, or its connection's first message, in
//! bandwidth-delay products. wl is the w of the line rate, 1.2 / wcap, from 1 to 1.5. The first answers then give its
//! share: share(r) is the w whose target is r, at which settled flows keep their rates.
//! ```text
//! w      = wl min(1, max((whole / max(S, whole))^wane, init / P))                                           (7a)
//! d      = clip(ln(share(r) / w), -fall, leap) - kl nacks / acks                                            (7b)
//! ```
//! (7b) replaces (4) to (6), for every model, until share(r) is not above w, or something was lost.
//!
//! Inputs of a network or trees, with q(x) = log2(1 + 32 (x - 1)) / 8:
//! ```text
//! s = [log2(w) / 18, log2(w P) / 16, q(mean), q(newest), q(r_before), log2(e) / 12, nacks / acks,
//!      nothing came back]                                                                                   (9)
//! next to a law:   d = d + 0.2 a(s)                                                                         (10)
//! instead of it:   d = a(s) |a(s)|                                                                          (11)
//! ```
//! Actions a are from -1 to 1. (7) and (8) stay. The square of (11) resolves the small changes that fair shares depend
//! on: one step of an action of 8 bits moves a rate by 0.006 %. The network has 32 and 32 rectified units, and the
//! hyperbolic tangent of their sum: 1377 numbers.
//!
//! The policy as printed reads delivered data, latency, loss, bytes in flight and rate of its last five decisions. It
//! has layers of 128, 64 and 32, a long short-term memory of 32, and layers of 16 and 1: 22 529 numbers. With an
//! action a from -0.5 to 0.5 (the paper's equation 2):
//! ```text
//! cwnd   = cwnd (1 + 0.85 a), a >= 0;  cwnd / (1 - 0.85 a), a < 0                                           (12)
//! rate   = cwnd / mean RTT                                                                                  (13)
//! ```
//! It was trained with the paper's rewards (3) to (8), with corrected signs: see `crates/learn/src/decc/paper`.
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! There is no public code. Differences from the paper:
//! * By default a rate law decides, not a network: fewer than forty numbers, found by search.
//! * The paper's network (128, 64 and 32 units, a memory of 32, 16 units, one) has 22,529 numbers with five features
//!   of five decisions. It moves a window by the paper's equation (2). A window over a round-trip time falls as the
//!   queue grows, which undoes a part of each decision. All models but `paper` therefore move a rate, by a factor
//!   exp(d).
//! * The paper reads five features of the last five samples: throughput, latency, losses, bytes in flight and the
//!   rate. Models but `paper` read eight of the last sample, without throughput and bytes in flight. They are
//!   logarithms, because 1/4096 and 1/8192 of a line are nearly the same number on a linear scale.
//! * The paper's critic reads twelve global features (its table 1), and so does that of `paper`. The critics that
//!   train a residual here read eight.
//! * The gradient of the paper's equation (10) has the logarithm of a stochastic policy. Here it is that of a
//!   deterministic policy, as in MADDPG, or of proximal policy optimisation.
//! * The paper's equations (4), (5), (6) and (8) as printed reward delay and unequal, unsteady rates. Their signs are
//!   reversed here.
//! * The paper gives neither the time of a flow's decisions nor the length of a round of decisions. Here a flow
//!   decides at the first ACK of a packet that was sent after its last decision, and not before `interval`. If nothing
//!   returned for three round trips (three packet intervals, if those are longer), it decides with a loss of 1.
//! * Laws, networks and trees use ACKs only. The paper's switches also send notices ("SACK"). `paper`, `external` and
//!   `policy` have them here (`feedback = "switch-ack"`), and Bolt has its own.
//! * The paper's trees are CatBoost's, with a learning rate of 0.02. Ours are oblivious trees of our own trainer, with
//!   0.1, trained in rounds (DAgger).
//! * When a network is trained, the reward of a flow is its own. The printed reward is common to all flows of a
//!   bottleneck, so one of N flows moves it by 1/N. With many flows, its latency term counts for nothing.
//! * The rate of an idle flow is kept.
//!
//! The paper leaves open the following details of `paper`. Features are logarithms. Latency is the empty network's
//! plus the longest queue that switches reported since the last decision; without a report it is the mean round-trip
//! time. The monitoring period is 8 µs, after which a flow decides with the first ACK or notice. A packet queries
//! switches every 2 µs, and a port answers if its queue holds a full packet. A flow starts with one packet per base
//! round trip. A window is from 1/64 of a packet to 1.5 bandwidth-delay products, and one packet may always be in
//! flight.
//!
//! # References
//! Chen J. Q. et al., 数据处理单元赋能的智算中心网络拥塞控制机制 (congestion control of networks of computing centres, by
//! data processing units), Beijing University of Posts and Telecommunications: `seed`.
//! N. Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772: the search.
//! R. Lowe et al., "Multi-Agent Actor-Critic for Mixed Cooperative-Competitive Environments", NeurIPS 2017.
//! S. Fujimoto et al., "Addressing Function Approximation Error in Actor-Critic Methods", ICML 2018.

use std::sync::Arc;

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Span};

use crate::api::{CongestionControl, Decisions, Observation, PathInfo, Requirements, SendLimits};
use crate::external::{self, Clock, Feedback};
use crate::learned::inside::{Decider, Inside};
use crate::learned::{Model, ModelHash, ModelKind, ModelRef, shipped};
use crate::params::{Auto, ParamError, Parameters, Range};
use crate::policy::{self, Policy};
use crate::registry::{Alias, Definition, Scheme, WindowMode};
use crate::switch::{EgressPort, SwitchHalves, SwitchSupport};

pub mod features;
pub mod law;

use features::observe;
use law::{Interval, Law, PolicyOutput, State};

params! {
    /// Parameters of DECC; laws, networks and trees ignore those of policies with a card.
    pub struct Params {
        /// Rate law, network, trees or policy with a card: a built-in model (`paceline list models`) or the path of a
        /// model file. `auto`: `decc-law`. `paper`: the policy as printed.
        model: Auto<ModelRef> = Auto::Auto, in Range::Any, from "trained here: `paceline train decc law`";
        /// Required SHA-256 of the model's weights; another model is an error. `auto`: the model's own hash.
        model_hash: Auto<ModelHash> = Auto::Auto, in Range::Any, from "ours";
        /// Feedback in addition to round-trip times and losses: none (`ack`) or answers of switches (`switch-ack`).
        /// `auto`: the card's, or `ack` (the only choice) without a card.
        feedback: Auto<Feedback> = Auto::Auto, in Range::Any, from "seed: notices of switches (section 1)";
        /// Shortest time between two decisions of a flow. 0: once per round trip, or as the card says.
        interval: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// First rate of a flow. `auto`: the law's; with a card, one packet per base round trip.
        initial_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "ours";
        /// Largest message, in bandwidth-delay products, that starts at line rate; 0: none. `auto`: the law's.
        whole: Auto<f64> = Auto::Auto, in Range::AtLeast(0.0), from "ours";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(1_000_000), in Range::Above(0.0), from "ours: 8192 flows share 100 Gbit/s";
        /// Time from a decision to its effect on the rate: the NIC's computing time. The paper has 458us for its
        /// network, 17us for the compressed one, and 1.53us for trees.
        decision_latency: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// Decisions that a NIC computes at once, over all its flows; others wait. 0: no limit.
        decisions_in_service: u32 = 0, in Range::Any, from "ours";
    }
}

/// Round trips, or packet intervals if those are longer, without a reply after which a flow decides alone,
/// with a loss of 1.
pub const SILENCE: f64 = 3.0;
/// Built-in model that `model = "auto"` selects.
const BUILT_IN: &str = "decc-law";

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "decc",
        aliases: &[Alias {
            name: "decc-incast",
            help: "for crowds of short messages to one host at once: none starts at line rate",
            settings: &[("whole", "0")],
            window: None,
        }],
        title: "DECC",
        paper: crate::papers::DECC.citation,
        summary: "Moves a rate by a scale-free law of round-trip times that was found by search in the simulator;\n\
                  or by a network or boosted trees that were cloned from it.",
        scope: "many flows to one host, and all to all, at 100 to 400 Gbit/s with drops or PFC; `decc-incast` for crowds of short messages at once.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("decc.rs"),
    };

    fn explicit(&self) -> Self {
        let mut params = self.clone();
        shipped::make_explicit(&mut params.model, &mut params.model_hash, BUILT_IN);
        params.feedback = Auto::Is(self.asked().feedback);
        params
    }

    fn models(&mut self) -> Vec<(&'static str, &mut ModelRef)> {
        shipped::asked(&mut self.model)
    }

    fn check(&self) -> Result<(), ParamError> {
        shipped::check(ModelKind::Decc, &self.model, &self.model_hash, BUILT_IN)?;
        match (self.with_card(), self.feedback) {
            (Some(_), _) if self.whole != Auto::Auto => Err(ParamError::new(
                "whole",
                "a policy with a card knows no message's size; expected none, or a model with a rate law",
            )),
            (Some(policy), _) => policy.check(),
            (None, Auto::Is(found)) if found != Feedback::Ack => Err(ParamError::new(
                "feedback",
                format!("`{found}` goes with a policy that has a card, such as `paper`; expected `ack`"),
            )),
            _ => Ok(()),
        }
    }

    fn needs(&self) -> Requirements {
        Requirements {
            decisions: Some(Decisions {
                latency: self.decision_latency,
                in_service: self.decisions_in_service,
                outside: false,
            }),
            ..self.asked().needs()
        }
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        self.asked().switch_part()
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        self.asked().switch_halves(ports, rngs)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        match self.policy_on(path) {
            Some(policy) => Box::new(Policy::sender(&policy, path)),
            None => Box::new(Decc::sender(self, path)),
        }
    }
}

/// Decision logic of one flow.
#[derive(Clone, Debug)]
pub struct Decc {
    model: Arc<Model>,
    state: State,
}

impl Decc {
    /// Creates a sender at its initial rate.
    ///
    /// # Panics
    /// If the model is missing or is not a DECC policy; validate the parameters first.
    pub fn sender(params: &Params, path: &PathInfo) -> Inside<Self> {
        let model = shipped::policy(ModelKind::Decc, &params.model, BUILT_IN);
        let law = *model.law().expect("policies of DECC have a law");
        let state = law.start(path, params.initial_rate, params.whole);
        params.asks(&law, &state, path, Self { model, state })
    }
}

impl Params {
    /// Returns the parameters of `policy` if the model is a policy with a card.
    fn with_card(&self) -> Option<policy::Params> {
        let model = shipped::model(&self.model, BUILT_IN)?;
        model.stack().map(|_| policy::Params {
            model: Auto::Is(ModelRef::read_from(model.card().name.clone(), model.clone())),
            feedback: self.feedback,
            interval: match self.interval {
                Span::ZERO => Auto::Auto,
                interval => Auto::Is(interval),
            },
            initial_rate: self.initial_rate,
            min_rate: Auto::Is(self.min_rate),
            decision_latency: Auto::Is(self.decision_latency),
            ..policy::Params::default()
        })
    }

    /// Returns the parameters of a policy with a card on `path`; by default a flow starts with one packet per
    /// base round trip.
    pub fn policy_on(&self, path: &PathInfo) -> Option<policy::Params> {
        let first = path.mtu.get() as f64 * 8.0 / path.base_rtt.as_secs_f64().max(1e-12);
        self.with_card().map(|policy| policy::Params {
            initial_rate: Auto::Is(self.initial_rate.or(BitRate::from_bps((first as u64).max(1)))),
            ..policy
        })
    }

    /// Returns when and with which feedback a flow decides; its initial rate is left out.
    fn asked(&self) -> external::Params {
        let law = external::Params {
            clock: Clock::RoundTrip,
            interval: self.interval,
            silence: SILENCE,
            min_rate: self.min_rate,
            ecn: false,
            ..external::Params::default()
        };
        self.with_card().map_or(law, |policy| policy.asks())
    }

    /// Creates a sender whose decisions `decider` makes, starting from `state`.
    pub fn asks<D: Decider>(&self, law: &Law, state: &State, path: &PathInfo, decider: D) -> Inside<D> {
        let asks = external::Params {
            initial_rate: self.initial_rate.or(law.limits(state.w, 1.0, path).rate),
            ..self.asked()
        };
        Inside::new(&asks, path, decider)
    }
}

impl Decider for Decc {
    fn decide(&mut self, report: &Observation, path: &PathInfo) -> SendLimits {
        let (law, seen) = (self.model.law(), Interval::of(report, path));
        let said = match self.model.decides() {
            None => PolicyOutput::None,
            Some(policy) => {
                let action = policy.decide(&observe(&self.state, &seen, path.bdp_packets()));
                self.model.card().kind.says(action.clamp(-1.0, 1.0))
            }
        };
        law.expect("policies of DECC have a law")
            .decide(&mut self.state, &seen, said, path)
    }
}

#[cfg(test)]
mod tests;
