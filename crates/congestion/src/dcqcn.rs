//! DCQCN: congestion control for RoCEv2 from ECN marks.
//!
//! # What it does
//! Switches mark packets as queues grow. The receiver returns marks as congestion notification packets (CNPs). The
//! sender cuts its rate by half of α, an estimate of the notification rate, and then recovers by timers and bytes
//! sent. DCQCN is for RoCEv2 with PFC (Zhu et al., SIGCOMM 2015).
//!
//! Recovery has three phases: fast recovery half-way back to the rate before the cut, additive increase, and hyper
//! increase. There are two flavours. `paper` is the published algorithm. `nic` follows NICs and the public code of
//! HPCC, where timers check for CNPs.
//!
//! # Signal it needs
//! ECN (RED between two thresholds), and either one CNP per flow and `cnp-interval` from the receiver, or with
//! `cnp-interval` zero the echo of each mark in its ACK.
//!
//! # Equations
//! `paper`, at a CNP, and then (2) after each `alpha-interval` without one:
//! ```text
//! Rt = R;  R = R (1 - alpha/2);  alpha = (1 - g) alpha + g                             (1)
//! alpha = (1 - g) alpha                                                                (2)
//! ```
//! T counts expiries of `increase-timer`, and B counts multiples of `byte-counter` sent; a CNP sets both to zero. With
//! F stages:
//! ```text
//! max(T, B) <= F:  R = (Rt + R)/2                                      fast recovery   (3)
//! otherwise:       Rt = Rt + AI;  R = (Rt + R)/2                       additive        (4)
//! min(T, B) > F:   Rt = Rt + (min(T, B) - F) HAI;  R = (Rt + R)/2      hyper
//! ```
//! `nic`: every `alpha-interval`, α takes the step of (1) if a CNP has arrived since the last one, otherwise that of
//! (2). Every `cut-interval`, if a CNP has arrived: `Rt = R` if the rate has been increased since the last cut (or
//! always with `clamp-target`), `R = R (1 - alpha/2)`, stage 0. Every `increase-timer` since the cut: stage < F as
//! (3), stage = F as (4), stage > F with HAI; then the stage grows by one.
//!
//! Rt and R are at most the line rate, R at least `min-rate`.
//!
//! With ternary detection (`tcd`, flavour `paper`), at a CNP that reports an undetermined mark:
//! ```text
//! Rt = R;  T = B = 0, timers restart                                                   (5)
//! ```
//! With `aggressive`, (1) uses `R = R (1 - cut-factor max(alpha, alpha-floor)/2)`, and g is `g-factor` g.
//!
//! # Parameters
//! [`Params`]. Some defaults depend on `flavour`, and the steps on the line rate. The launcher of HPCC's public code
//! scales AI as 5 and HAI as 50 Mbit/s per 25 Gbit/s of line (20 and 200 at 100 Gbit/s). The paper has an AI of 40
//! Mbit/s at 40 Gbit/s, and its authors' public code an HAI of 200; `paper` scales both in proportion.
//!
//! Marking belongs to the network (`[network.ecn]`); its default depends on the flavour. For `nic` it is the
//! launcher's Kmin 100 KB, Kmax 400 KB, Pmax 20 % per 25 Gbit/s of a port. For `paper` it is the paper's 5 KB, 200 KB
//! and 1 % at 40 Gbit/s, in proportion on other ports. If schemes share a network, the first one's default applies.
//!
//! # Where we differ from the paper or public code
//! * `nic` has no known difference from the public code, except that timers there take whole microseconds. The first
//!   CNP sets α to 1, starts the timers, and counts for the first cut (1 ns after the fourth step of α with default
//!   intervals). It does not count for the first step of α.
//! * `paper`: timers and byte counter start at the first CNP; until then the rate is the line's. Fast recovery has F
//!   steps.
//! * `tcd = "hold"` is the public code of ternary detection. `aggressive` follows the words of its thesis, with our
//!   numbers. CNPs of that code follow a clock of 50 us per flow; ours come at least 50 us after the last.
//! * The timers of α and of increases do not stop when the rate is back at the line's.
//!
//! # References
//! Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, §3.
//! IEEE 802.1Qau (QCN), the origin of the increase phases.
//! Y. Zhang et al., "Congestion Detection in Lossless Networks", SIGCOMM 2021 (`tcd`).
//! Public code: alibaba-edu/High-Precision-Congestion-Control; Yi-ran/DCQCN-TCD.

