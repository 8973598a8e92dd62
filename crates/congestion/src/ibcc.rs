//! IBCC: InfiniBand's congestion control, as the standard defines it.
//!
//! # What it does
//! Switches mark packets (FECN) at the roots of congestion: ports whose queue is above a threshold and that have
//! credit to send. The receiver returns each mark in its acknowledgement (BECN). Each queue pair of a sender has an
//! index into a table of delays between packets. A BECN raises the index, and a timer lowers it. IBCC is for
//! InfiniBand with credits (InfiniBand Architecture Specification, annex A10).
//!
//! # Signal it needs
//! Marks from ports under credits that do not lack credit themselves, and the receiver's echo in acknowledgements.
//! With ternary detection, congested marks only (`fecn = false`).
//!
//! # Equations
//! Switch, for each lane, as a packet leaves `q` bytes behind, with B the input buffer of a lane:
//! ```text
//! counts = q > B (16 - threshold) / 16, it was not held back for credit (or victim-mask),
//!          and it has packet-size or more;   of those that count one of marking-rate + 1 is marked     (1)
//! ```
//! Sender, at an acknowledgement with a BECN, and at each expiry of the timer of ccti-timer x 1.024 us:
//! ```text
//! CCTI = min(CCTI + ccti-increase, ccti-limit)                                                          (2)
//! CCTI = max(CCTI - 1, ccti-min)                                                                        (3)
//! ```
//! Between two packets, with entry CCTI of the table, which has a shift s of 2 bits and a multiplier m of 14:
//! ```text
//! IRD = t m / 2^s,   rate = C / (1 + m / 2^s)                                                           (4)
//! ```
//! t is the time of a packet at line rate C. The table is `delay (CCTI / ccti-limit)^2`, rounded to an entry's
//! eighths.
//!
//! With `per-sl`, all queue pairs of one port and service level share one index and one timer. A BECN of any of them
//! applies (2) to all, and each leaves (4) between its packets.
//!
//! # Parameters
//! [`Params`]. OpenSM calls them `cc_sw_cong_setting_threshold`, `cc_ca_cong_setting_ccti_timer`, and so on. For such
//! a name, Paceline shows its own.
//!
//! # Where we differ from the paper or public code
//! * The standard leaves the table to the operator. Ours grows with the square of the index, as that of RRCC's author
//!   does, which has 15 packet times at 127.
//! * The standard leaves the reference of the threshold to switches. Here it is a share of a lane's input buffer.
//! * The port is judged for each packet: it is a root unless that packet was held back itself.
//! * There is one index per queue pair, unless `per-sl` selects the standard's alternative. An index per service level
//!   keeps falling while no queue pair uses it. Service levels are priorities here.
//! * Ports with ternary detection mark above 20 KB per 400 Gbit/s unless `[network.ecn]` sets another value. This is a
//!   sixteenth of a lane's buffer, as with `threshold = 15`. The thesis's number is lost.
//! * `Trigger_Threshold`, which only controls logging, is not modelled. The timer runs while the index is above its
//!   minimum.
//! * RRCC's author uses a different index; `fidelity = "ib-omnet"` has it.
//!
//! # References
//! InfiniBand Architecture Specification, volume 1, annex A10; E. Gran et al., "First Experiences with Congestion
//! Control in InfiniBand Hardware", IPDPS 2010.

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::api::{
    AckInfo, CongestionControl, Ctx, Mark, PathInfo, Requirements, SendLimits, Shared, TimerSlot,
};
use crate::fecn::{Fecn, MOST, Settings};
use crate::params::{Parameters, Range, is};
use crate::registry::{
    Alias, Definition, Incompatible, Marking, NetworkFacts, ReactionTime, Scheme, Setting, WindowMode,
};
use crate::switch::{EgressPort, Hooks, PerPort, SwitchHalves, SwitchSupport};

pub mod omnet;

/// Warning for networks without credits.
const CREDITS: &str = "IBCC is designed for credit-based networks (`network.flow-control = \"credits\"`), because \
 its switches' threshold is a share of their input buffers";
/// Unit of the timer, 1.024 us.
const TICK: Span = Span::from_ps(1_024_000);
const TIMER: TimerSlot = TimerSlot(0);
/// Largest 14-bit multiplier; shifts have two bits.
const MULTIPLIERS: f64 = 16_383.0;

