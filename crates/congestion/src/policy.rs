//! Policy: a neural network that you trained decides, inside the run.
//!
//! # What it does
//! The sender measures its flow and decides at the same times as under [`external`], but a network of yours answers
//! inside the run. A card, a small JSON file, names the observations, the action, and the times of decisions. The
//! network has linear, GRU and LSTM layers with the usual activations, and its weights are a safetensors or an ONNX
//! file. Train it with PyTorch or any other library, for any network.
//!
//! The card uses the words of `paceline explain observations` and `paceline explain actions`. A policy that was
//! trained in an environment (`paceline.Environment`) therefore gets bit-identical observations here, and the run is
//! the same run.
//!
//! # Signal it needs
//! Its observations determine the signals: round-trip times and marks, telemetry for `queue`, answers of switches for
//! `switch-queue` and related observations.
//!
//! # Equations
//! With `o[t]` the observation of decision t, each number cut to its range, H `history`, and h the network's memory,
//! which is zero at a flow's first decision:
//! ```text
//! x[t] = (o[t-H+1], .., o[t]), the first for those before it                               (1)
//! x[t] = (x[t] - mean) / std, from -clip to clip; with `normalise`                         (2)
//! y[t], h[t] = network(x[t], h[t-1])                                                       (3)
//! a[t] = y[t][output] from -1 to 1, or choices[argmax y[t]]                                (4)
//! rate and window = action(a[t]), from t + decision-latency on                             (5)
//! ```
//! GRU and LSTM are those of PyTorch: n = tanh(Wx + b + r (Uh + c)) in a GRU, gates in the order r, z, n and i, f, g,
//! o.
//!
//! # Parameters
//! [`Params`]. `auto` takes the card's value.
//!
//! # Where we differ from the paper or public code
//! No paper describes the scheme. PyTorch rounds tanh differently and sums in a different order: outputs differ by
//! about 1e-6.
//!
//! # References
//! K. Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014: GRU.
//! S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory", Neural Computation 1997.

use std::sync::Arc;

use paceline_kernel::{BitRate, Span};

use paceline_kernel::rng::Rng;

use crate::agent::{Action, Feature, Measured, Unknown};
use crate::api::{CongestionControl, Decisions, Observation, PathInfo, Requirements, SendLimits};
use crate::external::{self, Clock, Feedback};
use crate::learned::inside::{Decider, Inside};
use crate::learned::stack::WIDEST;
use crate::learned::stack::card::PolicyCard;
use crate::learned::{Model, ModelHash, ModelKind, ModelRef, shipped};
use crate::params::{Auto, ParamError, ParamValue, Parameters, Range};
use crate::registry::{Definition, Scheme, SchemeFactory, WindowMode};
use crate::switch::{EgressPort, SwitchHalves, SwitchSupport};

params! {
    /// Parameters of a user-trained policy; `auto` takes the card's value.
    pub struct Params {
        /// Policy: the path of its card (`NAME.json`, next to `NAME.safetensors` or `NAME.onnx`), or a built-in model
        /// (`paceline list models`). `auto`: `policy-mlp`.
        model: Auto<ModelRef> = Auto::Auto, in Range::Any, from "trained here with PyTorch: `python/examples/train_policy.py`";
        /// Required SHA-256 of card and weights; another model is an error. `auto`: the model's own hash.
        model_hash: Auto<ModelHash> = Auto::Auto, in Range::Any, from "ours";
        /// Times of decisions: once per round trip (`round-trip`), at times common to all flows (`aligned`), or at
        /// each ACK and each switch's answer (`feedback`).
        clock: Auto<Clock> = Auto::Auto, in Range::Any, from "the card";
        /// Shortest time between two decisions of a flow; with `aligned`, the time between decisions.
        interval: Auto<Span> = Auto::Auto, in Range::AtLeast(0.0), from "the card";
        /// Feedback in addition to round-trip times, marks and losses: none (`ack`), telemetry in data packets
        /// (`int`), or answers of switches (`switch-ack`).
        feedback: Auto<Feedback> = Auto::Auto, in Range::Any, from "the card: what its observations need";
        /// Largest relative change by a multiplier.
        step: Auto<f64> = Auto::Auto, in Range::AboveUpTo(0.0, 10.0), from "the card";
        /// First rate of a flow.
        initial_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "the card";
        /// Lowest rate.
        min_rate: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "the card";
        /// Time from a decision to its effect: the NIC's computing time.
        decision_latency: Auto<Span> = Auto::Auto, in Range::AtLeast(0.0), from "the card";
        /// Decisions that a NIC computes at once, over all its flows; others wait. 0: no limit.
        decisions_in_service: u32 = 0, in Range::Any, from "ours";
    }
}

/// Built-in model that `model = "auto"` selects.
const BUILT_IN: &str = "policy-mlp";

