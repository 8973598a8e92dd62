//! HPCC-PINT: HPCC with a digest of one or two bytes instead of telemetry from every hop.
//!
//! # What it does
//! Each switch port computes its own utilisation and encodes it as a power of a base slightly above one. A packet
//! carries only the largest power on its path. The sender decodes it and changes its rate as HPCC does. HPCC-PINT is
//! for networks whose switches add such a digest (Ben Basat et al., SIGCOMM 2020).
//!
//! # Signal it needs
//! HPCC-PINT's digest in each ACK: the power of the most loaded hop. The switches keep the average over time that HPCC
//! keeps in the sender.
//!
//! # Equations
//! With p the digest and b the base:
//! ```text
//! U = b^p / 512
//! R = Rc / (U / eta) + AI,  stage = 0          if U >= eta or stage >= max-stage
//! R = Rc + AI,              stage = stage + 1  otherwise
//! ```
//! R stays between `min-rate` and the line rate. `Rc = R` once per round trip, as in HPCC. Of the ACKs, a random
//! fraction `probability` is used.
//!
//! # Parameters
//! [`Params`]. A smaller base is more precise and needs more bits: 8 with 1.05, 11 with 1.01.
//!
//! # Where we differ from the paper or public code
//! * As in the public code, one random number is drawn for every ACK, also if `probability` is 1.
//! * The public code draws it from the C library's `rand()`; Paceline uses the flow's own stream.
//! * `max-stage` is 0, as for HPCC.
//!
//! # References
//! R. Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020.
//! Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019.
//! Public code: alibaba-edu/High-Precision-Congestion-Control.

use paceline_kernel::{BitRate, Bytes};

use crate::api::{AckInfo, CongestionControl, Ctx, PathInfo, Requirements, SendLimits};
use crate::hpcc::{Law, Reference, auto_rate_ai};
use crate::params::{Auto, ParamError, Parameters, Range};
use crate::pint::Code;
use crate::rate::Bounds;
use crate::registry::{Definition, Scheme, WindowMode};

/// Number of values of the sampling draw.
const DRAWS: u64 = 1 << 16;

params! {
    /// Parameters of HPCC-PINT; those of HPCC, and the digest's.
    pub struct Params {
        /// Target utilisation η of every link.
        eta: f64 = 0.95, in Range::AboveUpTo(0.0, 1.0), from "HPCC paper §3.3";
        /// Round trips of additive increase before a multiplicative one.
        max_stage: u32 = 0, in Range::AtLeast(0.0), from "the authors' simulations; HPCC's paper says 5";
        /// Additive step per round trip. `auto`: 50 Mbit/s per 100 Gbit/s of the line.
        rate_ai: Auto<BitRate> = Auto::Auto, in Range::AtLeast(0.0), from "public code's README at 100 Gbit/s; its launcher scales with the line";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_gbps(1), in Range::Above(0.0), from "public code's launcher";
        /// Base of the digest's powers.
        log_base: f64 = 1.05, in Range::AboveUpTo(1.0, 2.0), from "public code's sample";
        /// Fraction of the ACKs that the sender uses.
        probability: f64 = 1.0, in Range::AboveUpTo(0.0, 1.0), from "public code's sample";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "hpcc-pint",
        aliases: &[],
        title: "HPCC-PINT",
        paper: crate::papers::PINT.citation,
        summary: "HPCC with a digest of one or two bytes per packet:\n\
                  the utilisation of the busiest hop as a power of a base.",
        scope: "as HPCC, with a digest of a byte or two instead of a list.",
        default_window: WindowMode::Variable,
        params: Self::docs,
        source: header!("hpcc_pint.rs"),
    };

    fn check(&self) -> Result<(), ParamError> {
        // A digest has 16 bits, and a utilisation may reach 512.
        if Code::new(self.log_base).bits() > 16 {
            return Err(ParamError::new(
                "log-base",
                format!(
                    "{} needs more than the digest's 16 bits; 1.001 does not",
                    self.log_base
                ),
            ));
        }
        Ok(())
    }

    fn needs(&self) -> Requirements {
        Requirements {
            pint: true,
            repaces: true,
            ..Requirements::default()
        }
    }

    fn pint_code(&self) -> Option<Code> {
        Some(Code::new(self.log_base))
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(HpccPint::new(self, path))
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct HpccPint {
    law: Law,
    code: Code,
    /// Draws below this use the ACK.
    threshold: u64,
    rate: BitRate,
    reference: Reference,
    last_update_seq: u64,
}

impl HpccPint {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            law: Law {
                eta: params.eta,
                max_stage: params.max_stage,
                rate_ai: params.rate_ai.or(auto_rate_ai(path.line_rate)),
                bounds: Bounds::new(params.min_rate, path.line_rate),
            },
            code: Code::new(params.log_base),
            threshold: (DRAWS as f64 * params.probability) as u64,
            rate: path.line_rate,
            reference: Reference {
                rate: path.line_rate,
                stage: 0,
            },
            last_update_seq: 0,
        }
    }

    /// Returns the reference rate Rc.
    pub fn reference_rate(&self) -> BitRate {
        self.reference.rate
    }
}

