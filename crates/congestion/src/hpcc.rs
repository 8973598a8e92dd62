//! HPCC: high precision congestion control from in-band network telemetry.
//!
//! # What it does
//! Every switch writes the load of its port into every data packet, and the receiver returns it in the ACK. The sender
//! computes the utilisation of the most loaded link on the path. One multiplication of its rate brings this link to
//! the target utilisation η. The multiplication starts from a reference rate that changes once per round trip, so that
//! the sender can react to every ACK without reacting twice to the same packets. HPCC is for networks whose switches
//! add telemetry (Li et al., SIGCOMM 2019).
//!
//! # Signal it needs
//! In-band telemetry (INT) in each ACK: per hop the time, the bytes sent by the port, and the bytes in its queues when
//! the packet left. The window (bandwidth-delay product, scaled with the rate) is part of the scheme: it bounds the
//! bytes in flight when feedback stops.
//!
//! # Equations
//! For each hop, between this ACK's telemetry and the last one's (T is the base RTT, C the hop's rate, C_nic the
//! sender's):
//! ```text
//! txRate = (txBytes_new - txBytes_old) * 8 / tau                                       (2)
//! u'     = txRate / C + min(q_new, q_old) * C_nic / C / BDP
//! ```
//! With `u'` and `tau` of the hop with the largest `u'`, and `tau` at most T:
//! ```text
//! U = ((T - tau) U + tau u') / T                                                       (3)
//! R = Rc / (U / eta) + AI,  stage = 0          if U >= eta or stage >= max-stage       (4)
//! R = Rc + AI,              stage = stage + 1  otherwise
//! ```
//! R stays between `min-rate` and the line rate. When an ACK covers data that was sent after the last full update, the
//! update is full: `Rc = R`, and the stage is kept.
//!
//! # Parameters
//! [`Params`]. `rate-ai` is a window step over T: the paper's W_AI = W (1 - eta) / N for N flows, which scales with
//! the line. Its default is the 50 Mbit/s of the public code's README at 100 Gbit/s, which is N = 100. It scales with
//! the line, as the launcher scales its own (10 Mbit/s per 25 Gbit/s).
//!
//! Choose `rate-ai` for the number of flows. Only AI makes rates equal, and a few flows with a small step can lock at
//! unequal shares. The book's findings on HPCC show the cause and the numbers.
//!
//! # Where we differ from the paper or public code
//! * `max-stage` is 0, as in the authors' simulations; the paper's text says 5. With 0 the branch of pure additive
//!   increase is never taken.
//! * Rate based, as the public code: the window of the paper is R T, applied by the NIC.
//! * An ACK whose telemetry has a different number of hops than the last one's (a changed path) is only recorded. The
//!   public code compares it with data of other ports; with its header, so does Paceline.
//! * A hop beyond those in the path's list counts as a link of the sender's line rate. The public code's header has a
//!   code for 25, 50, 100, 200 and 400 Gbit/s and reads every other rate as 25; with that header, so does Paceline.
//! * With `multi-rate`, hops that `sample-feedback` skips hold the rate at their own Rc, as in the public code.
//!
//! # References
//! Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, §3 and Algorithm 1.
//! Public code: alibaba-edu/High-Precision-Congestion-Control.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{AckInfo, CongestionControl, Ctx, HopSample, PathInfo, Requirements, SendLimits};
use crate::params::{Auto, Parameters, Range};
use crate::rate::{Bounds, divide, in_proportion};
use crate::registry::{Definition, Scheme, WindowMode};

params! {
    /// Parameters of HPCC; section numbers in sources are the paper's.
    pub struct Params {
        /// Target utilisation η of every link.
        eta: f64 = 0.95, in Range::AboveUpTo(0.0, 1.0), from "paper §3.3";
        /// Round trips of additive increase before a multiplicative one.
        max_stage: u32 = 0, in Range::AtLeast(0.0), from "the authors' simulations; the paper says 5";
        /// Additive step per round trip. `auto`: 50 Mbit/s per 100 Gbit/s of the line.
        rate_ai: Auto<BitRate> = Auto::Auto, in Range::AtLeast(0.0), from "public code's README at 100 Gbit/s; its launcher scales with the line";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_gbps(1), in Range::Above(0.0), from "public code's launcher";
        /// Change the rate at every ACK instead of once per round trip.
        fast_react: bool = true, in Range::Any, from "paper §3.2";
        /// Also move the reference rate at every such ACK: it then reacts to the same packets many times.
        over_react: bool = false, in Range::Any, from "what the paper's §3.2 argues against";
        /// Keep a reference rate and utilisation per hop, and use the smallest rate.
        multi_rate: bool = false, in Range::Any, from "public code's sample";
        /// Compute a hop's load from the bytes that its port received instead of sent. A growing queue then counts
        /// twice, in qlen and in the rate.
        rx_rate: bool = false, in Range::Any, from "what the paper's figure 6 argues against";
        /// Between full updates, ignore hops whose queue is empty.
        sample_feedback: bool = false, in Range::Any, from "public code's sample";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "hpcc",
        aliases: &[],
        title: "HPCC",
        paper: crate::papers::HPCC.citation,
        summary: "Telemetry from each hop gives the load of the busiest link;\n\
                  one multiplication brings it to the target utilisation.",
        scope: "networks whose switches add telemetry, with or without pauses.",
        default_window: WindowMode::Variable,
        params: Self::docs,
        source: header!("hpcc.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements {
            int: true,
            repaces: true,
            ..Requirements::default()
        }
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Hpcc::new(self, path))
    }
}

