//! DCQCN as NICs implement it: one timer updates α, one checks for CNPs and cuts, one increases.

use paceline_kernel::{BitRate, Bytes, Span};

use super::{ALPHA, DECREASE, INCREASE, Params, Settings};
use crate::api::{AckInfo, Cnp, CongestionControl, Ctx, Mark, PathInfo, SendLimits, TimerSlot};
use crate::rate::{Bounds, average};

/// Sender of one flow, flavour `nic`.
#[derive(Clone, Debug)]
pub struct Nic {
    settings: Settings,
    cut_interval: Span,
    clamp_target: bool,
    rate_on_first_cnp: f64,
    bounds: Bounds,
    rate: BitRate,
    target: BitRate,
    alpha: f64,
    /// True if the flow has received a CNP; before the first, no timer runs.
    congested: bool,
    /// True if a CNP arrived since the last step of α.
    cnp_for_alpha: bool,
    /// True if a CNP arrived since the last cut.
    cnp_for_cut: bool,
    /// Increases since the last cut.
    stage: u32,
}

impl Nic {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let settings = params.settings(path.line_rate);
        Self {
            settings,
            cut_interval: params.cut_interval,
            clamp_target: params.clamp_target,
            rate_on_first_cnp: params.rate_on_first_cnp,
            bounds: Bounds::new(settings.min_rate, path.line_rate),
            rate: path.line_rate,
            target: path.line_rate,
            alpha: params.initial_alpha,
            congested: false,
            cnp_for_alpha: false,
            cnp_for_cut: false,
            stage: 0,
        }
    }

    /// Returns α, the estimate of how often the flow meets congestion.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns the target rate Rt.
    pub fn target_rate(&self) -> BitRate {
        self.target
    }

    fn step_alpha(&mut self) {
        let g = self.settings.g;
        self.alpha = if self.cnp_for_alpha {
            (1.0 - g) * self.alpha + g // (1)
        } else {
            (1.0 - g) * self.alpha // (2)
        };
        self.cnp_for_alpha = false;
    }

    fn cut(&mut self, cx: &mut Ctx<'_>) {
        // Cuts in a row keep the target: recovery returns to the rate before the first of them.
        if self.clamp_target || self.stage > 0 {
            self.target = self.rate;
        }
        self.rate = self.bounds.clamp(self.rate.scale(1.0 - self.alpha / 2.0));
        self.stage = 0;
        self.cnp_for_cut = false;
        cx.arm(INCREASE, self.settings.increase_timer);
    }

    fn increase(&mut self) {
        let step = match self.stage.cmp(&self.settings.stages) {
            std::cmp::Ordering::Less => BitRate::from_bps(0), // (3), fast recovery
            std::cmp::Ordering::Equal => self.settings.rate_ai, // (4), additive increase
            std::cmp::Ordering::Greater => self.settings.rate_hai, // hyper increase
        };
        self.target = self.target.saturating_add(step).min(self.bounds.line);
        self.rate = self.bounds.clamp(average(self.rate, self.target));
        self.stage = self.stage.saturating_add(1);
    }
}

impl CongestionControl for Nic {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_cnp(&mut self, cx: &mut Ctx<'_>, _cnp: &Cnp) {
        self.cnp_for_cut = true;
        if self.congested {
            self.cnp_for_alpha = true;
            return;
        }
        // The first CNP starts the timers and does not count for alpha, as in the public code.
        self.congested = true;
        self.cnp_for_alpha = false;
        cx.arm(ALPHA, self.settings.alpha_interval);
        // One nanosecond later than α's timer, so that a cut follows the step of α of the same time.
        cx.arm(DECREASE, self.cut_interval + Span::from_ns(1));
        self.rate = self.bounds.clamp(self.rate.scale(self.rate_on_first_cnp));
        self.target = self.rate;
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if ack.mark == Mark::Congested && self.settings.cnp_interval == Span::ZERO {
            self.on_cnp(cx, &Cnp::MARKED);
        }
    }

