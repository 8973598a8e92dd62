//! Swift: one window holds the fabric's delay at a target, another the delay of the receiver's host.
//!
//! # What it does
//! Each ACK gives the round-trip time and the part of it that the receiver's host took. One window reacts to the
//! fabric's delay, the rest of the round trip; another reacts to the host's. Below its target delay, a window grows by
//! a step per round trip; above it, it shrinks in proportion to the excess, at most once per round trip. The smaller
//! window applies. Swift is for any network with good time stamps (Kumar et al., SIGCOMM 2020).
//!
//! The fabric's target is larger on longer paths and for flows with small windows. Many flows then have more room in
//! the queue, and their shares become fair. A window below one packet means less than a packet per round trip: packets
//! are paced.
//!
//! Packets of one flow may take many paths. Then a few late packets on a congested path say little about the others, and
//! a window that reacts to each of them collapses. LSwift (the alias `lswift`) decreases only after five late
//! acknowledgements in a row. MSwift (`mswift`) also compares the target with the median of the last delays (Gerstein et
//! al., 2026). They are for sprayed packets at receivers that take them in any order.
//!
//! # Signal it needs
//! The round-trip time of each packet (a time stamp in data packets). For the endpoint window, the delay of the
//! receiver's host, which it writes into its ACKs.
//!
//! # Equations
//! With w the window in packets, for the fabric (3.1 and 3.5 of the paper):
//! ```text
//! alpha  = fs_range / (1/sqrt(fs_min) - 1/sqrt(fs_max)),   beta = -alpha / sqrt(fs_max)  (1)
//! target = base + links hop + max(0, min(alpha / sqrt(w) + beta, fs_range))              (2)
//! delay  = RTT - endpoint delay                                                          (3)
//! ```
//! For each ACK of n packets (Algorithm 1), for both windows, the endpoint's with `endpoint-target`:
//! ```text
//! delay < target, w >= 1:          w = w + ai n / w                                      (4)
//! delay < target, w < 1:           w = w + ai n                                          (5)
//! otherwise, if an RTT has passed since the last decrease:
//!                w = w max(1 - beta_md (delay - target) / delay, 1 - max_mdf)            (6)
//! ```
//! Fast recovery (a NACK), and a retransmission timeout, if an RTT has passed: `w = w (1 - max_mdf)` (7). From the
//! fifth timeout in a row (`timeouts`): `w = min-window`. Then `min-window <= w <= max-window`. The sender may send
//! ```text
//! w >= 1:  up to floor(w) packets in flight, at line rate as ACKs come in
//! w < 1:   a packet every RTT / w                                                        (8)
//! ```
//! With `median`, (4) to (6) take the median of the fabric's last H delays as `delay`. An ACK is late if `delay` is not
//! below the target. With `late-acks` above one, (6) also waits for so many late ACKs since the last decrease or the last
//! ACK that was not late.
//! ```text
//! H = max(floor(w / 2), 1)                                                               (9)
//! ```
//! The median is late only if more than half of H are. A window that reacts to each late packet, with a share q of them,
//! is about sqrt(1.5 / q) packets on average.
//!
//! # Parameters
//! [`Params`]. `beta` is the paper's β of decreases; equation (1)'s is computed. `fs-range` zero turns flow scaling
//! off, as `flow-scaling = false` does. `hop-delay` zero turns off scaling with the path. LSwift and MSwift take all of
//! them from `[cc.swift]`; their publication has a target of 1 us above the empty network's round trip for all flows.
//!
//! # Where we differ from the paper or public code
//! * β of flow scaling is negative, as in the paper. The public code of Bolt subtracts it, which sets the target 4 us
//!   too high; htsim divides whole numbers of bytes under the root.
//! * The paper's listing also notes the time of a decrease when the window has merely stayed the same. ACKs above the
//!   target would then put off the next decrease for ever. Here it notes the time only when the window has fallen.
//! * The paper does not define the fraction of a window above one packet; here it waits for the rest.
//! * Losses cut both windows, because the place of a loss is unknown. Retransmission is up to the network's loss
//!   recovery, for all schemes alike.
//! * Round-trip times are neither smoothed nor filtered. The sender's host takes no time, and the wait before a packet
//!   is sent is not part of the round trip.
//! * Hops are links, known from the path and not from a packet's TTL.
//! * The publication of MSwift leaves open the median of an even number: the key `median` selects the lower or the upper
//!   of the two. The window of the receiver's host takes its last delay, because all paths end there. Decreases are
//!   spaced by the last round trip. When H shrinks, the newest delays remain.
//! * Swift in that publication's simulator also decreases when packets arrive out of order. Here that depends on
//!   the loss recovery: selective repeat (`irn`) reports a gap as a loss, `rud` does not.
//!
//! # References
//! G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
//! SIGCOMM 2020, §3 and Algorithm 1.
//! S. Agarwal et al., "Understanding Host Interconnect Congestion", HotNets 2022: the endpoint's target.
//! B. Gerstein, M. Silberstein, I. Keslassy, "Congestion Control for Spraying with Congested Paths",
//! arXiv 2509.07907v2, 2026: LSwift and MSwift, equation (8).
//! Public code: serhatarslan-hub/bolt_cc_ns3.