impl CongestionControl for HpccPint {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        // Drawn even if `probability` is 1, as in the public code.
        if cx.rng.below(DRAWS) >= self.threshold {
            return;
        }
        if self.last_update_seq == 0 {
            self.last_update_seq = ack.snd_nxt;
            return;
        }
        let next = self.law.next(self.reference, self.code.decode(ack.header_bits));
        cx.recompute_pacing();
        self.rate = next.rate;
        // The reference changes once per round trip, so that a reaction does not count the same packets
        // twice.
        if ack.highest > self.last_update_seq {
            self.reference = next;
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    fn feed(pair: &mut Pair<HpccPint>, seq: u64, snd_nxt: u64, pint_power: u16) {
        pair.ack(&AckInfo {
            header_bits: pint_power,
            ..ack(seq, snd_nxt)
        });
    }

    #[test]
    fn the_law_by_hand() {
        let params = Params {
            log_base: 2.0,
            ..Params::default()
        };
        let mut pair = Pair::new(star_path(), |path| HpccPint::new(&params, path));
        feed(&mut pair, 1000, 50_000, 10);
        assert_eq!(
            pair.rate(),
            BitRate::from_gbps(100),
            "the first ACK only starts the round"
        );
        // U = 2^10 / 512 = 2: R = 100 * 0.95 / 2 + 0.05 Gbit/s; Rc is kept within the round trip.
        feed(&mut pair, 2000, 60_000, 10);
        assert_eq!(pair.rate().as_bps(), 47_550_000_000);
        feed(&mut pair, 50_000, 60_000, 10);
        assert_eq!(pair.cc.reference_rate(), BitRate::from_gbps(100));
        feed(&mut pair, 51_000, 70_000, 10);
        assert_eq!(pair.cc.reference_rate().as_bps(), 47_550_000_000);
        // U = 1: a full update again, from the new Rc.
        feed(&mut pair, 71_000, 90_000, 9);
        assert_eq!(pair.rate().as_bps(), 45_172_500_000 + 50_000_000);
    }

    #[test]
    fn a_fraction_of_the_acks_is_used() {
        let params = Params {
            probability: 0.25,
            max_stage: u32::MAX,
            rate_ai: Auto::Is(BitRate::from_bps(1)),
            ..Params::default()
        };
        let mut pair = Pair::new(star_path(), |path| HpccPint::new(&params, path));
        let rounds = 4000;
        let full_update = |pair: &mut Pair<HpccPint>, power| {
            let seq = pair.cc.last_update_seq + 1;
            feed(pair, seq, seq, power);
        };
        // Every ACK that is used is a full update: the rate falls once, then grows by 1 bit/s per used ACK.
        while pair.rate() == BitRate::from_gbps(100) {
            full_update(&mut pair, 142);
        }
        let start = pair.rate().as_bps();
        for _ in 0..rounds {
            full_update(&mut pair, 0);
        }
        let used = pair.rate().as_bps() - start;
        assert!((900..1100).contains(&used), "{used} of {rounds}");
    }

    #[test]
    fn a_base_that_overflows_the_digest_is_refused() {
        let params = Params {
            log_base: 1.000_01,
            ..Params::default()
        };
        assert_eq!(params.check().unwrap_err().param, "log-base");
        let params = Params {
            log_base: 1.001,
            ..Params::default()
        };
        assert_eq!(params.check(), Ok(()));
    }
}
