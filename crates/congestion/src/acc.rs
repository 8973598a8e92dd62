//! ACC: congestion control for lossless Ethernet from the arrival rate of acknowledgements (ACKs).
//!
//! # What it does
//! The sender measures the rate at which a flow's ACKs arrive, and reads the marks that they echo. In a lossless
//! network packets are conserved, so this rate is a congested flow's share of the bottleneck. A congested sender falls
//! to that rate at once and stops until its excess has drained. ACC is for lossless Ethernet with ternary detection.
//! It is a reconstruction from a talk (Zhang et al., NSDI 2024) and a thesis.
//!
//! The excess is the number of bytes in flight beyond the arrival rate times the empty network's round trip. These
//! bytes wait in queues. Marks separate three classes of flows. *Congested* flows fall and stop. *Victims* have
//! undetermined marks, because they pass ports that pauses stop and start: their rate is held or lowered gently. All
//! other flows climb back, half-way at first.
//!
//! # Signal it needs
//! ECN, echoed in every ACK, with congested and undetermined marks (ternary detection, the default with this scheme).
//! A step works best as the marking curve. With RED alone there are no victims. Pauses are needed, as packets are lost
//! without them.
//!
//! # Equations
//! A measurement window starts with an ACK of data that was sent after the last decrease. It restarts at the first
//! congested mark in it; from that mark on, bytes in flight do not grow (ours). It ends when `acks` ACKs have followed
//! and T0, the empty network's round trip, has passed. With B bytes acknowledged after its first ACK:
//! ```text
//! Rack = B / (last - first)                                                    seed    (1)
//! nothing is measured if the largest gap > gap-share (last - first),
//!   unless its last ACK is marked undetermined                                 ours    (2)
//! congested, if CE marks > 0, and >= ce-share of all marks:                    seed, ours
//!   Rt = R, if R has grown since the last decrease                             ours    (3)
//!   R = min(R, Rack (1 - margin))                                              seed    (4)
//!   excess = in flight - Rack T0                                               talk    (5)
//!   stop until the excess is acknowledged, if it is more than a packet         seed    (6)
//!     and less than what is left to send                                       ours
//!   if excess / Rack > long-stop T0:  Rt = min(Rt, C / 2)                      ours    (7)
//! otherwise victim, if there are undetermined marks:                           seed
//!   hold: nothing;   f1: R = min(R, (R + Rack) / 2);   f2: R = min(R, Rack)    ours    (8)
//! otherwise, by the number n of such windows since the last decrease:          ours    (9)
//!   n <= F: R = (R + Rt) / 2;   n <= 2 F: Rt += AI first;   then: Rt += HAI first
//! ```
//! C is the line rate; flows start at R = Rt = C. A loss cuts the rate as DCQCN's first cut does, at most once per T0:
//! ```text
//! Rt = R;  R = R / 2                                                           ours    (10)
//! ```
//!
//! # Parameters
//! [`Params`]. None has to be adapted to the line rate. Only ACC's principle is known, neither its algorithm nor its
//! numbers. The sources have three names. `seed` is the known text of a thesis, which breaks off on the first page of
//! the chapter on ACC. `talk` is a summary of the talk at NSDI 2024. `ours` is reconstruction. The network sets
//! marking: by default a step at 50 KB at 40 Gbit/s, in proportion on other ports, with ternary detection (ours). It
//! also bounds bytes in flight to one bandwidth-delay product (ours; `cc.window`).
//!
//! # Where we differ from the paper or public code
//! * Reconstructed: no code is public, and the algorithm, parameters and results of the thesis's chapter are not
//!   known. No run of its authors was available for a comparison. The thesis tries two functions f1 and f2 that slow
//!   victims down. They are not known; ours are (8).
//! * T0 is the smallest round trip that the flow has measured with its own clock, at most the path's.
//! * The excesses of all flows at a port add up to its queue. The stop therefore empties the queue, and the link does
//!   not idle. A stopped flow sends no probe, because more bytes are in flight than it waits for.
//! * Where packets are lost they are not conserved, and (1) to (6) measure something else. Paceline warns of such
//!   runs.
//! * A flow that passes several congested ports is marked by each of them, and gets less than its max-min share.
//!
//! # References
//! Y. Zhang, Q. Meng, C. Hu, F. Ren, "Revisiting Congestion Control for Lossless Ethernet", NSDI 2024 (`talk`).
//! 无丢失网络拥塞管理关键技术研究, doctoral thesis, Tsinghua University, May 2022 (`seed`): abstract, section 1.3, first page
//! of chapter 4.

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{AckInfo, CongestionControl, Ctx, Mark, Outgoing, PathInfo, Requirements, SendLimits};
use crate::params::{Auto, Parameters, Range};
use crate::rate::{Bounds, average};
use crate::registry::{Definition, Incompatible, Marking, NetworkFacts, Scheme, Setting, WindowMode};

