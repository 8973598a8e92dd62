//! ADPG (RL-CC): a network of 204 weights multiplies the rate once per round trip.
//!
//! # What it does
//! Once per round trip, the sender computes a congestion signal from its round-trip time and its rate. The signal is 0
//! where flows that share a port fairly come to rest. A small neural network reads the signals of this round trip and
//! the last, and the last two actions; its output multiplies the rate. It was trained in the simulator by analytic
//! deterministic policy gradients (`paceline train adpg`). The method is RL-CC's (Tessler et al., AAAI 2022), for
//! incasts in data centres.
//!
//! # Signal it needs
//! The mean round-trip time since the last decision. Data packets carry their send time. Switches do nothing.
//!
//! # Equations
//! With R the round-trip time, B the empty network's, r the rate as a share of the line:
//! ```text
//! x = max(R / B - offset, 0) sqrt(r);   z = 12.5 (x - target)                           (1)
//! a = network(a[t-2], z[t-1], a[t-1], z[t]), from -1 to 1                               (2)
//! r = r (1 + step a) where a >= 0, r / (1 - step a) otherwise                           (3)
//! ```
//! N flows that share a port evenly are at x = target where `R = B (offset + target sqrt(N))` (4): the more flows, the
//! longer the queue. The network is 4-12-12-1, with rectified units without biases and a hyperbolic tangent at its
//! end. Let G be the discounted mean of z from t on. Training minimises the mean of `a G` plus half the mean square of
//! the differences of flows' actions.
//!
//! The function of (2) may also be a forest of boosted trees with the same inputs and output; `model` selects it.
//! `adpg-tree-100`, `-300` and `-1000` were distilled from `adpg` (`paceline forest distill adpg`).
//! `paceline reproduce adpg-distilled` compares them with it.
//!
//! # Parameters
//! [`Params`]. `base-rtt` is by default that of the path; RL-CC uses 8192 ns for every network.
//!
//! # Where we differ from the paper or public code
//! * The network was trained here, in our own runs; the authors' weights are not free.
//! * The round-trip time is the mean over the ACKs since the last decision; RL-CC sends a probe packet.
//! * z is cut at 100, and at -1, which it never reaches. In training, values above 5 count as 5. Otherwise the long
//!   queues behind a full buffer outweigh everything else, and the policy learns only to slow down.
//! * In training, flows start at 10 Gbit/s and stay above 100 Mbit/s.
//! * A rate has a lower bound, and a flow starts at `initial-rate`; RL-CC's senders start at line rate.
//!
//! # References
//! C. Tessler et al., "Reinforcement Learning for Datacenter Congestion Control", AAAI 2022.
//! B. Fuhrer et al., "Implementing Reinforcement Learning Datacenter Congestion Control in NVIDIA NICs", CCGRID 2023.
//! Public code: NVlabs/RLCC (facts; its licence does not allow reuse).

use std::sync::Arc;

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{CongestionControl, Observation, PathInfo, SendLimits};
use crate::external::{self, Clock};
use crate::learned::inside::{Decider, Inside, policy_decides};
use crate::learned::mlp::INPUTS;
use crate::learned::{Model, ModelHash, ModelKind, ModelRef, shipped};
use crate::params::{Auto, Parameters, Range};
use crate::registry::{Definition, Scheme, WindowMode};

params! {
    /// Parameters of ADPG; symbols are those of the module's equations.
    pub struct Params {
        /// Network or forest: a built-in model (`paceline list models`) or the path of a model file. `auto`: `adpg`.
        model: Auto<ModelRef> = Auto::Auto, in Range::Any, from "trained here: `paceline train adpg`";
        /// Required SHA-256 of the model's weights; another model is an error. `auto`: the model's own hash.
        model_hash: Auto<ModelHash> = Auto::Auto, in Range::Any, from "us";
        /// B of equation (1). `auto`: the round trip of the empty network.
        base_rtt: Auto<Span> = Auto::Auto, in Range::Above(0.0), from "us; RL-CC's code: 8192 ns";
        /// Round-trip time, in round trips of the empty network, up to which there is no delay.
        offset: f64 = OFFSET, in Range::AtLeast(0.0), from "RL-CC's code";
        /// Value of x at which flows come to rest.
        target: f64 = TARGET, in Range::Above(0.0), from "RL-CC's code";
        /// Largest relative change of the rate.
        step: f64 = STEP, in Range::AboveUpTo(0.0, 10.0), from "RL-CC's code";
        /// First rate of a flow. `auto`: the line rate.
        initial_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "RL-CC's simulator";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(1_000_000), in Range::Above(0.0), from "ours: 8192 flows share 100 Gbit/s";
        /// Time from the end of a round trip to its effect on the rate: the NIC's computing time.
        decision_latency: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// Decisions that a NIC computes at once, over all its flows; others wait. 0: no limit.
        decisions_in_service: u32 = 0, in Range::Any, from "us";
    }
}