use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{CongestionControl, PathInfo, Requirements, TimerSlot};
use crate::params::{Auto, ParamError, Parameters, Range, is};
use crate::rate::in_proportion;
use crate::receiver::ReceiverHalf;
use crate::registry::{
    Alias, Definition, Incompatible, Marking, NetworkFacts, ReactionTime, Scheme, WindowMode,
};

mod nic;
mod notification;
mod paper;

pub use nic::Nic;
pub use notification::NotificationPoint;
pub use paper::Paper;

/// Timer of α's updates.
const ALPHA: TimerSlot = TimerSlot(0);
/// Timer of `nic` that cuts the rate if a CNP arrived.
const DECREASE: TimerSlot = TimerSlot(1);
/// Timer of rate increases.
const INCREASE: TimerSlot = TimerSlot(2);

choice! {
    /// Variant of DCQCN: as in NICs, or as published.
    pub enum Flavour {
        /// As in NICs: a timer checks for CNPs.
        Nic = "nic",
        /// As published: a CNP cuts the rate at once.
        Paper = "paper",
    }
}

choice! {
    /// Reaction to undetermined marks (ternary congestion detection).
    pub enum Tcd {
        /// None: only congested marks count.
        Off = "off",
        /// Holds the rate: the target becomes the rate, timers and stages restart, and nothing is cut.
        Hold = "hold",
        /// Holds the rate, and cuts deeper at congested marks: alpha is at least `alpha-floor` and grows by
        /// `g-factor` times g, and the cut is multiplied by `cut-factor`.
        Aggressive = "aggressive",
    }
}

/// Defaults that depend on the flavour.
struct Defaults {
    cnp_interval: Span,
    alpha_interval: Span,
    increase_timer: Span,
    fast_recovery_stages: u32,
    min_rate: BitRate,
}

/// Steps of additive and hyper increase on a line of rate `line`; other lines scale them.
struct Steps {
    ai: BitRate,
    hai: BitRate,
    line: BitRate,
}

impl Flavour {
    const fn steps(self) -> Steps {
        let (ai, hai, gbps) = match self {
            Self::Nic => (5, 50, 25),
            Self::Paper => (40, 200, 40),
        };
        Steps {
            ai: BitRate::from_bps(ai * 1_000_000),
            hai: BitRate::from_bps(hai * 1_000_000),
            line: BitRate::from_gbps(gbps),
        }
    }

    const fn defaults(self) -> Defaults {
        match self {
            Self::Nic => Defaults {
                cnp_interval: Span::ZERO,
                alpha_interval: Span::from_us(1),
                increase_timer: Span::from_us(300),
                fast_recovery_stages: 1,
                min_rate: BitRate::from_gbps(1),
            },
            Self::Paper => Defaults {
                cnp_interval: Span::from_us(50),
                alpha_interval: Span::from_us(55),
                increase_timer: Span::from_us(55),
                fast_recovery_stages: 5,
                min_rate: BitRate::from_bps(100_000_000),
            },
        }
    }
}

/// Formats a default that depends on the flavour.
macro_rules! by_flavour {
    ($field:ident) => {
        format!(
            "{} (nic), {} (paper)",
            Flavour::Nic.defaults().$field,
            Flavour::Paper.defaults().$field
        )
    };
}

