//! Fixed rate: the sender paces its packets at a configured rate.
//!
//! # What it does
//! The sender paces at `rate` and ignores all congestion signals. Use it for background traffic with a known rate,
//! such as the victim flows in studies of congestion detection. It works in any network and follows no paper.
//!
//! # Signal it needs
//! None.
//!
//! # Equations
//! `R = min(rate, C)`, where C is the rate of the sender's link. Headers count.
//!
//! # Parameters
//! [`Params`].
//!
//! # Where we differ from the paper or public code
//! No paper and no public code describes it.
//!
//! # References
//! None.

use paceline_kernel::{BitRate, Bytes};

use crate::api::{AckInfo, CongestionControl, Ctx, PathInfo, Requirements, SendLimits};
use crate::params::{Parameters, Range};
use crate::registry::{Definition, Scheme, WindowMode};

params! {
    /// Parameters of a fixed rate; it has no other state.
    pub struct Params {
        /// Rate on the wire, at most the line rate.
        rate: BitRate = BitRate::from_gbps(10), in Range::Above(0.0), from "ours";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "fixed",
        aliases: &[],
        title: "Fixed rate",
        paper: "-",
        summary: "Sends at a constant rate and ignores congestion.",
        scope: "tests and oracles: a rate that is known to be right.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("fixed.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements::default()
    }

    fn is_adaptive(&self) -> bool {
        false
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Fixed::at(self.rate.min(path.line_rate)))
    }
}

/// Sender with constant limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed(SendLimits);

impl Fixed {
    /// Creates a sender at `rate` without a window.
    pub(crate) const fn at(rate: BitRate) -> Self {
        Self(SendLimits {
            rate,
            window: Bytes::MAX,
        })
    }
}

impl CongestionControl for Fixed {
    fn limits(&self) -> SendLimits {
        self.0
    }
    fn on_ack(&mut self, _cx: &mut Ctx<'_>, _ack: &AckInfo<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    #[test]
    fn the_rate_is_the_given_one_or_the_lines() {
        let rate = |gbps| {
            let params = Params {
                rate: BitRate::from_gbps(gbps),
            };
            let mut pair = Pair::new(star_path(), |path| params.build(path));
            pair.ack(&AckInfo {
                mark: crate::Mark::Congested,
                ..ack(1000, 50_000)
            });
            pair.timeout();
            pair.rate()
        };
        assert_eq!([5, 400].map(rate), [5, 100].map(BitRate::from_gbps));
    }
}