    fn on_timer(&mut self, cx: &mut Ctx<'_>, slot: TimerSlot) {
        match slot {
            ALPHA => {
                self.step_alpha();
                cx.arm(ALPHA, self.settings.alpha_interval);
            }
            DECREASE => {
                // Armed before the cut, so that the interval is constant whether or not a CNP arrived.
                cx.arm(DECREASE, self.cut_interval);
                if self.cnp_for_cut {
                    self.cut(cx);
                }
            }
            INCREASE => {
                cx.arm(INCREASE, self.settings.increase_timer);
                self.increase();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Time;

    use super::*;
    use crate::params::Auto;
    use crate::testkit::{Pair, ack, star_path};

    fn pair(params: &Params) -> Pair<Nic> {
        Pair::new(star_path(), |path| Nic::new(params, path))
    }

    #[test]
    fn the_first_cut_by_hand() {
        let mut pair = pair(&Params::default());
        pair.advance(Span::from_us(10));
        pair.ack(&AckInfo {
            mark: Mark::Congested,
            ..ack(1000, 9000)
        });
        // α steps at 11, 12, 13 and 14 us without a CNP; the cut is at 14.001 us.
        pair.advance(Span::from_us(4));
        let g: f64 = 1.0 / 256.0;
        assert_eq!(pair.cc.alpha(), (1.0 - g) * ((1.0 - g) * ((1.0 - g) * (1.0 - g))));
        assert_eq!(pair.rate(), BitRate::from_gbps(100));
        pair.advance(Span::from_ns(1));
        let cut = BitRate::from_gbps(100).scale(1.0 - pair.cc.alpha() / 2.0);
        assert_eq!(pair.history.last(), Some(&(Time::from_ns(14_001), cut)));
        // No CNP followed, so there is no other cut; after 300 us fast recovery goes half-way to the line
        // rate.
        pair.advance(Span::from_us(299));
        assert_eq!(pair.rate(), cut);
        pair.advance(Span::from_us(1));
        assert_eq!(pair.rate().as_bps(), cut.as_bps() / 2 + 50_000_000_000);
    }

    #[test]
    fn the_three_phases_of_increase() {
        let mut pair = pair(&Params {
            rate_ai: Auto::Is(BitRate::from_gbps(1)),
            rate_hai: Auto::Is(BitRate::from_gbps(2)),
            g: 1e-9,
            ..Params::default()
        });
        pair.cnp(&Cnp::MARKED);
        pair.advance(Span::from_ns(4001));
        pair.cnp(&Cnp::MARKED); // second cut, at 8.001 us: no increase was between, the target stays
        pair.advance(Span::from_ns(4000));
        let gbps = |pair: &Pair<Nic>| (pair.rate().as_gbps_f64() * 100.0).round() / 100.0;
        assert_eq!(
            (gbps(&pair), pair.cc.target_rate()),
            (25.0, BitRate::from_gbps(100))
        );
        pair.advance(Span::from_us(300));
        assert_eq!(gbps(&pair), 62.5, "fast recovery");
        pair.cnp(&Cnp::MARKED); // a cut after an increase: the target follows
        pair.advance(Span::from_us(4));
        assert_eq!(
            (gbps(&pair), pair.cc.target_rate().as_bps() / 10_000_000),
            (31.25, 6250)
        );
        pair.advance(Span::from_us(300));
        assert_eq!(gbps(&pair), 46.88, "fast recovery");
        pair.advance(Span::from_us(300));
        assert_eq!(gbps(&pair), 55.19, "additive: (46.875 + 63.5)/2");
        pair.advance(Span::from_us(300));
        assert_eq!(gbps(&pair), 60.34, "hyper: (55.1875 + 65.5)/2");
    }

    #[test]
    fn marks_do_not_count_when_the_receiver_sends_notifications() {
        let mut pair = pair(&Params {
            cnp_interval: Some(Span::from_us(4)),
            ..Params::default()
        });
        pair.ack(&AckInfo {
            mark: Mark::Congested,
            ..ack(1000, 9000)
        });
        pair.advance(Span::from_us(10));
        assert!(pair.expired.is_empty());
        pair.cnp(&Cnp::MARKED);
        pair.advance(Span::from_us(10));
        assert!(pair.rate() < BitRate::from_gbps(100));
    }

    #[test]
    fn clamping_and_the_factor_of_the_first_notification() {
        let mut pair = pair(&Params {
            clamp_target: true,
            rate_on_first_cnp: 0.5,
            ..Params::default()
        });
        pair.cnp(&Cnp::MARKED);
        assert_eq!(
            (pair.rate(), pair.cc.target_rate()),
            (BitRate::from_gbps(50), BitRate::from_gbps(50))
        );
        pair.advance(Span::from_us(5));
        pair.cnp(&Cnp::MARKED);
        let before = pair.rate();
        pair.advance(Span::from_us(4));
        assert_eq!(pair.cc.target_rate(), before);
    }
}