params! {
    /// Parameters of DCQCN; `None` takes the flavour's default.
    pub struct Params {
        /// Timers that check for CNPs (`nic`), or immediate cuts (`paper`).
        flavour: Flavour = Flavour::Nic, in Range::Any, from "public code; SIGCOMM 2015";
        /// Shortest time between two CNPs of a flow. 0: every marked ACK is a CNP.
        cnp_interval: Option<Span> = None, shown by_flavour!(cnp_interval), in Range::AtLeast(0.0), from "public code; paper";
        /// Weight of a new sample in alpha.
        g: f64 = 1.0 / 256.0, in Range::AboveUpTo(0.0, 1.0), from "paper";
        /// Time between two steps of alpha.
        alpha_interval: Option<Span> = None, shown by_flavour!(alpha_interval), in Range::Above(0.0), from "public code's launcher; paper";
        /// Time between two checks for a CNP that cuts the rate.
        cut_interval: Span = Span::from_us(4), in Range::Above(0.0), from "public code's launcher", only(&[&[is(".flavour", &["nic"])]]);
        /// Time between two increases.
        increase_timer: Option<Span> = None, shown by_flavour!(increase_timer), in Range::Above(0.0), from "public code's launcher; paper";
        /// Bytes on the wire between two increases.
        byte_counter: Bytes = Bytes::new(10_000_000), in Range::Above(0.0), from "paper", only(&[&[is(".flavour", &["paper"])]]);
        /// Increases in fast recovery, F.
        fast_recovery_stages: Option<u32> = None, shown by_flavour!(fast_recovery_stages), in Range::AtLeast(0.0), from "public code's launcher; paper";
        /// Step of additive increase. `auto`: 5 Mbit/s per 25 Gbit/s of the line (nic), 40 per 40 (paper).
        rate_ai: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "public code's launcher, which scales it so in both flavours; paper at 40 Gbit/s";
        /// Step of hyper increase. `auto`: 50 Mbit/s per 25 Gbit/s of the line (nic), 200 per 40 (paper).
        rate_hai: Auto<BitRate> = Auto::Auto, in Range::Above(0.0), from "public code's launcher; public code of the paper's authors";
        /// Lowest rate.
        min_rate: Option<BitRate> = None, shown by_flavour!(min_rate), in Range::Above(0.0), from "public code's launcher; public code's default";
        /// Let every cut set the target rate, not only the first one after an increase.
        clamp_target: bool = false, in Range::Any, from "public code", only(&[&[is(".flavour", &["nic"])]]);
        /// Alpha before the first CNP.
        initial_alpha: f64 = 1.0, in Range::AboveUpTo(0.0, 1.0), from "paper; public code of ternary detection: 0.5";
        /// Reaction to undetermined marks, with flavour paper. If not `off`, ports use ternary detection unless the
        /// network sets another.
        tcd: Tcd = Tcd::Off, in Range::Any, from "public code of ternary detection";
        /// Lowest alpha in a cut.
        alpha_floor: f64 = 0.5, in Range::Between(0.0, 1.0), from "ours: the thesis says \"aggressive\"", only(&[&[is(".tcd", &["aggressive"])]]);
        /// Factor of g in the growth of alpha at a CNP.
        g_factor: f64 = 2.0, in Range::Above(0.0), from "ours: the thesis says \"aggressive\"", only(&[&[is(".tcd", &["aggressive"])]]);
        /// Factor of the depth of a cut.
        cut_factor: f64 = 1.0, in Range::AboveUpTo(0.0, 2.0), from "ours: the thesis says \"aggressive\"", only(&[&[is(".tcd", &["aggressive"])]]);
        /// Factor of the rate at a flow's first CNP.
        rate_on_first_cnp: f64 = 1.0, in Range::AboveUpTo(0.0, 1.0), from "public code", only(&[&[is(".flavour", &["nic"])]]);
    }
}

/// Parameters of a flow, with all defaults filled in.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Least time between two CNPs of a flow; zero if every marked ACK counts as one.
    pub cnp_interval: Span,
    /// Weight of a CNP in alpha.
    pub g: f64,
    /// Time between two steps of alpha.
    pub alpha_interval: Span,
    /// Time between two increases by the timer.
    pub increase_timer: Span,
    /// Increases in fast recovery, F.
    pub stages: u32,
    /// Step of additive increase.
    pub rate_ai: BitRate,
    /// Step of hyper increase.
    pub rate_hai: BitRate,
    /// Lower bound of the rate.
    pub min_rate: BitRate,
}