/// Interpretation of a card: features, action, and times of decisions.
struct Wiring {
    features: Arc<[&'static Feature]>,
    action: Action,
    step: f64,
    asks: external::Params,
}

impl Wiring {
    /// Refuses feedback that lacks an observation of the policy.
    fn check_feedback(&self) -> Result<(), String> {
        let found = self.asks.feedback;
        let lacks = |one: &&&Feature| one.feedback != Feedback::Ack && one.feedback != found;
        match self.features.iter().find(lacks) {
            Some(one) => Err(format!(
                "`{found}` does not tell `{}`, which the policy reads; expected `{}`",
                one.name, one.feedback
            )),
            None => Ok(()),
        }
    }
}

/// Checks the names and quantities of a card.
///
/// # Errors
/// A name or a quantity is invalid, or they contradict each other.
pub fn check_card(card: &PolicyCard) -> Result<(), String> {
    Wiring::of(card).map(drop)
}

impl Wiring {
    fn of(card: &PolicyCard) -> Result<Self, String> {
        let named = |unknown: Unknown| unknown.to_string();
        let features = card.observation.iter().map(|name| Feature::find(name));
        let features: Arc<[&'static Feature]> = features.collect::<Result<_, _>>().map_err(named)?;
        let needs = |feedback: Feedback| features.iter().find(|feature| feature.feedback == feedback);
        let feedback = match (needs(Feedback::Int), needs(Feedback::SwitchAck)) {
            // `feedback` names one mechanism, so features of both cannot be served.
            (Some(one), Some(other)) => {
                return Err(format!(
                    "observation: `{}` needs telemetry, and `{}` answers of switches; expected one of them",
                    one.name, other.name
                ));
            }
            (Some(_), None) => Feedback::Int,
            (None, Some(_)) => Feedback::SwitchAck,
            (None, None) => Feedback::Ack,
        };
        let default = external::Params::default();
        let asks = external::Params {
            clock: said("clock", card.clock.as_deref(), default.clock)?,
            interval: said("interval", card.interval.as_deref(), default.interval)?,
            silence: card.silence.unwrap_or(default.silence),
            decision_latency: said(
                "decision-latency",
                card.decision_latency.as_deref(),
                default.decision_latency,
            )?,
            initial_rate: said("initial-rate", card.initial_rate.as_deref(), default.initial_rate)?,
            min_rate: said("min-rate", card.min_rate.as_deref(), default.min_rate)?,
            feedback: said("feedback", card.feedback.as_deref(), feedback)?,
            ..default
        };
        let wrong = |error: ParamError| format!("{}: {}", error.param, error.message);
        asks.check_ranges().map_err(wrong)?;
        asks.check().map_err(wrong)?;
        let wiring = Self {
            features,
            action: Action::find(&card.action).map_err(named)?,
            step: card.step,
            asks,
        };
        let check = wiring.check_feedback();
        check.map_err(|message| format!("feedback: {message}"))?;
        Ok(wiring)
    }

    /// Creates a sender whose decider `of` makes from this policy, without reading the card again.
    fn sender<D: Decider>(
        &self,
        model: Arc<Model>,
        path: &PathInfo,
        of: impl FnOnce(Policy) -> D,
    ) -> Inside<D> {
        let (card, stack) = model.stack().expect("it has a card");
        let policy = Policy {
            features: self.features.clone(),
            action: self.action,
            step: self.step,
            seen: vec![0.0; card.width()],
            state: vec![0.0; stack.remembers()],
            begun: false,
            last: 0.0,
            window: 0.0,
            model,
        };
        Inside::new(&self.asks, path, of(policy))
    }
}

/// Parses a quantity of a card, or returns the default if the card has none.
fn said<T: ParamValue>(key: &str, text: Option<&str>, default: T) -> Result<T, String> {
    text.map_or(Ok(default), |text| {
        T::read(text).map_err(|error| format!("{key}: {error}"))
    })
}

impl Params {
    /// Returns the policy and its interpretation with the scenario's overrides; `None` before its model is
    /// attached.
    fn wiring(&self) -> Option<(Arc<Model>, Wiring)> {
        let model = shipped::model(&self.model, BUILT_IN)?;
        let (card, _) = model.stack()?;
        let wiring = Wiring::of(card).ok()?;
        let asks = external::Params {
            clock: self.clock.or(wiring.asks.clock),
            interval: self.interval.or(wiring.asks.interval),
            feedback: self.feedback.or(wiring.asks.feedback),
            initial_rate: self.initial_rate.or(wiring.asks.initial_rate),
            min_rate: self.min_rate.or(wiring.asks.min_rate),
            decision_latency: self.decision_latency.or(wiring.asks.decision_latency),
            ..wiring.asks
        };
        let step = self.step.or(wiring.step);
        Some((model, Wiring { step, asks, ..wiring }))
    }

    /// Creates a sender whose decider `of` makes from this policy.
    ///
    /// # Panics
    /// As [`Policy::sender`].
    pub fn asks_of<D: Decider>(&self, path: &PathInfo, of: impl FnOnce(Policy) -> D) -> Inside<D> {
        let (model, wiring) = self.wiring().expect("parameters were validated with a policy");
        wiring.sender(model, path, of)
    }

