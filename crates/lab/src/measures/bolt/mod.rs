//! What Bolt's evaluation measures, as its authors take it: from their simulator's own lists come its own numbers (`tests.rs`).

mod fct;
mod flows;
mod tail;

#[cfg(test)]
mod tests;

use paceline_fabric::Outcome;

pub(super) use fct::{SLOWDOWNS, TIMES};
pub(super) use flows::{ALONE, ENDS, JOIN, LEAVE, SHARES};
pub(super) use tail::{EVENTS, TAIL};

/// The round trip of a packet of 1500 bytes through the dumbbell, in ns.
const RTT: f64 = 7995.0;

/// What the authors call a bandwidth-delay product of the dumbbell.
const BDP: f64 = 100_000.0;

/// A flow's window over time, in ns and bytes of payload.
fn windows(outcome: &Outcome, flow: u32) -> Vec<(f64, f64)> {
    let series = outcome.flow_series.iter().find(|series| series.flow == flow);
    let windows = series.into_iter().flat_map(|series| series.window.bins());
    windows
        .map(|bin| (bin.at.as_ps() as f64 / 1e3, bin.mean))
        .collect()
}