impl Params {
    /// Returns the parameters with all defaults filled in, for a line of this rate.
    pub fn settings(&self, line: BitRate) -> Settings {
        let by_flavour = self.flavour.defaults();
        let steps = self.flavour.steps();
        Settings {
            cnp_interval: self.cnp_interval.unwrap_or(by_flavour.cnp_interval),
            g: self.g,
            alpha_interval: self.alpha_interval.unwrap_or(by_flavour.alpha_interval),
            increase_timer: self.increase_timer.unwrap_or(by_flavour.increase_timer),
            stages: self
                .fast_recovery_stages
                .unwrap_or(by_flavour.fast_recovery_stages),
            rate_ai: self.rate_ai.or(in_proportion(steps.ai, steps.line, line)),
            rate_hai: self.rate_hai.or(in_proportion(steps.hai, steps.line, line)),
            min_rate: self.min_rate.unwrap_or(by_flavour.min_rate),
        }
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "dcqcn",
        aliases: &[
            Alias {
                name: "dcqcn-win",
                help: "with the bytes in flight bounded by a window that follows the rate",
                settings: &[],
                window: Some(WindowMode::Variable),
            },
            Alias {
                name: "dcqcn-paper",
                help: "as published: CNPs every 50 us, cuts at once, byte counter, and the paper's marking thresholds",
                settings: &[("flavour", "paper")],
                window: None,
            },
            Alias {
                name: "dcqcn-tcd",
                help: "as published, and undetermined marks hold the rate, as in the public code of ternary detection",
                settings: &[("flavour", "paper"), ("tcd", "hold"), ("initial-alpha", "0.5")],
                window: None,
            },
        ],
        title: "DCQCN",
        paper: crate::papers::DCQCN.citation,
        summary: "ECN marks return as notification packets; the sender cuts its rate, then\n\
                  recovers half of the cut and increases in steps.",
        scope: "RoCEv2 with PFC and marks at 25 to 400 Gbit/s; under credits its thresholds lie above what a lane holds.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("dcqcn.rs"),
    };

    fn explicit(&self) -> Self {
        let by_flavour = self.flavour.defaults();
        Self {
            cnp_interval: Some(self.cnp_interval.unwrap_or(by_flavour.cnp_interval)),
            alpha_interval: Some(self.alpha_interval.unwrap_or(by_flavour.alpha_interval)),
            increase_timer: Some(self.increase_timer.unwrap_or(by_flavour.increase_timer)),
            fast_recovery_stages: Some(
                self.fast_recovery_stages
                    .unwrap_or(by_flavour.fast_recovery_stages),
            ),
            min_rate: Some(self.min_rate.unwrap_or(by_flavour.min_rate)),
            ..self.clone()
        }
    }

    fn reaction_times(&self) -> Vec<ReactionTime> {
        let settings = self.settings(BitRate::from_gbps(100));
        // Each interval takes a share g off alpha, so alpha forgets a CNP after 1 / g intervals.
        let memory = settings.alpha_interval.as_ps() as f64 / settings.g;
        let mut times = vec![
            ReactionTime {
                param: "increase-timer",
                span: settings.increase_timer,
                event: "the rate rises",
            },
            ReactionTime {
                param: "alpha-interval",
                span: Span::from_ps(memory as u64),
                event: "alpha forgets a notification",
            },
        ];
        // An interval of zero stands for echoed marks, whose reaction time is the round trip's.
        if settings.cnp_interval > Span::ZERO {
            times.push(ReactionTime {
                param: "cnp-interval",
                span: settings.cnp_interval,
                event: "a notification cuts the rate",
            });
        }
        times
    }