params! {
    /// Parameters of IBCC, under OpenSM's names where it has them.
    pub struct Params {
        /// Switch: weight of the threshold, from 0 (no marks) to 15 (the shortest queue).
        threshold: u32 = 15, in Range::Between(0.0, MOST as f64), from "OpenSM", only(&[&[is(".fecn", &["true"])]]);
        /// Switch: packets left unmarked after a marked one.
        marking_rate: u32 = 10, in Range::Between(0.0, 65535.0), from "OpenSM", only(&[&[is(".fecn", &["true"])]]);
        /// Switch: smallest packet that is marked.
        packet_size: Bytes = Bytes::new(512), in Range::Between(0.0, 65535.0), from "OpenSM", only(&[&[is(".fecn", &["true"])]]);
        /// Switch: let ports that lack credit mark, too.
        victim_mask: bool = false, in Range::Any, from "OpenSM", only(&[&[is(".fecn", &["true"])]]);
        /// Switch: mark in this way. If off, `[network.detection]` and `[network.ecn]` apply.
        fecn: bool = true, in Range::Any, from "ours";
        /// Increase of the index at a BECN.
        ccti_increase: u32 = 1, in Range::Between(1.0, 255.0), from "OpenSM";
        /// Largest index.
        ccti_limit: u32 = 127, in Range::Between(1.0, 1023.0), from "RRCC's author";
        /// Smallest index.
        ccti_min: u32 = 0, in Range::Between(0.0, 1023.0), from "OpenSM";
        /// Time after which the index falls by one, in units of 1.024 us.
        ccti_timer: u32 = 29, in Range::Between(1.0, 65535.0), from "RRCC's author: 30 us";
        /// Share one index and timer among all queue pairs of a port and service level.
        per_sl: bool = false, in Range::Any, from "OpenSM";
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
        paper: crate::papers::IBCC.citation,
        summary: "Marks at the roots of congestion raise a sender's index into a table of delays, and a\n\
                  timer lowers it.",
        scope: "InfiniBand's credits.",
        default_window: WindowMode::Off,
        params: Self::docs,
        source: header!("ibcc.rs"),
    };

    fn check(&self) -> Result<(), crate::params::ParamError> {
        if self.ccti_min > self.ccti_limit {
            let message = format!("{} is above ccti-limit, {}", self.ccti_min, self.ccti_limit);
            return Err(crate::params::ParamError::new("ccti-min", message));
        }
        Ok(())
    }

    fn reaction_times(&self) -> Vec<ReactionTime> {
        vec![ReactionTime {
            param: "ccti-timer",
            span: Span::from_ps(TICK.as_ps() * u64::from(self.ccti_timer)),
            event: "the index falls and the rate rises",
        }]
    }

    fn needs(&self) -> Requirements {
        Requirements {
            ecn: true,
            ..Requirements::default()
        }
    }

    fn incompatible(&self, network: &NetworkFacts) -> Vec<Incompatible> {
        let mut incompatible = Vec::new();
        if self.fecn && network.undetermined {
            incompatible.push(Incompatible::Doubtful(
                "IBCC's own marks win over what ports find undetermined: set `fecn = false`, as `ibcc-tcd` has it",
            ));
        }
        if !network.credits {
            incompatible.push(Incompatible::Doubtful(CREDITS));
        }
        if !self.fecn && !network.marks {
            incompatible.push(Incompatible::Refused {
                setting: Setting::Marks,
                why: "IBCC reacts to marks, and no switch marks packets",
                instead: "leave out `network.ecn.curves`, or `fecn`",
            });
        }
        incompatible
    }

    fn ternary_detection(&self) -> bool {
        !self.fecn
    }

    fn marking(&self) -> Marking {
        if self.fecn {
            Marking::LAUNCHER
        } else {
            Marking::IBCC_TCD
        }
    }

    fn switch_part(&self) -> Option<SwitchSupport> {
        self.fecn.then_some(SwitchSupport {
            task: "that mark at the roots of congestion",
            params: &["threshold", "marking-rate", "packet-size", "victim-mask", "fecn"],
            hooks: Hooks {
                departures: true,
                pauses: true,
                ..Hooks::default()
            },
            marks: true,
            ..SwitchSupport::default()
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

/// Entry of the delay table: a shift of 2 bits above a multiplier of 14.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry(u16);

impl Entry {
    /// Returns the entry nearest to `packets` packet times.
    pub fn of(packets: f64) -> Self {
        // The largest possible shift has the finest resolution.
        let shift = (0..=3)
            .rev()
            .find(|&shift| packets * f64::from(1 << shift) <= MULTIPLIERS);
        let shift = shift.unwrap_or(0);
        let multiplier = (packets * f64::from(1 << shift)).round().min(MULTIPLIERS) as u16;
        Self((shift as u16) << 14 | multiplier)
    }

    /// Returns the entry's 16 bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the delay in packet times, m / 2^s.
    pub fn packets(self) -> f64 {
        f64::from(self.0 & 0x3fff) / f64::from(1u32 << (self.0 >> 14))
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct Ibcc {
    params: Params,
    line: BitRate,
    index: u32,
    /// Start of the recovery timer, which runs while the index is above `ccti-min`.
    since: Time,
}

impl Ibcc {
    /// Creates a sender at index `ccti-min`.
    pub fn new(params: &Params, path: &PathInfo) -> Self {
        Self {
            params: params.clone(),
            line: path.line_rate,
            index: params.ccti_min,
            since: Time::ZERO,
        }
    }

    /// Returns the index into the table.
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Returns the table's entry at the present index.
    pub fn entry(&self) -> Entry {
        let share = f64::from(self.index) / f64::from(self.params.ccti_limit);
        Entry::of(self.params.delay * share * share)
    }

    /// Returns the timer's period, in ps.
    fn period(&self) -> u64 {
        TICK.as_ps() * u64::from(self.params.ccti_timer)
    }

    /// Lowers the index once per expiry of the timer: (3).
    fn settle(&mut self, now: Time) {
        let expired = now.saturating_since(self.since).as_ps() / self.period();
        let falls = expired.min(u64::from(self.index - self.params.ccti_min));
        self.index -= falls as u32;
        // Only complete periods are taken: the rest of the time counts towards the next expiry.
        self.since = self.since.saturating_add(Span::from_ps(falls * self.period()));
    }

    /// Sets the timer to its next expiry, unless the index is at its minimum.
    fn arm(&self, cx: &mut Ctx<'_>) {
        if self.index > self.params.ccti_min {
            let passed = cx.now.saturating_since(self.since).as_ps();
            cx.arm(TIMER, Span::from_ps(self.period() - passed));
        }
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
        // Expiries up to now come first: the BECN raises the index that they leave.
        self.settle(cx.now);
        let is_inactive = self.index == self.params.ccti_min;
        self.index = (self.index + self.params.ccti_increase).min(self.params.ccti_limit); // (2)
        // A running timer is not restarted: frequent BECNs would otherwise keep the index from falling.
        if is_inactive {
            self.since = cx.now;
            self.arm(cx);
        }
        if self.params.per_sl {
            cx.share();
        }
    }

    fn on_timer(&mut self, cx: &mut Ctx<'_>, _slot: TimerSlot) {
        self.settle(cx.now);
        self.arm(cx);
    }

    /// Returns the index and the start of its timer, with `per-sl` only.
    fn shared(&self) -> Option<Shared> {
        self.params.per_sl.then_some(Shared {
            value: self.index,
            since: self.since,
        })
    }

    fn on_shared(&mut self, cx: &mut Ctx<'_>, shared: &Shared) {
        (self.index, self.since) = (shared.value, shared.since);
        self.settle(cx.now);
        // The timer followed the old start.
        cx.cancel(TIMER);
        self.arm(cx);
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
        // In 14 bits, eighths reach 2047.875 packet times, whole ones 16383.
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
        // Undetermined and unmarked packets change nothing.
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
        // Each expiry takes 29 x 1.024 us.
        pair.advance(Span::from_ps(29 * 1_024_000 * 2));
        assert_eq!(pair.cc.index(), 5);
        pair.advance(Span::from_us(1000));
        assert_eq!(pair.cc.index(), 3);
    }

    /// Two queue pairs of one service level, and a third that joins later; the timer takes 4 x 1.024 us.
    #[test]
    fn an_index_in_common_by_hand() {
        let params = Params {
            per_sl: true,
            ccti_timer: 4,
            ..Params::default()
        };
        let new = || Pair::new(star_path(), |path| Ibcc::new(&params, path));
        let (mut one, mut other) = (new(), new());
        let us = |us: u64| Time::from_ns(us * 1000);
        let pairs = |one: &Pair<Ibcc>, other: &Pair<Ibcc>| [one.cc.index(), other.cc.index()];
        // The first gets BECNs at 1 and 2 us: its timer runs from 1 us on, and so does the other's.
        for at in [1, 2] {
            one.advance_to(us(at));
            other.advance_to(us(at));
            one.ack(&marked(Mark::Congested));
            other.shared(&one.cc.shared().unwrap());
        }
        assert_eq!(pairs(&one, &other), [2, 2]);
        assert_eq!(one.rate(), other.rate());
        // It expires for both at 5.096 us. The other gets a BECN at 6 us, 904 ns into the next 4.096 us.
        one.advance_to(us(6));
        other.advance_to(us(6));
        assert_eq!(pairs(&one, &other), [1, 1]);
        other.ack(&marked(Mark::Congested));
        one.shared(&other.cc.shared().unwrap());
        assert_eq!(pairs(&one, &other), [2, 2]);
        // It expires at 9.192 us; a pair that joins at 10 us takes over the index, and falls with them at
        // 13.288 us.
        let mut third = new();
        third.advance_to(us(10));
        third.shared(&one.cc.shared().unwrap());
        one.advance_to(us(10));
        assert_eq!(pairs(&one, &third), [1, 1]);
        for pair in [&mut one, &mut other, &mut third] {
            pair.advance_to(us(20));
            assert_eq!(pair.cc.index(), 0);
            let last = pair.expired.last().unwrap().0;
            assert_eq!(last, Time::from_ps(1_000_000 + 3 * 4_096_000));
        }
    }

    /// Without `per-sl` nothing is shared and no other pair is notified.
    #[test]
    fn an_index_of_its_own_is_not_shared() {
        let mut pair = Pair::new(star_path(), |path| Ibcc::new(&Params::default(), path));
        pair.ack(&marked(Mark::Congested));
        assert_eq!(pair.cc.shared(), None);
    }
}