use paceline_kernel::{Bytes, Span, Time};

use crate::api::{AckInfo, CongestionControl, Ctx, PathInfo, Requirements, SendLimits};
use crate::median::{Median, Middle};
use crate::params::{ParamError, Parameters, Range, if_so, is};
use crate::registry::{Alias, Definition, DelayLimit, Scheme, WindowMode};

/// Bytes of the endpoint's delay in headers.
const ECHO: u8 = 4;

params! {
    /// Parameters of Swift; section numbers in sources are the paper's.
    pub struct Params {
        /// Target delay of the fabric, without the additions for path and window.
        base_delay: Span = Span::from_us(10), in Range::Above(0.0), from "Bolt's simulations; its code's default is 25us";
        /// Addition to the target per link of the path.
        hop_delay: Span = Span::from_us(1), in Range::AtLeast(0.0), from "Bolt's simulations";
        /// Let the target depend on the window, by equation (1).
        flow_scaling: bool = true, in Range::Any, from "paper §3.5";
        /// Largest addition by flow scaling.
        fs_range: Span = Span::from_us(100), in Range::AtLeast(0.0), from "Bolt's simulations", only(&[&[is(".flow-scaling", &["true"])]]);
        /// Window, in packets, at and below which flow scaling adds its full range.
        fs_min: f64 = 0.1, in Range::Above(0.0), from "Bolt's simulations, htsim", only(&[&[is(".flow-scaling", &["true"])]]);
        /// Window, in packets, from which flow scaling adds nothing.
        fs_max: f64 = 256.0, in Range::Above(0.0), from "Bolt's simulations; htsim: 100", only(&[&[is(".flow-scaling", &["true"])]]);
        /// Additive increase, in packets per round trip.
        ai: f64 = 1.0, in Range::Above(0.0), from "Bolt's simulations, htsim";
        /// Weight of the excess delay in a decrease.
        beta: f64 = 0.8, in Range::AboveUpTo(0.0, 1.0), from "Bolt's simulations, htsim";
        /// Largest share of the window that one decrease removes.
        max_mdf: f64 = 0.5, in Range::AboveUpTo(0.0, 0.99), from "Bolt's simulations, htsim";
        /// Smallest window, in packets.
        min_window: f64 = 0.01, in Range::Between(1e-6, 1.0), from "Bolt's simulations: 15 of 1500 bytes";
        /// Largest window, in packets. 0: four bandwidth-delay products, at least 256.
        max_window: f64 = 0.0, in Range::AtLeast(0.0), from "Bolt's dumbbell: 256, which are 3.7 of its products";
        /// First window of a flow, in packets. 0: the bandwidth-delay product.
        initial_window: f64 = 0.0, in Range::AtLeast(0.0), from "Bolt's simulations";
        /// Timeouts in a row after which the window is the smallest.
        timeouts: u32 = 5, in Range::AtLeast(1.0), from "paper, RETX_RESET_THRESHOLD";
        /// Late ACKs in a row before a decrease.
        late_acks: u32 = 1, in Range::AtLeast(1.0), from "paper; LSwift and MSwift: 5";
        /// Delay of the fabric that counts: the last one, or the median of the last ones by equation (9).
        median: Middle = Middle::Off, in Range::Any, from "paper; MSwift has a median";
        /// Keep a separate window for the receiver's host.
        endpoint: bool = true, in Range::Any, from "paper §3.5";
        /// Target delay of the receiver's host.
        endpoint_target: Span = Span::from_us(100), in Range::Above(0.0), from "Agarwal et al., of production", only(&[&[is(".endpoint", &["true"]), if_so("receivers that take time (`network.endpoint`)")]]);
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "swift",
        aliases: &[
            Alias {
                name: "lswift",
                help: "decreases only after five late acknowledgements in a row, for packets on many paths",
                settings: &[("late-acks", "5")],
                window: None,
            },
            Alias {
                name: "mswift",
                help: "as lswift, by the median of the last delays: some congested paths do not count",
                settings: &[("late-acks", "5"), ("median", "lower")],
                window: None,
            },
        ],
        title: "Swift",
        paper: crate::papers::SWIFT.citation,
        summary: "Holds the delay at a target, of the fabric and of the receiver's host apart;\n\
                  windows go below one packet.",
        scope: "any network with good time stamps; windows go below a packet.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("swift.rs"),
    };

    fn check(&self) -> Result<(), ParamError> {
        let above = |name, value: f64, than, limit: f64| {
            if value > limit {
                return Err(ParamError::new(name, format!("{value} is above {than}, {limit}")));
            }
            Ok(())
        };
        if self.fs_min >= self.fs_max {
            let message = format!("{} is not below fs-max, {}", self.fs_min, self.fs_max);
            return Err(ParamError::new("fs-min", message));
        }
        if self.max_window > 0.0 {
            above("min-window", self.min_window, "max-window", self.max_window)?;
            above(
                "initial-window",
                self.initial_window,
                "max-window",
                self.max_window,
            )?;
        }
        Ok(())
    }

    fn needs(&self) -> Requirements {
        Requirements {
            timestamp: true,
            header: if self.endpoint { ECHO } else { 0 },
            repaces: true,
            ..Requirements::default()
        }
    }

    fn delay_limit(&self, links: usize) -> Option<DelayLimit> {
        let range = if self.flow_scaling {
            self.fs_range
        } else {
            Span::ZERO
        };
        let hops = Span::from_ps(self.hop_delay.as_ps().saturating_mul(links as u64));
        Some(DelayLimit {
            param: "base-delay",
            rtt: self.base_delay + hops + range,
        })
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Swift::new(self, path))
    }
}

