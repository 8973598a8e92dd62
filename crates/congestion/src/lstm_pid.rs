//! LSTM+PID: a predictor of the next round-trip time, and a trained PID controller of the rate.
//!
//! # What it does
//! Once per completion window, the sender samples a round-trip time and predicts the next sample from the last three.
//! It multiplies its rate by the output of a PID controller of the difference between prediction and target. The gains
//! were trained once, on-line, as the weights of a network of three neurons (PIDNN). The scheme is for incasts at 100
//! Gbit/s and follows a thesis of 2022 or later.
//!
//! The predictor reads scale-free features of the smoothed series. `pidnn` is the controller without the predictor.
//! With RTTch, the target follows the mean round-trip time of a flow whose samples stay on one side of it. With a
//! window (WIN), the bytes in flight are bounded, too.
//!
//! # Signal it needs
//! The round-trip time of one packet per completion window: the next sample is the acknowledgement of a packet that
//! was sent after the last one. Data packets carry their send time. Switches do nothing.
//!
//! # Equations
//! With R the samples in us and s `smoothing` (preprocessing; (2), (3), (12) of the thesis):
//! ```text
//! S[0] = R[0];  S[t] = s R[t] + (1 - s) S[t-1]                                          (1)
//! K[t] = (R[t] - S[t]) / S[t];  L[t] = (R[t+1] - S[t]) / S[t]                           (2)
//! prediction of R[t+1] = (1 + out) S[t]                                                 (3)
//! ```
//! With T the target (rate control; (14) to (20) of the thesis):
//! ```text
//! e[t] = (prediction - T) / T                                                           (4)
//! P = e[t];  I = mean of e[0..t];  D = e[t] - e[t-1]                                    (5)
//! a = K_P P + K_I I + K_D D, from -clamp-lo to clamp-hi;  rate = rate (1 + a)           (6)
//! ```
//! The rate stays between `min-rate` and the line rate. With `rtt-change`, the target moves after more than
//! `rtt-change-after` samples in a row above it, or in a row not above it ((27), (28) of the thesis):
//! ```text
//! T = T + mean of R[i] - T[i] over all samples i of the flow                            (7)
//! ```
//! `T[i]` is the target at sample i; T stays from `target` to `rtt-change-max`.
//!
//! # Parameters
//! [`Params`]. The gains, the target, and the first and lowest rate are those of the thesis, for 100 Gbit/s and an
//! empty network's round trip of 4.2 us. Runs on other lines print the values in proportion. A target has to be above
//! the round trip of the empty network. `target-rtts` sets it as a multiple of that round trip; flows then start at
//! line rate. `lstm-pid-fit` has 1.2, for networks and traffic other than the thesis's incast.
//!
//! # Where we differ from the paper or public code
//! There is no public code. Decisions where the thesis contradicts itself or is silent:
//! * A step is at most +0.5 and -0.6, as in its equation (20); its table 3 has 0.6 both ways: `clamp-hi`.
//! * The error is relative to the target, as in equation (14); table 3 leaves the division out.
//! * I is a "long-time average" of unstated length; here it is over all decisions of the flow. The first decision of a
//!   flow has no change, D = 0.
//! * RTTch: table 2 counts samples not above the target only once, so its target can only rise: `printed-counter`.
//!   Here both sides count alike. The thesis has no bounds; here the target stays from `target` to `rtt-change-max`.
//! * The mean in (7) is over samples that had other targets. The errors of the first samples therefore count in every
//!   move, and the target overshoots. With `rtt-change-by = "mean"` it goes to the mean round-trip time instead. The
//!   book's findings on learned control have the effect of both on long flows.
//! * After a retransmission, samples resume once the ACK covers all data that had been sent at the last sample.
//! * A new rate applies to the gap after the next packet, as in TIMELY: `repace`.
//! * Decisions can take time (`decision-latency`), and a NIC can limit how many it computes at once
//!   (`decisions-in-service`); the thesis has neither. A decision uses the samples up to its start. Samples that
//!   arrive while it is pending enter the history (S, K, RTTch), but start no decision and do not enter I and D.
//! * Before a flow's third sample there is no prediction, and the sample itself counts.
//! * The network's sums and activation functions are `f32` in one order; samples, errors and rates are `f64`.
//! * From a flow's third sample on, the oracle predicts the round-trip time of a packet that would be sent now.
//!
//! # References
//! 基于神经网络的拥塞控制算法研究 (research on a congestion control algorithm based on neural networks): a
//! thesis in Chinese, of 2022 or later, chapters 3 and 4. The text that is known has neither title page nor author;
//! that is the title of its third chapter.
//! R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015.
//! Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, §5.3 (windows for rates).

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{AckInfo, CongestionControl, Ctx, Decisions, PathInfo, Requirements, SendLimits};
use crate::learned::{ModelHash, ModelRef, shipped};
use crate::params::{Auto, ParamError, Parameters, Range, is, is_not};
use crate::rate::{Bounds, in_proportion};
use crate::registry::{Alias, Definition, DelayLimit, RateScaled, Scheme, WindowMode};

