//! The rule that the policy begins with: Swift's, in units of the path.
//!
//! With lat the round trip over the empty network's, w the window over the bandwidth-delay product, s the rate over the
//! line's:
//! ```text
//! target = 1.05 + 0.02 / sqrt(s)                                                         (1)
//! lat < target:  w = w (1 + min(0.02 / w, 0.8 (target - lat) / lat))                     (2)
//! otherwise:     w = w max(1 - 0.8 (lat - target) / lat, 1/2)                            (3)
//! after a loss:  w = w / 2                                                               (4)
//! ```
//! (1) is Swift's scaling of the target with the flow's window, N fair flows resting at 1.05 + 0.02 sqrt(N); (3) and (4)
//! are its decreases. Its increase is a packet per round trip: here 2 % of the bandwidth-delay product, and no more than
//! a decrease from as far above the target would take, as a packet is too much for hundreds of flows. All of it is done
//! once per decision.

use paceline_congestion::decc::STEP;
use paceline_congestion::decc::features::ONCE;

use super::state::window;

const BASE: f64 = 1.05;
const SCALING: f64 = 0.02;
const INCREASE: f64 = 0.02;
const WEIGHT: f64 = 0.8;

/// How far above its target a flow is: lat - (1).
fn excess(now: &[f32; ONCE]) -> f64 {
    let (latency, rate) = (4.0 * f64::from(now[1]), libm::exp2(16.0 * f64::from(now[4])));
    latency - (BASE + SCALING / libm::sqrt(rate))
}

/// What the rule does where a policy sees this last, as an action.
pub(super) fn action(now: &[f32; ONCE]) -> f32 {
    let latency = (4.0 * f64::from(now[1])).max(0.1);
    let off = excess(now);
    let factor = if now[2] > 0.0 {
        0.5
    } else if off < 0.0 {
        1.0 + (INCREASE / window(now).max(1e-9)).min(WEIGHT * -off / latency)
    } else {
        (1.0 - WEIGHT * off / latency).max(0.5)
    };
    let action = if factor >= 1.0 {
        (factor - 1.0) / STEP
    } else {
        (1.0 - 1.0 / factor) / STEP
    };
    action.clamp(-1.0, 1.0) as f32
}

/// The part of a reward that is an agent's own: above the target of (1) less is better, below it more. Annealed to nothing.
pub(super) fn shaping(now: &[f32; ONCE], action: f32) -> f32 {
    let rate = libm::exp2(16.0 * f64::from(now[4]));
    let room = SCALING - (4.0 * f64::from(now[1]) - BASE).max(0.0) * libm::sqrt(rate);
    (0.5 * (12.5 * room * 0.5 * f64::from(action)).clamp(-0.05, 0.05)) as f32
}