    fn check(&self) -> Result<(), ParamError> {
        // Shorter intervals would fill a run with timer events.
        let by_flavour = self.flavour.defaults();
        for (name, interval) in [
            (
                "alpha-interval",
                self.alpha_interval.unwrap_or(by_flavour.alpha_interval),
            ),
            ("cut-interval", self.cut_interval),
            (
                "increase-timer",
                self.increase_timer.unwrap_or(by_flavour.increase_timer),
            ),
        ] {
            if interval < Span::from_ns(10) {
                return Err(ParamError::new(
                    name,
                    format!("{interval} is too short: expected 10ns or more"),
                ));
            }
        }
        if self.tcd != Tcd::Off && self.flavour != Flavour::Paper {
            let why = "it is the notifications of flavour `paper` that tell undetermined marks";
            return Err(ParamError::new(
                "tcd",
                format!("{why}: expected `off` with this flavour"),
            ));
        }
        let interval = self.cnp_interval.unwrap_or(by_flavour.cnp_interval);
        if self.tcd != Tcd::Off && interval == Span::ZERO {
            return Err(ParamError::new(
                "cnp-interval",
                format!(
                    "{interval} is an echo in each acknowledgement, and with `tcd` it is notifications that tell \
                     undetermined marks: expected more than 0"
                ),
            ));
        }
        let growth = self.g * self.g_factor;
        if self.tcd == Tcd::Aggressive && growth > 1.0 {
            return Err(ParamError::new(
                "g-factor",
                format!("g times it is {growth}: expected 1 at most"),
            ));
        }
        Ok(())
    }

    fn ternary_detection(&self) -> bool {
        self.flavour == Flavour::Paper && self.tcd != Tcd::Off
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        if self.tcd == Tcd::Off || network.undetermined {
            return Vec::new();
        }
        vec![Incompatible::Doubtful(
            "`cc.dcqcn.tcd` reacts to undetermined marks, and no port sets any; set `network.detection.kind = \
             \"tcd\"`",
        )]
    }

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: true,
            counts_sent: self.flavour == Flavour::Paper,
            ..Requirements::default()
        }
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate.unwrap_or(self.flavour.defaults().min_rate))
    }

    fn marking(&self) -> Marking {
        match self.flavour {
            Flavour::Nic => Marking::LAUNCHER,
            Flavour::Paper => Marking::DCQCN_PAPER,
        }
    }

    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        let interval = self.cnp_interval.unwrap_or(self.flavour.defaults().cnp_interval);
        let point = NotificationPoint::new(interval, self.tcd != Tcd::Off);
        // With an interval of zero each marked ACK counts as a CNP, and receivers send none.
        (interval > Span::ZERO).then(|| Box::new(point) as Box<dyn ReceiverHalf>)
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        match self.flavour {
            Flavour::Nic => Box::new(Nic::new(self, path)),
            Flavour::Paper => Box::new(Paper::new(self, path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The launcher scales 5 and 50 Mbit/s per 25 Gbit/s, the paper's code 40 and 200 per 40.
    #[test]
    fn steps_go_with_the_line() {
        let steps = |flavour, gbps| {
            let params = Params {
                flavour,
                ..Params::default()
            };
            let settings = params.settings(BitRate::from_gbps(gbps));
            [settings.rate_ai, settings.rate_hai].map(|rate| rate.as_bps() / 1_000_000)
        };
        assert_eq!(steps(Flavour::Nic, 25), [5, 50]);
        assert_eq!(steps(Flavour::Nic, 100), [20, 200]);
        assert_eq!(steps(Flavour::Nic, 400), [80, 800]);
        assert_eq!(steps(Flavour::Paper, 40), [40, 200]);
        assert_eq!(steps(Flavour::Paper, 400), [400, 2000]);
        let own = Params {
            rate_ai: Auto::Is(BitRate::from_gbps(1)),
            ..Params::default()
        };
        assert_eq!(
            own.settings(BitRate::from_gbps(400)).rate_ai,
            BitRate::from_gbps(1)
        );
    }

    #[test]
    fn defaults_follow_the_flavour() {
        let paper = Params {
            flavour: Flavour::Paper,
            ..Params::default()
        };
        assert_eq!(paper.explicit().increase_timer, Some(Span::from_us(55)));
        assert_eq!(
            Params::default().explicit().increase_timer,
            Some(Span::from_us(300))
        );
        let own = Params {
            increase_timer: Some(Span::from_us(7)),
            ..paper
        };
        assert_eq!(own.explicit().increase_timer, Some(Span::from_us(7)));
        let doc = Params::docs()
            .into_iter()
            .find(|doc| doc.name == "alpha-interval")
            .unwrap();
        assert_eq!(doc.default, "1us (nic), 55us (paper)");
    }
}