mod window;

use window::Window;

choice! {
    /// Reaction of a flow to undetermined marks: equation (8).
    pub enum Victims {
        /// Keeps the rate unchanged.
        Hold = "hold",
        /// Lowers the rate half-way to the arrival rate.
        F1 = "f1",
        /// Lowers the rate to the arrival rate.
        F2 = "f2",
    }
}

params! {
    /// Parameters of ACC; the source of each default is one of `seed`, `talk` and `ours` (see the module).
    pub struct Params {
        /// Reaction to undetermined marks: hold the rate, lower it half-way to the arrival rate of ACKs, or lower it
        /// to that rate.
        victims: Victims = Victims::Hold, in Range::Any, from "ours; seed: victims apart, functions f1 and f2";
        /// ACKs in a measurement window after its first.
        acks: u32 = 8, in Range::Between(1.0, 1e6), from "ours";
        /// T0. `auto`: the smallest round trip that the flow has seen, at most the path's.
        base_rtt: Auto<Span> = Auto::Auto, in Range::Above(0.0), from "ours";
        /// Margin by which a congested flow goes below the arrival rate of its ACKs.
        margin: f64 = 0.02, in Range::Between(0.0, 0.5), from "ours";
        /// Largest gap in a window, as a share of it. A window with a larger gap is discarded: its ACKs came in
        /// bursts.
        gap_share: f64 = 0.5, in Range::AboveUpTo(0.0, 1.0), from "ours";
        /// Share of a window's marks that has to be CE for the flow to count as congested; 0: any. Use 0.5 with RED
        /// between separate thresholds.
        ce_share: f64 = 0.0, in Range::Between(0.0, 1.0), from "ours";
        /// Increases half-way to the target, F.
        recovery_steps: u32 = 5, in Range::AtLeast(0.0), from "ours; as DCQCN's";
        /// Additive increase of the target per window. `auto`: 1 % of the line.
        rate_ai: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "ours";
        /// Hyper increase of the target per window. `auto`: 5 % of the line.
        rate_hai: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "ours";
        /// Length of a stop, in T0, above which the target is at most half of the line.
        long_stop: f64 = 4.0, in Range::AtLeast(0.0), from "ours";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(100_000_000), in Range::Above(0.0), from "ours";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "acc",
        aliases: &[],
        title: "ACC",
        paper: crate::papers::ACC.citation,
        summary: "Congested flows fall to the arrival rate of their ACKs and stop until what they sent\n\
                  too much has drained; victims of pauses are held (a reconstruction).",
        scope: "lossless networks with ternary detection; a reconstruction of what is known of it.",
        default_window: WindowMode::Fixed,
        params: Self::docs,
        source: header!("acc.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: true,
            // Tags are used only to learn where the flow's data ends, for (6).
            tags: true,
            ..Requirements::default()
        }
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        if !network.marks {
            return vec![Incompatible::Refused {
                setting: Setting::Marks,
                why: "ACC detects congestion by marks, and no switch marks packets",
                instead: "leave out `network.ecn.curves`, or list a curve for each rate",
            }];
        }
        if !network.pauses {
            return vec![Incompatible::Doubtful(
                "ACC is made for networks that lose nothing; without PFC its measurements are wrong after each loss",
            )];
        }
        Vec::new()
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn marking(&self) -> Marking {
        Marking::ACC
    }

    fn ternary_detection(&self) -> bool {
        true
    }

    fn assumes_lossless(&self) -> bool {
        true
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Acc::new(self, path))
    }
}