pub mod collect;
mod model;
pub mod pid;
pub mod predict;
pub mod preprocess;
pub mod target;
#[cfg(test)]
mod tests;

pub use collect::Collector;
pub use pid::{Clamp, Gains, Pid, Terms};
use predict::Forecast;
pub use predict::Predictor;
pub use preprocess::Features;
pub use target::{Change, Shift, Target};

params! {
    /// Parameters of LSTM+PID; section and table numbers in sources are the thesis's.
    pub struct Params {
        /// Predictor of the next round-trip time: a trained network (`lstm`, `gru`, `rnn`), a linear function of the
        /// same features (`ar3`), the last sample (`persistence`, `none`), or the network's true state, unknown to
        /// senders (`oracle`).
        predictor: Predictor = Predictor::Lstm, in Range::Any, from "thesis §3.4";
        /// Predictor's model: a built-in one (`paceline list models`) or the path of a model file. `auto`: `rtt-` and
        /// the predictor's name.
        model: Auto<ModelRef> = Auto::Auto, in Range::Any, from "ours: 60 000 pairs of the controller's own loop; trained as in thesis §3.4.2 the tail is 6.38 us, not 6.06";
        /// Required SHA-256 of the model's weights; another model is an error. `auto`: the model's own hash.
        model_hash: Auto<ModelHash> = Auto::Auto, in Range::Any, from "us";
        /// Weight of a new sample in the smoothed round-trip time.
        smoothing: f64 = 0.2, in Range::AboveUpTo(0.0, 1.0), from "thesis §3.3";
        /// Target round-trip time.
        target: Span = Span::from_us(5), in Range::Above(0.0), from "thesis §3.5";
        /// Target as a multiple of the empty network's round trip, for networks of all sizes. 0: `target`.
        target_rtts: f64 = 0.0, in Range::AtLeast(0.0), from "us: the thesis has 5us, 1.2 of its 4.2us";
        /// Gain of the error.
        k_p: f64 = -0.358, in Range::Any, from "thesis §3.5.3";
        /// Gain of the mean error.
        k_i: f64 = -0.060, in Range::Any, from "thesis §3.5.3";
        /// Gain of the error's change.
        k_d: f64 = 0.040, in Range::Any, from "thesis §3.5.3";
        /// Largest relative increase of the rate in one step.
        clamp_hi: f64 = 0.5, in Range::AtLeast(0.0), from "thesis, equation (20)";
        /// Largest relative decrease of the rate in one step.
        clamp_lo: f64 = 0.6, in Range::Between(0.0, 1.0), from "thesis, equation (20)";
        /// First rate of a flow. `auto`: 10 Gbit/s with `target`, the line rate with `target-rtts`.
        initial_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "thesis §4.1.2";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_gbps(1), in Range::Above(0.0), from "thesis §4.1.2";
        /// Let the target follow the flow's mean round-trip time (RTTch).
        rtt_change: bool = false, in Range::Any, from "thesis §3.5.4: with background traffic only";
        /// RTTch: samples in a row on one side that the target waits for; it moves after more than these.
        rtt_change_after: u32 = 6, in Range::Any, from "thesis, table 2", only(&[&[is(".rtt-change", &["true"])]]);
        /// RTTch: move the target by the mean distance of samples from the target at their time (`deviations`), or to
        /// the mean round-trip time (`mean`).
        rtt_change_by: Shift = Shift::Deviations, in Range::Any, from "thesis, equations (27) and (28)", only(&[&[is(".rtt-change", &["true"])]]);
        /// RTTch: highest target. `auto`: ten round trips of an empty network.
        rtt_change_max: Auto<Span> = Auto::Auto, in Range::Above(0.0), from "us: the thesis has none", only(&[&[is(".rtt-change", &["true"])]]);
        /// RTTch: count samples as in table 2 as printed; the target can then only rise.
        printed_counter: bool = false, in Range::Any, from "thesis, table 2", only(&[&[is(".rtt-change", &["true"])]]);
        /// Apply a new rate to the packet that is already waiting, as HPCC does, instead of the packet after it.
        repace: bool = false, in Range::Any, from "as TIMELY in the public code of HPCC: the thesis is silent";
        /// Time from a sample to its effect on the rate: the NIC's computing time.
        decision_latency: Span = Span::ZERO, in Range::AtLeast(0.0), from "us: the thesis has none";
        /// Decisions that a NIC computes at once, over all its flows; others wait. 0: no limit.
        decisions_in_service: u32 = 0, in Range::Any, from "us", only(&[&[is_not(".decision-latency", &["0ps", "0s"])]]);
    }
}

