//! What a flow sees of a round trip: six numbers on scales on which small rates differ as large ones do.

use crate::api::{PathInfo, Report};

/// Numbers of a round trip.
pub const ONCE: usize = 6;
/// Round trips that are seen.
pub const HISTORY: usize = 5;
/// Numbers that a policy reads.
pub const INPUTS: usize = ONCE * HISTORY;
/// Their names, of a round trip.
pub const NAMES: [&str; ONCE] = ["delivered", "latency", "loss", "in flight", "rate", "action"];

/// The smallest share of the line that differs from none.
const FLOOR: f64 = 1.0 / 65_536.0;

fn log2(share: f64) -> f64 {
    libm::log2(share.max(FLOOR))
}

/// The latency as a policy sees it, of one in round trips of the empty network.
pub fn latency(rtt_per_base: f32) -> f32 {
    rtt_per_base.clamp(0.0, 10.0) / 4.0
}

/// Equation (1), of what a sender tells, after the action that was its last.
pub fn observe(report: &Report, path: &PathInfo, action: f32) -> [f32; ONCE] {
    let tally = &report.tally;
    let span_us = report.span().as_us_f64();
    let line = path.line_rate.as_gbps_f64().max(1e-9);
    let delivered = if span_us > 0.0 {
        tally.acked as f64 * 8e-3 / span_us
    } else {
        0.0
    };
    let loss = if tally.timeouts > 0 {
        1.0
    } else {
        f64::from(tally.nacks) / f64::from(tally.acks.max(1))
    };
    let rtt = tally.rtt_mean().as_us_f64() / path.base_rtt.as_us_f64().max(1e-9);
    let in_flight = report.in_flight as f64 / (path.bdp.get() as f64).max(1.0);
    [
        (log2(delivered / line) / 16.0).min(1.0) as f32,
        latency(rtt as f32),
        loss.min(1.0) as f32,
        (log2(in_flight) / 8.0).min(2.0) as f32,
        (log2(report.limits.rate.as_gbps_f64() / line) / 16.0).min(0.0) as f32,
        action,
    ]
}

/// The round trips that are seen, the oldest first; those before the first are as that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen(pub [f32; INPUTS]);

impl Seen {
    /// After the first.
    pub fn first(now: [f32; ONCE]) -> Self {
        Self(std::array::from_fn(|k| now[k % ONCE]))
    }

    /// After one more.
    pub fn push(&mut self, now: [f32; ONCE]) {
        self.0.copy_within(ONCE.., 0);
        self.0[INPUTS - ONCE..].copy_from_slice(&now);
    }
}
