//! Rate law: the change of a flow's rate as a function of its round-trip times, the same on every scale.
//!
//! w is the rate as a share of the line. Rates are in shares of the line and times in base round trips, so
//! one set of coefficients serves all lines, distances and numbers of flows. Flows with many packets per
//! round trip and flows with far less than one need different coefficients; most are pairs, which (1) blends.
//! Equations are numbered as on the page of DECC, in `decc.rs`.
//!
//! The target (3) rises as a flow's rate falls. Therefore flows that share a queue converge to equal rates,
//! and a flow that fell behind catches up. A starting flow finds its share with it: the rate whose target is
//! the measured round-trip time (7b). The rate (8) depends on w and not on a window over a round-trip time,
//! which would undo a part of each decision. The time e since the last decision is clamped to 1 to 4096 base
//! round trips.

use paceline_kernel::{BitRate, Bytes};

use crate::api::{Observation, PathInfo, SendLimits};
use crate::params::Auto;

/// Scale on which a search varies a coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// By differences, for values of one order of magnitude.
    Linear,
    /// By ratios, for values that differ by orders of magnitude.
    Ratio,
}

/// Coefficient of the law: name, bounds and search settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Name in model files; the second of a pair ends in `-few`.
    pub name: &'static str,
    /// Initial value of a search.
    pub start: f64,
    /// Smallest and largest value.
    pub range: (f64, f64),
    /// Scale on which a search varies it.
    pub scale: Scale,
}

macro_rules! coefficients {
    (pairs { $($pair:ident: $scale:ident [$low:literal, $high:literal] from $many:literal, $few:literal;)* }
     single { $($one:ident: $of_one:ident [$from:literal, $to:literal] from $start:literal;)* }) => {
        /// All coefficients, in the order of a model file: those for many packets per round trip, those for
        /// few, and the single ones.
        pub const COEFFICIENTS: &[Coefficient] = &[
            $(Coefficient { name: stringify!($pair), start: $many, range: ($low, $high), scale: Scale::$scale },)*
            $(Coefficient { name: concat!(stringify!($pair), "-few"), start: $few, range: ($low, $high), scale: Scale::$scale },)*
            $(Coefficient { name: stringify!($one), start: $start, range: ($from, $to), scale: Scale::$of_one },)*
        ];

        /// Coefficients that come in pairs, for one end of the blend or blended.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        struct Pair { $($pair: f64,)* }

        impl Pair {
            /// Returns the blend of equation (1).
            fn blend(many: &Self, few: &Self, lo: f64) -> Self {
                Self { $($pair: many.$pair + lo * (few.$pair - many.$pair),)* }
            }
        }

        /// Rate law with a value for each coefficient.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Law {
            many: Pair,
            few: Pair,
            $($one: f64,)*
        }

        impl Law {
            fn of(mut values: impl Iterator<Item = f64>) -> Option<Self> {
                let law = Self {
                    many: Pair { $($pair: values.next()?,)* },
                    few: Pair { $($pair: values.next()?,)* },
                    $($one: values.next()?,)*
                };
                values.next().is_none().then_some(law)
            }

            /// Returns its values, in the order of [`COEFFICIENTS`].
            pub fn values(&self) -> Vec<f32> {
                let numbers = [$(self.many.$pair,)* $(self.few.$pair,)* $(self.$one,)*];
                numbers.map(|value| value as f32).to_vec()
            }
        }
    };
}

// Searches start from round numbers near the result of an earlier, shorter search.
coefficients! {
    pairs {
        t0: Linear [1.0, 1.5] from 1.016, 1.02;
        tl: Ratio [0.001, 0.3] from 0.034, 0.05;
        ts: Ratio [1e-6, 0.05] from 0.0007, 0.0008;
        up: Linear [0.3, 5.0] from 2.2, 2.7;
        umax: Ratio [0.01, 0.7] from 0.1, 0.22;
        down: Ratio [0.01, 2.0] from 1.8, 0.02;
        dmax: Ratio [0.02, 1.0] from 0.2, 0.42;
        kd: Linear [-0.5, 1.0] from 0.2, -0.01;
        rho: Linear [0.0, 1.0] from 0.25, 0.03;
    }
    single {
        last: Linear [0.0, 1.0] from 0.98;
        wcap: Ratio [0.5, 4.0] from 0.72;
        wadd: Ratio [0.001, 4.0] from 0.1;
        kl: Ratio [0.02, 2.0] from 0.9;
        kt: Ratio [0.02, 2.0] from 0.17;
        rg: Ratio [0.9, 1.2] from 1.08;
        cw: Ratio [0.001, 2.0] from 0.25;
        pw: Linear [0.2, 2.0] from 1.3;
        gup: Linear [0.0, 1.0] from 0.09;
        init: Ratio [0.01, 64.0] from 0.12;
        whole: Ratio [1.0, 32.0] from 9.5;
        wane: Linear [0.5, 4.0] from 1.4;
        leap: Ratio [0.1, 6.0] from 0.72;
        fall: Ratio [0.05, 6.0] from 0.7;
    }
}

