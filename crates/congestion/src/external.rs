//! External: an agent outside the run sets rates and windows.
//!
//! # What it does
//! The sender measures its flow and, at each decision, asks the agent for a rate and a window. It reports all
//! measurements since the last decision, and the run waits for the answer. The answer takes effect after a latency. It
//! is for reinforcement learning and for your own control code: `paceline-env` in Rust, `paceline.Environment` in
//! Python. Without an agent, flows keep their first rate.
//!
//! # Signal it needs
//! Time stamps in data packets, and marks if `ecn` is set. `feedback` adds telemetry in data packets (`int`) or
//! answers of switches (`switch-ack`).
//!
//! For switch answers, the sender sets a bit in a data packet every `switch-interval`. Each port on the path in which
//! that packet finds `switch-threshold` bytes or more sends a packet of 64 bytes back at once. It reports the queue,
//! the utilisation of the line in the last whole `switch-window`, and the queue's growth since that window started.
//! Ports with shorter queues do not answer.
//!
//! # Equations
//! With t the times of a flow's decisions and L `decision-latency`:
//! ```text
//! round-trip:  asks with the first ACK of a packet that was sent after t[k-1], if t - t[k-1] >= interval     (1)
//! aligned:     asks at the multiples of interval                                                             (2)
//! feedback:    asks with an ACK or a switch's answer, if t - t[k-1] >= interval                              (3)
//! effect:      rate and window of decision k hold from t[k] + L                                              (4)
//! silence:     asks when nothing came back for `silence` max(round trip, time between packets) of what was sent (5)
//! ```
//! A flow asks for no decision while one is pending. A retransmission timeout also triggers a decision (1, 3), and (5)
//! counts as a timeout. Without (5), a flow that loses most of its packets would decide only after the timeout.
//!
//! # Parameters
//! [`Params`]. An action sets a rate, a window, or both; `min-rate` bounds the rate from below.
//!
//! # Where we differ from the paper or public code
//! The scheme is Paceline's own; no paper describes it.
//!
//! # References
//! C. Tessler et al., "Reinforcement Learning for Datacenter Congestion Control", SIGMETRICS Perform. Eval. Rev. 2021:
//! once per round trip, by a probe.

use paceline_kernel::{BitRate, Bytes, Span, Time};

use paceline_kernel::rng::Rng;

use crate::api::{
    AckInfo, Cnp, CongestionControl, Counters, Ctx, Decisions, Observation, Outgoing, PathInfo, Requirements,
    SendLimits, SentInfo, Signal, TimerSlot,
};
use crate::params::{Auto, ParamError, Parameters, Range, is};
use crate::rate::Bounds;
use crate::registry::{Definition, Scheme, WindowMode};
use crate::switch::{EgressPort, PerPort, SwitchHalves, SwitchSupport};
use crate::switch_ack::{self, AnsweringPort, Asking, PortReport};

choice! {
    /// Times at which flows ask for decisions.
    pub enum Clock {
        /// Once per round trip of each flow.
        RoundTrip = "round-trip",
        /// At instants common to all flows.
        Aligned = "aligned",
        /// With each acknowledgement and each switch's reply.
        Feedback = "feedback",
    }
}

choice! {
    /// Feedback that senders get in addition to round-trip times, marks and losses.
    pub enum Feedback {
        /// No feedback beyond those.
        Ack = "ack",
        /// Telemetry that switches write into data packets, returned with the acknowledgement.
        Int = "int",
        /// Replies that switches send directly.
        SwitchAck = "switch-ack",
    }
}

/// Shortest interval of [`Clock::Aligned`]: each instant is an event, even if no feedback arrived.
const LEAST_INTERVAL: Span = Span::from_ns(10);

