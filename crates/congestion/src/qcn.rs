//! QCN: quantised congestion notification, IEEE 802.1Qau.
//!
//! # What it does
//! A switch samples frames as they join a queue and sends feedback of six bits to the frame's sender. The feedback is
//! the queue's distance from an equilibrium plus its growth. The sender cuts its rate in proportion and then recovers
//! on its own, by counting bytes and time. QCN is for one layer-2 domain (IEEE 802.1Qau-2010).
//!
//! Recovery goes half-way back to the rate before the cut (fast recovery), then beyond it in steps (active increase),
//! which grow (hyper-active).
//!
//! # Signal it needs
//! Congestion notification messages (CNMs) of switches that run the congestion point. They go from the congested port
//! straight to the sender, in the control class. There are no marks, and the receiver does nothing.
//!
//! # Equations
//! Congestion point, at a sample, with the queue Q in bytes and Q_old at the sample before:
//! ```text
//! Fb = -((Q - Qeq) + w (Q - Q_old)),  |Fb| at most (1 + 2 w) Qeq                       (1)
//! fb = 63 |Fb| / ((1 + 2 w) Qeq) if Fb < 0, else 0, cut to a whole number              (2)
//! bytes to the next sample = sample-max / (1 + (sample-max / sample-min - 1) fb / 63)  (3)
//! ```
//! The interval varies at random by `jitter`; a CNM with fb goes to the sender if fb > 0. Reaction point, at a CNM:
//! ```text
//! Rt = R, unless no byte cycle has ended since the last cut;  R = R (1 - Gd fb)        (4)
//! ```
//! B and T count the cycles of bytes and of time since the cut. The first F of each kind last `byte-counter` and
//! `timer`, later ones half of that. At the end of each:
//! ```text
//! max(B, T) <= F:  R = (Rt + R)/2                                   fast recovery      (5)
//! otherwise:       Rt = Rt + AI;  R = (Rt + R)/2                    active             (6)
//! min(B, T) > F:   Rt = Rt + (min(B, T) - F) HAI;  R = (Rt + R)/2   hyper-active       (7)
//! ```
//! Rt and R are at most the line rate, R at least `min-rate`.
//!
//! # Parameters
//! [`Params`]. The standard's values are for 10 Gbit/s (the alias `qcn-10g`); the defaults are for 100 Gbit/s: `q-eq`,
//! `rate-ai`, `rate-hai`, `min-rate` times 10, `timer` divided by 10. For 40 Gbit/s use 104 KB, 20 and 200 Mbit/s, 40
//! Mbit/s, 3.75 ms. Paceline warns if the numbers do not fit the line. The intervals in bytes stay the same: senders
//! get feedback ten times as often, and round trips are shorter by the same factor.
//!
//! # Where we differ from the paper or public code
//! * (3) makes the sampling rate linear in |Fb|; the standard has a table of eight steps.
//! * Cycles have no jitter. Rt is not divided by 8 after deep cuts.
//! * Once R is within `rate-ai` of the line the limiter ends, because halving the distance would never reach it.
//! * Congestion points sample data of all schemes; senders of other schemes ignore CNMs. CNMs are routed like any
//!   packet; the standard's end at the edge of the layer 2 network.
//!
//! # References
//! IEEE 802.1Qau-2010 (now 802.1Q, clauses 30 to 33).
//! M. Alizadeh et al., "Data Center Transport Mechanisms: Congestion Control Theory and IEEE
//! Standardization", Allerton 2008.
//! R. Pan, "QCN Pseudo Code", IEEE 802.1 working group, 2008.

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{
    AckInfo, CongestionControl, Ctx, PathInfo, Requirements, SendLimits, SentInfo, Signal, TimerSlot,
};
use crate::params::{ParamError, Parameters, Range};
use crate::rate::{Bounds, average, in_proportion};
use crate::registry::{Alias, Definition, RateScaled, ReactionTime, Scheme, WindowMode};
use crate::signal::{Carrier, Words};
use crate::switch::{
    Egress, EgressPort, Hooks, Notify, PacketView, PayloadKind, PerPort, SwitchHalf, SwitchHalves,
    SwitchSupport, Verdict,
};

#[cfg(test)]
mod tests;

/// Timer of time cycles.
const CYCLE: TimerSlot = TimerSlot(0);

