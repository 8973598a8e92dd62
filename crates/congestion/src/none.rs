//! No congestion control: the sender always sends at line rate.
//!
//! # What it does
//! The sender sends at line rate and ignores all congestion signals. Only links and flow control limit flows. Use it
//! as the baseline that shows the effect of pauses without any congestion control.
//!
//! # Signal it needs
//! None.
//!
//! # Equations
//! `R = C`, the rate of the sender's link.
//!
//! # Parameters
//! None.
//!
//! # Where we differ from the paper or public code
//! No paper and no public code describes it.
//!
//! # References
//! IEEE 802.1Qbb, Priority-based Flow Control: the link-level mechanism that remains.

use crate::api::{CongestionControl, PathInfo, Requirements};
use crate::fixed::Fixed;
use crate::params::Parameters;
use crate::registry::{Definition, Scheme, WindowMode};

params! {
    /// Empty: the scheme has no parameters.
    pub struct Params {}
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "none",
        aliases: &[],
        title: "No congestion control",
        paper: "-",
        summary: "Sends at line rate and ignores congestion.",
        scope: "a baseline without control: long flows fill every queue.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("none.rs"),
    };

    fn needs(&self) -> Requirements {
        Requirements::default()
    }

    fn is_adaptive(&self) -> bool {
        false
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Fixed::at(path.line_rate))
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::{BitRate, Bytes};

    use super::*;
    use crate::AckInfo;
    use crate::testkit::{Pair, ack, star_path};

    #[test]
    fn a_mark_changes_nothing() {
        let mut pair = Pair::new(star_path(), |path| Params::default().build(path));
        pair.ack(&AckInfo {
            mark: crate::Mark::Congested,
            ..ack(1000, 50_000)
        });
        pair.cnp(&crate::Cnp::MARKED);
        pair.timeout();
        assert_eq!(pair.rate(), BitRate::from_gbps(100));
        assert_eq!(pair.cc.limits().window, Bytes::MAX);
    }
}