/// Setting of the aliases with RTTch.
const RTT_CHANGE: (&str, &str) = ("rtt-change", "true");
/// Setting of the aliases without a predictor.
const NO_PREDICTOR: (&str, &str) = ("predictor", "none");

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "lstm-pid",
        aliases: &[
            Alias {
                name: "lstm-pid-fit",
                help: "for other networks than the thesis's: a target of 1.2 round trips, and flows that start at line rate",
                settings: &[("target-rtts", "1.2")],
                window: None,
            },
            Alias {
                name: "lstm-pid-rttch",
                help: "with a target that follows the flow's mean round-trip time (RTTch)",
                settings: &[RTT_CHANGE],
                window: None,
            },
            Alias {
                name: "lstm-pid-rttch-win",
                help: "with RTTch, and the bytes in flight bounded by a window that follows the rate",
                settings: &[RTT_CHANGE],
                window: Some(WindowMode::Variable),
            },
            Alias {
                name: "pidnn",
                help: "the controller without the predictor",
                settings: &[NO_PREDICTOR],
                window: None,
            },
            Alias {
                name: "pidnn-rttch",
                help: "the controller without the predictor, with RTTch",
                settings: &[NO_PREDICTOR, RTT_CHANGE],
                window: None,
            },
            Alias {
                name: "pidnn-rttch-win",
                help: "the controller without the predictor, with RTTch and a window that follows the rate",
                settings: &[NO_PREDICTOR, RTT_CHANGE],
                window: Some(WindowMode::Variable),
            },
        ],
        title: "LSTM+PID",
        paper: crate::papers::PIDNN_THESIS.citation,
        summary: "Predicts the next round-trip time with a small neural network and holds it at a target\n\
                  with a trained PID controller of the rate.",
        scope: "the thesis's incast at 100 Gbit/s and a round trip of 4.2 us; `lstm-pid-fit` is for other networks and traffic.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("lstm_pid.rs"),
    };

    fn explicit(&self) -> Self {
        let mut params = self.clone();
        if let (Auto::Auto, Some(name)) = (&params.model, self.predictor.shipped()) {
            params.model = Auto::Is(ModelRef::new(name));
        }
        if let (Auto::Auto, Some(model)) = (&params.model_hash, params.model()) {
            params.model_hash = Auto::Is(ModelHash::of(&model));
        }
        params
    }

    fn models(&mut self) -> Vec<(&'static str, &mut ModelRef)> {
        shipped::asked(&mut self.model)
    }

    fn check(&self) -> Result<(), ParamError> {
        self.check_model()?;
        if self.target_rtts > 0.0 && self.target_rtts < 1.0 {
            return Err(ParamError::new(
                "target-rtts",
                format!(
                    "{} round trips of the empty network are less than any packet takes; expected at least 1, \
                     or 0 for `target`",
                    self.target_rtts
                ),
            ));
        }
        match self.rtt_change_max {
            Auto::Is(max) if max < self.target => Err(ParamError::new(
                "rtt-change-max",
                format!("{max} is below target, {}", self.target),
            )),
            _ => Ok(()),
        }
    }

    fn needs(&self) -> Requirements {
        Requirements {
            timestamp: true,
            decisions: (self.decision_latency > Span::ZERO).then_some(Decisions {
                latency: self.decision_latency,
                in_service: self.decisions_in_service,
                outside: false,
            }),
            foresight: self.predictor == Predictor::Oracle,
            repaces: self.repace,
            ..Requirements::default()
        }
    }

    fn delay_limit(&self, _links: usize) -> Option<DelayLimit> {
        // A target in base round trips is validated by `check`.
        let fixed = !self.rtt_change && self.target_rtts == 0.0;
        fixed.then_some(DelayLimit {
            param: "target",
            rtt: self.target,
        })
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn tuned(&self, line: BitRate) -> Vec<RateScaled> {
        let thesis = BitRate::from_gbps(100);
        let at_hand = [
            (
                "initial-rate",
                self.first_rate(in_proportion(FIRST_RATE, thesis, line))
                    .to_string(),
            ),
            ("min-rate", self.min_rate.to_string()),
        ];
        let published =
            |line| [10, 1].map(|gbps| in_proportion(BitRate::from_gbps(gbps), thesis, line).to_string());
        RateScaled::among(line, &[thesis], at_hand, published)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(LstmPid::new(self, path))
    }
}

