//! RRCC: the receiver reports the arrival rate of packets to their senders.
//!
//! # What it does
//! The receiver counts the packets of each flow in windows. If nearly all packets of a window were marked, it sends
//! their arrival rate to the sender, which goes slightly below that rate at once. Otherwise it reports that there is
//! no congestion. The sender then goes half-way back to its target, which grows after some such reports in a row. RRCC
//! is for InfiniBand with credits (a doctoral thesis, Tsinghua University, 2022).
//!
//! # Signal it needs
//! Marks from ports under credits that do not lack credit themselves, on every packet. Notification packets (BECN)
//! from the receiver, with a bit and a rate, one per flow and window.
//!
//! # Equations
//! Switch: as IBCC's (1), with a marking-rate of 0. Receiver, at the first packet T or more after the start of the
//! window, of n packets with f marks and b bytes:
//! ```text
//! f / n > threshold:  CONGESTED, RecRate = b / (now - began);   otherwise NOT                           (1)
//! ```
//! Sender, with the line rate C:
//! ```text
//! CONGESTED, RecRate < C:  target = R;  R = RecRate / undershoot;  k = 0                                (2)
//! NOT:                     k = k + 1;  k >= after: target = min(target + increase C, C)
//!                          R = (R + target) / 2                                                         (3)
//! ```
//! Flows start at R = target = C.
//!
//! # Parameters
//! [`Params`]. `increase` is a share of the line rate, so it fits lines of any rate: 0.39 Gbit/s on one of 32. A BECN
//! has `network.cnp` bytes: the author's are full packets of 2048, ours 64.
//!
//! # Where we differ from the paper or public code
//! * The author's model has one state per host, and a BECN that is as large as a data packet. Here each flow has a
//!   state, and a BECN is a separate small packet. `fidelity = "ib-omnet"` has the model.
//! * Here the receiver also reports arrival rates at or above the line rate, and senders ignore them. The author's
//!   model does not report them.
//! * The thesis's chapter on RRCC was not available. The scheme follows its public model, with its own code.
//! * `min-rate` is ours.
//!
//! # References
//! 无丢失网络拥塞管理关键技术研究 (key techniques of congestion management in lossless networks), doctoral thesis, Tsinghua
//! University, May 2022, chapter 5. Public code: Yi-ran/OMNet-.

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{AckInfo, Cnp, CongestionControl, Ctx, Mark, PathInfo, Requirements, SendLimits};
use crate::fecn::{Fecn, MOST, Settings};
use crate::params::{Parameters, Range};
use crate::rate::Bounds;
use crate::receiver::{Arrived, Reaction, ReceiverHalf};
use crate::registry::{Definition, Incompatible, NetworkFacts, ReactionTime, Scheme, WindowMode};
use crate::switch::{EgressPort, Hooks, PerPort, SwitchHalves, SwitchSupport};

pub mod omnet;