/// Limit on bytes in flight that applies in addition to the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// From a congested mark to the end of its window: upper limit of the bytes in flight.
    Clocked(u64),
    /// A stop: nothing is sent until `until` bytes are acknowledged; by then `pipe` bytes are in flight.
    Stopped {
        until: u64,
        pipe: u64,
    },
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Acc {
    params: Params,
    bounds: Bounds,
    ai: BitRate,
    hai: BitRate,
    mtu: u64,
    /// Bytes on the wire per byte of payload.
    overhead: f64,
    t0: Span,
    rate: BitRate,
    target: BitRate,
    /// True if the rate has grown since the last decrease.
    grown: bool,
    /// Increases since the last decrease, n in (9).
    steps: u32,
    phase: Phase,
    window: Option<Window>,
    /// Next byte to be sent at the time of the last decrease.
    epoch: u64,
    /// Offset at which the flow's data ends.
    end: u64,
    last_loss: Option<Time>,
}

impl Acc {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let line = path.line_rate;
        let mtu = path.mtu.get().max(1);
        Self {
            params: params.clone(),
            bounds: Bounds::new(params.min_rate, line),
            ai: params.rate_ai.or(line.scale(0.01)),
            hai: params.rate_hai.or(line.scale(0.05)),
            mtu,
            overhead: path.full_packet.get() as f64 / mtu as f64,
            t0: params.base_rtt.or(path.base_rtt),
            rate: line,
            target: line,
            grown: true,
            steps: 0,
            phase: Phase::Running,
            window: None,
            epoch: 0,
            end: u64::MAX,
            last_loss: None,
        }
    }

    /// Returns Rt, the rate that increases approach first.
    pub fn target(&self) -> BitRate {
        self.target
    }
    /// Returns the count of acknowledged bytes that ends the current stop, or `None` outside a stop.
    pub fn stopped_until(&self) -> Option<u64> {
        match self.phase {
            Phase::Stopped { until, .. } => Some(until),
            _ => None,
        }
    }

    /// Classifies the flow by the marks of a window that has ended, and changes its rate.
    fn conclude(&mut self, window: &Window, ack: &AckInfo<'_>) {
        // The window's limit on bytes in flight ends with it; `reduce` may start a stop.
        self.phase = Phase::Running;
        let marks = f64::from(window.congested + window.undetermined);
        if window.congested > 0 && f64::from(window.congested) >= self.params.ce_share * marks {
            self.reduce(window.arrival(), ack);
        } else if window.undetermined > 0 {
            self.spare(window.arrival(), ack);
        } else {
            self.increase();
        }
    }

    /// Applies equations (3) to (7); `arrival` is in payload bytes per second.
    fn reduce(&mut self, arrival: f64, ack: &AckInfo<'_>) {
        self.lower(self.on_wire(arrival).scale(1.0 - self.params.margin), ack);
        let (in_flight, left) = (ack.in_flight(), self.end.saturating_sub(ack.snd_nxt));
        let pipe = (arrival * self.t0.as_ps() as f64 * 1e-12) as u64;
        let excess = in_flight.saturating_sub(pipe);
        // A stop for one packet would only idle the link. A flow with less data left than its excess ends
        // before its stop could, so a stop would only delay it.
        if excess <= self.mtu || left <= excess {
            return;
        }
        self.phase = Phase::Stopped {
            until: ack.delivered + excess,
            pipe: in_flight - excess,
        };
        let takes = excess as f64 * 1e12 / arrival.max(1.0);
        // (7): draining took many round trips, so the old target was far from this flow's share. Returning to
        // it half-way would fill the queue again.
        if takes > self.params.long_stop * self.t0.as_ps() as f64 {
            self.target = self.target.min(self.bounds.line.scale(0.5));
        }
    }

    /// Applies equation (8) to a victim; `arrival` is in payload bytes per second.
    fn spare(&mut self, arrival: f64, ack: &AckInfo<'_>) {
        let arrival = self.on_wire(arrival);
        let to = match self.params.victims {
            Victims::Hold => return,
            Victims::F1 => average(self.rate, arrival),
            Victims::F2 => arrival,
        };
        if to < self.rate {
            self.lower(to, ack);
        }
    }

    /// Applies equation (9), the increase after a window without marks.
    fn increase(&mut self) {
        if self.rate == self.bounds.line {
            return;
        }
        let fast = self.params.recovery_steps;
        let step = match self.steps {
            steps if steps < fast => BitRate::from_bps(0),
            steps if steps < fast.saturating_mul(2) => self.ai,
            _ => self.hai,
        };
        self.target = self.target.saturating_add(step).min(self.bounds.line);
        self.rate = self.bounds.clamp(average(self.rate, self.target));
        self.steps = self.steps.saturating_add(1);
        self.grown = true;
    }

    fn lower(&mut self, to: BitRate, ack: &AckInfo<'_>) {
        // Decreases in a row keep the target: the flow returns to the rate before the first of them.
        if self.grown {
            self.target = self.rate;
        }
        self.rate = self.bounds.clamp(self.rate.min(to));
        (self.grown, self.steps, self.epoch, self.window) = (false, 0, ack.snd_nxt, None);
    }

    /// Applies equation (10) to a loss or a timeout.
    fn lose(&mut self, now: Time) {
        (self.phase, self.window) = (Phase::Running, None);
        let recent = |last: Time| now.saturating_since(last) < self.t0;
        // Losses within a round trip are one event.
        if self.last_loss.is_some_and(recent) {
            return;
        }
        self.last_loss = Some(now);
        self.target = self.rate;
        self.rate = self.bounds.clamp(self.rate.scale(0.5));
        (self.grown, self.steps) = (false, 0);
    }

    /// Converts payload bytes per second into a rate with headers.
    fn on_wire(&self, payload: f64) -> BitRate {
        BitRate::from_bps((payload * self.overhead * 8.0) as u64)
    }
}