/// Initial rate of a flow in the thesis.
const FIRST_RATE: BitRate = BitRate::from_gbps(10);

impl Params {
    /// Returns a flow's initial rate: as set, or `fit` if the target is in base round trips, otherwise the
    /// thesis's.
    fn first_rate(&self, fit: BitRate) -> BitRate {
        self.initial_rate
            .or(if self.target_rtts > 0.0 { fit } else { FIRST_RATE })
    }

    /// Returns the controller's gains.
    pub fn gains(&self) -> Gains {
        Gains {
            p: self.k_p,
            i: self.k_i,
            d: self.k_d,
        }
    }

    fn target(&self, path: &PathInfo) -> Target {
        let target = if self.target_rtts > 0.0 {
            self.target_rtts * path.base_rtt.as_us_f64()
        } else {
            self.target.as_us_f64()
        };
        if !self.rtt_change {
            return Target::fixed(target);
        }
        let max = self
            .rtt_change_max
            .or(Span::from_ps(path.base_rtt.as_ps().saturating_mul(10)));
        let change = Change {
            after: self.rtt_change_after,
            shift: self.rtt_change_by,
            max: max.as_us_f64(),
            printed_counter: self.printed_counter,
        };
        Target::adaptive(target, change)
    }
}

/// Record of a decision: inputs, terms and effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Sample of the round-trip time, in us.
    pub rtt: f64,
    /// Predicted next sample, in us.
    pub prediction: f64,
    /// Target at the decision, in us.
    pub target: f64,
    /// Outputs of the controller's terms.
    pub terms: Terms,
    /// Relative change of the rate.
    pub action: f64,
    /// Rate before the decision took effect.
    pub rate_before: BitRate,
    /// Rate after the decision took effect.
    pub rate_after: BitRate,
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct LstmPid {
    collector: Collector,
    features: Features,
    forecast: Forecast,
    pid: Pid,
    target: Target,
    bounds: Bounds,
    rate: BitRate,
    /// True if decisions take time.
    delayed: bool,
    /// Decision that has not taken effect yet.
    pending: Option<Decision>,
    /// Last decision that took effect.
    last: Option<Decision>,
    samples: u64,
    decisions: u64,
    /// Last value of the oracle, in us.
    foresight: f64,
}