params! {
    /// Parameters of QCN; defaults are for a line of 100 Gbit/s.
    pub struct Params {
        /// Congestion point: equilibrium queue.
        q_eq: Bytes = Bytes::new(260_000), in Range::Above(0.0), from "the standard's 26 KB at 10 Gbit/s";
        /// Congestion point: weight of the queue's change.
        w: f64 = 2.0, in Range::Between(0.0, 100.0), from "the standard";
        /// Congestion point: bytes between samples without congestion.
        sample_max: Bytes = Bytes::new(150_000), in Range::Above(0.0), from "the standard";
        /// Congestion point: bytes between samples at the strongest feedback.
        sample_min: Bytes = Bytes::new(15_000), in Range::Above(0.0), from "the standard: a tenth";
        /// Congestion point: share by which intervals between samples vary at random.
        jitter: f64 = 0.15, in Range::Between(0.0, 1.0), from "the standard";
        /// Gain of a cut: the strongest feedback, 63, halves the rate.
        gd: f64 = 1.0 / 128.0, in Range::AboveUpTo(0.0, 1.0 / 64.0), from "the standard";
        /// Bytes on the wire per byte cycle.
        byte_counter: Bytes = Bytes::new(150_000), in Range::Above(0.0), from "the standard";
        /// Length of a time cycle.
        timer: Span = Span::from_us(1500), in Range::Above(0.0), from "the standard's 15 ms at 10 Gbit/s";
        /// Cycles of fast recovery, F.
        fast_recovery_cycles: u32 = 5, in Range::AtLeast(0.0), from "the standard";
        /// Step of active increase.
        rate_ai: BitRate = BitRate::from_bps(50_000_000), in Range::Above(0.0), from "the standard's 5 Mbit/s at 10 Gbit/s";
        /// Step of hyper-active increase.
        rate_hai: BitRate = BitRate::from_bps(500_000_000), in Range::Above(0.0), from "the standard's 50 Mbit/s at 10 Gbit/s";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(100_000_000), in Range::Above(0.0), from "the standard's 10 Mbit/s at 10 Gbit/s";
    }
}

/// Line for which the standard's numbers are given.
const STANDARD_LINE: BitRate = BitRate::from_gbps(10);

/// Returns the standard's `q-eq`, `timer`, `rate-ai`, `rate-hai` and `min-rate`, scaled to `line`.
fn in_proportion_to(line: BitRate) -> [String; 5] {
    let rate =
        |mbps: u64| in_proportion(BitRate::from_bps(mbps * 1_000_000), STANDARD_LINE, line).to_string();
    let queue = u128::from(line.as_bps()) * 26_000 / u128::from(STANDARD_LINE.as_bps());
    let timer = u128::from(STANDARD_LINE.as_bps()) * 15_000_000_000 / u128::from(line.as_bps().max(1));
    [
        Bytes::new(u64::try_from(queue).unwrap_or(u64::MAX)).to_string(),
        Span::from_ps(u64::try_from(timer).unwrap_or(u64::MAX)).to_string(),
        rate(5),
        rate(50),
        rate(10),
    ]
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "qcn",
        aliases: &[Alias {
            name: "qcn-10g",
            help: "with the standard's numbers, which are for 10 Gbit/s",
            settings: &[
                ("q-eq", "26KB"),
                ("timer", "15ms"),
                ("rate-ai", "5Mbps"),
                ("rate-hai", "50Mbps"),
                ("min-rate", "10Mbps"),
            ],
            window: None,
        }],
        title: "QCN",
        paper: crate::papers::QCN.citation,
        summary: "Switches sample their queues and tell senders how far they are from equilibrium;\n\
                  senders cut at once and recover by counting bytes and time.",
        scope: "one layer-2 domain of 10 to 100 Gbit/s, long flows; it is slow in incasts.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("qcn.rs"),
    };

    fn check(&self) -> Result<(), ParamError> {
        if self.sample_min > self.sample_max {
            return Err(ParamError::new(
                "sample-min",
                format!("{} is above sample-max, {}", self.sample_min, self.sample_max),
            ));
        }
        // Shorter cycles would fill a run with timer events.
        if self.timer < Span::from_ns(10) {
            return Err(ParamError::new(
                "timer",
                format!("{} is too short: expected 10ns or more", self.timer),
            ));
        }
        Ok(())
    }

    fn reaction_times(&self) -> Vec<ReactionTime> {
        vec![ReactionTime {
            param: "timer",
            span: self.timer,
            event: "a cycle of time ends and the rate rises",
        }]
    }

    fn needs(&self) -> Requirements {
        Requirements {
            counts_sent: true,
            ..Requirements::default()
        }
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        Some(SwitchSupport {
            task: "that sample their queues",
            params: &["q-eq", "w", "sample-max", "sample-min", "jitter"],
            hooks: Hooks {
                arrivals: true,
                ..Hooks::default()
            },
            signal: Some("cnm"),
            ..SwitchSupport::default()
        })
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        let rules = PointRules::new(self);
        Some(PerPort::boxed(ports, rngs, |port, rng| {
            CongestionPoint::new(rules, port, rng)
        }))
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn tuned(&self, line: BitRate) -> Vec<RateScaled> {
        let at_hand = [
            ("q-eq", self.q_eq.to_string()),
            ("timer", self.timer.to_string()),
            ("rate-ai", self.rate_ai.to_string()),
            ("rate-hai", self.rate_hai.to_string()),
            ("min-rate", self.min_rate.to_string()),
        ];
        let known = [STANDARD_LINE, BitRate::from_gbps(100)];
        RateScaled::among(line, &known, at_hand, in_proportion_to)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Qcn::new(self, path))
    }
}

