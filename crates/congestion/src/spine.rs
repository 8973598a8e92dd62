//! SPINE: a rule moves the window with every acknowledgement (ACK), and a learned watcher decides when a learned
//! generator gives the rule new parameters.
//!
//! # What it does
//! With every ACK, the executor changes the window by a rule with four parameters, the sub-policy. Once per monitor
//! interval, a recurrent network reads the flow's measurements, and its watcher decides if the sub-policy stays. Only
//! if not, its generator computes a new one. The window thus follows the network at once, and most intervals need no
//! new policy. The network was trained in the simulator by proximal policy optimisation (`paceline train spine`), for
//! long flows (Tian et al., CoNEXT 2022).
//!
//! # Signal it needs
//! Round-trip times, acknowledged data and losses. Data packets carry their send time. Switches do nothing.
//!
//! # Equations
//! With w the window in packets, R a round-trip time, B the empty network's, and s the packets that an ACK newly
//! acknowledges:
//! ```text
//! change = alpha - beta (R / B - 1 - gamma), from -1/2 to 1                            (1)
//! w = w + change s min(w, 1)                                                           (2)
//! w = delta w at a loss, once per round trip, and at a timeout                         (3)
//! rate = w packets per B; at most max(w, 1) packets in flight                          (4)
//! ```
//! Once per monitor interval, with x the measurements and the current parameters:
//! ```text
//! h = s(Z [h, x]) h + (1 - s(Z [h, x])) tanh(N [h, x])                  the trunk      (5)
//! trigger where s(t h) >= 1/2, and at the first interval's end          the watcher    (6)
//! alpha, beta, gamma / 2, delta = s(G h), in 1/1024, where triggered    the generator  (7)
//! ```
//! s is the logistic function; each matrix has a bias. h has 32 units and x twelve numbers, all relative to the line
//! and to B, so the same network serves every line and distance. They are: growth of the round-trip time over the
//! interval, its length, delivered bytes, the window in bandwidth-delay products and in packets, losses, the
//! interval's length, the four parameters, and the intervals since the last trigger.
//!
//! In training, (6) is drawn with the watcher's probability and (7) with a spread. The reward of an interval depends
//! on the share of ACKs that reported a loss, and on the deliveries of the line's flows as shares of their fair share,
//! each at most 1:
//! ```text
//! mean(delivered) / max(R / 1.1 B, 1) - min(10 loss, 1) - 0.02 if triggered            (8)
//! ```
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! * (1) to (3) are in fixed point. The public kernel module divides integers, which cuts the latency term to
//!   multiples of one. A later version of it has beta alone where the latency is too long, and alpha alone otherwise.
//! * (2) counts acknowledged packets, not ACKs, and below one packet changes the window in proportion. The module's
//!   smallest window is ten packets, with which 8192 flows lose nearly all that they send.
//! * (1) is relative to the empty network's round trip; the module takes the smallest that the flow has seen. R is the
//!   last round-trip time; the module smooths it.
//! * (4) paces at the empty network's round trip; the module at the smoothed one.
//! * A monitor interval is one round trip of the empty network, or lasts until the next ACK if none arrives for
//!   longer.
//! * The papers' networks, weights and training are not public. (5) is a gated recurrent unit without a reset gate. x,
//!   the constants of (8), its mean over flows, and PPO are ours; the parts of (8) are the papers'.
//! * Flows start at one packet; the module's start as TCP does.
//!
//! # References
//! H. Tian et al., "Spine: An Efficient DRL-based Congestion Control with Ultra-low Overhead", CoNEXT 2022, and its longer
//! version in IEEE/ACM Transactions on Networking 32(3), 2024: the executor, the watcher and the generator.
//! J. Schulman et al., "Proximal Policy Optimization Algorithms", 2017.
//! Public code: enidsky26/spine-kernel (the executor; dual BSD/GPL).

use std::sync::Arc;

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{AckInfo, CongestionControl, Observation, PathInfo, SendLimits};
use crate::aurora::growth;
use crate::decc::features::queue;
use crate::external::{self, Clock};
use crate::learned::activation::sigmoid;
pub use crate::learned::features::{
    SPINE_FEATURES as NAMES, SPINE_HIDDEN as HIDDEN, SPINE_INPUTS as INPUTS, SPINE_OUTPUTS as OUTPUTS,
};
use crate::learned::inside::{Decider, Heard, Inside, policy_decides};
use crate::learned::layers::Network;
use crate::learned::{Model, ModelHash, ModelKind, ModelRef, shipped};
use crate::params::{Auto, Parameters, Range};
use crate::registry::{Definition, Scheme, WindowMode};

