//! DCQCN's reaction point as in the simulator of TCD's authors: rates are truncated to whole bit/s, and times to
//! whole microseconds.
//!
//! Differences to [`dcqcn`]: alpha starts at 0.5, and a target far above the rate after the first stage is divided by
//! eight instead of increased. Targets have no upper limit.

use paceline_congestion::{Mark, dcqcn};
use paceline_kernel::{BitRate, Span};

/// Parameters common to all flows of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settings {
    /// Rate of the host's link, bit/s.
    pub line: u64,
    /// Lower limit of the rate, bit/s.
    pub min_rate: u64,
    /// Steps of active and of hyper increase, bit/s.
    pub steps: [u64; 2],
    /// Weight of a notification in alpha.
    pub g: f64,
    /// Interval between steps of alpha, and between increases, us.
    pub intervals: [f64; 2],
    /// Interval at which a receiver checks a flow for a due notification, us.
    pub notify: f64,
    /// Bytes between two increases.
    pub byte_counter: u32,
    /// Number of increases in fast recovery.
    pub stages: u32,
    /// True if every notification sets the target to the rate.
    pub clamp: bool,
    /// True if a notification also sets the target after an increase by time, not only after one by bytes.
    pub clamp_after_timer: bool,
    /// True if notifications with undetermined marks have an effect.
    pub holds: bool,
}

impl Settings {
    /// Converts DCQCN's parameters for a host with this link.
    pub(super) fn of(params: &dcqcn::Params, line: BitRate, clamp_after_timer: bool) -> Self {
        let all = params.settings(line);
        let us = |span: Span| span.as_ps() as f64 / 1e6;
        Self {
            line: line.as_bps(),
            min_rate: all.min_rate.as_bps(),
            steps: [all.rate_ai.as_bps(), all.rate_hai.as_bps()],
            g: all.g,
            intervals: [us(all.alpha_interval), us(all.increase_timer)],
            notify: us(all.cnp_interval),
            byte_counter: u32::try_from(params.byte_counter.get()).unwrap_or(u32::MAX),
            stages: all.stages,
            clamp: params.clamp_target,
            clamp_after_timer,
            holds: params.tcd != dcqcn::Tcd::Off,
        }
    }

    /// Returns the interval between notifications of a flow.
    pub(super) fn notification_interval(&self) -> Span {
        whole_us(self.notify)
    }

    /// Returns the interval between steps of alpha.
    pub(super) fn alpha_interval(&self) -> Span {
        whole_us(self.intervals[0])
    }
}

/// Truncates to whole microseconds, as ns-3's `MicroSeconds` does.
fn whole_us(us: f64) -> Span {
    Span::from_us(us as u64)
}

/// Phases of rate increase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No notification has arrived yet.
    #[default]
    Unheard,
    FastRecovery,
    Active,
    Hyper,
}

/// State of a flow's reaction point; rates in bit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReactionPoint {
    phase: Phase,
    rate: u64,
    target: u64,
    alpha: f64,
    byte_stage: u32,
    time_stage: u32,
    /// Bytes until the next increase; negative if it is due.
    bytes: i64,
}

/// Initial value of alpha.
const ALPHA: f64 = 0.5;