params! {
    /// Parameters of a sender that is decided for outside.
    pub struct Params {
        /// Times of decisions: once per round trip (`round-trip`), at times common to all flows (`aligned`), or at
        /// each ACK and each switch's answer (`feedback`).
        clock: Clock = Clock::RoundTrip, in Range::Any, from "RL-CC: a probe per round trip";
        /// Shortest time between two decisions of a flow; with `aligned`, the time between decisions.
        interval: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// Round trips (or packet intervals, if longer) without feedback after which a flow decides, as after a
        /// timeout; 0: never. Not with `aligned`.
        silence: f64 = 0.0, in Range::AtLeast(0.0), from "ours", only(&[&[is(".clock", &["round-trip", "feedback"])]]);
        /// Time from a decision to its effect: the NIC's computing time.
        decision_latency: Span = Span::ZERO, in Range::AtLeast(0.0), from "ours";
        /// First rate of a flow.
        initial_rate: BitRate = BitRate::from_gbps(10), in Range::Above(0.0), from "as lstm-pid";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(1_000_000), in Range::Above(0.0), from "ours: 8192 flows share 100 Gbit/s";
        /// Let switches mark the flow's packets.
        ecn: bool = true, in Range::Any, from "ours";
        /// Feedback in addition to round-trip times, marks and losses: none (`ack`), telemetry in data packets
        /// (`int`), or answers of switches (`switch-ack`).
        feedback: Feedback = Feedback::Ack, in Range::Any, from "ours";
        /// Shortest time between two data packets of a flow that query switches. 0: every packet.
        switch_interval: Span = Span::from_us(2), in Range::AtLeast(0.0), from "ours: a quarter of 8 µs", only(&[&[is(".feedback", &["switch-ack"])]]);
        /// Data in a port's queues from which it answers a query. `auto`: a full packet.
        switch_threshold: Auto<Bytes> = Auto::Auto, in Range::AtLeast(0.0), from "ours", only(&[&[is(".feedback", &["switch-ack"])]]);
        /// Time over which ports measure the utilisation of their line.
        switch_window: Span = Span::from_us(8), in Range::Above(0.0), from "ours: about a round trip", only(&[&[is(".feedback", &["switch-ack"])]]);
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "external",
        aliases: &[],
        title: "Decided outside",
        paper: "-",
        summary: "Lets an external agent set rates and windows, for reinforcement learning.",
        scope: "reinforcement learning: an agent outside decides.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("external.rs"),
    };

    fn check(&self) -> Result<(), ParamError> {
        if self.clock == Clock::Aligned && self.interval == Span::ZERO {
            let message = "0 is no time between instants; expected one above 0 with clock `aligned`";
            return Err(ParamError::new("interval", message));
        }
        if self.clock == Clock::Aligned && self.interval < LEAST_INTERVAL {
            let message = format!(
                "{} between instants is less than a packet takes; expected {LEAST_INTERVAL} or more with clock `aligned`",
                self.interval
            );
            return Err(ParamError::new("interval", message));
        }
        if self.silence > 0.0 && self.silence < 1.0 {
            let message = format!(
                "{} of a round trip is over before anything comes back; expected 0, or 1 and more",
                self.silence
            );
            return Err(ParamError::new("silence", message));
        }
        Ok(())
    }

    fn needs(&self) -> Requirements {
        Requirements {
            timestamp: true,
            ecn: self.ecn,
            int: self.feedback == Feedback::Int,
            tags: self.feedback == Feedback::SwitchAck,
            repaces: true,
            counts_sent: self.silence > 0.0,
            decisions: Some(Decisions {
                latency: self.decision_latency,
                in_service: 0,
                outside: true,
            }),
            ..Requirements::default()
        }
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        (self.feedback == Feedback::SwitchAck).then_some(SwitchSupport {
            task: "that answer",
            params: &["switch-threshold", "switch-window"],
            hooks: switch_ack::HOOKS,
            signal: Some("switch-ack"),
            ..SwitchSupport::default()
        })
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        let rules = switch_ack::Rules {
            threshold: self.switch_threshold,
            window: self.switch_window,
        };
        Some(PerPort::boxed(ports, rngs, |port, _| {
            AnsweringPort::new(rules, port)
        }))
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(External::new(self, path))
    }
}

/// Timer that ticks for [`Clock::Aligned`].
const CLOCK: TimerSlot = TimerSlot(0);
/// Timer of equation (5).
const SILENCE: TimerSlot = TimerSlot(1);

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct External {
    clock: Clock,
    interval: Span,
    silence: f64,
    asking: Asking,
    bounds: Bounds,
    limits: SendLimits,
    /// Bytes sent when the flow last asked.
    asked_at_byte: u64,
    /// True while a decision is pending; `ticks` is true while the timer of [`Clock::Aligned`] runs.
    waits: bool,
    ticks: bool,
    /// Time since which sent data got no feedback, `None` if none is in flight; `watches` is true while the
    /// timer of equation (5) runs.
    unheard: Option<Time>,
    watches: bool,
    tally: Counters,
    report: Observation,
}

