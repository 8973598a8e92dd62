//! BCN: switches tell senders how far their queue is from where it should be; receivers help them to recover.
//!
//! # What it does
//! A switch samples the packets that join a queue, and signals to the sender of a sample how far the queue is from its
//! equilibrium and how fast it moves. The sender cuts its rate at a negative signal, and raises it at a positive one. While
//! it is limited, it marks its packets, and the receiver reports once per period that they come: without a signal in that
//! period the sender takes a step.
//!
//! # Signal it needs
//! Signals of switches that run its half, and reports of receivers.
//!
//! # Equations
//! Switch, at a sample of queue Q that had Q_old at the sample before, one per `sample` bytes:
//! ```text
//! e = (Qeq - Q) - w (Q - Q_old)                                                        (1)
//! a signal if e < 0, or if e > 0 and the sender is limited                             (2)
//! ```
//! Sender, at a signal of a port of rate C, with E = (1 + 2 w) Qeq, and e / E from -1 to 1:
//! ```text
//! R = R (1 - Gd |e| / E)    if e < 0                                                   (3)
//! R = R + Gi C e / E        if e > 0                                                   (4)
//! ```
//! Receiver: a report one `period` after the first packet of a limited sender, and so on.                    (5)
//! Sender, at a report:
//! ```text
//! R = R + Ai                if no signal came since the last report                    (6)
//! ```
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! Samples are counted in bytes, not drawn. The proposal names a port in each packet of a limited sender, and only that
//! port raises its rate: here any port does. It stops a sender whose queue is far too long: here (3) has to do. (5) and (6)
//! stand for what E2CM adds, which measures round trips.
//!
//! # References
//! D. Bergamasco and R. Pan, "Backward Congestion Notification Version 2.0", IEEE 802.1, September 2005.
//! M. Gusat, C. Minkenberg and R. Luijten, "Extended Ethernet Congestion Management (E2CM)", IEEE 802.1, March 2007.

mod switch;

use paceline::scheme::*;
use switch::{CongestionPoint, error_of};

/// Tag: the sender is limited.
const LIMITED: u8 = 1;

// ANCHOR: params
params! {
    /// Parameters of BCN.
    pub struct Params {
        /// Switch: bytes in a queue at equilibrium.
        q_eq: Bytes = Bytes::new(40_000), in Range::Above(0.0), from "scaled to lines of 100 Gbit/s";
        /// Switch: weight of the queue's movement.
        w: f64 = 2.0, in Range::AtLeast(0.0), from "proposal";
        /// Switch: bytes from one sample to the next.
        sample: Bytes = Bytes::new(75_000), in Range::Above(0.0), from "scaled to lines of 100 Gbit/s";
        /// Sender: share of the rate that the strongest signal takes.
        gd: f64 = 0.5, in Range::Between(0.0, 1.0), from "proposal";
        /// Sender: share of the port's rate that the strongest signal adds.
        gi: f64 = 0.05, in Range::Between(0.0, 1.0), from "example";
        /// Sender: step at a report.
        ai: BitRate = BitRate::from_bps(500_000_000), in Range::Above(0.0), from "example";
        /// Receiver: time between reports.
        period: Span = Span::from_us(50), in Range::Above(0.0), from "example";
        /// Sender: lowest rate.
        min_rate: BitRate = BitRate::from_bps(100_000_000), in Range::Above(0.0), from "example";
    }
}
// ANCHOR_END: params

// ANCHOR: definition
impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "bcn",
        aliases: &[],
        title: "BCN",
        paper: "Bergamasco and Pan, Backward Congestion Notification, IEEE 802.1, 2005",
        summary: "Switches tell senders how far a queue is from its equilibrium; receivers help them to recover.",
        scope: "an example: switches that send notifications to senders.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: include_str!("bcn.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements {
            tags: true,
            ..Requirements::default()
        }
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        Some(SwitchSupport {
            task: "that sample their queues",
            params: &["q-eq", "w", "sample"],
            hooks: Hooks {
                arrivals: true,
                ..Hooks::default()
            },
            ..SwitchSupport::default()
        })
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        Some(PerPort::boxed(ports, rngs, |port, _| {
            CongestionPoint::new(self, port)
        }))
    }

    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        Some(Box::new(Reporter {
            period: self.period,
            counts: false,
        }))
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Bcn::new(self, path))
    }
}
// ANCHOR_END: definition

// ANCHOR: sender
/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct Bcn {
    params: Params,
    rate: BitRate,
    line: BitRate,
    /// Whether a signal came since the last report.
    told: bool,
}

impl Bcn {
    /// A sender at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            params: params.clone(),
            rate: path.line_rate,
            line: path.line_rate,
            told: false,
        }
    }

    fn set(&mut self, bps: f64) {
        let least = self.params.min_rate.min(self.line);
        self.rate = BitRate::from_bps(bps as u64).clamp(least, self.line);
    }
}