impl ReactionPoint {
    /// Creates the reaction point of a new flow, at line rate.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            phase: Phase::Unheard,
            rate: settings.line,
            target: settings.line,
            alpha: ALPHA,
            byte_stage: 0,
            time_stage: 0,
            bytes: settings.byte_counter.into(),
        }
    }

    /// Returns the current rate, bit/s.
    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    /// Returns the target rate, bit/s.
    pub(super) fn target(&self) -> u64 {
        self.target
    }

    /// Returns the congestion estimate.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Applies a notification. If it has an effect, returns the time until the next increase; the next step of alpha
    /// is [`Settings::alpha_interval`] away.
    pub(super) fn on_notification(&mut self, settings: &Settings, mark: Mark) -> Option<Span> {
        let counts = mark == Mark::Congested || mark == Mark::Undetermined && settings.holds;
        if !counts {
            return None;
        }
        let increased = self.byte_stage != 0 || settings.clamp_after_timer && self.time_stage != 0;
        if settings.clamp || increased {
            self.target = self.rate;
            self.bytes = settings.byte_counter.into();
        }
        (self.byte_stage, self.time_stage) = (0, 0);
        // An undetermined mark only ends the increase; the rate stays.
        if mark == Mark::Congested {
            self.alpha = (1.0 - settings.g) * self.alpha + settings.g;
            let cut = (self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64;
            self.rate = cut.max(settings.min_rate);
        }
        self.phase = Phase::FastRecovery;
        Some(whole_us(settings.intervals[1]))
    }

    /// Decreases alpha at its timer's expiry. The caller sets the timer again.
    pub(super) fn on_alpha(&mut self, settings: &Settings) {
        self.alpha *= 1.0 - settings.g;
    }

    /// Increases the rate at the timer's expiry, and returns the time until the next increase.
    pub(super) fn on_timer(&mut self, settings: &Settings) -> Span {
        self.time_stage += 1;
        let interval = settings.intervals[1];
        let was_hyper = self.phase == Phase::Hyper;
        let stage = self.time_stage;
        self.increase(settings, stage, true);
        whole_us(if was_hyper { interval / 2.0 } else { interval })
    }

    /// Counts sent bytes. Returns true if they increased the rate.
    pub(super) fn on_sent(&mut self, settings: &Settings, bytes: u32) -> bool {
        if self.phase == Phase::Unheard {
            self.bytes = settings.byte_counter.into();
            return false;
        }
        self.bytes -= i64::from(bytes);
        if self.bytes >= 0 {
            return false;
        }
        self.byte_stage += 1;
        self.bytes = match self.phase {
            Phase::Hyper => (settings.byte_counter / 2).into(),
            _ => settings.byte_counter.into(),
        };
        let stage = self.byte_stage;
        self.increase(settings, stage, false);
        true
    }

    /// Increases the rate when a counter reaches `stage`. In the active phase, bytes never lead to the hyper phase.
    fn increase(&mut self, settings: &Settings, stage: u32, by_time: bool) {
        match self.phase {
            Phase::FastRecovery if stage < settings.stages => self.adjust(settings, 0),
            Phase::Active if !by_time => self.increase_actively(settings),
            Phase::FastRecovery | Phase::Active => self.increase_by_stages(settings),
            Phase::Hyper => self.increase_fast(settings),
            Phase::Unheard => {}
        }
    }

    fn increase_by_stages(&mut self, settings: &Settings) {
        if self.byte_stage.min(self.time_stage) < settings.stages {
            self.increase_actively(settings);
        } else {
            self.increase_fast(settings);
        }
    }

    fn increase_actively(&mut self, settings: &Settings) {
        self.adjust(settings, settings.steps[0]);
        self.phase = Phase::Active;
    }

    fn increase_fast(&mut self, settings: &Settings) {
        // Unsigned arithmetic, as in the simulator: the difference may wrap.
        let stages = self.byte_stage.min(self.time_stage);
        let times = stages.wrapping_sub(settings.stages).wrapping_add(1);
        self.adjust(settings, (settings.steps[1] as f64 * f64::from(times)) as u64);
        self.phase = Phase::Hyper;
    }

    fn adjust(&mut self, settings: &Settings, step: u64) {
        let is_first = self.byte_stage == 1 || self.time_stage == 1;
        if is_first && self.target > (self.rate as f64 * 10.0) as u64 {
            self.target = (self.target as f64 / 8.0) as u64;
        } else {
            self.target = self.target.saturating_add(step);
        }
        let half = |rate: u64| (rate as f64 / 2.0) as u64;
        self.rate = (half(self.rate) + half(self.target)).min(settings.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        line: 40_000_000_000,
        min_rate: 100_000_000,
        steps: [40_000_000, 200_000_000],
        g: 0.003_906_25,
        intervals: [55.0, 55.0],
        notify: 50.0,
        byte_counter: 10_000_000,
        stages: 5,
        clamp: true,
        clamp_after_timer: false,
        holds: true,
    };

    /// Compares with the first lines of a recorded run (`validation/tcd-ns3`, s1_single/tcd, x.rate.tsv): five cuts
    /// 50 us apart, then four increases, each after one step of alpha.
    #[test]
    fn a_recorded_sender() {
        let mut flow = ReactionPoint::new(&SETTINGS);
        let mut seen = Vec::new();
        let mut note = |flow: &ReactionPoint| {
            let mbps = |rate: u64| format!("{:.1}", rate as f64 / 1e6);
            seen.push(format!(
                "{} {} {:.6}",
                mbps(flow.rate()),
                mbps(flow.target()),
                flow.alpha()
            ));
        };
        for _ in 0..5 {
            assert_eq!(
                flow.on_notification(&SETTINGS, Mark::Congested),
                Some(Span::from_us(55))
            );
            note(&flow);
        }
        for _ in 0..4 {
            flow.on_alpha(&SETTINGS);
            assert_eq!(flow.on_timer(&SETTINGS), Span::from_us(55));
            note(&flow);
        }
        let recorded = [
            "29960.9 40000.0 0.501953",
            "22412.3 29960.9 0.503899",
            "16743.8 22412.3 0.505837",
            "12492.8 16743.8 0.507767",
            "9309.1 12492.8 0.509690",
            "10901.0 12492.8 0.507699",
            "11696.9 12492.8 0.505715",
            "12094.9 12492.8 0.503740",
            "12293.9 12492.8 0.501772",
        ];
        assert_eq!(seen, recorded);
    }

    /// An undetermined mark holds the rate and restarts the stages. If it does not count, nothing changes.
    #[test]
    fn undetermined_marks_hold() {
        let mut flow = ReactionPoint::new(&SETTINGS);
        flow.on_notification(&SETTINGS, Mark::Congested);
        flow.on_timer(&SETTINGS);
        let (rate, alpha) = (flow.rate(), flow.alpha());
        let deaf = Settings {
            holds: false,
            ..SETTINGS
        };
        assert_eq!(flow.on_notification(&deaf, Mark::Undetermined), None);
        assert_eq!(flow.target(), 40_000_000_000);
        assert!(flow.on_notification(&SETTINGS, Mark::Undetermined).is_some());
        assert_eq!((flow.rate(), flow.target(), flow.alpha()), (rate, rate, alpha));
    }

    /// With both counters at five, the timer is halved from the second hyper increase on, and truncated to whole
    /// microseconds.
    #[test]
    fn hyper_increase_halves_the_timer() {
        let mut flow = ReactionPoint::new(&SETTINGS);
        flow.on_notification(&SETTINGS, Mark::Congested);
        for _ in 0..5 {
            assert!(flow.on_sent(&SETTINGS, 10_000_001));
        }
        let waits: Vec<Span> = (0..7).map(|_| flow.on_timer(&SETTINGS)).collect();
        let us = Span::from_us;
        assert_eq!(waits, [us(55), us(55), us(55), us(55), us(55), us(27), us(27)]);
    }
}
