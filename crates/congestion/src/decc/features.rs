//! Features of a network or of trees, equation (9): eight numbers, scaled so that small rates and short
//! queues are resolved as well as large ones.

use super::law::{Interval, LONGEST, State};

/// Number of features that a policy reads.
pub const INPUTS: usize = 8;
/// Names of the features, as model files list them.
pub const NAMES: [&str; INPUTS] = [
    "log2(w)",
    "log2(packets)",
    "queue, mean",
    "queue, newest",
    "queue before",
    "log2(elapsed)",
    "loss",
    "silence",
];

/// Returns the excess of a round trip over the empty network's on a logarithmic scale: 0.01 base round trips
/// make 0.05, three make 0.82.
pub(crate) fn queue(rtt: f64) -> f64 {
    libm::log2(1.0 + 32.0 * (rtt - 1.0).clamp(0.0, 64.0)) / 8.0
}

/// Returns equation (9) for a flow with a bandwidth-delay product of `packets`.
pub fn observe(state: &State, seen: &Interval, packets: f64) -> [f32; INPUTS] {
    [
        libm::log2(state.w) / 18.0,
        (libm::log2((state.w * packets).max(1.0 / 65_536.0)) / 16.0).clamp(-1.0, 1.0),
        queue(seen.mean.unwrap_or(seen.newest)),
        queue(seen.newest),
        queue(state.before.unwrap_or(seen.newest)),
        libm::log2(seen.elapsed.clamp(1.0, LONGEST)) / 12.0,
        seen.nacks.min(1.0),
        f64::from(u8::from(seen.mean.is_none())),
    ]
    .map(|value| value as f32)
}