impl CongestionControl for Bcn {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn tag(&mut self, _cx: &mut Ctx<'_>, _packet: &Outgoing) -> u8 {
        if self.rate < self.line { LIMITED } else { 0 }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, _ack: &AckInfo<'_>) {}

    fn on_signal(&mut self, _cx: &mut Ctx<'_>, signal: &Signal) {
        let rate = self.rate.as_bps() as f64;
        let share = error_of(signal) / self.params.largest_error();
        self.told = true;
        if share < 0.0 {
            self.set(rate * (1.0 - self.params.gd * (-share).min(1.0))); // (3)
        } else {
            self.set(rate + self.params.gi * signal.port_rate.as_bps() as f64 * share.min(1.0)); // (4)
        }
    }

    fn on_cnp(&mut self, _cx: &mut Ctx<'_>, _report: &Cnp) {
        if !std::mem::take(&mut self.told) {
            self.set((self.rate.as_bps() + self.params.ai.as_bps()) as f64); // (6)
        }
    }
}
// ANCHOR_END: sender

// ANCHOR: receiver
/// The receiver of a flow: (5).
#[derive(Clone, Copy, Debug)]
pub struct Reporter {
    period: Span,
    /// Whether a report is due at the end of a period.
    counts: bool,
}

impl ReceiverHalf for Reporter {
    fn on_data(&mut self, _now: Time, data: &Arrived) -> Reaction {
        if self.counts || data.tag & LIMITED == 0 {
            return Reaction::NONE;
        }
        self.counts = true;
        Reaction {
            timer: Some(self.period),
            ..Reaction::NONE
        }
    }

    fn on_timer(&mut self, _now: Time) -> Reaction {
        self.counts = false;
        Reaction {
            cnp: Some(Cnp {
                mark: Mark::None,
                rate: None,
            }),
            ..Reaction::NONE
        }
    }
}
// ANCHOR_END: receiver

// ANCHOR: tests
#[cfg(test)]
mod tests {
    use super::switch::words;
    use super::*;
    use paceline::scheme::testkit::{Pair, star_path};

    /// A signal of a port of 100 Gbit/s. With the defaults, E is 200 000.
    fn signal(error: i32) -> Signal {
        Signal {
            words: words(error),
            port_rate: BitRate::from_gbps(100),
            after: Span::from_us(1),
        }
    }

    const REPORT: Cnp = Cnp {
        mark: Mark::None,
        rate: None,
    };

    #[test]
    fn equations_3_and_4_by_hand() {
        let mut pair = Pair::new(star_path(), |path| Bcn::new(&Params::default(), path));
        pair.signal(&signal(100_000));
        assert_eq!(
            pair.rate(),
            BitRate::from_gbps(100),
            "at line rate there is nothing to raise"
        );
        pair.signal(&signal(-80_000)); // 100 (1 - 0.5 * 0.4)
        assert_eq!(pair.rate(), BitRate::from_gbps(80));
        pair.signal(&signal(-1_000_000)); // the strongest: a half
        assert_eq!(pair.rate(), BitRate::from_gbps(40));
        pair.signal(&signal(40_000)); // 40 + 0.05 * 100 * 0.2
        assert_eq!(pair.rate(), BitRate::from_gbps(41));
    }

    #[test]
    fn equation_6_by_hand() {
        let mut pair = Pair::new(star_path(), |path| Bcn::new(&Params::default(), path));
        pair.signal(&signal(-80_000));
        pair.cnp(&REPORT); // a signal came since the start
        assert_eq!(pair.rate(), BitRate::from_gbps(80));
        pair.cnp(&REPORT);
        assert_eq!(pair.rate(), BitRate::from_bps(80_500_000_000));
    }

    #[test]
    fn equation_5_by_hand() {
        let mut receiver = Params::default().receiver_half().unwrap();
        let data = |tag| Arrived {
            mark: Mark::None,
            wire: Bytes::new(1048),
            tag,
            ..Arrived::default()
        };
        assert_eq!(receiver.on_data(Time::ZERO, &data(0)), Reaction::NONE);
        let starts = receiver.on_data(Time::ZERO, &data(LIMITED));
        assert_eq!(starts.timer, Some(Span::from_us(50)));
        assert_eq!(receiver.on_data(Time::from_ns(9), &data(LIMITED)), Reaction::NONE);
        assert_eq!(receiver.on_timer(Time::from_ns(50_000)).cnp, Some(REPORT));
        let again = receiver.on_data(Time::from_ns(60_000), &data(LIMITED));
        assert_eq!(again.timer, Some(Span::from_us(50)));
    }
}
// ANCHOR_END: tests
