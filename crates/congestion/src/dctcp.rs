//! DCTCP, in the rate-based form that RDMA simulations use.
//!
//! # What it does
//! Switches mark packets above one queue threshold, and the receiver echoes each mark. The sender estimates the
//! fraction α of marked packets, round trip by round trip. With marks it cuts its rate by α/2, once per round trip;
//! without, it adds a step per round trip. DCTCP works in any network whose switches mark (Alizadeh et al., SIGCOMM
//! 2010).
//!
//! # Signal it needs
//! ECN: switches mark above one threshold (a step, Kmin = Kmax), the receiver echoes each mark.
//!
//! # Equations
//! Once per round trip (an ACK covers data that was sent after the last update), with F the fraction of marked ACKs:
//! ```text
//! alpha = (1 - g) alpha + g F                                                          (1)
//! ```
//! At a marked ACK, at most once until all data then in flight is acknowledged:
//! ```text
//! R = R (1 - alpha / 2)                                                                (2)
//! ```
//! Otherwise, once per round trip: `R = R + AI`. R stays between `min-rate` and the line rate.
//!
//! # Parameters
//! [`Params`]. The default of `rate-ai` is the paper's step of one packet per round trip, as a rate: the MTU over the
//! base RTT. The launcher of HPCC's public code uses 615 Mbit/s for every network, which is 1000 B in 13 us;
//! `fidelity = "ns3-hpcc"` does as well.
//!
//! # Where we differ from the paper or public code
//! * A rate instead of a window, and no slow start: flows start at line rate, as in the comparisons of HPCC's public
//!   code. The NIC scales the window with the rate.
//! * As in that code, F is the number of marked ACKs over the packets sent in the round, at most 1. Marks of the first
//!   round count in the second; α starts at 1.
//!
//! # References
//! M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, §3.1.
//! Public code: alibaba-edu/High-Precision-Congestion-Control.

use paceline_kernel::{BitRate, Bytes};

use crate::api::{AckInfo, CongestionControl, Ctx, Mark, PathInfo, Requirements, SendLimits};
use crate::params::{Auto, Parameters, Range};
use crate::rate::Bounds;
use crate::registry::{Definition, Marking, Scheme, WindowMode};

params! {
    /// Parameters of DCTCP; bounds of the rate and weights of the estimate.
    pub struct Params {
        /// Weight of a round trip's marks in the estimate alpha.
        g: f64 = 1.0 / 16.0, in Range::AboveUpTo(0.0, 1.0), from "paper §3.4";
        /// Additive step per round trip. `auto`: a packet's payload per base RTT.
        rate_ai: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "paper §3.1; public code's launcher: 615 Mbit/s, 1000 B per 13 us";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_gbps(1), in Range::Above(0.0), from "public code's launcher";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "dctcp",
        aliases: &[],
        title: "DCTCP",
        paper: crate::papers::DCTCP.citation,
        summary: "Cuts the rate once per round trip in proportion to the fraction of marked packets.",
        scope: "any network whose switches mark; a step at 30 KB per 10 Gbit/s.",
        default_window: WindowMode::Variable,
        params: Self::docs,
        source: header!("dctcp.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: true,
            ..Requirements::default()
        }
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn marking(&self) -> Marking {
        Marking::STEP
    }

    fn hpcc_script_defaults(&self) -> Self {
        Self {
            rate_ai: Auto::Is(self.rate_ai.or(BitRate::from_bps(615_000_000))),
            ..self.clone()
        }
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Dctcp::new(self, path))
    }
}

/// Returns the rate of one packet's payload per round trip of the empty network.
fn packet_per_round_trip(path: &PathInfo) -> BitRate {
    let bits = u128::from(path.mtu.get()) * 8 * 1_000_000_000_000;
    let bps = bits / u128::from(path.base_rtt.as_ps().max(1));
    BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX)).min(path.line_rate)
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Dctcp {
    g: f64,
    rate_ai: BitRate,
    bounds: Bounds,
    mtu: u64,
    rate: BitRate,
    alpha: f64,
    /// Marked ACKs since the last update of alpha.
    marked: u64,
    /// Packets in the current round.
    batch: u64,
    last_update_seq: u64,
    /// Byte whose acknowledgement permits the next cut; `None` if a cut is permitted.
    cut_until: Option<u64>,
}

impl Dctcp {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            g: params.g,
            rate_ai: params.rate_ai.or(packet_per_round_trip(path)),
            bounds: Bounds::new(params.min_rate, path.line_rate),
            mtu: path.mtu.get().max(1),
            rate: path.line_rate,
            alpha: 1.0,
            marked: 0,
            batch: 1,
            last_update_seq: 0,
            cut_until: None,
        }
    }

    /// Returns α, the estimate of the fraction of marked packets.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Applies equation (1) at the end of a round trip.
    fn end_round(&mut self, ack: &AckInfo<'_>) {
        // The first round has no packet count yet; the reference counts its marks in the second.
        if self.last_update_seq == 0 {
            self.batch = ack.snd_nxt / self.mtu + 1;
        } else {
            let fraction = (self.marked as f64 / self.batch as f64).min(1.0);
            self.alpha = (1.0 - self.g) * self.alpha + self.g * fraction;
            self.marked = 0;
            // The difference wraps as in the reference's 32 bits: an ACK may overtake a go-back-N return to a
            // gap.
            self.batch = u64::from((ack.snd_nxt.wrapping_sub(ack.delivered) / self.mtu + 1) as u32);
        }
        self.last_update_seq = ack.snd_nxt;
    }
}

