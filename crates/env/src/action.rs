//! What agents do.

use paceline_congestion::{PathInfo, Report, SendLimits, adpg, decc};
use paceline_kernel::{BitRate, Bytes};

use crate::error::Error;

/// What an action does to a flow. All are one number from -1 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Multiplies the rate, by at most `step`.
    RateMultiplier,
    /// Sets the rate.
    Rate,
    /// Multiplies the window, by at most `step`; packets are paced at window over round-trip time.
    WindowMultiplier,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::RateMultiplier, Self::Rate, Self::WindowMultiplier];
    /// The least action and the largest.
    pub const RANGE: (f32, f32) = (-1.0, 1.0);

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateMultiplier => "rate-multiplier",
            Self::Rate => "rate",
            Self::WindowMultiplier => "window-multiplier",
        }
    }

    /// What it does.
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

    /// The action of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|action| action.name() == name);
        found.ok_or_else(|| Error::unknown("action", name, &Self::ALL.map(Self::name)))
    }

    /// What a flow may do after it; `window` is the flow's, in bytes, 0 before its first action.
    pub(crate) fn apply(
        self,
        (action, step): (f32, f64),
        report: &Report,
        path: &PathInfo,
        window: &mut f64,
    ) -> SendLimits {
        let at = report.limits;
        match self {
            Self::RateMultiplier => adpg::moved(at.rate, (action, step)),
            Self::Rate => {
                let bps = path.line_rate.as_bps() as f64 * libm::exp2(8.0 * (f64::from(action) - 1.0));
                SendLimits {
                    rate: BitRate::from_bps((bps as u64).max(1)),
                    window: Bytes::MAX,
                }
            }
            Self::WindowMultiplier => {
                decc::window::moved((action, step), (at.rate, report.tally.rtt_mean()), path, window)
            }
        }
    }
}