/// Target delay of the fabric by equations (1) and (2), in ns.
#[derive(Clone, Copy, Debug)]
struct Target {
    base: f64,
    hop: f64,
    range: f64,
    alpha: f64,
    beta: f64,
}

impl Target {
    fn new(params: &Params) -> Self {
        let range = if params.flow_scaling {
            params.fs_range.as_ns_f64()
        } else {
            0.0
        };
        // Equation (1): all of the range at `fs-min`, and nothing at `fs-max`.
        let alpha = range / (1.0 / params.fs_min.sqrt() - 1.0 / params.fs_max.sqrt());
        Self {
            base: params.base_delay.as_ns_f64(),
            hop: params.hop_delay.as_ns_f64(),
            range,
            alpha,
            beta: -alpha / params.fs_max.sqrt(),
        }
    }

    /// Returns the term of flow scaling at a window of `cwnd` packets, in ns.
    fn flow_scaling(&self, cwnd: f64) -> f64 {
        (self.alpha / cwnd.sqrt() + self.beta).min(self.range).max(0.0)
    }

    fn of(&self, links: usize, cwnd: f64) -> f64 {
        self.base + links as f64 * self.hop + self.flow_scaling(cwnd)
    }
}

/// Constants of equations (4) to (7).
#[derive(Clone, Copy, Debug)]
struct Law {
    ai: f64,
    beta: f64,
    max_mdf: f64,
    min: f64,
    max: f64,
    late_acks: u32,
}