/// Returns the default additive step of HPCC and HPCC-PINT on a line of this rate.
pub(crate) fn auto_rate_ai(line: BitRate) -> BitRate {
    in_proportion(BitRate::from_bps(50_000_000), BitRate::from_gbps(100), line)
}

/// Control law from utilisation to rate: equation (4), which HPCC-PINT shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub(crate) eta: f64,
    pub(crate) max_stage: u32,
    pub(crate) rate_ai: BitRate,
    pub(crate) bounds: Bounds,
}

/// Reference rate, which changes once per round trip, and the additive steps since its last multiplication.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) rate: BitRate,
    pub(crate) stage: u32,
}

impl Law {
    /// Returns the rate and stage that follow from `reference` at utilisation `u`.
    pub(crate) fn next(&self, reference: Reference, u: f64) -> Reference {
        let c = u / self.eta;
        // A multiplication reaches the target at once. Below the target, additive steps come first.
        let (rate, stage) = if c >= 1.0 || reference.stage >= self.max_stage {
            (divide(reference.rate, c), 0)
        } else {
            (reference.rate, reference.stage + 1)
        };
        Reference {
            rate: self.bounds.clamp(rate.saturating_add(self.rate_ai)),
            stage,
        }
    }
}

/// Sender's state of one hop.
#[derive(Clone, Copy, Debug)]
struct Hop {
    last: HopSample,
    /// U of this hop, and Rc in `reference`; used with `multi-rate` only.
    u: f64,
    reference: Reference,
}

impl Hop {
    /// Creates the state of a hop from its first sample.
    const fn fresh(last: HopSample, line_rate: BitRate) -> Self {
        Self {
            last,
            u: 1.0,
            reference: Reference {
                rate: line_rate,
                stage: 0,
            },
        }
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Hpcc {
    law: Law,
    fast_react: bool,
    over_react: bool,
    multi_rate: bool,
    rx_rate: bool,
    sample_feedback: bool,
    rate: BitRate,
    reference: Reference,
    u: f64,
    last_update_seq: u64,
    hops: Vec<Hop>,
    /// Identifier of the path on which the stored samples came.
    path: u16,
    /// Number of hops that the header can hold, see [`crate::api::IntFormat::room`].
    room: usize,
}

impl Hpcc {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            law: Law {
                eta: params.eta,
                max_stage: params.max_stage,
                rate_ai: params.rate_ai.or(auto_rate_ai(path.line_rate)),
                bounds: Bounds::new(params.min_rate, path.line_rate),
            },
            fast_react: params.fast_react,
            over_react: params.over_react,
            multi_rate: params.multi_rate,
            rx_rate: params.rx_rate,
            sample_feedback: params.sample_feedback,
            rate: path.line_rate,
            reference: Reference {
                rate: path.line_rate,
                stage: 0,
            },
            u: 1.0,
            last_update_seq: 0,
            hops: vec![Hop::fresh(HopSample::default(), path.line_rate); path.int.room],
            path: 0,
            room: path.int.room,
        }
    }

    /// Returns U, the estimated utilisation of the busiest link.
    pub fn utilisation(&self) -> f64 {
        self.u
    }

    /// Returns the reference rate Rc.
    pub fn reference_rate(&self) -> BitRate {
        self.reference.rate
    }

    /// Restarts from the samples of an ACK. With the reference's header, the samples of further hops are
    /// kept.
    fn record(&mut self, ack: &AckInfo<'_>) {
        self.path = ack.header_bits;
        if self.hops.len() != ack.hops.len() {
            let fresh = Hop::fresh(HopSample::default(), self.law.bounds.line);
            self.hops.resize(ack.hops.len().max(self.room), fresh);
        }
        for (hop, &last) in self.hops.iter_mut().zip(ack.hops) {
            *hop = Hop::fresh(last, self.law.bounds.line);
        }
    }

    /// Returns true if hop `now` takes part in this update.
    fn counts(&self, now: &HopSample, full: bool) -> bool {
        full || !self.sample_feedback || now.queue_bytes > 0
    }

    /// Updates the path's single reference; returns the new one, or `None` if no hop took part.
    fn update_path(&mut self, path: &PathInfo, samples: &[HopSample], full: bool) -> Option<Reference> {
        let (mut u_max, mut tau_max, mut counted) = (0.0, Span::ZERO, false);
        for (i, now) in samples.iter().enumerate() {
            if !self.counts(now, full) {
                continue;
            }
            counted = true;
            let (u, tau) = hop_utilisation(path, i, &self.hops[i].last, now, self.rx_rate);
            if u > u_max {
                (u_max, tau_max) = (u, tau);
            }
            self.hops[i].last = *now;
        }
        if !counted {
            return None;
        }
        self.u = moving_average(self.u, u_max, tau_max, path.base_rtt);
        Some(self.law.next(self.reference, self.u))
    }