params! {
    /// Parameters of SPINE; the executor's four parameters come from the agent.
    pub struct Params {
        /// Agent: a built-in model (`paceline list models`) or the path of a model file. `auto`: `spine`.
        model: Auto<ModelRef> = Auto::Auto, in Range::Any, from "trained here: `paceline train spine`";
        /// Required SHA-256 of the model's weights; another model is an error. `auto`: the model's own hash.
        model_hash: Auto<ModelHash> = Auto::Auto, in Range::Any, from "ours";
        /// Length of a monitor interval. `auto`: a round trip of the empty network.
        interval: Auto<Span> = Auto::Auto, in Range::Above(0.0), from "ours";
        /// First window of a flow, in packets.
        initial_window: f64 = 1.0, in Range::Above(0.0), from "ours";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(1_000_000), in Range::Above(0.0), from "ours: 8192 flows share 100 Gbit/s";
        /// Time from the end of a monitor interval to the effect of new parameters: the NIC's computing time.
        decision_latency: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// Decisions that a NIC computes at once, over all its flows; others wait. 0: no limit.
        decisions_in_service: u32 = 0, in Range::Any, from "ours";
    }
}

/// Built-in model that `model = "auto"` selects.
const BUILT_IN: &str = "spine";
/// Fixed-point one of a parameter.
const WHOLE: u64 = 1024;
/// Fixed-point value of one packet in a window.
const PACKET: u64 = 1 << 20;
/// Largest window, in bandwidth-delay products.
const LARGEST: u64 = 4;

/// Parameters of the executor, in 1/1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubPolicy {
    /// Increase per packet acknowledged without delay, in packets.
    pub alpha: u64,
    /// Decrease per round trip of delay, in packets.
    pub beta: u64,
    /// Delay, in round trips, from which on the window decreases.
    pub gamma: u64,
    /// Share of the window that a loss leaves.
    pub delta: u64,
}

/// Parameters of a flow's first interval, as in the kernel module.
pub const FIRST: SubPolicy = SubPolicy {
    alpha: 50,
    beta: 200,
    gamma: 400,
    delta: 717,
};

impl SubPolicy {
    /// Converts the generator's outputs by equation (7).
    pub fn of(said: [f32; 4]) -> Self {
        let one = |said: f32| ((WHOLE as f32 * sigmoid(said)).round() as u64).clamp(1, WHOLE);
        let [alpha, beta, half, delta] = said.map(one);
        Self {
            alpha,
            beta,
            gamma: 2 * half,
            delta,
        }
    }

    /// Returns the parameters as numbers from 0 to 1, gamma halved.
    fn shares(&self) -> [f64; 4] {
        [self.alpha, self.beta, self.gamma / 2, self.delta].map(|value| value as f64 / WHOLE as f64)
    }

    /// Returns the generator outputs that yield these parameters.
    pub fn said(&self) -> [f32; 4] {
        self.shares().map(|share| libm::log(share / (1.0 - share)) as f32)
    }

    /// Returns equation (1) in 1/1024 of a packet, for a round trip `rtt` in 1/1024 of the empty network's.
    fn change(&self, rtt: u64) -> i64 {
        let over = (rtt.min(1 << 30)) as i64 - (WHOLE + self.gamma) as i64;
        let change = self.alpha as i64 - self.beta as i64 * over / WHOLE as i64;
        change.clamp(-(WHOLE as i64) / 2, WHOLE as i64)
    }
}

/// Executor, which moves the window.
#[derive(Clone, Debug)]
pub struct Executor {
    policy: SubPolicy,
    /// Window in units of 1/[`PACKET`] packets.
    window: u64,
    range: (u64, u64),
    /// Byte whose acknowledgement permits the next reaction to a loss.
    cut: u64,
}

impl Executor {
    fn new(params: &Params, path: &PathInfo) -> Self {
        let packets = |packets: f64| (packets * PACKET as f64) as u64;
        let least = params.min_rate.as_bps() as f64 * path.base_rtt.as_secs_f64() / 8.0;
        let least = packets(least / path.full_packet.get().max(1) as f64).clamp(1, PACKET);
        let most = (packets(path.bdp_packets()).saturating_mul(LARGEST)).max(PACKET);
        Self {
            policy: FIRST,
            window: packets(params.initial_window).clamp(least, most),
            range: (least, most),
            cut: 0,
        }
    }

