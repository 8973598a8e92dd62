//! What an action does to a window, and the rate that goes with it.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::adpg::multiplier;
use crate::api::{PathInfo, SendLimits};

/// Equations (3) and (4): the limits after an action of -1 to 1. `window` is the flow's, in bytes; 0 before its first
/// action, when it is what `rate` comes to.
pub fn moved(
    (action, step): (f32, f64),
    (rate, rtt): (BitRate, Span),
    path: &PathInfo,
    window: &mut f64,
) -> SendLimits {
    if *window == 0.0 {
        *window = rate.as_bps() as f64 / 8.0 * path.base_rtt.as_secs_f64();
    }
    let mtu = path.mtu.get() as f64;
    *window = (*window * multiplier(action, step)).clamp(mtu / 64.0, (1.5 * path.bdp.get() as f64).max(mtu));
    let bps = *window * 8.0 / rtt.max(path.base_rtt).as_secs_f64();
    SendLimits {
        rate: BitRate::from_bps((bps as u64).max(1)),
        window: Bytes::new(*window as u64).max(path.mtu),
    }
}