    /// Updates one reference per hop; returns the smallest rate, or `None` if no hop took part.
    fn update_hops(&mut self, path: &PathInfo, samples: &[HopSample], full: bool) -> Option<Reference> {
        let mut smallest = self.law.bounds.line;
        let mut counted = false;
        for (i, now) in samples.iter().enumerate() {
            let counts = self.counts(now, full);
            let hop = &mut self.hops[i];
            if !counts {
                // A hop that takes no part still limits the rate.
                smallest = smallest.min(hop.reference.rate);
                continue;
            }
            counted = true;
            let (u, tau) = hop_utilisation(path, i, &hop.last, now, self.rx_rate);
            hop.u = moving_average(hop.u, u, tau, path.base_rtt);
            hop.last = *now;
            let next = self.law.next(hop.reference, hop.u);
            smallest = smallest.min(next.rate);
            if full {
                hop.reference = next;
            }
        }
        counted.then_some(Reference {
            rate: smallest,
            stage: 0,
        })
    }
}

/// Returns the utilisation of hop `i` between two samples, equation (2), and the time between them.
fn hop_utilisation(
    path: &PathInfo,
    i: usize,
    old: &HopSample,
    now: &HopSample,
    rx_rate: bool,
) -> (f64, Span) {
    let tau = path.int.time_between(old.at_ps, now.at_ps);
    // After a change of path the samples may be of two ports. Both differences may then be negative, and wrap
    // to huge values.
    let seconds = tau.as_ns_f64() * 1e-9;
    let bytes = path.int.bytes_between(old.tx_bytes, now.tx_bytes);
    let mut tx_rate = bytes as f64 * 8.0 / seconds;
    if rx_rate {
        // Bytes received are bytes sent plus the growth of the queue.
        let growth = f64::from(now.queue_bytes) - f64::from(old.queue_bytes);
        tx_rate = ((bytes as f64 + growth) * 8.0 / seconds).max(0.0);
    }
    let hop_rate = real(match now.rate_gbps {
        0 => path.hop_rates.get(i).unwrap_or(&path.line_rate).as_bps(),
        coded => BitRate::from_gbps(coded.into()).as_bps(),
    });
    // The smaller of two lengths filters out queues that have just appeared or are about to vanish.
    let queue = f64::from(now.queue_bytes.min(old.queue_bytes));
    // The order of operations is the reference's: results agree to the bit.
    let u = tx_rate / hop_rate + queue * real(path.line_rate.as_bps()) / hop_rate / real(path.bdp.get());
    (u, tau)
}

/// Converts a number below 2^63 to a real one: a single instruction, unlike the full range of `u64`.
#[inline(always)]
fn real(number: u64) -> f64 {
    debug_assert!(
        number >> 63 == 0,
        "no rate and no round trip is as large as {number}"
    );
    number as i64 as f64
}

/// Converts as [`Span::as_ns_f64`] does, for spans that fit into a run.
#[inline(always)]
fn in_ns(span: Span) -> f64 {
    real(span.as_ps()) / 1000.0
}

/// Returns equation (3): `u` after a time `tau` at `sample`.
fn moving_average(u: f64, sample: f64, tau: Span, base_rtt: Span) -> f64 {
    // A sample replaces the average completely after a round trip.
    let tau = tau.min(base_rtt);
    (u * in_ns(base_rtt - tau) + sample * in_ns(tau)) / in_ns(base_rtt)
}

impl CongestionControl for Hpcc {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    /// Implements Algorithm 1, `NewAck`.
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        let full = ack.highest > self.last_update_seq;
        if !full && !self.fast_react {
            return;
        }
        // The first ACK has no earlier sample to compare with.
        if self.last_update_seq == 0 {
            self.record(ack);
            self.last_update_seq = ack.snd_nxt;
            return;
        }
        let moves = full || self.over_react;
        // Samples of another path are of other ports: differences between their counters mean nothing. The
        // reference's header does not notice.
        let other_path =
            self.room == 0 && (ack.hops.len() != self.hops.len() || ack.header_bits != self.path);
        if !ack.hops.is_empty() && other_path {
            self.record(ack);
        } else {
            let next = if self.multi_rate {
                self.update_hops(cx.path, ack.hops, moves)
            } else {
                self.update_path(cx.path, ack.hops, full)
            };
            if let Some(next) = next {
                cx.recompute_pacing();
                self.rate = next.rate;
                // Rc changes once per round trip (§3.2): a fast reaction to each ACK then starts from the
                // same reference, and does not react twice to the same packets.
                if moves {
                    self.reference = next;
                }
            }
        }
        if full {
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
    }
}

#[cfg(test)]
mod tests;