    /// Returns when and with which feedback a flow decides.
    pub(crate) fn asks(&self) -> external::Params {
        self.wiring()
            .map_or_else(external::Params::default, |(_, wiring)| wiring.asks)
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "policy",
        aliases: &[],
        title: "Policy (your own network)",
        paper: "-",
        summary: "Decides by a network that you trained, such as with PyTorch: safetensors or ONNX, and a card.",
        scope: "a policy of your own: what it was trained for.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("policy.rs"),
    };

    fn explicit(&self) -> Self {
        let mut params = self.clone();
        shipped::make_explicit(&mut params.model, &mut params.model_hash, BUILT_IN);
        if let Some((_, wiring)) = self.wiring() {
            params.clock = Auto::Is(wiring.asks.clock);
            params.interval = Auto::Is(wiring.asks.interval);
            params.feedback = Auto::Is(wiring.asks.feedback);
            params.step = Auto::Is(wiring.step);
            params.initial_rate = Auto::Is(wiring.asks.initial_rate);
            params.min_rate = Auto::Is(wiring.asks.min_rate);
            params.decision_latency = Auto::Is(wiring.asks.decision_latency);
        }
        params
    }

    fn models(&mut self) -> Vec<(&'static str, &mut ModelRef)> {
        shipped::asked(&mut self.model)
    }

    fn check(&self) -> Result<(), ParamError> {
        shipped::check(ModelKind::Policy, &self.model, &self.model_hash, BUILT_IN)?;
        let model = shipped::model(&self.model, BUILT_IN);
        if let Some((card, _)) = model.as_ref().and_then(|model| model.stack()) {
            check_card(card).map_err(|message| {
                ParamError::new("model", format!("the card of `{}`: {message}", card.name))
            })?;
        }
        if let Some((_, wiring)) = self.wiring() {
            let check = wiring.check_feedback();
            check.map_err(|message| ParamError::new("feedback", message))?;
        }
        self.asks().check()
    }

    fn needs(&self) -> Requirements {
        let asks = self.asks();
        Requirements {
            decisions: Some(Decisions {
                latency: asks.decision_latency,
                in_service: self.decisions_in_service,
                outside: false,
            }),
            ..asks.needs()
        }
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.asks().min_rate)
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        self.asks().switch_part()
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        self.asks().switch_halves(ports, rngs)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Policy::sender(self, path))
    }

    fn factory(&self) -> Option<SchemeFactory> {
        let (model, wiring) = self.wiring()?;
        Some(SchemeFactory::new(move |path| {
            Box::new(wiring.sender(model.clone(), path, |policy| policy))
        }))
    }
}

/// Decision logic of one flow.
#[derive(Clone, Debug)]
pub struct Policy {
    model: Arc<Model>,
    features: Arc<[&'static Feature]>,
    action: Action,
    step: f64,
    /// Inputs of the network, oldest first; valid if `begun`.
    seen: Vec<f32>,
    /// Recurrent state of the network.
    state: Vec<f32>,
    begun: bool,
    last: f32,
    /// Flow's own window in bytes, used by window actions only.
    window: f64,
}

impl Policy {
    /// Creates a sender at its initial rate.
    ///
    /// # Panics
    /// If the model is missing or is no policy with a card; validate the parameters first.
    pub fn sender(params: &Params, path: &PathInfo) -> Inside<Self> {
        params.asks_of(path, |policy| policy)
    }

    /// Returns the inputs of the network, oldest first.
    pub fn seen(&self) -> &[f32] {
        &self.seen
    }

    /// Returns the recurrent state of the network.
    pub fn memory(&self) -> &[f32] {
        &self.state
    }

    /// Returns the flow's own window in bytes; 0 before the first action, and for actions on rates.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Applies equations (1) to (4): updates inputs and state, and returns the action without applying it.
    pub fn says(&mut self, report: &Observation, path: &PathInfo) -> f32 {
        self.see(&Measured::new(report, path, self.last));
        let (card, stack) = self.model.stack().expect("it has a card");
        let mut numbers = [0.0f32; WIDEST];
        numbers[..self.seen.len()].copy_from_slice(&self.seen);
        stack.step(&mut numbers, &mut self.state);
        card.act(&numbers[..stack.outputs()])
    }

    /// Applies an action: equation (5).
    pub fn does(&mut self, action: f32, report: &Observation, path: &PathInfo) -> SendLimits {
        self.last = action;
        self.action
            .apply(action, self.step, report, path, &mut self.window)
    }

    /// Applies equation (1): adds an observation to the history.
    fn see(&mut self, measured: &Measured) {
        let once = self.features.len();
        let from = self.seen.len() - once;
        self.seen.copy_within(once.., 0);
        for (value, feature) in self.seen[from..].iter_mut().zip(self.features.iter()) {
            *value = feature.value(measured);
        }
        // At the first decision the present observation fills the whole history.
        if !std::mem::replace(&mut self.begun, true) {
            for row in (0..from).step_by(once) {
                self.seen.copy_within(from.., row);
            }
        }
    }
}

impl Decider for Policy {
    /// Applies equations (1) to (5).
    fn decide(&mut self, report: &Observation, path: &PathInfo) -> SendLimits {
        let action = self.says(report, path);
        self.does(action, report, path)
    }
}

#[cfg(test)]
mod tests;