/// Constants of equation (1), from RL-CC's code.
const OFFSET: f64 = 1.5;
const TARGET: f64 = 0.064;
const GAIN: f64 = 12.5;
/// Built-in model that `model = "auto"` selects.
const BUILT_IN: &str = "adpg";
/// Bounds of z in equation (1).
const CUT: (f64, f64) = (-1.0, 100.0);
/// Largest relative change of the rate per decision, in equation (3).
pub const STEP: f64 = 0.2;

/// Returns z of equation (1) with RL-CC's constants. Training uses it.
pub fn error(rtt_per_base: f64, share: f64) -> f32 {
    error_with(rtt_per_base, share, OFFSET, TARGET)
}

fn error_with(rtt_per_base: f64, share: f64, offset: f64, target: f64) -> f32 {
    let x = (rtt_per_base - offset).max(0.0) * libm::sqrt(share.clamp(0.0, 1.0));
    (GAIN * (x - target)).clamp(CUT.0, CUT.1) as f32
}

/// Returns the limits after an action, by equation (3).
pub fn moved(rate: BitRate, action: f32, step: f64) -> SendLimits {
    let bps = rate.as_bps() as f64 * multiplier(action, step);
    SendLimits {
        rate: BitRate::from_bps((bps as u64).max(1)),
        window: Bytes::MAX,
    }
}

/// Returns the factor by which an action changes the rate, by equation (3).
pub fn multiplier(action: f32, step: f64) -> f64 {
    let action = f64::from(action);
    if action >= 0.0 {
        1.0 + step * action
    } else {
        1.0 / (1.0 - step * action)
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "adpg",
        aliases: &[],
        title: "ADPG (RL-CC)",
        paper: crate::papers::ADPG.citation,
        summary: "Multiplies the rate by what a small network, trained in the simulator, says of delay and rate.",
        scope: "many flows to one host, as it was trained; its queues are long under PFC.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("adpg.rs"),
    };

    policy_decides!(ModelKind::Adpg, BUILT_IN);

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Adpg::sender(self, path))
    }
}

/// Decision logic of one flow.
#[derive(Clone, Debug)]
pub struct Adpg {
    model: Arc<Model>,
    base_rtt: Span,
    offset: f64,
    target: f64,
    step: f64,
    /// Inputs of the network at the last decision; `None` before the first.
    seen: Option<[f32; INPUTS]>,
    action: f32,
}

impl Adpg {
    /// Creates a sender at its initial rate.
    ///
    /// # Panics
    /// If the model is missing or is not an ADPG policy; validate the parameters first.
    pub fn sender(params: &Params, path: &PathInfo) -> Inside<Self> {
        let asks = external::Params {
            clock: Clock::RoundTrip,
            initial_rate: params.initial_rate.or(path.line_rate),
            min_rate: params.min_rate,
            ..external::Params::default()
        };
        let decider = Self {
            model: shipped::policy(ModelKind::Adpg, &params.model, BUILT_IN),
            base_rtt: params.base_rtt.or(path.base_rtt),
            offset: params.offset,
            target: params.target,
            step: params.step,
            seen: None,
            action: 0.0,
        };
        Inside::new(&asks, path, decider)
    }
}

