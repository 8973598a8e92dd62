//! Figures of HPCC that print no numbers: what they claim, in runs of ours.

mod flow_control;
mod grid;
mod reaction;
mod slowdowns;
mod thesis_loss;
mod trade_offs;

use super::Reproduction;

/// The paper.
macro_rules! figure {
    ($which:literal) => {
        concat!(
            "HPCC: High Precision Congestion Control (Li et al., SIGCOMM 2019), ",
            $which
        )
    };
}
use figure;

/// Every reproduction here.
pub(super) const REPRODUCTIONS: [Reproduction; 7] = [
    trade_offs::TIMERS,
    trade_offs::THRESHOLDS,
    slowdowns::REPRODUCTION,
    flow_control::REPRODUCTION,
    reaction::REACTION,
    reaction::STEP,
    thesis_loss::REPRODUCTION,
];
