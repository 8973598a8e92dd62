//! Senders with decisions made inside the run: they measure and ask as the scheme [`crate::external`] does,
//! and compute the answers themselves.

use crate::api::{
    AckInfo, Cnp, CongestionControl, Ctx, Observation, Outgoing, PathInfo, SendLimits, SentInfo, Signal,
    TimerSlot,
};
use crate::external::{External, Params};

/// Decision logic of one flow.
pub trait Decider: Clone + std::fmt::Debug + Send + 'static {
    /// Returns the flow's limits for the observation since the last decision. Must not allocate; rates below
    /// the minimum are raised to it.
    fn decide(&mut self, report: &Observation, path: &PathInfo) -> SendLimits;

    /// Handles feedback, and returns new limits if they change between decisions too. Must not allocate.
    fn hear(&mut self, _heard: Heard<'_>, _path: &PathInfo) -> Option<SendLimits> {
        None
    }

    /// Returns true if the last decision did work that costs more than a usual one: see
    /// [`Ctx::count_trigger`].
    fn triggered(&self) -> bool {
        false
    }
}

/// Feedback of a sender.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// An acknowledgement that leaves data to send or to acknowledge.
    Ack(&'a AckInfo<'a>),
    /// The acknowledgement of all data; further messages count their bytes from zero.
    Last(&'a AckInfo<'a>),
    /// An expiry of the retransmission timer.
    Timeout,
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Inside<D> {
    asks: External,
    decider: D,
}

impl<D: Decider> Inside<D> {
    /// Creates a sender that asks at the times, and starts at the rate, that `asks` gives.
    pub fn new(asks: &Params, path: &PathInfo, decider: D) -> Self {
        Self {
            asks: External::new(asks, path),
            decider,
        }
    }

    /// Sets the initial limits.
    pub(crate) fn beginning(mut self, limits: SendLimits) -> Self {
        self.asks.limit(limits);
        self
    }

    fn hear(&mut self, heard: Heard<'_>, path: &PathInfo) {
        if let Some(limits) = self.decider.hear(heard, path) {
            self.asks.limit(limits);
        }
    }
}

impl<D: Decider> CongestionControl for Inside<D> {
    fn limits(&self) -> SendLimits {
        self.asks.limits()
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.hear(Heard::Ack(ack), cx.path);
        self.asks.on_ack(cx, ack);
    }

    fn on_cnp(&mut self, cx: &mut Ctx<'_>, cnp: &Cnp) {
        self.asks.on_cnp(cx, cnp);
    }

    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.hear(Heard::Timeout, cx.path);
        self.asks.on_timeout(cx);
    }

    fn on_send(&mut self, cx: &mut Ctx<'_>, sent: &SentInfo) {
        self.asks.on_send(cx, sent);
    }

    fn tag(&mut self, cx: &mut Ctx<'_>, packet: &Outgoing) -> u8 {
        self.asks.tag(cx, packet)
    }

    fn on_signal(&mut self, cx: &mut Ctx<'_>, signal: &Signal) {
        self.asks.on_signal(cx, signal);
    }

    fn on_timer(&mut self, cx: &mut Ctx<'_>, slot: TimerSlot) {
        self.asks.on_timer(cx, slot);
    }

    fn on_decision(&mut self, cx: &mut Ctx<'_>) {
        if let Some(report) = self.asks.report() {
            let limits = self.decider.decide(report, cx.path);
            self.asks.on_answer(cx, limits);
            if self.decider.triggered() {
                cx.count_trigger();
            }
        }
    }

    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.hear(Heard::Last(ack), cx.path);
        self.asks.on_idle(cx, ack);
    }
}

/// Implements the common methods of a [`Definition`](crate::registry::Definition) for a scheme that a policy
/// controls: the policy's kind, its built-in default, and optionally a further check. The parameters must
/// include `model`, `model_hash`, `min_rate`, `decision_latency` and `decisions_in_service`.
macro_rules! policy_decides {
    ($kind:expr, $shipped:expr $(, $further:path)?) => {
        fn explicit(&self) -> Self {
            let mut params = self.clone();
            $crate::learned::shipped::make_explicit(&mut params.model, &mut params.model_hash, $shipped);
            params
        }

        fn models(&mut self) -> Vec<(&'static str, &mut $crate::learned::ModelRef)> {
            $crate::learned::shipped::asked(&mut self.model)
        }

        fn check(&self) -> Result<(), $crate::params::ParamError> {
            $crate::learned::shipped::check($kind, &self.model, &self.model_hash, $shipped)?;
            $($further(self)?;)?
            Ok(())
        }

        fn needs(&self) -> $crate::api::Requirements {
            $crate::api::Requirements {
                timestamp: true,
                repaces: true,
                decisions: Some($crate::api::Decisions {
                    latency: self.decision_latency,
                    in_service: self.decisions_in_service,
                    outside: false,
                }),
                ..$crate::api::Requirements::default()
            }
        }

        fn min_rate(&self, _line: paceline_kernel::BitRate) -> Option<paceline_kernel::BitRate> {
            Some(self.min_rate)
        }
    };
}

pub(crate) use policy_decides;