    /// Applies equations (1) to (3).
    fn on_ack(&mut self, ack: &AckInfo<'_>, path: &PathInfo) {
        if ack.nack {
            // Losses within one round trip are one event.
            if ack.highest >= self.cut {
                self.cut = ack.snd_nxt;
                self.lose();
            }
            return;
        }
        let rtt = u128::from(ack.rtt.as_ps()) * u128::from(WHOLE) / u128::from(path.base_rtt.as_ps().max(1));
        let change = i128::from(self.policy.change(u64::try_from(rtt).unwrap_or(u64::MAX)));
        let each = i128::from(WHOLE) * i128::from(path.mtu.get().max(1));
        let step = change * i128::from(ack.newly_acked) * i128::from(self.window.min(PACKET)) / each;
        let (least, most) = self.range;
        let moved = i128::from(self.window) + step;
        self.window = moved.clamp(i128::from(least), i128::from(most)) as u64;
    }

    /// Applies equation (3) to a loss.
    fn lose(&mut self) {
        self.window = (self.window * self.policy.delta / WHOLE).max(self.range.0);
    }

    /// Returns the limits of equation (4).
    fn limits(&self, path: &PathInfo) -> SendLimits {
        let bits = u128::from(self.window) * u128::from(path.full_packet.get()) * 8;
        let bps = bits * 1_000_000_000_000 / (u128::from(path.base_rtt.as_ps().max(1)) << 20);
        SendLimits {
            rate: BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX).max(1)),
            window: Bytes::new((self.window * path.mtu.get()) >> 20).max(path.mtu),
        }
    }

    /// Returns the window, in packets.
    pub fn window(&self) -> f64 {
        self.window as f64 / PACKET as f64
    }

    /// Returns the present parameters.
    pub fn policy(&self) -> SubPolicy {
        self.policy
    }
}

/// Observations at the end of an interval: x of equation (5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Growth of the mean round-trip time since the previous interval, divided by the interval's length.
    pub growth: f64,
    /// Mean round-trip time over the empty network's.
    pub rtt: f64,
    /// Delivered bytes as a share of the line.
    pub delivered: f64,
    /// Window and bandwidth-delay product, in packets.
    pub packets: (f64, f64),
    /// Share of acknowledgements that report a loss; 1 after a timeout.
    pub loss: f64,
    /// Length of the interval in round trips of the empty network.
    pub elapsed: f64,
    /// Parameters of the executor during the interval.
    pub policy: SubPolicy,
    /// Intervals since the last trigger.
    pub since: u32,
}

impl Interval {
    fn of(report: &Observation, executor: &Executor, since: u32, path: &PathInfo) -> Self {
        let (span_us, base_us) = (report.span().as_us_f64(), path.base_rtt.as_us_f64().max(1e-9));
        let (tally, rtt_us) = (&report.tally, report.tally.rtt_mean().as_us_f64());
        // The first interval has no earlier one: its growth is 0.
        let before = match report.asked {
            1 => rtt_us,
            _ => report.rtt_before.as_us_f64(),
        };
        Self {
            growth: growth(rtt_us, before, span_us),
            rtt: rtt_us / base_us,
            delivered: tally.acked as f64 * 8e-3 / span_us.max(1e-9) / path.line_rate.as_gbps_f64().max(1e-9),
            packets: (executor.window(), path.bdp_packets()),
            loss: match tally.timeouts {
                0 => f64::from(tally.nacks) / f64::from(tally.acks.max(1)),
                _ => 1.0,
            },
            elapsed: span_us / base_us,
            policy: executor.policy,
            since,
        }
    }

    /// Converts to the trunk's inputs, in the order of [`NAMES`].
    pub fn numbers(&self) -> [f32; INPUTS - HIDDEN] {
        let log16 = |share: f64| libm::log2(share.clamp(1.0 / 65_536.0, 65_536.0)) / 16.0;
        let [alpha, beta, gamma, delta] = self.policy.shares();
        [
            self.growth,
            queue(self.rtt),
            log16(self.delivered),
            log16(self.packets.0 / self.packets.1.max(1e-9)),
            log16(self.packets.0),
            self.loss,
            log16(self.elapsed),
            alpha,
            beta,
            gamma,
            delta,
            log16(1.0 + f64::from(self.since)),
        ]
        .map(|value| value as f32)
    }
}

/// Result of the network for an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentOutput {
    /// State for the next interval.
    pub memory: [f32; HIDDEN],
    /// Outputs of the watcher and of the generator.
    pub heads: [f32; OUTPUTS],
}

