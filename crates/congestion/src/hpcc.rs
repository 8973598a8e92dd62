//! HPCC: high precision congestion control from in-band network telemetry.
//!
//! # What it does
//! Every switch writes into every data packet how loaded its port is; the receiver returns that
//! with the ACK. The sender computes the utilisation of the most loaded link of the path, its own
//! traffic included, and moves its rate by the one multiplication that brings this link to the
//! target η. The rate is set from a reference that changes once per round trip, so that reacting
//! to every ACK does not react to the same packets twice.
//!
//! # Signal it needs
//! In-band telemetry (INT) in each ACK: per hop the time, the bytes sent by the port and the bytes
//! in its queues when the packet left. The window (bandwidth-delay product, scaled with the rate)
//! belongs to the scheme: it bounds what is in flight when feedback stops.
//!
//! # Equations
//! For each hop, between this ACK's telemetry and the last one's (T is the base RTT, C the hop's
//! rate, C_nic the sender's):
//! ```text
//! txRate = (txBytes_new - txBytes_old) * 8 / tau                                       (2)
//! u'     = txRate / C + min(q_new, q_old) * C_nic / C / BDP
//! ```
//! With `u'` and `tau` of the hop where `u'` is largest, `tau` at most T:
//! ```text
//! U = ((T - tau) U + tau u') / T                                                       (3)
//! R = Rc / (U / eta) + AI,  stage = 0          if U >= eta or stage >= max-stage       (4)
//! R = Rc + AI,              stage = stage + 1  otherwise
//! ```
//! R stays from `min-rate` to the line's. When an ACK covers what was sent after the last full
//! update, the update is full: `Rc = R`, and the stage is kept.
//!
//! # Parameters
//! [`Params`]. `rate-ai` is a window step over T: the paper's W_AI = W (1 - eta) / N for N flows.
//! The public code's launcher scales it as 10 Mbit/s per 25 Gbit/s of line; its README uses 50.
//!
//! # Where we differ from the paper or public code
//! * `max-stage` is 0, as in the authors' simulations; the paper's text says 5. With 0 the branch
//!   of pure additive increase is never taken.
//! * Rate based, as the public code: the window of the paper is R T, applied by the NIC.
//! * An ACK with telemetry of another number of hops than the last one's (a changed path) is only
//!   recorded. The public code compares with what it holds of other ports.
//! * A hop beyond those that the path lists counts as one at the sender's line rate.
//! * With `multi-rate`, hops that `sample-feedback` skips hold the rate at their own Rc, as in the
//!   public code.
//!
//! # References
//! Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, §3 and Algorithm 1.
//! Public code: alibaba-edu/High-Precision-Congestion-Control.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{AckInfo, CongestionControl, Ctx, HopSample, Needs, PathInfo, SendLimits};
use crate::params::{Parameters, Range};
use crate::rate::{Bounds, divide};
use crate::registry::{Definition, Scheme, WindowMode};

params! {
    /// Parameters of HPCC.
    pub struct Params {
        /// Target utilisation η of every link.
        eta: f64 = 0.95, in Range::AboveUpTo(0.0, 1.0), from "paper §3.3";
        /// Round trips of additive increase before a multiplicative one.
        max_stage: u32 = 0, in Range::AtLeast(0.0), from "the authors' simulations; the paper says 5";
        /// Additive step per round trip.
        rate_ai: BitRate = BitRate::from_bps(50_000_000), in Range::AtLeast(0.0), from "public code's README, at 100 Gbit/s";
        /// The lowest rate.
        min_rate: BitRate = BitRate::from_gbps(1), in Range::Above(0.0), from "public code's launcher";
        /// Whether every ACK changes the rate, rather than one per round trip.
        fast_react: bool = true, in Range::Any, from "paper §3.2";
        /// A reference rate and utilisation for each hop, the smallest rate wins.
        multi_rate: bool = false, in Range::Any, from "public code's sample";
        /// Between full updates, ignore hops whose queue is empty.
        sample_feedback: bool = false, in Range::Any, from "public code's sample";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "hpcc",
        aliases: &[],
        title: "HPCC",
        paper: "Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019",
        summary: "Telemetry from every hop tells how loaded the path's busiest link is;\n\
                  one multiplication brings it to the target utilisation.",
        default_window: WindowMode::Variable,
        params: Self::docs,
        source: include_str!("hpcc.rs"),
    };

    fn needs(&self) -> Needs {
        Needs {
            int: true,
            repaces: true,
            ..Needs::default()
        }
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Hpcc::new(self, path))
    }
}

/// From a utilisation to a rate: equation (4), which HPCC-PINT shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    pub(crate) eta: f64,
    pub(crate) max_stage: u32,
    pub(crate) rate_ai: BitRate,
    pub(crate) bounds: Bounds,
}