/// Sender of one flow: the reaction point.
#[derive(Clone, Debug)]
pub struct Qcn {
    gd: f64,
    byte_counter: u64,
    timer: Span,
    cycles: u32,
    rate_ai: BitRate,
    rate_hai: BitRate,
    bounds: Bounds,
    rate: BitRate,
    target: BitRate,
    /// True from a cut until the rate is the line's again.
    limited: bool,
    /// Bytes on the wire in the present byte cycle.
    sent: u64,
    /// Byte cycles since the last cut, B; `time_cycles` is T.
    byte_cycles: u32,
    time_cycles: u32,
}

impl Qcn {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            gd: params.gd,
            byte_counter: params.byte_counter.get().max(2),
            timer: params.timer,
            cycles: params.fast_recovery_cycles,
            rate_ai: params.rate_ai,
            rate_hai: params.rate_hai,
            bounds: Bounds::new(params.min_rate, path.line_rate),
            rate: path.line_rate,
            target: path.line_rate,
            limited: false,
            sent: 0,
            byte_cycles: 0,
            time_cycles: 0,
        }
    }

    /// Returns the target rate Rt.
    pub fn target_rate(&self) -> BitRate {
        self.target
    }

    /// Applies equation (4) to a CNM with feedback `fb`.
    fn cut(&mut self, cx: &mut Ctx<'_>, fb: u8) {
        // Cuts within one byte cycle answer the same congestion; recovery must return to the rate before the
        // first of them.
        if self.byte_cycles > 0 || !self.limited {
            self.target = self.rate;
            self.sent = 0;
        }
        self.rate = self.bounds.clamp(self.rate.scale(1.0 - self.gd * f64::from(fb)));
        (self.byte_cycles, self.time_cycles, self.limited) = (0, 0, true);
        cx.arm(CYCLE, self.timer);
    }

    /// Applies equations (5) to (7) at the end of a cycle.
    fn increase(&mut self, cx: &mut Ctx<'_>) {
        // Active increase starts when one of the two counters has left fast recovery, hyper-active increase
        // when both have.
        let step = if self.byte_cycles.max(self.time_cycles) <= self.cycles {
            BitRate::from_bps(0)
        } else {
            match self.byte_cycles.min(self.time_cycles).saturating_sub(self.cycles) {
                0 => self.rate_ai,
                i => BitRate::from_bps(self.rate_hai.as_bps().saturating_mul(i.into())),
            }
        };
        self.target = self.target.saturating_add(step).min(self.bounds.line);
        self.rate = self.bounds.clamp(average(self.rate, self.target));
        // Repeated halving never quite reaches the line's rate; the limiter ends within one step of it.
        if self.rate.saturating_add(self.rate_ai) > self.bounds.line {
            (self.rate, self.target) = (self.bounds.line, self.bounds.line);
            self.limited = false;
            cx.cancel(CYCLE);
        }
    }
}

impl CongestionControl for Qcn {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, _ack: &AckInfo<'_>) {}

    fn on_signal(&mut self, cx: &mut Ctx<'_>, signal: &Signal) {
        let fb = signal.words.u8(0);
        if fb > 0 {
            self.cut(cx, fb.min(63));
        }
    }