impl CongestionControl for Acc {
    fn limits(&self) -> SendLimits {
        let window = match self.phase {
            Phase::Running => Bytes::MAX,
            Phase::Clocked(bytes) | Phase::Stopped { pipe: bytes, .. } => Bytes::new(bytes.max(self.mtu)),
        };
        SendLimits {
            rate: self.rate,
            window,
        }
    }

    fn tag(&mut self, _cx: &mut Ctx<'_>, packet: &Outgoing) -> u8 {
        // The tag itself is not used.
        self.end = packet.end;
        0
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if self.params.base_rtt == Auto::Auto {
            self.t0 = self.t0.min(ack.rtt);
        }
        if ack.nack {
            return self.lose(cx.now);
        }
        if let Phase::Stopped { until, .. } = self.phase
            && ack.delivered >= until
        {
            self.phase = Phase::Running;
        }
        // Packets sent before the last decrease report the queue that it already answered.
        if ack.newly_acked == 0 || ack.highest <= self.epoch {
            return;
        }
        let congested = ack.mark == Mark::Congested;
        let Some(window) = self
            .window
            .as_mut()
            // The first congested mark restarts the window: ACKs before it measured another state.
            .filter(|_| !congested || self.phase != Phase::Running)
        else {
            if congested {
                self.phase = Phase::Clocked(ack.in_flight());
            }
            self.window = Some(Window::at(cx.now, ack.mark));
            return;
        };
        window.add(cx.now, ack);
        if window.acks >= self.params.acks && window.span() >= self.t0 {
            let ended = *window;
            // (2): clumped ACKs overstate the gaps between them. Deciding on them would cut at random.
            if ended.is_clumped(self.params.gap_share) {
                self.window = Some(ended.again(cx.now));
                return;
            }
            self.window = Some(Window::at(cx.now, Mark::None));
            self.conclude(&ended, ack);
        }
    }

    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.lose(cx.now);
    }
}

#[cfg(test)]
mod tests;