impl External {
    /// Creates a sender at `initial-rate`.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let bounds = Bounds::new(params.min_rate, path.line_rate);
        let limits = SendLimits {
            rate: bounds.clamp(params.initial_rate),
            window: Bytes::MAX,
        };
        Self {
            clock: params.clock,
            interval: params.interval,
            silence: params.silence,
            asking: Asking::new(params.switch_interval),
            bounds,
            limits,
            asked_at_byte: 0,
            waits: false,
            ticks: false,
            unheard: None,
            watches: false,
            tally: Counters::default(),
            report: Observation::new(limits, bounds.min),
        }
    }

    /// Sets the limits, with the rate clamped to its bounds.
    pub(crate) fn limit(&mut self, limits: SendLimits) {
        self.limits = SendLimits {
            rate: self.bounds.clamp(limits.rate),
            window: limits.window,
        };
    }

    fn count(&mut self, cx: &Ctx<'_>, ack: &AckInfo<'_>) {
        if self.report.asked == 0 && self.tally.acks == 0 {
            // The acknowledged packet was the flow's first: measurement starts when it left.
            self.report.at = Time::from_ps(cx.now.as_ps().saturating_sub(ack.rtt.as_ps()));
        }
        self.report.in_flight = ack.in_flight();
        self.unheard = (self.report.in_flight > 0).then_some(cx.now);
        self.tally.count(cx.path, ack);
    }

    /// Asks for a decision: moves the counters into the observation and resets them.
    fn ask(&mut self, cx: &mut Ctx<'_>) {
        // A flow has at most one pending question.
        if self.waits {
            return;
        }
        self.waits = true;
        if self.report.asked > 0 {
            self.report.rtt_before = self.report.tally.rtt_mean();
        }
        self.report.asked += 1;
        self.report.since = self.report.at;
        self.report.at = cx.now;
        self.report.tally = self.tally;
        self.report.limits = self.limits;
        self.tally.begin();
        cx.decide();
    }

    /// Returns true if no decision is pending and `interval` has passed since the last one.
    fn may_ask(&self, now: Time) -> bool {
        let spaced = self.report.asked == 0 || now.saturating_since(self.report.at) >= self.interval;
        spaced && !self.waits
    }

    /// Applies equation (1) to an acknowledgement.
    fn ask_per_round_trip(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if ack.highest > self.asked_at_byte && self.may_ask(cx.now) {
            self.asked_at_byte = ack.snd_nxt;
            self.ask(cx);
        }
    }

    /// Applies equation (3) to an acknowledgement or a switch's reply.
    fn ask_with_feedback(&mut self, cx: &mut Ctx<'_>) {
        if self.may_ask(cx.now) {
            self.ask(cx);
        }
    }

    /// Returns the time without feedback that counts as silence, by equation (5).
    fn patience(&self, path: &PathInfo) -> Span {
        let between = self.limits.rate.time_to_send(path.mtu);
        let round_trip = self.tally.rtt_mean().max(path.base_rtt);
        let least = round_trip.max(between).max(Span::from_ns(1));
        Span::from_ps((self.silence * least.as_ps() as f64) as u64)
    }

    /// Sets the timer to the end of the present silence.
    fn watch(&mut self, cx: &mut Ctx<'_>, since: Time) {
        let until = since.saturating_add(self.patience(cx.path));
        self.watches = true;
        cx.arm(SILENCE, until.saturating_since(cx.now));
    }

    /// Applies equation (5) when its timer expires.
    fn listen(&mut self, cx: &mut Ctx<'_>) {
        self.watches = false;
        // Nothing is in flight. The next packet sets the timer again.
        let Some(mut since) = self.unheard else {
            return;
        };
        // Feedback since the timer was set does not move it, so the silence may be shorter.
        if cx.now.saturating_since(since) >= self.patience(cx.path) {
            since = cx.now;
            self.unheard = Some(since);
            if !self.waits {
                self.tally.timeouts += 1;
                self.ask(cx);
            }
        }
        self.watch(cx, since);
    }

    /// Sets the timer of equation (2) to the next multiple of the interval.
    fn tick(&mut self, cx: &mut Ctx<'_>) {
        let interval = self.interval.as_ps();
        self.ticks = true;
        cx.arm(CLOCK, Span::from_ps(interval - cx.now.as_ps() % interval));
    }
}

impl CongestionControl for External {
    fn limits(&self) -> SendLimits {
        self.limits
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.count(cx, ack);
        match self.clock {
            Clock::RoundTrip => self.ask_per_round_trip(cx, ack),
            Clock::Feedback => self.ask_with_feedback(cx),
            Clock::Aligned if !self.ticks => self.tick(cx),
            Clock::Aligned => {}
        }
    }

    fn on_send(&mut self, cx: &mut Ctx<'_>, _sent: &SentInfo) {
        // The silence starts with the first packet that awaits feedback; later ones must not extend it.
        let since = *self.unheard.get_or_insert(cx.now);
        if self.silence > 0.0 && !self.watches && self.clock != Clock::Aligned {
            self.watch(cx, since);
        }
    }

    fn tag(&mut self, cx: &mut Ctx<'_>, _packet: &Outgoing) -> u8 {
        self.asking.tag(cx.now)
    }

    fn on_signal(&mut self, cx: &mut Ctx<'_>, signal: &Signal) {
        self.tally.answers.count(&PortReport::read(signal));
        if self.clock == Clock::Feedback {
            self.ask_with_feedback(cx);
        }
    }

    fn on_cnp(&mut self, _cx: &mut Ctx<'_>, _cnp: &Cnp) {
        self.tally.cnps += 1;
    }

    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.tally.timeouts += 1;
        // The timeout has reported the silence up to now, which must not count twice.
        self.unheard = self.unheard.map(|_| cx.now);
        match self.clock {
            Clock::RoundTrip | Clock::Feedback => self.ask(cx),
            Clock::Aligned if !self.ticks => self.tick(cx),
            Clock::Aligned => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Ctx<'_>, slot: TimerSlot) {
        if slot == SILENCE {
            return self.listen(cx);
        }
        self.ask(cx);
        self.tick(cx);
    }

    fn on_answer(&mut self, _cx: &mut Ctx<'_>, limits: SendLimits) {
        self.waits = false;
        self.limit(limits);
    }

    fn report(&self) -> Option<&Observation> {
        Some(&self.report)
    }

    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.count(cx, ack);
        self.unheard = None;
        // The flow's offsets restart at zero.
        self.asked_at_byte = 0;
    }
}

#[cfg(test)]
mod tests;