/// Runs the network for an interval.
pub fn run(network: &Network, seen: &[f32; INPUTS]) -> AgentOutput {
    let (mut memory, mut heads) = ([0.0; HIDDEN], [0.0; OUTPUTS]);
    network.run(seen, |outputs| match outputs.len() {
        HIDDEN => memory.copy_from_slice(outputs),
        _ => heads.copy_from_slice(outputs),
    });
    AgentOutput { memory, heads }
}

/// Agent of a flow: the network, and the interpretation of its outputs.
pub trait Agent: Clone + std::fmt::Debug + Send + 'static {
    /// Returns the network of (5) to (7).
    fn network(&self) -> &Network;

    /// Returns the generator's outputs if the watcher triggers, given the network's inputs and outputs.
    fn choose(&mut self, moment: &Moment<'_>, said: &[f32; OUTPUTS]) -> Option<[f32; 4]> {
        let [trigger, policy @ ..] = *said;
        // Equation (6): an output of zero is a probability of one half.
        (moment.first || trigger >= 0.0).then_some(policy)
    }
}

/// End of a monitor interval.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// True for the flow's first interval, when no generated sub-policy exists yet.
    pub first: bool,
    /// Inputs of the network.
    pub seen: &'a [f32; INPUTS],
    /// Counters of the interval.
    pub report: &'a Observation,
    /// Path of the flow.
    pub path: &'a PathInfo,
}

/// Agent of a trained model.
#[derive(Clone, Debug)]
pub struct Trained(Arc<Model>);

impl Agent for Trained {
    fn network(&self) -> &Network {
        self.0.layers().expect("a policy of SPINE has layers")
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "spine",
        aliases: &[],
        title: "SPINE",
        paper: crate::papers::SPINE.citation,
        summary: "Moves a window with every ACK by a rule of four parameters; a recurrent network decides once per\n\
                  round trip whether to make new ones.",
        scope: "flows without end, as it was trained: it starts with one packet per round trip, so messages are slow.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("spine.rs"),
    };

    policy_decides!(ModelKind::Spine, BUILT_IN);

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        let model = shipped::policy(ModelKind::Spine, &self.model, BUILT_IN);
        Box::new(Spine::sender(self, path, Trained(model)))
    }
}

/// Decision logic of one flow.
#[derive(Clone, Debug)]
pub struct Spine<A> {
    agent: A,
    executor: Executor,
    /// State h of equation (5).
    memory: [f32; HIDDEN],
    /// Intervals since the last trigger.
    since: u32,
}

impl<A: Agent> Spine<A> {
    /// Creates a sender with its initial window.
    pub fn sender(params: &Params, path: &PathInfo, agent: A) -> Inside<Self> {
        let executor = Executor::new(params, path);
        let asks = external::Params {
            clock: Clock::Feedback,
            interval: params.interval.or(path.base_rtt),
            initial_rate: executor.limits(path).rate,
            min_rate: params.min_rate,
            ..external::Params::default()
        };
        let limits = executor.limits(path);
        let decider = Self {
            agent,
            executor,
            memory: [0.0; HIDDEN],
            since: 0,
        };
        Inside::new(&asks, path, decider).beginning(limits)
    }
}

impl<A: Agent> Decider for Spine<A> {
    /// Applies equations (5) to (7).
    fn decide(&mut self, report: &Observation, path: &PathInfo) -> SendLimits {
        let mut seen = [0.0; INPUTS];
        let (before, now) = seen.split_at_mut(HIDDEN);
        before.copy_from_slice(&self.memory);
        now.copy_from_slice(&Interval::of(report, &self.executor, self.since, path).numbers());
        let output = run(self.agent.network(), &seen);
        self.memory = output.memory;
        self.since = self.since.saturating_add(1);
        let moment = Moment {
            first: report.asked == 1,
            seen: &seen,
            report,
            path,
        };
        if let Some(policy) = self.agent.choose(&moment, &output.heads) {
            self.executor.policy = SubPolicy::of(policy);
            self.since = 0;
        }
        self.executor.limits(path)
    }

    fn hear(&mut self, heard: Heard<'_>, path: &PathInfo) -> Option<SendLimits> {
        match heard {
            Heard::Ack(ack) => self.executor.on_ack(ack, path),
            Heard::Last(ack) => {
                self.executor.on_ack(ack, path);
                // Offsets restart at zero with the next message.
                self.executor.cut = 0;
            }
            Heard::Timeout => self.executor.lose(),
        }
        Some(self.executor.limits(path))
    }

    fn triggered(&self) -> bool {
        self.since == 0
    }
}

#[cfg(test)]
mod tests;
