//! IBCC: InfiniBand's congestion control, as the standard has it.
//!
//! # What it does
//! Switches mark packets (FECN) at the roots of congestion: ports whose queue is above a threshold and that have credit
//! to send. A receiver returns each mark in its acknowledgement (BECN). A sender has an index into a table of delays
//! for each queue pair: a BECN raises it, a timer lowers it, and packets are as far apart as the table says.
//!
//! # Signal it needs
//! Marks that ports under credits put, which lack none themselves; the receiver's echo in acknowledgements. Of ports with
//! ternary detection congested marks only (`fecn = false`).
//!
//! # Equations
//! Switch, for each lane, as a packet leaves `q` bytes behind, with B the input buffer of a lane:
//! ```text
//! counts = q > B (16 - threshold) / 16, it was not held back for credit (or victim-mask),
//!          and it has packet-size or more;   of those that count one of marking-rate + 1 is marked     (1)
//! ```
//! Sender, at an acknowledgement with a BECN, and whenever the timer of ccti-timer x 1.024 us expires:
//! ```text
//! CCTI = min(CCTI + ccti-increase, ccti-limit)                                                          (2)
//! CCTI = max(CCTI - 1, ccti-min)                                                                        (3)
//! ```
//! Between two packets, with entry CCTI of the table: a shift s of 2 bits and a multiplier m of 14:
//! ```text
//! IRD = t m / 2^s,   rate = C / (1 + m / 2^s)                                                           (4)
//! ```
//! t is what a packet takes at line rate C. The table is `delay (CCTI / ccti-limit)^2`, rounded to an entry's
//! eighths.
//!
//! # Parameters
//! [`Params`]. OpenSM calls them `cc_sw_cong_setting_threshold`, `cc_ca_cong_setting_ccti_timer`, and so on: those names
//! are answered with ours.
//!
//! # Where we differ from the paper or public code
//! * The standard leaves the table to the operator. Ours grows with the square of the index, as that of RRCC's author
//!   does, which has 15 packet times at 127.
//! * The standard leaves to switches of what the threshold is a share: here of a lane's input buffer.
//! * A port is a root as seen by each packet: it counts unless it was held back itself.
//! * One index for each queue pair; the standard's other way, one for each service level, is not built.
//! * `Trigger_Threshold`, which logs, is not built. The timer runs while the index is above its least.
//! * The index of RRCC's author is another: `fidelity = "ib-omnet"` has it.
//!
//! # References
//! InfiniBand Architecture Specification, volume 1, annex A10; E. Gran et al., "First Experiences with Congestion
//! Control in InfiniBand Hardware", IPDPS 2010.

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Span};

use crate::api::{AckInfo, CongestionControl, Ctx, Mark, Needs, PathInfo, SendLimits, TimerSlot};
use crate::fecn::{Fecn, MOST, Settings};
use crate::params::{Parameters, Range};
use crate::registry::{Alias, Definition, NetworkFacts, Scheme, Setting, Unfit, WindowMode};
use crate::switch::{EgressPort, Hooks, PerPort, SwitchHalves, SwitchPart};

pub mod omnet;

/// What a network is that it is not made for.
const CREDITS: &str = "IBCC is made for networks under credits (`network.flow_control = \"credits\"`), whose buffers its \
                       switches' threshold is a share of";
/// What the timer counts in.
const TICK: Span = Span::from_ps(1_024_000);
const TIMER: TimerSlot = TimerSlot(0);
/// Multipliers have 14 bits, shifts two.
const MULTIPLIERS: f64 = 16_383.0;

