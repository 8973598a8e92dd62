//! PCN: photonic congestion notification.
//!
//! # What it does
//! Switches mark packets as queues grow, but not packets that a pause held back. Once per period, the receiver judges
//! each flow by its share of marked packets, and sends the verdict and the flow's arrival rate to the sender. A
//! congested flow falls to that rate at once. Other flows climb towards the line rate, gently at first. PCN is for
//! lossless Ethernet with PFC (Cheng et al., NSDI 2020).
//!
//! Paused packets are not marked because they show the location of a pause, not of congestion.
//!
//! # Signal it needs
//! ECN with marks that spare paused packets (NP-ECN), best with a step. Per flow and period, a notification packet
//! (CNP) from the receiver with a bit and a rate. Pauses: without PFC, NP-ECN is plain ECN.
//!
//! # Equations
//! Switch, for each queue, at the end of a pause, and at each departure:
//! ```text
//! N = packets in the queue;  N = max(0, N - 1);  a packet may be marked if N was 0     (1)
//! ```
//! Receiver, at the end of a period T in which packets of the flow arrived:
//! ```text
//! CE = marked / packets >= marked-share,  RecRate = bytes / T                          (2)
//! ```
//! Sender, at a CNP:
//! ```text
//! CE:      R = min(R, RecRate (1 - w_min));  w = w_min                                 (3)
//! not CE:  R = R (1 - w) + C w;  w = w (1 - w) + w_max w                               (4)
//! ```
//! C is the line rate; flows start at R = C, w = w_min. R stays between `min-rate` and C.
//!
//! # Parameters
//! [`Params`]. None has to be adapted to the line rate; the period should be several round trips. The network sets
//! marking: `[network.ecn]`, by default a step at 30 KB per 10 Gbit/s. If this step is above the pause threshold,
//! queues cannot reach it, and no flow ever counts as congested.
//!
//! # Where we differ from the paper or public code
//! * Reconstructed: the authors' code is not public. The laws (1) to (4), the period, 95 % and the bounds of w follow
//!   their paper and a dissertation from the same group (無丟失網絡擁塞管理關鍵技術研究, Tsinghua University, May 2022; the known
//!   text does not name its author). `min-rate`, the step of marks and the following points are ours.
//! * A period starts with the first packet after the end of the last one. A silent flow therefore costs nothing and
//!   gets no CNP.
//! * RecRate counts headers, and is sent in whole Mbit/s.
//! * N is counted when the pause ends, over the whole class; a pause that renews itself (quanta) ends when its time
//!   has expired.
//!
//! # References
//! W. Cheng et al., "Re-architecting Congestion Management in Lossless Ethernet", NSDI 2020.

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{AckInfo, Cnp, CongestionControl, Ctx, Mark, PathInfo, Requirements, SendLimits};
use crate::detect::NonPausedEcn;
use crate::params::{ParamError, Parameters, Range};
use crate::rate::Bounds;
use crate::receiver::{Arrived, Reaction, ReceiverHalf};
use crate::registry::{
    Definition, Incompatible, Marking, NetworkFacts, ReactionTime, Scheme, Setting, WindowMode,
};
use crate::switch::{EgressPort, Hooks, PerPort, SwitchHalves, SwitchSupport};

params! {
    /// Parameters of PCN; (1) to (4) are the equations of the module.
    pub struct Params {
        /// Receiver's period, T.
        period: Span = Span::from_us(50), in Range::Above(0.0), from "paper";
        /// Smallest share of marked packets at which a flow counts as congested.
        marked_share: f64 = 0.95, in Range::AboveUpTo(0.0, 1.0), from "paper: 95 %";
        /// Smallest w: the margin below the arrival rate of a congested flow, and its first step back.
        w_min: f64 = 1.0 / 128.0, in Range::AboveUpTo(0.0, 1.0), from "paper";
        /// Largest w.
        w_max: f64 = 0.5, in Range::AboveUpTo(0.0, 1.0), from "paper";
        /// Lowest rate.
        min_rate: BitRate = BitRate::from_bps(100_000_000), in Range::Above(0.0), from "ours";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "pcn",
        aliases: &[],
        title: "PCN",
        paper: crate::papers::PCN.citation,
        summary: "Marks spare packets that were paused; the receiver names congested flows and their\n\
                  arrival rate, to which senders fall at once.",
        scope: "networks with PFC; without pauses it is DCQCN with a receiver's rate.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("pcn.rs"),
    };

    fn check(&self) -> Result<(), ParamError> {
        if self.w_min > self.w_max {
            return Err(ParamError::new(
                "w-min",
                format!("{} is above w-max, {}", self.w_min, self.w_max),
            ));
        }
        // Shorter periods would fill a run with notification packets.
        if self.period < Span::from_us(1) {
            return Err(ParamError::new(
                "period",
                format!("{} is too short: expected 1us or more", self.period),
            ));
        }
        Ok(())
    }

    fn reaction_times(&self) -> Vec<ReactionTime> {
        vec![ReactionTime {
            param: "period",
            span: self.period,
            event: "the receiver notifies a sender",
        }]
    }

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: true,
            ..Requirements::default()
        }
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        if !network.marks {
            return vec![Incompatible::Refused {
                setting: Setting::Marks,
                why: "PCN judges flows by their marks, and no switch marks",
                instead: "leave out `network.ecn.curves`, or list a curve for each rate",
            }];
        }
        if !network.pauses {
            return vec![Incompatible::Doubtful(
                "PCN is designed for networks with PFC; without pauses, its marks are plain ECN",
            )];
        }
        Vec::new()
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        Some(SwitchSupport {
            task: "whose marks spare paused packets",
            params: &[],
            hooks: Hooks {
                departures: true,
                pauses: true,
                ..Hooks::default()
            },
            ..SwitchSupport::default()
        })
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        Some(PerPort::boxed(ports, rngs, |port, _| NonPausedEcn::new(port)))
    }

    fn min_rate(&self, _line: BitRate) -> Option<BitRate> {
        Some(self.min_rate)
    }

    fn marking(&self) -> Marking {
        Marking::STEP
    }

    fn receiver_half(&self) -> Option<Box<dyn ReceiverHalf>> {
        Some(Box::new(Judge::new(self)))
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Pcn::new(self, path))
    }
}

