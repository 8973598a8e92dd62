//! AIMD: an example of a scheme, for the book's page about adding one.
//!
//! # What it does
//! Adds a step to the rate once per round trip, and cuts it by a factor when a mark comes back, at
//! most once per round trip.
//!
//! # Signal it needs
//! ECN: the receiver echoes each mark in its acknowledgement.
//!
//! # Equations
//! ```text
//! R = R + AI          once per round trip without a mark                               (1)
//! R = R (1 - beta)    at a marked ACK, once per round trip                             (2)
//! ```
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! The paper speaks of windows; this speaks of rates.
//!
//! # References
//! D. Chiu and R. Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance
//! in Computer Networks", Computer Networks and ISDN Systems 17, 1989.

use paceline_kernel::{BitRate, Bytes};

use crate::api::{AckInfo, CongestionControl, Ctx, Mark, Needs, PathInfo, SendLimits};
use crate::params::{Parameters, Range};
use crate::rate::Bounds;
use crate::registry::{Definition, Scheme, WindowMode};

// ANCHOR: params
params! {
    /// Parameters of AIMD.
    pub struct Params {
        /// Step per round trip.
        rate_ai: BitRate = BitRate::from_bps(500_000_000), in Range::Above(0.0), from "example";
        /// Share of the rate that a mark takes.
        beta: f64 = 0.5, in Range::AboveUpTo(0.0, 1.0), from "TCP";
        /// The lowest rate.
        min_rate: BitRate = BitRate::from_bps(100_000_000), in Range::Above(0.0), from "example";
    }
}
// ANCHOR_END: params

// ANCHOR: definition
impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "aimd",
        aliases: &[],
        title: "AIMD",
        paper: "Chiu and Jain, Analysis of the Increase and Decrease Algorithms, 1989",
        summary: "Adds a step per round trip, cuts by a factor at a mark.",
        default_window: WindowMode::Variable,
        params: Self::docs,
        source: include_str!("example.rs"),
    };

    fn needs(&self) -> Needs {
        Needs {
            ecn: true,
            ..Needs::default()
        }
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Aimd::new(self, path))
    }
}
// ANCHOR_END: definition

// ANCHOR: state
/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct Aimd {
    params: Params,
    bounds: Bounds,
    rate: BitRate,
    /// The byte whose acknowledgement ends the round trip in progress.
    round_ends: u64,
    /// Whether a mark has cut the rate in this round trip.
    cut: bool,
}

impl Aimd {
    /// A sender at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            params: params.clone(),
            bounds: Bounds::new(params.min_rate, path.line_rate),
            rate: path.line_rate,
            round_ends: 0,
            cut: false,
        }
    }

    fn set(&mut self, bps: f64) {
        self.rate = self.bounds.clamp(BitRate::from_bps(bps as u64));
    }
}

impl CongestionControl for Aimd {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        let now = self.rate.as_bps() as f64;
        if ack.mark == Mark::Congested && !self.cut {
            self.set(now * (1.0 - self.params.beta)); // (2)
            self.cut = true;
        }
        if ack.seq > self.round_ends {
            if !self.cut {
                self.set(now + self.params.rate_ai.as_bps() as f64); // (1)
            }
            self.round_ends = ack.snd_nxt;
            self.cut = false;
        }
    }
}
// ANCHOR_END: state

// ANCHOR: tests
#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    fn marked(seq: u64, snd_nxt: u64) -> AckInfo<'static> {
        AckInfo {
            mark: Mark::Congested,
            ..ack(seq, snd_nxt)
        }
    }

    #[test]
    fn a_mark_halves_once_per_round_trip() {
        let mut pair = Pair::new(star_path(), |path| Aimd::new(&Params::default(), path));
        pair.ack(&ack(1000, 50_000)); // the first round trip ends where 50 000 is acknowledged
        pair.ack(&marked(2000, 52_000));
        pair.ack(&marked(3000, 53_000)); // the same round trip
        assert_eq!(pair.rate(), BitRate::from_gbps(50));
        pair.ack(&ack(51_000, 90_000)); // ends it: no step after a cut
        assert_eq!(pair.rate(), BitRate::from_gbps(50));
        pair.ack(&ack(91_000, 130_000)); // a round trip without a mark
        assert_eq!(pair.rate(), BitRate::from_bps(50_500_000_000));
    }
}
// ANCHOR_END: tests