/// Number of coefficients of a law.
pub const COUNT: usize = COEFFICIENTS.len();
/// Lower and upper bound of w.
const SHARES: (f64, f64) = (1.0 / 262_144.0, 1.5);
/// Largest increase of ln w per decision.
const MOST: f64 = 0.7;
/// Largest change of ln w by a residual network.
pub const RESIDUAL: f64 = 0.2;
/// Window of a flow at line rate, in bandwidth-delay products.
const ROOM: f64 = 1.2;
/// Bisection steps in the search for a share: accurate to 1/70,000 in ln w.
const HALVINGS: u32 = 20;
/// Largest change of ln w by the slope of round-trip times.
const MOST_BY_SLOPE: f64 = 0.3;
/// Upper bound of the time since the last decision, in base round trips.
pub(super) const LONGEST: f64 = 4096.0;

/// Observations of a flow since its last decision, in base round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Mean round-trip time; `None` if no acknowledgement arrived.
    pub mean: Option<f64>,
    /// Round-trip time of the newest acknowledgement.
    pub newest: f64,
    /// Time since the last decision.
    pub elapsed: f64,
    /// Share of negative acknowledgements.
    pub nacks: f64,
}

impl Interval {
    /// Converts a sender's counters.
    pub fn of(report: &Observation, path: &PathInfo) -> Self {
        let tally = &report.tally;
        let base = path.base_rtt.as_us_f64().max(1e-9);
        Self {
            mean: (tally.acks > 0).then(|| tally.rtt_mean().as_us_f64() / base),
            newest: tally.rtt_last.as_us_f64() / base,
            elapsed: report.span().as_us_f64() / base,
            nacks: f64::from(tally.nacks) / f64::from(tally.acks.max(1)),
        }
    }
}

/// State that a flow keeps between decisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Rate of the flow, as a share of the line at the base round-trip time.
    pub w: f64,
    /// Value of r at the last decision; `None` before the first.
    pub before: Option<f64>,
    /// True until the flow first meets its target or a loss.
    pub starts: bool,
}

/// Parts of a decision: terms that are added to ln w, by cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Round-trip time of equation (2), in base round trips.
    pub r: f64,
    /// Target of equation (3); `None` if no acknowledgement arrived.
    pub target: Option<f64>,
    /// Term of equations (4) and (5), by the distance of r from the target; after a timeout, its fixed cut.
    pub distance: f64,
    /// Term subtracted for the slope of round-trip times.
    pub slope: f64,
    /// Term subtracted for losses.
    pub losses: f64,
    /// True if the flow is still starting after this decision.
    pub starts: bool,
}

impl Step {
    /// Returns the total change of ln w.
    pub fn sum(&self) -> f64 {
        self.distance - self.slope - self.losses
    }
}

/// Output of a network or of trees for a decision; an action is from -1 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PolicyOutput {
    /// No output: the law decides alone.
    None,
    /// A residual, added to the law's decision: equation (10).
    Residual(f32),
    /// A decision that replaces the law's: equation (11).
    Decision(f32),
}

/// Returns the action that changes ln w by `d`: the inverse of equation (11).
pub fn action_of(d: f64) -> f32 {
    libm::copysign(libm::sqrt(d.abs().min(1.0)), d) as f32
}

impl Law {
    /// Creates a law from values in the order of [`COEFFICIENTS`].
    ///
    /// # Errors
    /// The number of values is wrong, or one is out of its range.
    pub fn new(values: &[f32]) -> Result<Self, String> {
        let law = Self::of(values.iter().map(|&value| f64::from(value)));
        let law = law.ok_or_else(|| format!("a rate law has {COUNT} numbers; found {}", values.len()))?;
        for (coefficient, &value) in COEFFICIENTS.iter().zip(values) {
            // Compare in 32 bits: rounding may move a value just beyond a bound.
            let (low, high) = coefficient.range;
            if !(low as f32..=high as f32).contains(&value) {
                let name = coefficient.name;
                return Err(format!("`{name}` is {value}; expected {low} to {high}"));
            }
        }
        Ok(law)
    }

    /// Returns a flow's state before its first decision: at the rate `first`, or by equation (7a), with
    /// `whole` instead of the law's if given.
    pub fn start(&self, path: &PathInfo, first: Auto<BitRate>, whole: Auto<f64>) -> State {
        let w = match first {
            Auto::Is(rate) => rate.as_bps() as f64 / path.line_rate.as_bps().max(1) as f64,
            Auto::Auto => {
                let products = path.first_message.get().max(1) as f64 / path.bdp.get().max(1) as f64;
                let whole = whole.or(self.whole);
                let wanes = libm::pow(whole / products.max(whole), self.wane);
                let least = self.init / path.bdp_packets().max(1e-9);
                self.line() * wanes.max(least).min(1.0)
            }
        };
        State {
            w: w.clamp(SHARES.0, SHARES.1),
            before: None,
            starts: true,
        }
    }

