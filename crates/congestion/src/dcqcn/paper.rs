//! DCQCN as published: a CNP cuts the rate at once; a timer and a byte counter increase it.

use paceline_kernel::{BitRate, Bytes, Span};

use super::{ALPHA, INCREASE, Params, Settings, Tcd};
use crate::api::{AckInfo, Cnp, CongestionControl, Ctx, Mark, PathInfo, SendLimits, SentInfo, TimerSlot};
use crate::rate::{Bounds, average};

/// Sender of one flow, flavour `paper`.
#[derive(Clone, Debug)]
pub struct Paper {
    settings: Settings,
    /// Reaction to undetermined marks.
    tcd: Tcd,
    /// Lower bound of alpha in a cut; `growth` is alpha's weight for a CNP, `depth` the share of alpha that
    /// is cut.
    alpha_floor: f64,
    growth: f64,
    depth: f64,
    byte_counter: u64,
    bounds: Bounds,
    rate: BitRate,
    target: BitRate,
    alpha: f64,
    /// True if the flow has received a CNP; before the first, there is nothing to recover from.
    congested: bool,
    /// Bytes on the wire since the byte counter last expired.
    sent: u64,
    /// Expirations of the timer since the last cut, T.
    timer_stage: u32,
    /// Expirations of the byte counter since the last cut, B.
    byte_stage: u32,
}

impl Paper {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        let settings = params.settings(path.line_rate);
        let (alpha_floor, growth, depth) = match params.tcd {
            Tcd::Aggressive => (
                params.alpha_floor,
                params.g * params.g_factor,
                params.cut_factor / 2.0,
            ),
            Tcd::Off | Tcd::Hold => (0.0, params.g, 0.5),
        };
        Self {
            settings,
            tcd: params.tcd,
            alpha_floor,
            growth,
            depth,
            byte_counter: params.byte_counter.get().max(1),
            bounds: Bounds::new(settings.min_rate, path.line_rate),
            rate: path.line_rate,
            target: path.line_rate,
            alpha: params.initial_alpha,
            congested: false,
            sent: 0,
            timer_stage: 0,
            byte_stage: 0,
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

    fn increase(&mut self) {
        let stages = self.settings.stages;
        // Additive increase starts when one of the two counters has left fast recovery, hyper increase when
        // both have.
        let step = if self.timer_stage.max(self.byte_stage) <= stages {
            BitRate::from_bps(0) // (3), fast recovery
        } else {
            match self.timer_stage.min(self.byte_stage).saturating_sub(stages) {
                0 => self.settings.rate_ai, // (4), additive increase
                i => BitRate::from_bps(self.settings.rate_hai.as_bps().saturating_mul(i.into())), // hyper increase
            }
        };
        self.target = self.target.saturating_add(step).min(self.bounds.line);
        self.rate = self.bounds.clamp(average(self.rate, self.target));
    }
}

impl CongestionControl for Paper {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_cnp(&mut self, cx: &mut Ctx<'_>, cnp: &Cnp) {
        if cnp.mark == Mark::Undetermined && self.tcd == Tcd::Off {
            return;
        }
        self.target = self.rate; // (5), and:
        if cnp.mark == Mark::Congested {
            // (1)
            let (g, alpha) = (self.growth, self.alpha.max(self.alpha_floor));
            self.rate = self.bounds.clamp(self.rate.scale(1.0 - alpha * self.depth));
            self.alpha = (1.0 - g) * self.alpha + g;
        }
        self.congested = true;
        (self.timer_stage, self.byte_stage, self.sent) = (0, 0, 0);
        // Every CNP restarts both timers: alpha decays and the rate increases only after an interval without
        // one (§3.2).
        cx.arm(ALPHA, self.settings.alpha_interval);
        cx.arm(INCREASE, self.settings.increase_timer);
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if ack.mark == Mark::Congested && self.settings.cnp_interval == Span::ZERO {
            self.on_cnp(cx, &Cnp::MARKED);
        }
    }

    fn on_timer(&mut self, cx: &mut Ctx<'_>, slot: TimerSlot) {
        match slot {
            ALPHA => {
                self.alpha *= 1.0 - self.settings.g; // (2)
                cx.arm(ALPHA, self.settings.alpha_interval);
            }
            INCREASE => {
                self.timer_stage = self.timer_stage.saturating_add(1);
                self.increase();
                cx.arm(INCREASE, self.settings.increase_timer);
            }
            _ => {}
        }
    }

