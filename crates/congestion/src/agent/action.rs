//! Actions of agents and their effect on a flow's limits.

use paceline_kernel::{BitRate, Bytes, Span};

use super::Unknown;
use crate::{Observation, PathInfo, SendLimits, adpg};

/// Meaning of an agent's action, a number from -1 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Multiplies or divides the rate by up to 1 + `step`.
    RateMultiplier,
    /// Sets the rate on a logarithmic scale, from 1/65536 of the line's rate to all of it.
    Rate,
    /// Multiplies the window by up to 1 + `step`, or divides it; packets are paced at window over round-trip
    /// time.
    WindowMultiplier,
}

impl Action {
    /// All actions, in the order in which help lists them.
    pub const ALL: [Self; 3] = [Self::RateMultiplier, Self::Rate, Self::WindowMultiplier];
    /// Smallest and largest value of an action.
    pub const RANGE: (f32, f32) = (-1.0, 1.0);

    /// Returns the name that scenario files use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateMultiplier => "rate-multiplier",
            Self::Rate => "rate",
            Self::WindowMultiplier => "window-multiplier",
        }
    }

    /// Returns the description that help shows.
    pub const fn help(self) -> &'static str {
        match self {
            Self::RateMultiplier => {
                "multiplies the rate by 1 + step a, or divides it by 1 - step a where a < 0"
            }
            Self::Rate => {
                "sets the rate to the line's, times 2^(8 (a - 1)): from 1/65536 of the line to all of it"
            }
            Self::WindowMultiplier => {
                "multiplies the window by 1 + step a, or divides it by 1 - step a where a < 0; from 1/64 of a packet \
                 to 1.5 bandwidth-delay products, and packets are paced at window over mean round-trip time"
            }
        }
    }

    /// Returns the action called `name`.
    ///
    /// # Errors
    /// No action has that name.
    pub fn find(name: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|action| action.name() == name);
        found.ok_or_else(|| Unknown::new("action", name, &Self::ALL.map(Self::name)))
    }

    /// Returns the flow's limits after the action. `window` is the flow's own window in bytes, 0 before its
    /// first action.
    pub fn apply(
        self,
        action: f32,
        step: f64,
        report: &Observation,
        path: &PathInfo,
        window: &mut f64,
    ) -> SendLimits {
        let at = report.limits;
        match self {
            Self::RateMultiplier => adpg::moved(at.rate, action, step),
            Self::Rate => {
                let bps = path.line_rate.as_bps() as f64 * libm::exp2(8.0 * (f64::from(action) - 1.0));
                SendLimits {
                    rate: BitRate::from_bps((bps as u64).max(1)),
                    window: Bytes::MAX,
                }
            }
            Self::WindowMultiplier => {
                let factor = adpg::multiplier(action, step);
                moved(factor, at.rate, report.tally.rtt_mean(), path, window)
            }
        }
    }
}

/// Returns the limits after the window w, in bytes, is multiplied by `factor`: 1 + step a for an action a >= 0, else
/// 1 / (1 - step a). Before the first action w is 0 and is derived from `rate`. At most max(w, one packet) is in
/// flight, paced at w over the round-trip time.
fn moved(factor: f64, rate: BitRate, rtt: Span, path: &PathInfo, window: &mut f64) -> SendLimits {
    if *window == 0.0 {
        *window = rate.as_bps() as f64 / 8.0 * path.base_rtt.as_secs_f64();
    }
    let mtu = path.mtu.get() as f64;
    *window = (*window * factor).clamp(mtu / 64.0, (1.5 * path.bdp.get() as f64).max(mtu));
    let bps = *window * 8.0 / rtt.max(path.base_rtt).as_secs_f64();
    SendLimits {
        rate: BitRate::from_bps((bps as u64).max(1)),
        window: Bytes::new(*window as u64).max(path.mtu),
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::star_path;

    use super::*;

    #[test]
    fn windows_by_hand() {
        let path = star_path();
        let mut window = 0.0;
        // 1/16 of the bandwidth-delay product of 52 000 bytes is 3250; a full action makes it 4631.25, sent
        // in 8320 ns.
        let mut act = |action| {
            let factor = adpg::multiplier(action, 0.425);
            let (rate, rtt) = (BitRate::from_bps(6_250_000_000), Span::from_ns(8320));
            let limits = moved(factor, rate, rtt, &path, &mut window);
            (limits, window)
        };
        let (limits, window) = act(1.0);
        assert!((window - 4631.25).abs() < 1e-9, "{window}");
        assert_eq!(limits.window, Bytes::new(4631));
        assert_eq!(limits.rate.as_bps(), (4631.25 * 8.0 / 8.32e-6) as u64);
        // Below one packet, one packet may be in flight and the rate spaces packets. The floor is 1/64 of a
        // packet.
        for _ in 0..30 {
            act(-1.0);
        }
        let (limits, window) = act(-1.0);
        assert_eq!((window, limits.window), (1000.0 / 64.0, Bytes::new(1000)));
        for _ in 0..40 {
            act(1.0);
        }
        assert_eq!(act(1.0).1, 78_000.0);
    }
}