    fn on_send(&mut self, cx: &mut Ctx<'_>, sent: &SentInfo) {
        if !self.limited {
            return;
        }
        self.sent = self.sent.saturating_add(sent.wire.get());
        // After fast recovery cycles are half as long.
        let cycle = if self.byte_cycles < self.cycles {
            self.byte_counter
        } else {
            self.byte_counter / 2
        };
        if self.sent >= cycle {
            self.sent -= cycle;
            self.byte_cycles = self.byte_cycles.saturating_add(1);
            self.increase(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Ctx<'_>, _slot: TimerSlot) {
        self.time_cycles = self.time_cycles.saturating_add(1);
        cx.arm(
            CYCLE,
            if self.time_cycles < self.cycles {
                self.timer
            } else {
                Span::from_ps(self.timer.as_ps() / 2)
            },
        );
        self.increase(cx);
    }
}

/// Largest feedback, of six bits.
const LARGEST: f64 = 63.0;

/// Settings that all congestion points of a run share.
#[derive(Clone, Copy, Debug)]
pub struct PointRules {
    q_eq: f64,
    w: f64,
    /// Value of |Fb| at which the feedback saturates.
    fb_max: f64,
    sample_max: f64,
    /// Factor by which samples are more frequent under the strongest feedback.
    speed_up: f64,
    jitter: f64,
}

impl PointRules {
    /// Derives the settings from a scheme's parameters.
    pub fn new(params: &Params) -> Self {
        let q_eq = params.q_eq.get() as f64;
        let (max, min) = (params.sample_max.get() as f64, params.sample_min.get() as f64);
        Self {
            q_eq,
            w: params.w,
            fb_max: (1.0 + 2.0 * params.w) * q_eq,
            sample_max: max,
            speed_up: max / min.max(1.0),
            jitter: params.jitter,
        }
    }

    /// Returns the feedback of equations (1) and (2) for a queue of `queue` bytes, `old` at the previous
    /// sample.
    pub fn feedback(&self, queue: u32, old: u32) -> u8 {
        let (queue, old) = (f64::from(queue), f64::from(old));
        let fb = -((queue - self.q_eq) + self.w * (queue - old));
        // Senders are notified of congestion only; they find free capacity themselves.
        if fb >= 0.0 {
            return 0;
        }
        (LARGEST * (-fb).min(self.fb_max) / self.fb_max) as u8
    }

    /// Returns the bytes to the next sample by equation (3), with jitter.
    fn interval(&self, fb: u8, rng: &mut Rng) -> i64 {
        let mean = self.sample_max / (1.0 + (self.speed_up - 1.0) * f64::from(fb) / LARGEST);
        (mean * (1.0 + self.jitter * (2.0 * rng.next_f64() - 1.0))) as i64
    }
}

/// Switch half: the congestion points of a port, one per queue.
#[derive(Clone, Debug)]
pub struct CongestionPoint {
    rules: PointRules,
    queues: Box<[Sampling]>,
}

/// Sampling state of a queue.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    /// Queue length at the last sample, in bytes.
    old: u32,
    /// Bytes until the next sample.
    left: i64,
}

impl CongestionPoint {
    /// Creates points for empty queues; the first sample comes after an interval without feedback.
    pub fn new(rules: PointRules, port: &EgressPort, rng: &mut Rng) -> Self {
        let mut queue = || Sampling {
            old: 0,
            left: rules.interval(0, rng),
        };
        Self {
            rules,
            queues: (0..port.classes).map(|_| queue()).collect(),
        }
    }
}

impl SwitchHalf for CongestionPoint {
    /// Counts a frame that joins a queue. If it is sampled and the feedback is negative, its sender is
    /// notified.
    #[inline]
    fn on_arrival(&mut self, at: &mut Egress<'_>, frame: &PacketView) -> Verdict {
        let mut verdict = Verdict::pass(frame);
        // Senders of control packets have no reaction point.
        if frame.load == PayloadKind::Control {
            return verdict;
        }
        let queue = &mut self.queues[usize::from(frame.class)];
        queue.left -= i64::from(frame.wire);
        if queue.left <= 0 {
            // The frame counts as part of the queue that it joins.
            let length = frame.queue + frame.wire;
            let fb = self.rules.feedback(length, queue.old);
            queue.old = length;
            queue.left = self.rules.interval(fb, at.rng).max(1);
            if fb > 0 {
                verdict.notify = Notify::Sender(Words::EMPTY.with_u8(0, fb), Carrier::Routed);
            }
        }
        verdict
    }
}