    fn on_send(&mut self, _cx: &mut Ctx<'_>, sent: &SentInfo) {
        // Before the first CNP the rate is the line's; stages counted then would skip fast recovery later.
        if !self.congested {
            return;
        }
        self.sent = self.sent.saturating_add(sent.wire.get());
        if self.sent >= self.byte_counter {
            self.sent -= self.byte_counter;
            self.byte_stage = self.byte_stage.saturating_add(1);
            self.increase();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dcqcn::Flavour;
    use crate::params::Auto;
    use crate::testkit::{Pair, star_path};

    fn pair() -> Pair<Paper> {
        let params = Params {
            flavour: Flavour::Paper,
            rate_ai: Auto::Is(BitRate::from_gbps(1)),
            rate_hai: Auto::Is(BitRate::from_gbps(2)),
            byte_counter: Bytes::new(2000),
            ..Params::default()
        };
        Pair::new(star_path(), |path| Paper::new(&params, path))
    }

    #[test]
    fn equations_1_and_2_by_hand() {
        let mut pair = pair();
        pair.cnp(&Cnp::MARKED); // α is 1: half
        assert_eq!(
            (pair.rate(), pair.cc.target_rate()),
            (BitRate::from_gbps(50), BitRate::from_gbps(100))
        );
        assert_eq!(pair.cc.alpha(), 1.0);
        pair.advance(Span::from_us(55)); // α decays once, and the timer increases once
        assert_eq!(pair.cc.alpha(), 255.0 / 256.0);
        assert_eq!(pair.rate(), BitRate::from_gbps(75));
        pair.cnp(&Cnp::MARKED);
        assert_eq!(pair.rate(), BitRate::from_gbps(75).scale(1.0 - 255.0 / 512.0));
        assert_eq!(pair.cc.target_rate(), BitRate::from_gbps(75));
        assert_eq!(pair.cc.alpha(), 255.0 / 256.0 * (255.0 / 256.0) + 1.0 / 256.0);
    }

    const UNDETERMINED: Cnp = Cnp {
        mark: Mark::Undetermined,
        rate: None,
    };

    fn with(tcd: Tcd) -> Pair<Paper> {
        let params = Params {
            flavour: Flavour::Paper,
            initial_alpha: 0.25,
            tcd,
            ..Params::default()
        };
        Pair::new(star_path(), |path| Paper::new(&params, path))
    }

    #[test]
    fn equation_5_by_hand() {
        for (tcd, waits) in [(Tcd::Off, false), (Tcd::Hold, true)] {
            let mut pair = with(tcd);
            pair.cnp(&Cnp::MARKED); // R = 87.5
            pair.advance(Span::from_us(50));
            pair.cnp(&UNDETERMINED);
            let alpha = 0.25 * 255.0 / 256.0 + 1.0 / 256.0;
            assert_eq!(
                (pair.cc.alpha(), pair.rate()),
                (alpha, BitRate::from_bps(87_500_000_000))
            );
            // Its timer would have expired after 55 us; the hold restarts it, so no increase happens here.
            pair.advance(Span::from_us(54));
            let grown = BitRate::from_bps(93_750_000_000);
            let rate = if waits {
                BitRate::from_bps(87_500_000_000)
            } else {
                grown
            };
            assert_eq!(pair.rate(), rate, "{tcd:?}");
            pair.advance(Span::from_us(1));
            assert_eq!(pair.rate(), rate, "{tcd:?}");
        }
    }

    #[test]
    fn aggressive_cuts_are_deeper() {
        let mut pair = with(Tcd::Aggressive);
        pair.cnp(&Cnp::MARKED);
        assert_eq!(pair.rate(), BitRate::from_gbps(75), "by 0.5, not 0.25");
        assert_eq!(pair.cc.alpha(), 0.25 * 254.0 / 256.0 + 2.0 / 256.0);
        pair.cnp(&UNDETERMINED);
        assert_eq!(pair.rate(), BitRate::from_gbps(75));
    }

    #[test]
    fn aggressive_cuts_may_be_twice_as_deep() {
        let params = Params {
            flavour: Flavour::Paper,
            initial_alpha: 0.25,
            tcd: Tcd::Aggressive,
            alpha_floor: 0.0,
            g_factor: 1.0,
            cut_factor: 2.0,
            ..Params::default()
        };
        let mut pair = Pair::new(star_path(), |path| Paper::new(&params, path));
        pair.cnp(&Cnp::MARKED);
        assert_eq!(pair.rate(), BitRate::from_gbps(75), "by 0.25, not by half of it");
        let whole = Params {
            initial_alpha: 1.0,
            ..params
        };
        let mut pair = Pair::new(star_path(), |path| Paper::new(&whole, path));
        pair.cnp(&Cnp::MARKED);
        assert_eq!(
            pair.rate(),
            BitRate::from_bps(100_000_000),
            "nothing is left but the least"
        );
    }

    #[test]
    fn five_recoveries_then_additive_then_hyper_with_both_counters() {
        let mut pair = pair();
        pair.cnp(&Cnp::MARKED);
        pair.cnp(&Cnp::MARKED); // R = 25, Rt = 50
        let mut rate = 25.0;
        for _ in 0..5 {
            pair.advance(Span::from_us(55));
            rate = (rate + 50.0) / 2.0;
        }
        assert!((pair.rate().as_gbps_f64() - rate).abs() < 1e-6, "(3)");
        pair.advance(Span::from_us(55));
        rate = (rate + 51.0) / 2.0;
        assert!((pair.rate().as_gbps_f64() - rate).abs() < 1e-6, "(4)");
        // The byte counter expires after each two packets of 1048 bytes; up to 5 expirations the increase is
        // additive.
        for i in 1..=5 {
            pair.send(Bytes::new(1000));
            pair.send(Bytes::new(1000));
            rate = (rate + 51.0 + f64::from(i)) / 2.0;
        }
        assert!((pair.rate().as_gbps_f64() - rate).abs() < 1e-6, "(4), by bytes");
        // The sixth: min(T, B) = 6 > 5, one step of HAI.
        pair.send(Bytes::new(1000));
        pair.send(Bytes::new(1000));
        rate = (rate + 58.0) / 2.0;
        assert!((pair.rate().as_gbps_f64() - rate).abs() < 1e-6, "hyper");
    }

    #[test]
    fn nothing_is_counted_before_the_first_notification() {
        let mut pair = pair();
        for _ in 0..100 {
            pair.send(Bytes::new(1000));
        }
        pair.advance(Span::from_us(1000));
        assert_eq!(pair.history.len(), 1);
        assert!(pair.expired.is_empty());
    }
}