/// Window of fabric or endpoint, in packets.
#[derive(Clone, Copy, Debug)]
struct Window {
    cwnd: f64,
    last_decrease: Option<Time>,
    /// Late ACKs since the last decrease, all in a row.
    late: u32,
}

impl Window {
    /// Applies (4) to (6) to an ACK of `acked` packets; both delays are in ns.
    fn on_delay(&mut self, law: &Law, round: &Round, delay: f64, target: f64, acked: f64) {
        if delay < target {
            self.late = 0;
            let step = law.ai * acked;
            // Above one packet the steps of a round trip's ACKs add up to `ai`.
            let step = if self.cwnd >= 1.0 { step / self.cwnd } else { step };
            self.cwnd = (self.cwnd + step).clamp(law.min, law.max);
        } else {
            self.late = self.late.saturating_add(1);
            if self.late < law.late_acks {
                return;
            }
            let excess = (delay - target) / delay;
            self.shrink(law, round, (1.0 - law.beta * excess).max(1.0 - law.max_mdf));
        }
    }

    /// Multiplies the window by `factor`, at most once per round trip.
    fn shrink(&mut self, law: &Law, round: &Round, factor: f64) {
        let may = self
            .last_decrease
            .is_none_or(|last| round.now.saturating_since(last) >= round.rtt);
        if !may {
            return;
        }
        let before = self.cwnd;
        self.cwnd = (self.cwnd * factor).clamp(law.min, law.max);
        // Only a real decrease counts: otherwise ACKs above the target at the smallest window would postpone
        // the next one for ever.
        if self.cwnd < before {
            self.last_decrease = Some(round.now);
            self.late = 0;
        }
    }
}

/// Present time, and the round-trip time that spaces decreases.
#[derive(Clone, Copy, Debug)]
struct Round {
    now: Time,
    rtt: Span,
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Swift {
    target: Target,
    law: Law,
    mtu: f64,
    fabric: Window,
    /// Last delays of the fabric, if their median counts.
    median: Option<Median>,
    /// Endpoint window; constantly the largest if `endpoint` is off.
    endpoint: Window,
    endpoint_target: Option<f64>,
    /// Consecutive timeouts without an ACK.
    timeouts: u32,
    timeouts_max: u32,
    rtt: Span,
    limits: SendLimits,
}

impl Swift {
    /// Creates a sender with its initial windows.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let bdp = path.bdp_packets();
        let or = |given: f64, auto: f64| if given > 0.0 { given } else { auto };
        let law = Law {
            ai: params.ai,
            beta: params.beta,
            max_mdf: params.max_mdf,
            min: params.min_window,
            max: or(params.max_window, (4.0 * bdp).max(256.0)),
            late_acks: params.late_acks,
        };
        let window = |cwnd| Window {
            cwnd,
            last_decrease: None,
            late: 0,
        };
        let first = or(params.initial_window, bdp.max(1.0)).clamp(law.min, law.max);
        let mut swift = Self {
            target: Target::new(params),
            law,
            mtu: path.mtu.get().max(1) as f64,
            fabric: window(first),
            median: params.median.filter(),
            endpoint: window(if params.endpoint { first } else { law.max }),
            endpoint_target: params.endpoint.then(|| params.endpoint_target.as_ns_f64()),
            timeouts: 0,
            timeouts_max: params.timeouts,
            rtt: path.base_rtt,
            limits: SendLimits {
                rate: path.line_rate,
                window: Bytes::MAX,
            },
        };
        swift.set_limits(path);
        swift
    }