/// Receiver half: counts a flow's packets, and judges the flow at the end of each period.
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    period: Span,
    marked_share: f64,
    /// True while a period runs; `packets` and `marked` count its packets.
    runs: bool,
    packets: u32,
    marked: u32,
    /// Bytes that arrived after the period's first packet.
    bytes: u64,
    /// Bytes of the first packet, which arrived before the period started.
    first: u64,
}

impl Judge {
    /// Creates the state of a flow that has received nothing.
    pub const fn new(params: &Params) -> Self {
        Self {
            period: params.period,
            marked_share: params.marked_share,
            runs: false,
            packets: 0,
            marked: 0,
            bytes: 0,
            first: 0,
        }
    }

    /// Returns the verdict of equation (2).
    fn verdict(&self) -> Cnp {
        let congested = f64::from(self.marked) >= self.marked_share * f64::from(self.packets);
        // A single packet stands for the whole period.
        let bytes = if self.bytes == 0 { self.first } else { self.bytes };
        let bps = u128::from(bytes) * 8_000_000_000_000 / u128::from(self.period.as_ps().max(1));
        Cnp {
            mark: Mark::congested_if(congested),
            rate: Some(BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))),
        }
    }
}

impl ReceiverHalf for Judge {
    fn on_data(&mut self, _now: Time, data: &Arrived) -> Reaction {
        self.packets += 1;
        self.marked += u32::from(data.mark == Mark::Congested);
        // The period starts with this packet, so its bytes arrived before it.
        if self.runs {
            self.bytes += data.wire.get();
            return Reaction::NONE;
        }
        (self.runs, self.first) = (true, data.wire.get());
        Reaction {
            timer: Some(self.period),
            ..Reaction::NONE
        }
    }

    fn on_timer(&mut self, _now: Time) -> Reaction {
        // There is nothing to judge. The next packet starts a period again.
        if self.packets == 0 {
            self.runs = false;
            return Reaction::NONE;
        }
        let verdict = self.verdict();
        (self.packets, self.marked, self.bytes, self.first) = (0, 0, 0, 0);
        Reaction {
            cnp: Some(verdict),
            timer: Some(self.period),
            echo: None,
        }
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Pcn {
    w_min: f64,
    w_max: f64,
    bounds: Bounds,
    rate: BitRate,
    w: f64,
}

impl Pcn {
    /// Creates a sender that starts at line rate.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            w_min: params.w_min,
            w_max: params.w_max,
            bounds: Bounds::new(params.min_rate, path.line_rate),
            rate: path.line_rate,
            w: params.w_min,
        }
    }

    /// Returns w, the weight of the line's rate in the next increase.
    pub fn w(&self) -> f64 {
        self.w
    }

    /// Applies equation (3), with the arrival rate that the receiver reports.
    fn decrease(&mut self, arrival: BitRate) {
        self.rate = self.bounds.clamp(self.rate.min(arrival.scale(1.0 - self.w_min)));
        // The flow returns gently after a cut: its share may have shrunk for good.
        self.w = self.w_min;
    }

    /// Applies equation (4), after a period without congestion.
    fn increase(&mut self) {
        let w = self.w;
        let grown = self.rate.scale(1.0 - w).saturating_add(self.bounds.line.scale(w));
        self.rate = self.bounds.clamp(grown);
        // The longer a flow meets no congestion, the faster it returns to the line's rate.
        self.w = w * (1.0 - w) + self.w_max * w;
    }
}

impl CongestionControl for Pcn {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.rate,
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, _ack: &AckInfo<'_>) {}