impl LstmPid {
    /// Creates a sender at `initial-rate`.
    ///
    /// # Panics
    /// If the predictor's model is missing; validate the parameters first.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let bounds = Bounds::new(params.min_rate, path.line_rate);
        let clamp = Clamp {
            hi: params.clamp_hi,
            lo: params.clamp_lo,
        };
        Self {
            collector: Collector::default(),
            features: Features::new(params.smoothing),
            forecast: Forecast::new(params.predictor, params.model()),
            pid: Pid::new(params.gains(), clamp),
            target: params.target(path),
            bounds,
            rate: bounds.clamp(params.first_rate(path.line_rate)),
            delayed: params.decision_latency > Span::ZERO,
            pending: None,
            last: None,
            samples: 0,
            decisions: 0,
            foresight: 0.0,
        }
    }

    /// Returns the last decision that took effect.
    pub fn last_decision(&self) -> Option<&Decision> {
        self.last.as_ref()
    }

    /// Returns the number of decisions that have taken effect.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Returns the number of samples so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the history from which predictions are made.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Returns the target, in us.
    pub fn target_us(&self) -> f64 {
        self.target.get()
    }

    /// Returns the controller's gains.
    pub fn gains(&self) -> Gains {
        self.pid.gains()
    }

    /// Replaces the gains; used by training.
    pub fn set_gains(&mut self, gains: Gains) {
        self.pid.set_gains(gains);
    }

    /// Computes a decision as in table 3 of the thesis, without changing the rate.
    fn decide(&mut self, rtt: f64) -> Decision {
        let prediction = self.forecast.predict(&self.features, rtt, self.foresight);
        let target = self.target.get();
        let terms = self.pid.terms((prediction - target) / target);
        Decision {
            rtt,
            prediction,
            target,
            terms,
            action: self.pid.action(&terms),
            rate_before: self.rate,
            rate_after: self.rate,
        }
    }

    /// Applies equation (6) to the present rate.
    fn apply(&mut self, mut decision: Decision) {
        decision.rate_before = self.rate;
        self.rate = self.bounds.clamp(self.rate.scale(1.0 + decision.action));
        decision.rate_after = self.rate;
        self.last = Some(decision);
        self.decisions += 1;
    }
}

impl CongestionControl for LstmPid {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if !self.collector.takes(ack) {
            return;
        }
        let rtt = ack.rtt.as_us_f64();
        self.samples += 1;
        self.features.push(rtt);
        self.target.observe(rtt);
        // A pending decision keeps its inputs; this sample only enters the history.
        if self.pending.is_some() {
            return;
        }
        let decision = self.decide(rtt);
        if self.delayed {
            self.pending = Some(decision);
            cx.decide();
        } else {
            self.apply(decision);
        }
    }

    fn on_decision(&mut self, _cx: &mut Ctx<'_>) {
        if let Some(decision) = self.pending.take() {
            self.apply(decision);
        }
    }

    fn on_foresight(&mut self, rtt: Span) {
        self.foresight = rtt.as_us_f64();
    }

    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.on_ack(cx, ack);
        self.collector.restart();
    }
}