params! {
    /// Parameters of RRCC; (1) to (3) are the equations of the module.
    pub struct Params {
        /// Receiver: measurement time before a report.
        window: Span = Span::from_ps(8_192_000), in Range::Above(0.0), from "author";
        /// Receiver: share of marked packets above which a flow is congested.
        threshold: f64 = 0.9, in Range::Between(0.0, 1.0), from "author";
        /// Factor by which a sender goes below the arrival rate of its packets.
        undershoot: f64 = 1.07, in Range::Between(1.0, 100.0), from "author";
        /// Growth of the target, as a share of the line rate.
        increase: f64 = 0.0121875, in Range::AboveUpTo(0.0, 1.0), from "author: 0.39 of 32 Gbit/s";
        /// Reports in a row without congestion from which the target grows.
        after: u32 = 3, in Range::Between(1.0, 1000.0), from "author";
        /// Switch: weight of the marking threshold, from 1 to 15 (the shortest queue).
        marks: u32 = 15, in Range::Between(1.0, MOST as f64), from "ours";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(10_000_000), in Range::Above(0.0), from "ours";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "rrcc",
        aliases: &[],
        title: "RRCC",
        paper: crate::papers::TCD_THESIS.citation,
        summary: "The receiver reports the arrival rate to congested flows, and their senders go slightly\n\
                  below it at once.",
        scope: "InfiniBand's credits; elsewhere its switches hardly mark.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("rrcc.rs"),
    };

    fn reaction_times(&self) -> Vec<ReactionTime> {
        vec![ReactionTime {
            param: "window",
            span: self.window,
            event: "the receiver notifies a sender",
        }]
    }

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: true,
            ..Requirements::default()
        }
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        let mut incompatible = Vec::new();
        if network.undetermined {
            incompatible.push(Incompatible::Doubtful(
                "RRCC's own marks win over what ports find undetermined",
            ));
        }
        if !network.credits {
            incompatible.push(Incompatible::Doubtful(
                "RRCC is designed for credit-based networks (`network.flow-control = \"credits\"`), because its \
                 switches' threshold is a share of their input buffers",
            ));
        }
        incompatible
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        Some(SwitchSupport {
            task: "that mark at the roots of congestion",
            params: &["marks"],
            hooks: Hooks {
                departures: true,
                pauses: true,
                ..Hooks::default()
            },
            marks: true,
            ..SwitchSupport::default()
        })
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        let settings = Settings {
            threshold: self.marks,
            marking_rate: 0,
            packet_size: Bytes::ZERO,
            victim_mask: false,
        };
        Some(PerPort::boxed(ports, rngs, |port, _| Fecn::new(settings, port)))
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        Some(Box::new(Watcher::new(self)))
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Rrcc::new(self, path))
    }
}

/// Receiver half: examines a flow's packets in windows.
#[derive(Clone, Copy, Debug)]
pub struct Watcher {
    window: Span,
    threshold: f64,
    began: Option<Time>,
    packets: u32,
    marked: u32,
    bytes: u64,
}

impl Watcher {
    /// Creates the state of a flow that has received nothing.
    pub const fn new(params: &Params) -> Self {
        Self {
            window: params.window,
            threshold: params.threshold,
            began: None,
            packets: 0,
            marked: 0,
            bytes: 0,
        }
    }

    /// Returns the verdict of equation (1) for a window that lasted `span`.
    fn verdict(&self, span: Span) -> Cnp {
        let congested = f64::from(self.marked) > self.threshold * f64::from(self.packets);
        let bps = u128::from(self.bytes) * 8_000_000_000_000 / u128::from(span.as_ps().max(1));
        let rate = BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX));
        Cnp {
            mark: Mark::congested_if(congested),
            rate: congested.then_some(rate),
        }
    }
}

impl ReceiverHalf for Watcher {
    fn on_data(&mut self, now: Time, data: &Arrived) -> Reaction {
        self.packets += 1;
        self.marked += u32::from(data.mark == Mark::Congested);
        self.bytes += data.wire.get();
        let span = now.saturating_since(*self.began.get_or_insert(now));
        if span < self.window {
            return Reaction::NONE;
        }
        let verdict = self.verdict(span);
        // The packet that ends a window does not count in the next one.
        (self.began, self.packets, self.marked, self.bytes) = (Some(now), 0, 0, 0);
        Reaction {
            cnp: Some(verdict),
            ..Reaction::NONE
        }
    }

    fn replaces_echo(&self) -> bool {
        true
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Rrcc {
    undershoot: f64,
    step: BitRate,
    after: u32,
    bounds: Bounds,
    rate: BitRate,
    target: BitRate,
    /// Consecutive notifications without congestion, k in (3).
    calm: u32,
}

impl Rrcc {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            undershoot: params.undershoot,
            step: path.line_rate.scale(params.increase),
            after: params.after,
            bounds: Bounds::new(params.min_rate, path.line_rate),
            rate: path.line_rate,
            target: path.line_rate,
            calm: 0,
        }
    }
}