params! {
    /// Parameters of IBCC.
    pub struct Params {
        /// Switch: weight of the threshold, from 0 (none) to 15 (the shortest queue).
        threshold: u32 = 15, in Range::Between(0.0, MOST as f64), from "OpenSM";
        /// Switch: packets that are spared after one that is marked.
        marking_rate: u32 = 10, in Range::Between(0.0, 65535.0), from "OpenSM";
        /// Switch: smaller packets are not marked.
        packet_size: Bytes = Bytes::new(512), in Range::Between(0.0, 65535.0), from "OpenSM";
        /// Switch: whether ports mark that lack credit themselves.
        victim_mask: bool = false, in Range::Any, from "OpenSM";
        /// Switch: whether it marks in this way; otherwise as `[network.detection]` and `[network.ecn]` say.
        fecn: bool = true, in Range::Any, from "ours";
        /// What a BECN adds to the index.
        ccti_increase: u32 = 1, in Range::Between(1.0, 255.0), from "OpenSM";
        /// The largest index.
        ccti_limit: u32 = 127, in Range::Between(1.0, 1023.0), from "RRCC's author";
        /// The least.
        ccti_min: u32 = 0, in Range::Between(0.0, 1023.0), from "OpenSM";
        /// Times 1.024 us after which the index falls by one.
        ccti_timer: u32 = 29, in Range::Between(1.0, 65535.0), from "RRCC's author: 30 us";
        /// Packet times between two packets at the largest index.
        delay: f64 = 15.1, in Range::AboveUpTo(0.0, MULTIPLIERS / 8.0), from "RRCC's author";
    }
}

impl Definition for Params {
    const SCHEME: Scheme = Scheme {
        name: "ibcc",
        aliases: &[Alias {
            name: "ibcc-tcd",
            help: "with ternary detection: two steps up at a congested mark, none at an undetermined one",
            settings: &[("fecn", "false"), ("ccti-increase", "2")],
            window: None,
        }],
        title: "IBCC",
        paper: "InfiniBand Architecture Specification, volume 1, annex A10",
        summary: "Marks at the roots of congestion raise a sender's index into a table of delays, and a\n\
                  timer lowers it.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: include_str!("ibcc.rs"),
    };

    fn check(&self) -> Result<(), crate::params::ParamError> {
        if self.ccti_min > self.ccti_limit {
            let message = format!("{} is above ccti-limit, {}", self.ccti_min, self.ccti_limit);
            return Err(crate::params::ParamError::new("ccti-min", message));
        }
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: true,
            ..Needs::default()
        }
    }

    fn unfit(&self, network: &NetworkFacts) -> Vec<Unfit> {
        let mut unfit = Vec::new();
        if self.fecn && network.undetermined {
            unfit.push(Unfit::Doubtful(
                "IBCC's own marks win over what ports find undetermined: set `fecn = false`, as `ibcc-tcd` has it",
            ));
        }
        if !network.credits {
            unfit.push(Unfit::Doubtful(CREDITS));
        }
        if !self.fecn && !network.marks {
            unfit.push(Unfit::Refused {
                setting: Setting::Marks,
                why: "IBCC goes by marks, and no switch marks",
                instead: "leave out `network.ecn.curves`, or `fecn`",
            });
        }
        unfit
    }

    fn ternary_detection(&self) -> bool {
        !self.fecn
    }

    fn switch_part(&self) -> Option<SwitchPart> {
        self.fecn.then_some(SwitchPart {
            task: "that mark at the roots of congestion",
            params: &["threshold", "marking-rate", "packet-size", "victim-mask", "fecn"],
            hooks: Hooks {
                departures: true,
                pauses: true,
                ..Hooks::default()
            },
            turns_back: false,
        })
    }

    fn switch_halves(&self, ports: &[Option<EgressPort>], rngs: &mut [Rng]) -> Option<Box<dyn SwitchHalves>> {
        let settings = Settings {
            threshold: self.threshold,
            marking_rate: self.marking_rate,
            packet_size: self.packet_size,
            victim_mask: self.victim_mask,
        };
        Some(PerPort::boxed(ports, rngs, |port, _| Fecn::new(settings, port)))
    }

    fn build(&self, path: &PathInfo) -> Box<dyn CongestionControl> {
        Box::new(Ibcc::new(self, path))
    }
}

/// An entry of the table: shift and multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(u16);

impl Entry {
    /// The entry that comes nearest to so many packet times.
    pub fn of(packets: f64) -> Self {
        let shift = (0..=3)
            .rev()
            .find(|&shift| packets * f64::from(1 << shift) <= MULTIPLIERS);
        let shift = shift.unwrap_or(0);
        let multiplier = (packets * f64::from(1 << shift)).round().min(MULTIPLIERS) as u16;
        Self((shift as u16) << 14 | multiplier)
    }