    /// Returns the effective window, in packets.
    pub fn window(&self) -> f64 {
        self.fabric.cwnd.min(self.endpoint.cwnd)
    }

    /// Returns the windows of fabric and endpoint, in packets.
    pub fn windows(&self) -> (f64, f64) {
        (self.fabric.cwnd, self.endpoint.cwnd)
    }

    /// Returns the fabric's target delay on a path of `links` links, at the present window.
    pub fn target(&self, links: usize) -> Span {
        Span::from_ps((self.target.of(links, self.fabric.cwnd) * 1000.0) as u64)
    }

    /// Derives the NIC's limits from the window: equation (8).
    fn set_limits(&mut self, path: &PathInfo) {
        let cwnd = self.window();
        self.limits = if cwnd >= 1.0 {
            SendLimits {
                rate: path.line_rate,
                window: Bytes::new((cwnd.floor() * self.mtu) as u64),
            }
        } else {
            // Below one packet the NIC spaces packets, because a window cannot hold back a part of one.
            let gap = Span::from_ps((self.rtt.as_ps() as f64 / cwnd) as u64);
            SendLimits {
                rate: path.rate_of_gap(gap),
                window: Bytes::new(self.mtu as u64),
            }
        };
    }

    fn round(&self, cx: &Ctx<'_>) -> Round {
        Round {
            now: cx.now,
            rtt: self.rtt,
        }
    }

    /// Applies equation (7) to both windows.
    fn lose(&mut self, round: &Round) {
        let kept = 1.0 - self.law.max_mdf;
        self.fabric.shrink(&self.law, round, kept);
        if self.endpoint_target.is_some() {
            self.endpoint.shrink(&self.law, round, kept);
        }
    }
}

impl CongestionControl for Swift {
    fn limits(&self) -> SendLimits {
        self.limits
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        // An ACK shows that packets get through.
        self.timeouts = 0;
        self.rtt = ack.rtt;
        let round = self.round(cx);
        if ack.nack {
            self.lose(&round);
        } else {
            let acked = ack.newly_acked as f64 / self.mtu;
            let endpoint = ack.endpoint_delay.as_ns_f64();
            let fabric = match &mut self.median {
                None => ack.rtt.as_ns_f64() - endpoint,
                Some(median) => {
                    let delay = ack.rtt.as_ps().saturating_sub(ack.endpoint_delay.as_ps());
                    // Equation (9), with the window before this ACK.
                    Span::from_ps(median.push(delay, (self.fabric.cwnd / 2.0) as usize)).as_ns_f64()
                }
            };
            let target = self.target.of(cx.path.links(), self.fabric.cwnd);
            // The target depends on the window before this ACK, as in the paper's listing.
            self.fabric.on_delay(&self.law, &round, fabric, target, acked);
            if let Some(target) = self.endpoint_target {
                self.endpoint.on_delay(&self.law, &round, endpoint, target, acked);
            }
        }
        self.set_limits(cx.path);
    }

    fn on_timeout(&mut self, cx: &mut Ctx<'_>) {
        self.timeouts += 1;
        let round = self.round(cx);
        // Several timeouts in a row mean that even halved windows do not get through (§3.4).
        if self.timeouts >= self.timeouts_max {
            let min = Window {
                cwnd: self.law.min,
                last_decrease: Some(cx.now),
                late: 0,
            };
            self.fabric = min;
            if self.endpoint_target.is_some() {
                self.endpoint = min;
            }
        } else {
            self.lose(&round);
        }
        self.set_limits(cx.path);
    }
}

#[cfg(test)]
mod tests;