impl CongestionControl for Rrcc {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, _ack: &AckInfo<'_>) {}

    fn on_cnp(&mut self, _cx: &mut Ctx<'_>, cnp: &Cnp) {
        if let (Mark::Congested, Some(arrival)) = (cnp.mark, cnp.rate) {
            // An arrival rate of the line's or above leaves nothing to reduce. The receiver's first window, which
            // counts one packet too many, can report such rates.
            if arrival < self.bounds.line {
                self.target = self.rate; // (2)
                self.rate = self.bounds.clamp(arrival.scale(1.0 / self.undershoot));
                self.calm = 0;
            }
            return;
        }
        self.calm += 1; // (3)
        if self.calm >= self.after {
            self.target = self.bounds.clamp(self.target.saturating_add(self.step));
        }
        self.rate = self
            .bounds
            .clamp(self.rate.saturating_add(self.target).scale(0.5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, star_path};

    const NOT: Cnp = Cnp {
        mark: Mark::None,
        rate: None,
    };

    fn congested(gbps: u64) -> Cnp {
        Cnp {
            mark: Mark::Congested,
            rate: Some(BitRate::from_gbps(gbps)),
        }
    }

    /// Packets of 1000 bytes every 512 ns. The very first packet starts a window and counts in it; later
    /// windows start after the packet that ended the previous one.
    #[test]
    fn equation_1_by_hand() {
        let got = |marked: u64| {
            let mut watcher = Watcher::new(&Params::default());
            let mut got = Vec::new();
            for packet in 0..33 {
                let data = Arrived {
                    mark: Mark::congested_if(packet < marked),
                    wire: Bytes::new(1000),
                    ..Arrived::default()
                };
                got.extend(watcher.on_data(Time::from_ns(700 + packet * 512), &data).cnp);
            }
            got
        };
        // 17 packets in 8.192 us, then 16.
        let rate = |packets: u64| Some(BitRate::from_bps(packets * 8_000_000_000_000_000 / 8_192_000));
        let all = Cnp {
            mark: Mark::Congested,
            rate: rate(17),
        };
        assert_eq!(got(17), [all, NOT]);
        // 16 of 17 exceed 90 %, 15 do not.
        assert_eq!(got(16)[0], all);
        assert_eq!(got(15)[0], NOT);
        let rest = Cnp {
            mark: Mark::Congested,
            rate: rate(16),
        };
        assert_eq!(got(33), [all, rest]);
    }

    #[test]
    fn equations_2_and_3_by_hand() {
        let mut pair = Pair::new(star_path(), |path| Rrcc::new(&Params::default(), path));
        let gbps = |pair: &Pair<Rrcc>| pair.rate().as_bps() as f64 / 1e9;
        pair.cnp(&congested(50));
        assert!((gbps(&pair) - 50.0 / 1.07).abs() < 1e-6);
        // Half-way back to the line's rate.
        pair.cnp(&NOT);
        assert!((gbps(&pair) - (50.0 / 1.07 + 100.0) / 2.0).abs() < 1e-6);
        pair.cnp(&congested(40));
        pair.cnp(&congested(20));
        // The target is the rate before the last cut: 40 / 1.07.
        pair.cnp(&NOT);
        pair.cnp(&NOT);
        let (target, start) = (40.0 / 1.07, 20.0 / 1.07);
        assert!((gbps(&pair) - (target - (target - start) / 4.0)).abs() < 1e-6);
        // From the third notification on the target grows by 1.21875 Gbit/s.
        let before = gbps(&pair);
        pair.cnp(&NOT);
        assert!((gbps(&pair) - (before + target + 1.21875) / 2.0).abs() < 1e-6);
        // An arrival rate of the line's or above is ignored.
        let before = gbps(&pair);
        pair.cnp(&congested(100));
        assert_eq!(gbps(&pair), before);
    }
}