    /// Its 16 bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The packet times that it stands for: m / 2^s.
    pub fn packets(self) -> f64 {
        f64::from(self.0 & 0x3fff) / f64::from(1u32 << (self.0 >> 14))
    }
}

/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct Ibcc {
    params: Params,
    line: BitRate,
    index: u32,
}

impl Ibcc {
    /// A sender at the least index.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            params: params.clone(),
            line: path.line_rate,
            index: params.ccti_min,
        }
    }

    /// The index into the table.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// The table's entry at the index.
    pub fn entry(&self) -> Entry {
        let share = f64::from(self.index) / f64::from(self.params.ccti_limit);
        Entry::of(self.params.delay * share * share)
    }

    fn arm(&self, cx: &mut Ctx<'_>) {
        cx.arm(
            TIMER,
            Span::from_ps(TICK.as_ps() * u64::from(self.params.ccti_timer)),
        );
    }
}

impl CongestionControl for Ibcc {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: self.line.scale(1.0 / (1.0 + self.entry().packets())), // (4)
            window: Bytes::MAX,
        }
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        if ack.mark != Mark::Congested {
            return;
        }
        if self.index == self.params.ccti_min {
            self.arm(cx);
        }
        self.index = (self.index + self.params.ccti_increase).min(self.params.ccti_limit); // (2)
    }

    fn on_timer(&mut self, cx: &mut Ctx<'_>, _slot: TimerSlot) {
        self.index = self.index.saturating_sub(1).max(self.params.ccti_min); // (3)
        if self.index > self.params.ccti_min {
            self.arm(cx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Pair, ack, star_path};

    fn marked(mark: Mark) -> AckInfo<'static> {
        AckInfo {
            mark,
            ..ack(1000, 50_000)
        }
    }

    #[test]
    fn entries_have_eighths_as_long_as_they_have_room() {
        assert_eq!(Entry::of(0.0).packets(), 0.0);
        assert_eq!(Entry::of(15.1).bits(), 3 << 14 | 121);
        assert_eq!(Entry::of(15.1).packets(), 15.125);
        // 14 bits of eighths are 2047.875 packet times, of ones 16383.
        assert_eq!(Entry::of(2047.0).bits() >> 14, 3);
        assert_eq!(Entry::of(3000.25).bits(), 2 << 14 | 12_001);
        assert_eq!(Entry::of(1e9).packets(), 16_383.0);
    }

    #[test]
    fn equations_by_hand() {
        let mut pair = Pair::new(star_path(), |path| Ibcc::new(&Params::default(), path));
        assert_eq!(pair.rate(), BitRate::from_gbps(100));
        for _ in 0..64 {
            pair.ack(&marked(Mark::Congested));
        }
        assert_eq!(pair.cc.index(), 64);
        // 15.1 (64/127)^2 = 3.8347 packet times: 31 eighths.
        assert_eq!(pair.cc.entry().packets(), 3.875);
        let rate = pair.rate().as_bps() as f64;
        assert!((rate - 100e9 / 4.875).abs() < 2.0, "{rate}");
        // What is undetermined, or unmarked, changes nothing.
        pair.ack(&marked(Mark::Undetermined));
        pair.ack(&marked(Mark::None));
        assert_eq!(pair.cc.index(), 64);
    }

    #[test]
    fn the_timer_lowers_the_index_to_its_least() {
        let params = Params {
            ccti_min: 3,
            ccti_increase: 2,
            ..Params::default()
        };
        let mut pair = Pair::new(star_path(), |path| Ibcc::new(&params, path));
        (0..2).for_each(|_| pair.ack(&marked(Mark::Congested)));
        assert_eq!(pair.cc.index(), 7);
        // 29 x 1.024 us each.
        pair.advance(Span::from_ps(29 * 1_024_000 * 2));
        assert_eq!(pair.cc.index(), 5);
        pair.advance(Span::from_us(1000));
        assert_eq!(pair.cc.index(), 3);
    }
}