impl CongestionControl for Dctcp {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.marked += u64::from(ack.mark == Mark::Congested);
        let round_ended = ack.highest > self.last_update_seq;
        if round_ended {
            self.end_round(ack);
        }
        if self.cut_until.is_some_and(|until| ack.highest > until) {
            self.cut_until = None;
        }
        // Equation (2). `cut_until` prevents a second cut for marks of the same round trip.
        if ack.mark == Mark::Congested && self.cut_until.is_none() {
            self.rate = self.bounds.clamp(self.rate.scale(1.0 - self.alpha / 2.0));
            self.cut_until = Some(ack.snd_nxt);
        }
        // No increase in the round of a cut: it would undo part of the reaction before feedback of it
        // arrives.
        if round_ended && self.cut_until.is_none() {
            self.rate = self.bounds.clamp(self.rate.saturating_add(self.rate_ai));
        }
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Span;

    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    fn pair() -> Pair<Dctcp> {
        Pair::new(star_path(), |path| Dctcp::new(&Params::default(), path))
    }

    fn marked(seq: u64, snd_nxt: u64) -> AckInfo<'static> {
        AckInfo {
            mark: Mark::Congested,
            ..ack(seq, snd_nxt)
        }
    }

    #[test]
    fn equations_1_and_2_by_hand() {
        let mut pair = pair();
        pair.ack(&ack(1000, 9000)); // a batch of 10 packets
        pair.ack(&marked(2000, 10_000)); // alpha is 1: half
        assert_eq!(pair.rate(), BitRate::from_gbps(50));
        pair.ack(&marked(3000, 11_000)); // once per round trip
        assert_eq!(pair.rate(), BitRate::from_gbps(50));
        // Past 9000: F = 2/10, alpha = 15/16 + 0.2/16 = 0.95. Still in the cut's round, so no step.
        pair.ack(&ack(9500, 20_000));
        assert!((pair.cc.alpha() - 0.95).abs() < 1e-15);
        assert_eq!(pair.rate(), BitRate::from_gbps(50));
        // Past 10000 the cut's round is over; the mark cuts by 0.475: 26.25 Gbit/s.
        pair.ack(&marked(10_500, 21_000));
        assert_eq!(pair.rate().as_bps(), 26_250_000_000);
        // Past 20000: the batch was (20000 - 9500)/1000 + 1 = 11, of which one was marked.
        pair.ack(&ack(20_500, 30_000));
        assert!((pair.cc.alpha() - (0.95 * 15.0 + 1.0 / 11.0) / 16.0).abs() < 1e-15);
        // Past 21000 and 30000: rounds without marks, one step each.
        pair.ack(&ack(30_500, 40_000));
        assert_eq!(pair.rate().as_bps(), 26_250_000_000 + 1_923_076_923);
    }

    /// One packet per round trip: 1000 B in 4.16 us, or 615 Mbit/s with the launcher's 13 us.
    #[test]
    fn the_step_is_a_packet_per_round_trip() {
        let step = |params: &Params, base_rtt| {
            let path = PathInfo {
                base_rtt,
                ..star_path()
            };
            Dctcp::new(params, &path).rate_ai.as_bps() / 1_000_000
        };
        let params = Params::default();
        assert_eq!(step(&params, Span::from_ns(4160)), 1923);
        assert_eq!(step(&params, Span::from_us(13)), 615);
        assert_eq!(step(&params.hpcc_script_defaults(), Span::from_ns(4160)), 615);
    }

    #[test]
    fn marks_of_the_first_round_count_in_the_second() {
        let mut pair = pair();
        pair.ack(&marked(1000, 3000));
        pair.ack(&ack(3500, 9000));
        // F = 1 mark / (3000/1000 + 1) packets.
        assert!((pair.cc.alpha() - (15.0 / 16.0 + 0.25 / 16.0)).abs() < 1e-15);
    }

    /// An ACK beyond `snd_nxt` (it overtook a return to a gap): the reference's batch is the low 32 bits of
    /// (2^64 - 500) / 1000 + 1, in which a few marks are a negligible fraction.
    #[test]
    fn the_batch_after_a_return_to_a_gap() {
        let mut pair = pair();
        pair.ack(&ack(1000, 3000));
        pair.ack(&ack(3500, 3000));
        assert_eq!(pair.cc.batch, u64::from(((u64::MAX - 499) / 1000 + 1) as u32));
    }

    #[test]
    fn the_rate_stays_above_the_minimum() {
        let mut pair = pair();
        for i in 1..100 {
            pair.ack(&marked(i * 1000, i * 1000 + 500));
        }
        assert_eq!(pair.rate(), BitRate::from_gbps(1));
    }
}