impl Decider for Adpg {
    /// Applies equations (1) to (3).
    fn decide(&mut self, report: &Observation, path: &PathInfo) -> SendLimits {
        let rtt = report.tally.rtt_mean().as_us_f64() / self.base_rtt.as_us_f64().max(1e-9);
        let rate = report.limits.rate;
        let share = rate.as_gbps_f64() / path.line_rate.as_gbps_f64().max(1e-9);
        let now = [self.action, error_with(rtt, share, self.offset, self.target)];
        // The first decision has no history; its own inputs stand in for it.
        let [.., a, z] = self.seen.unwrap_or([now[0], now[1], now[0], now[1]]);
        let seen = [a, z, now[0], now[1]];
        self.seen = Some(seen);
        self.action = self.model.act(&seen);
        moved(rate, self.action, self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::AckInfo;
    use crate::testkit::{Pair, ack, star_path};

    #[test]
    fn it_rests_where_flows_are_fair() {
        // Equation (4), for N flows: R = B (1.5 + 0.064 sqrt N).
        for n in [2.0f64, 16.0, 8192.0] {
            let z = error(1.5 + 0.064 * n.sqrt(), 1.0 / n);
            assert!(z.abs() < 1e-5, "{n}: {z}");
        }
        assert!(error(1.0, 1.0) < 0.0 && error(3.0, 1.0) > 0.0);
        assert_eq!((multiplier(1.0, STEP), multiplier(-1.0, STEP)), (1.2, 1.0 / 1.2));
    }

    /// The built-in model speeds up without a queue, and slows down behind a long one.
    #[test]
    fn the_shipped_policy_goes_the_right_way() {
        let after = |rtt_ns: u64| {
            let params = Params {
                initial_rate: Auto::Is(BitRate::from_gbps(20)),
                ..Params::default()
            };
            let mut pair = Pair::new(star_path(), |path| Adpg::sender(&params, path));
            for round in 1..=10 {
                pair.advance(Span::from_us(5));
                pair.ack(&AckInfo {
                    rtt: Span::from_ns(rtt_ns),
                    ..ack(round * 100_000, round * 100_000 + 50_000)
                });
                assert!(pair.deciding());
                pair.decision();
            }
            pair.rate()
        };
        assert!(after(4160) > BitRate::from_gbps(30), "{}", after(4160));
        assert!(after(40_000) < BitRate::from_gbps(10), "{}", after(40_000));
    }

    #[test]
    fn a_model_of_another_kind_is_refused() {
        let params = Params {
            model: Auto::Is(ModelRef::new("rtt-lstm")),
            ..Params::default()
        };
        let error = params.check().unwrap_err().to_string();
        assert!(
            error.contains("`rtt-lstm` is of kind lstm; expected one of kind adpg, or a forest"),
            "{error}"
        );
        let params = Params {
            model: Auto::Is(ModelRef::new("adgp")),
            ..Params::default()
        };
        assert!(
            params
                .check()
                .unwrap_err()
                .to_string()
                .contains("did you mean `adpg`?")
        );
    }

    fn forest(features: [&str; 4], output: &str) -> ModelRef {
        use crate::learned::forest::{Forest, Parts, Scale, Split, Tree};
        let tree = Tree {
            splits: vec![Split {
                feature: 3,
                above: -512,
            }],
            leaves: vec![8, -24],
        };
        let features = features.map(|name| (name, Scale::Fixed(11)));
        let parts = Parts {
            output: output.into(),
            ..crate::testkit::forests::parts(&features, vec![tree])
        };
        let model = Model::of_forest(Forest::new(parts).expect("parts that fit")).unwrap();
        ModelRef::read_from("mine", Arc::new(model))
    }

    /// A forest with one split: with z up to -1/4 the action is 1/2; above it -1.5, clamped to -1.
    #[test]
    fn a_forest_decides() {
        let params = Params {
            model: Auto::Is(forest(["a[t-2]", "z[t-1]", "a[t-1]", "z[t]"], "a[t]")),
            initial_rate: Auto::Is(BitRate::from_gbps(20)),
            ..Params::default()
        };
        params.check().unwrap();
        let mut pair = Pair::new(star_path(), |path| Adpg::sender(&params, path));
        let mut after = |rtt_ns: u64, round: u64| {
            pair.advance(Span::from_us(50));
            pair.ack(&AckInfo {
                rtt: Span::from_ns(rtt_ns),
                ..ack(round * 100_000, round * 100_000 + 50_000)
            });
            pair.decision();
            pair.rate().as_gbps_f64()
        };
        assert!((after(4160, 1) - 20.0 * 1.1).abs() < 1e-6);
        assert!((after(40_000, 2) - 20.0 * 1.1 / 1.2).abs() < 1e-6);
    }

    #[test]
    fn a_forest_that_reads_or_gives_something_else_is_refused() {
        let said = |model| {
            let params = Params {
                model: Auto::Is(model),
                ..Params::default()
            };
            params.check().unwrap_err().to_string()
        };
        let names = ["a[t-2]", "z[t-1]", "a[t-1]", "z[t]"];
        let other = said(forest(["a[t-2]", "z[t]", "a[t-1]", "z[t-1]"], "a[t]"));
        assert!(
            other.contains("does not fit: features[1].name is \"z[t]\"; expected \"z[t-1]\""),
            "{other}"
        );
        let output = said(forest(names, "rate"));
        assert!(
            output.contains("its output is \"rate\"; expected \"a[t]\""),
            "{output}"
        );
    }
}
