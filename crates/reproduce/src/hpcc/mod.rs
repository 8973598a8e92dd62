//! Figures of HPCC that print no numbers: what they claim, in runs of ours.

mod flow_control;
mod reaction;
mod slowdowns;
mod thesis_loss;
mod trade_offs;

use super::Reproduction;
use super::criterion::{Criterion, Source, Tolerance};

/// Every criterion here says it: nothing of the paper was at hand when they were written.
macro_rules! from_notes {
    ($because:literal) => {
        concat!(
            $because,
            "; what the figure shows is from our notes, not from the paper's text"
        )
    };
}
use from_notes;

/// What stands higher in the one case of a figure has to be higher in ours.
const MORE: Criterion = Criterion::property(
    Tolerance::AtLeast(1.0),
    Source::Paper,
    from_notes!("an order: which is larger"),
);

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