    fn on_cnp(&mut self, _cx: &mut Ctx<'_>, cnp: &Cnp) {
        match *cnp {
            Cnp {
                mark: Mark::Congested,
                rate: Some(arrival),
            } => self.decrease(arrival),
            Cnp {
                mark: Mark::None,
                rate: Some(_),
            } => self.increase(),
            Cnp { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, star_path};
    use proptest::prelude::*;

    fn pair() -> Pair<Pcn> {
        Pair::new(star_path(), |path| Pcn::new(&Params::default(), path))
    }

    fn report(congested: bool, gbps: u64) -> Cnp {
        Cnp {
            mark: Mark::congested_if(congested),
            rate: Some(BitRate::from_gbps(gbps)),
        }
    }

    /// Nine packets, `marked` of them with a mark: the first one's bytes do not count in the period that it
    /// starts.
    #[test]
    fn equation_2_by_hand() {
        let got = |marked| {
            let mut judge = Judge::new(&Params {
                marked_share: 0.5,
                ..Params::default()
            });
            for packet in 0..9 {
                let data = Arrived {
                    mark: Mark::congested_if(packet < marked),
                    wire: Bytes::new(1000),
                    ..Arrived::default()
                };
                let timer = (packet == 0).then_some(Span::from_us(50));
                assert_eq!(judge.on_data(Time::ZERO, &data).timer, timer);
            }
            let got = judge.on_timer(Time::from_ns(50_000));
            assert_eq!(got.timer, Some(Span::from_us(50)));
            // The next period is empty: no notification is sent, and no timer runs.
            assert_eq!(judge.on_timer(Time::from_ns(100_000)), Reaction::NONE);
            got.cnp.unwrap()
        };
        // 8000 B in 50 us.
        let rate = Some(BitRate::from_bps(1_280_000_000));
        let (no, yes) = (Mark::None, Mark::Congested);
        assert_eq!(got(4), Cnp { mark: no, rate });
        assert_eq!(got(5), Cnp { mark: yes, rate });
    }

    #[test]
    fn equation_3_by_hand() {
        let mut pair = pair();
        // 50 (1 - 1/128).
        pair.cnp(&report(true, 50));
        assert_eq!(pair.rate().as_bps(), 49_609_375_000);
        // A cut never raises the rate: the arriving packets left before the last cut.
        pair.cnp(&report(true, 80));
        assert_eq!(pair.rate().as_bps(), 49_609_375_000);
        pair.cnp(&report(true, 16));
        assert_eq!(pair.rate().as_bps(), 15_875_000_000);
        pair.cnp(&report(true, 0));
        assert_eq!(pair.rate(), BitRate::from_bps(100_000_000), "min-rate");
    }

    #[test]
    fn equation_4_by_hand() {
        let mut pair = pair();
        pair.cnp(&report(true, 64));
        assert_eq!(pair.rate().as_bps(), 63_500_000_000);
        // 63.5 * 127/128 + 100/128; w = 127/128^2 + 1/256 = 191/16384.
        pair.cnp(&report(false, 0));
        assert_eq!(pair.rate().as_bps(), 63_785_156_250);
        assert!((pair.cc.w() - 191.0 / 16384.0).abs() < 1e-15);
        // 63.78515625 + (100 - 63.78515625) 191/16384.
        pair.cnp(&report(false, 0));
        let expected = 63_785_156_250.0 + 36_214_843_750.0 * 191.0 / 16384.0;
        assert!((pair.rate().as_bps() as f64 - expected).abs() < 3.0);
        // A cut resets w.
        pair.cnp(&report(true, 1));
        assert_eq!(pair.cc.w(), 1.0 / 128.0);
    }

    /// Slow at first, then fast: the number of periods from 1 % of the line to half of it and to 99 %.
    #[test]
    fn increases_grow() {
        let mut pair = pair();
        pair.cnp(&report(true, 1));
        let mut periods_to = |gbps| {
            (1..)
                .find(|_| {
                    pair.cnp(&report(false, 0));
                    pair.rate() >= BitRate::from_gbps(gbps)
                })
                .unwrap()
        };
        let (half, most): (u32, u32) = (periods_to(50), periods_to(99));
        // At first w grows by half of itself: 1/128 (1.5^n - 1) / 0.5 reaches ln 2 after 9 or 10.
        assert!((8..=11).contains(&half), "{half}");
        assert!(most <= 10, "{most}");
        assert!(pair.cc.w() > 0.3 && pair.cc.w() <= 0.5);
    }

    proptest! {
        /// R stays at or below the line's rate, w within its bounds; a cut leaves R below the arrival rate,
        /// and an increase lowers it by rounding at most.
        #[test]
        fn r_and_w_stay_within_bounds(reports in prop::collection::vec((any::<bool>(), 0u64..200_000_000_000), 1..200)) {
            let mut pair = pair();
            for (congested, bps) in reports {
                let before = pair.rate();
                pair.cnp(&Cnp { mark: Mark::congested_if(congested), rate: Some(BitRate::from_bps(bps)) });
                let (low, high) = (BitRate::from_bps(100_000_000), BitRate::from_gbps(100));
                prop_assert!(pair.rate() >= low && pair.rate() <= high);
                prop_assert!((1.0 / 128.0..=0.5).contains(&pair.cc.w()));
                if congested {
                    prop_assert!(pair.rate() <= before);
                    prop_assert!(pair.rate().as_bps() <= bps.max(low.as_bps()));
                } else {
                    prop_assert!(pair.rate().as_bps() + 2 >= before.as_bps());
                }
            }
        }
    }
}