/// A rate that moves once per round trip, and the additive steps since it was multiplied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reference {
    pub(crate) rate: BitRate,
    pub(crate) stage: u32,
}

impl Law {
    /// The rate and stage that follow from `reference` at utilisation `u`.
    pub(crate) fn next(&self, reference: Reference, u: f64) -> Reference {
        let c = u / self.eta;
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

/// What the sender holds of one hop.
#[derive(Clone, Copy, Debug)]
struct Hop {
    last: HopSample,
    /// With `multi-rate`: U and Rc of this hop.
    u: f64,
    reference: Reference,
}

/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct Hpcc {
    law: Law,
    fast_react: bool,
    multi_rate: bool,
    sample_feedback: bool,
    rate: BitRate,
    reference: Reference,
    u: f64,
    last_update_seq: u64,
    hops: Vec<Hop>,
}

impl Hpcc {
    /// A sender at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            law: Law {
                eta: params.eta,
                max_stage: params.max_stage,
                rate_ai: params.rate_ai,
                bounds: Bounds::new(params.min_rate, path.line_rate),
            },
            fast_react: params.fast_react,
            multi_rate: params.multi_rate,
            sample_feedback: params.sample_feedback,
            rate: path.line_rate,
            reference: Reference {
                rate: path.line_rate,
                stage: 0,
            },
            u: 1.0,
            last_update_seq: 0,
            hops: Vec::with_capacity(path.hop_rates.len()),
        }
    }

    /// The estimate U of the busiest link's utilisation.
    pub fn utilisation(&self) -> f64 {
        self.u
    }

    /// The reference rate Rc.
    pub fn reference_rate(&self) -> BitRate {
        self.reference.rate
    }

    fn record(&mut self, samples: &[HopSample]) {
        let fresh = Reference {
            rate: self.law.bounds.line,
            stage: 0,
        };
        self.hops.clear();
        self.hops.extend(samples.iter().map(|&last| Hop {
            last,
            u: 1.0,
            reference: fresh,
        }));
    }

    /// Whether hop `now` counts in this update.
    fn counts(&self, now: &HopSample, full: bool) -> bool {
        full || !self.sample_feedback || now.queue_bytes > 0
    }

    /// One reference for the path: returns the new one, if any hop counted.
    fn update_path(&mut self, path: &PathInfo, samples: &[HopSample], full: bool) -> Option<Reference> {
        let (mut u_max, mut tau_max, mut counted) = (0.0, Span::ZERO, false);
        for (i, now) in samples.iter().enumerate() {
            if !self.counts(now, full) {
                continue;
            }
            counted = true;
            let (u, tau) = hop_utilisation(path, i, &self.hops[i].last, now);
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

    /// One reference per hop: returns the smallest rate, if any hop counted.
    fn update_hops(&mut self, path: &PathInfo, samples: &[HopSample], full: bool) -> Option<Reference> {
        let mut smallest = self.law.bounds.line;
        let mut counted = false;
        for (i, now) in samples.iter().enumerate() {
            let counts = self.counts(now, full);
            let hop = &mut self.hops[i];
            if !counts {
                smallest = smallest.min(hop.reference.rate);
                continue;
            }
            counted = true;
            let (u, tau) = hop_utilisation(path, i, &hop.last, now);
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

/// Equation (2): the utilisation of hop `i` between two samples, and the time between them.
fn hop_utilisation(path: &PathInfo, i: usize, old: &HopSample, now: &HopSample) -> (f64, Span) {
    let tau = path.int.time_between(old.at_ps, now.at_ps);
    let seconds = tau.as_ns_f64() * 1e-9;
    let bits = path.int.bytes_between(old.tx_bytes, now.tx_bytes) * 8;
    let tx_rate = bits as f64 / seconds;
    let hop_rate = path.hop_rates.get(i).unwrap_or(&path.line_rate).as_bps() as f64;
    let queue = f64::from(now.queue_bytes.min(old.queue_bytes));
    // The order of operations is the reference's: results agree to the bit.
    let u = tx_rate / hop_rate + queue * path.line_rate.as_bps() as f64 / hop_rate / path.bdp.get() as f64;
    (u, tau)
}

/// Equation (3): `u` after a time `tau` at `sample`.
fn moving_average(u: f64, sample: f64, tau: Span, base_rtt: Span) -> f64 {
    let tau = tau.min(base_rtt);
    (u * (base_rtt - tau).as_ns_f64() + sample * tau.as_ns_f64()) / base_rtt.as_ns_f64()
}

impl CongestionControl for Hpcc {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    /// Algorithm 1, `NewAck`.
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        let full = ack.seq > self.last_update_seq;
        if !full && !self.fast_react {
            return;
        }
        if self.last_update_seq == 0 {
            self.record(ack.hops);
            self.last_update_seq = ack.snd_nxt;
            return;
        }
        if !ack.hops.is_empty() && ack.hops.len() != self.hops.len() {
            self.record(ack.hops);
        } else {
            let next = if self.multi_rate {
                self.update_hops(cx.path, ack.hops, full)
            } else {
                self.update_path(cx.path, ack.hops, full)
            };
            if let Some(next) = next {
                self.rate = next.rate;
                if full {
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
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    /// 1250 bytes in 100 ns are 100 Gbit/s.
    fn sample(at_ns: u64, tx_bytes: u32, queue_bytes: u32) -> HopSample {
        HopSample {
            at_ps: at_ns * 1000,
            tx_bytes,
            queue_bytes,
        }
    }

    fn pair(params: &Params) -> Pair<Hpcc> {
        Pair::new(star_path(), |path| Hpcc::new(params, path))
    }

    fn feed(pair: &mut Pair<Hpcc>, seq: u64, snd_nxt: u64, hops: &[HopSample]) {
        pair.ack(&AckInfo {
            hops,
            ..ack(seq, snd_nxt)
        });
    }

    #[test]
    fn equations_2_to_4_by_hand() {
        let mut pair = pair(&Params::default());
        feed(&mut pair, 1000, 50_000, &[sample(0, 0, 10_400)]);
        assert_eq!(
            pair.rate(),
            BitRate::from_gbps(100),
            "the first ACK is only recorded"
        );
        // txRate 50 Gbit/s; queue min(10400, 5200)/52000 = 0.1: u' = 0.6. tau = 1040 = T/4:
        // U = 0.75 * 1 + 0.25 * 0.6 = 0.9; R = 100 / (0.9/0.95) + 0.05 = 105.6: the line.
        feed(&mut pair, 2000, 60_000, &[sample(1040, 6500, 5200)]);
        assert!((pair.cc.utilisation() - 0.9).abs() < 1e-12);
        assert_eq!(pair.rate(), BitRate::from_gbps(100));
        // txRate 100 Gbit/s; u' = 1 + 5200/52000 = 1.1, tau capped at T: U = 1.1.
        feed(
            &mut pair,
            3000,
            60_000,
            &[sample(1040 + 8320, 6500 + 104_000, 52_000)],
        );
        assert!((pair.cc.utilisation() - 1.1).abs() < 1e-12);
        // R = 100 / (1.1 / 0.95) + 0.05 Gbit/s; Rc stays.
        assert_eq!(pair.rate().as_bps(), 86_363_636_363 + 50_000_000);
        assert_eq!(pair.cc.reference_rate(), BitRate::from_gbps(100));
        // Past 50000: a full update. The same load: U = 1.1, R from Rc, and Rc moves.
        feed(
            &mut pair,
            51_000,
            90_000,
            &[sample(9360 + 4160, 110_500 + 52_000, 5200)],
        );
        assert_eq!(pair.rate().as_bps(), 86_413_636_363);
        assert_eq!(pair.cc.reference_rate(), pair.rate());
    }

    #[test]
    fn stages_of_additive_increase() {
        let mut pair = pair(&Params {
            max_stage: 1,
            rate_ai: BitRate::from_gbps(1),
            ..Params::default()
        });
        feed(&mut pair, 1, 10, &[sample(0, 0, 0)]);
        // The queue counts once both samples have it: U = 1, R = 96; then 1.9: R = 48 + 1 Gbit/s.
        feed(&mut pair, 11, 20, &[sample(4160, 52_000, 46_800)]);
        feed(&mut pair, 21, 30, &[sample(8320, 104_000, 46_800)]);
        let halved = pair.rate().as_bps();
        assert!((halved as i64 - 49_000_000_000).abs() < 2, "{halved}");
        // U = 0.475: one additive step, then (stage 1 >= max-stage) the multiplicative one.
        feed(&mut pair, 31, 40, &[sample(12_480, 104_000 + 24_700, 0)]);
        assert_eq!(pair.rate().as_bps(), halved + 1_000_000_000);
        feed(&mut pair, 41, 50, &[sample(16_640, 104_000 + 2 * 24_700, 0)]);
        assert_eq!(pair.rate(), BitRate::from_gbps(100));
    }

    #[test]
    fn without_fast_reaction_only_full_updates_count() {
        let mut pair = pair(&Params {
            fast_react: false,
            ..Params::default()
        });
        feed(&mut pair, 1000, 50_000, &[sample(0, 0, 0)]);
        feed(&mut pair, 2000, 60_000, &[sample(4160, 52_000, 52_000)]);
        assert_eq!(
            (pair.rate(), pair.cc.utilisation()),
            (BitRate::from_gbps(100), 1.0)
        );
        // The telemetry of the ignored ACK was not stored either: q_old is that of the first.
        feed(&mut pair, 51_000, 60_000, &[sample(8320, 104_000, 52_000)]);
        assert_eq!(pair.cc.utilisation(), 1.0);
        assert_eq!(pair.rate().as_bps(), 95_050_000_000);
    }

    #[test]
    fn the_busiest_hop_sets_the_rate_and_its_line_rate_counts() {
        let mut path = star_path();
        path.hop_rates = vec![BitRate::from_gbps(400), BitRate::from_gbps(100)];
        let mut pair = Pair::new(path, |path| Hpcc::new(&Params::default(), path));
        feed(&mut pair, 1, 10, &[sample(0, 0, 0), sample(0, 0, 0)]);
        // 400G hop: 200/400 = 0.5. 100G hop: 80/100 = 0.8.
        feed(
            &mut pair,
            11,
            20,
            &[sample(4160, 104_000, 0), sample(4160, 41_600, 0)],
        );
        assert!((pair.cc.utilisation() - 0.8).abs() < 1e-12);
        // Now the 400G hop is a little busier: 340/400 = 0.85 against 0.8.
        let busier = [sample(8320, 280_800, 0), sample(8320, 83_200, 0)];
        feed(&mut pair, 21, 30, &busier);
        assert!((pair.cc.utilisation() - 0.85).abs() < 1e-12);
    }

    #[test]
    fn rates_per_hop_with_sampled_feedback() {
        let mut path = star_path();
        path.hop_rates = vec![BitRate::from_gbps(100); 2];
        let params = Params {
            multi_rate: true,
            sample_feedback: true,
            ..Params::default()
        };
        let mut pair = Pair::new(path, |path| Hpcc::new(&params, path));
        feed(&mut pair, 1, 10, &[sample(0, 0, 0), sample(0, 0, 0)]);
        // Full update: hop 0 at u = 1.9 (queue 0.9 needs both samples), hop 1 at 0.475.
        feed(
            &mut pair,
            11,
            20,
            &[sample(4160, 52_000, 46_800), sample(4160, 24_700, 0)],
        );
        feed(
            &mut pair,
            21,
            30,
            &[sample(8320, 104_000, 46_800), sample(8320, 49_400, 0)],
        );
        let halved = pair.rate();
        assert!(halved < BitRate::from_gbps(50), "{halved}");
        // A fast ACK, hop 0 empty: skipped, but its Rc still bounds the rate; its INT is not stored.
        feed(
            &mut pair,
            22,
            30,
            &[sample(8330, 104_000, 0), sample(8330, 49_400, 100)],
        );
        assert_eq!(pair.rate(), halved);
        assert_eq!(pair.cc.hops[0].last, sample(8320, 104_000, 46_800));
        // Both empty: nothing at all.
        feed(&mut pair, 23, 30, &[sample(8340, 0, 0), sample(8340, 0, 0)]);
        assert_eq!(pair.cc.hops[1].last, sample(8330, 49_400, 100));
    }

    #[test]
    fn no_window_means_division_by_zero_as_in_the_reference() {
        let mut path = star_path();
        path.bdp = Bytes::ZERO;
        let mut pair = Pair::new(path, |path| Hpcc::new(&Params::default(), path));
        feed(&mut pair, 1, 10, &[sample(0, 0, 0)]);
        // 0/0 is not larger than 0: U keeps 1, and each round trip divides by 1/0.95.
        for i in 1..=1000 {
            feed(&mut pair, i * 10 + 1, i * 10 + 10, &[sample(i * 4160, 0, 0)]);
        }
        assert_eq!(pair.cc.utilisation(), 1.0);
        assert_eq!(pair.rate().as_bps(), BitRate::from_gbps(1).as_bps());
        // A queue makes U infinite, and the rate the lowest.
        feed(&mut pair, 20_001, 20_002, &[sample(5_000_000, 0, 9)]);
        feed(&mut pair, 20_003, 20_004, &[sample(5_001_000, 0, 9)]);
        assert_eq!(pair.cc.utilisation(), f64::INFINITY);
        assert_eq!(pair.rate(), BitRate::from_gbps(1));
    }

    #[test]
    fn telemetry_that_is_missing_or_changes_length_changes_no_rate() {
        let mut pair = pair(&Params::default());
        feed(&mut pair, 1000, 50_000, &[sample(0, 0, 0)]);
        feed(&mut pair, 51_000, 90_000, &[]);
        assert_eq!(
            (pair.rate(), pair.cc.last_update_seq),
            (BitRate::from_gbps(100), 90_000)
        );
        let two = [sample(1, 1, 99_999), sample(1, 1, 99_999)];
        feed(&mut pair, 91_000, 95_000, &two);
        assert_eq!((pair.rate(), pair.cc.hops.len()), (BitRate::from_gbps(100), 2));
    }
}