    fn coefficients(&self, w: f64, packets: f64) -> Pair {
        Pair::blend(&self.many, &self.few, 1.0 / (1.0 + w * packets))
    }

    /// Returns the target of equation (3).
    fn target(&self, q: &Pair, w: f64) -> f64 {
        let alone = libm::pow(8192.0 * w, -self.pw);
        q.t0 - q.tl * libm::log2(w.min(1.0)) + q.ts / libm::sqrt(w) + self.cw * alone
    }

    /// Returns the round-trip time, in base round trips, at which a flow of rate `w` keeps its rate.
    pub fn rests_at(&self, w: f64, packets: f64) -> f64 {
        self.target(&self.coefficients(w, packets), w)
    }

    /// Returns the w of a flow at line rate, whose window then holds a round trip's data and part of a queue.
    fn line(&self) -> f64 {
        (ROOM / self.wcap).clamp(1.0, SHARES.1)
    }

    /// Returns ln w of the rate whose target is `r` base round trips: the fair share of flows that measure
    /// it.
    fn share_at(&self, r: f64, packets: f64) -> f64 {
        let (mut low, mut high) = (libm::log(SHARES.0), libm::log(self.line()));
        // Even a flow at line rate would keep its rate at this delay: there is room for all of it.
        if self.rests_at(libm::exp(high), packets) >= r {
            return high;
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            match self.rests_at(libm::exp(middle), packets) >= r {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// Applies equations (1) to (6), or (7b) while the flow starts.
    pub fn step(&self, state: &State, seen: &Interval, packets: f64) -> Step {
        let q = self.coefficients(state.w, packets);
        // Without a reply no delay is known; (6) lowers the rate by a fixed factor and the start is over.
        let Some(mean) = seen.mean else {
            return Step {
                r: seen.newest,
                target: None,
                distance: -self.kt,
                slope: 0.0,
                losses: 0.0,
                starts: false,
            };
        };
        let r = mean + self.last * (seen.newest - mean);
        let target = self.target(&q, state.w);
        let d = if r < target {
            // 1 without a queue, 0 at the target.
            let room = ((target - r) / (target - 1.0)).min(1.0);
            // A flow that decides rarely may grow more per decision.
            let elapsed = seen.elapsed.clamp(1.0, LONGEST);
            (q.umax * libm::pow(room, q.up) * libm::pow(elapsed, self.gup)).min(MOST)
        } else {
            (-q.down * (r - target) / r).max(-q.dmax)
        };
        // The slope damps (4) and (5): a queue that grows already answers an earlier increase.
        let slope = state.before.map_or(0.0, |before| q.kd * (r - before));
        let losses = self.kl * seen.nacks;
        if state.starts {
            let missing = self.share_at(r, packets) - libm::log(state.w);
            return Step {
                r,
                target: Some(target),
                distance: missing.clamp(-self.fall, self.leap),
                slope: 0.0,
                losses,
                starts: missing > 0.0 && seen.nacks == 0.0,
            };
        }
        Step {
            r,
            target: Some(target),
            distance: d,
            slope: slope.clamp(-MOST_BY_SLOPE, MOST_BY_SLOPE),
            losses,
            starts: false,
        }
    }

    /// Applies equations (7) to (11), and updates the state.
    pub fn decide(
        &self,
        state: &mut State,
        seen: &Interval,
        said: PolicyOutput,
        path: &PathInfo,
    ) -> SendLimits {
        let step = self.step(state, seen, path.bdp_packets());
        let Step { r, starts, .. } = step;
        let d = match said {
            // The law controls the start, regardless of what decides later.
            _ if state.starts => step.sum(),
            PolicyOutput::None => step.sum(),
            PolicyOutput::Residual(action) => step.sum() + RESIDUAL * f64::from(action),
            PolicyOutput::Decision(action) => f64::from(action * action.abs()),
        };
        state.starts = starts;
        state.w = (state.w * libm::exp(d)).clamp(SHARES.0, SHARES.1);
        state.before = Some(r);
        self.limits(state.w, r, path)
    }

    /// Returns the limits of equation (8).
    pub fn limits(&self, w: f64, r: f64, path: &PathInfo) -> SendLimits {
        let packets = path.bdp_packets();
        let rho = self.coefficients(w, packets).rho;
        let share = self.rg * w / libm::pow(r.max(1.0), rho);
        let bps = share * path.line_rate.as_bps() as f64;
        let window = (self.wcap * w * packets + self.wadd) * path.mtu.get() as f64;
        SendLimits {
            rate: BitRate::from_bps((bps as u64).max(1)),
            window: Bytes::new(window as u64).max(path.mtu),
        }
    }
}

#[cfg(test)]
mod tests;
