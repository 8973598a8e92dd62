//! TCD, ternary congestion detection: states of the queues of one egress port in a lossless network.
//!
//! # What it does
//! A queue that grows need not be congested: where flow control stops and starts a port, packets accumulate
//! whose total rate is unknown. TCD distinguishes three states. A port that was resumed less than max(Ton)
//! ago sends in ON-OFF mode: it is *undetermined*, and marks its packets accordingly. A port that has sent
//! for longer without a pause leaves this state depending on its queue. If the queue shrinks, pauses caused
//! it, and nothing is marked until it is gone. If it does not shrink, the port's own input feeds it: the port
//! is *congested*. A port that is not paused is congested by the network's curve, as usual.
//!
//! # Signal it needs
//! The ends of pauses, the queue's length after each departure, and two kinds of ECN marks: along a path a
//! congested mark wins over an undetermined one.
//!
//! # Equations
//! In ON-OFF mode a queue downstream that rises to `B1` asks for a pause, and ends it at `B0`, both with a
//! delay of τ. If C is the link's rate, and congested flows bring at least ε C more than leaves, a port sends
//! at most for
//! ```text
//! max(Ton) = (B1 - B0 + C tau / 2) / (eps C) + tau,   tau = 2 MTU / C + 2 tp           (3.3)
//! ```
//! at a time. For each queue, with T = max(Ton), as a packet leaves `q` bytes behind:
//! ```text
//! now - resume <= T:                  undetermined: the packet is marked so            (3), (6)
//! else, if undetermined, or each T while checking, with q' of the resume, or of the last check:
//!   q >= q' and q > threshold:        congested, marked by the curve                   (5)
//!   q <= threshold:                   not congested                                    (4)
//!   else:                             checking, with q' = q: no mark
//! else, if q <= threshold:            not congested
//! else:                               by the curve                                     (1), (2)
//! ```
//! The numbers in circles are those of the thesis's figure 3.6.
//!
//! # Where we differ from the thesis or public code
//! * By section 3.4.1 of the thesis a queue that does not shrink is congested, but another sentence speaks of
//!   one that grows within T: `thesis` follows the first. The thesis does not give the period of checks; it
//!   is T here.
//! * `thesis` has times in picoseconds; the threshold is where the curve begins to mark. The thesis does not
//!   define the case of a queue that has shrunk in a period but is not empty: it is checked again.
//! * `as-coded` is the public code: whole microseconds, so that a port stays undetermined for up to a
//!   microsecond more; queues without the first 1030 bytes; thresholds of 2060 bytes, and of 900 by which a
//!   queue may grow in a period and still count as shrinking; a queue is not compared with a threshold before
//!   its first check.
//! * `adaptive` is ours: T is a multiple of the longest recent time of sending without a pause, at most
//!   (3.3).
//!
//! # References
//! Y. Zhang, Y. Liu, Q. Meng, F. Ren, "Congestion Detection in Lossless Networks", SIGCOMM 2021;
//! 无丢失网络拥塞管理关键技术研究 (key techniques of congestion management in lossless networks), doctoral thesis, Tsinghua
//! University, May 2022, chapter 3. Public code: Yi-ran/DCQCN-TCD.

use paceline_kernel::{BitRate, Bytes, Span, Time};
use serde::{Deserialize, Serialize};

use crate::detect::state::PortState;
use crate::mark::Mark;
use crate::switch::{self, Egress, EgressPort, Marking, PacketView, PayloadKind, SwitchHalf};

/// Variant of TCD: thesis, public code or ours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// As described in the thesis.
    Thesis,
    /// As in its authors' simulator.
    AsCoded,
    /// With T derived from observed times: this factor times the longest recent one.
    Adaptive(f64),
}

/// Settings of the state machine at one port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Variant of the state machine.
    pub variant: Variant,
    /// T, that is max(Ton).
    pub max_ton: Span,
    /// Queue length that is insignificant, in bytes. `AsCoded` uses it only while the curve decides.
    pub threshold: u32,
}

/// TCD settings of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Variant that all ports use.
    pub variant: Variant,
    /// Excess of congested flows over the departure rate, as a share of the link's rate: ε.
    pub epsilon: f64,
    /// B1 - B0: bytes between the thresholds at which a pause starts and ends.
    pub gap: Bytes,
    /// max(Ton) of all ports; `None` if each port has its own by (3.3).
    pub max_ton: Option<Span>,
}

impl Settings {
    /// Returns the settings at one port.
    pub fn rule(&self, port: &EgressPort) -> Rule {
        let full = Bytes::new(port.full_bytes.into());
        let own = || max_ton(self.epsilon, self.gap, port.rate, full, port.delay);
        Rule {
            variant: self.variant,
            max_ton: self.max_ton.unwrap_or_else(own),
            threshold: match port.red.is_on() {
                true => port.red.kmin(),
                false => 2 * port.full_bytes,
            },
        }
    }
}

/// Returns max(Ton) of equation (3.3): `gap` is B1 - B0, `delay` is the link's.
///
/// ```
/// use paceline_congestion::detect::tcd::{max_ton, response_time};
/// use paceline_kernel::{BitRate, Bytes, Span};
/// let (rate, mtu, delay) = (BitRate::from_gbps(40), Bytes::new(1000), Span::from_us(4));
/// assert_eq!(response_time(rate, mtu, delay), Span::from_ns(8400));
/// assert_eq!(max_ton(0.05, Bytes::new(2000), rate, mtu, delay), Span::from_ns(100_400));
/// ```
pub fn max_ton(epsilon: f64, gap: Bytes, rate: BitRate, mtu: Bytes, delay: Span) -> Span {
    let tau = response_time(rate, mtu, delay).as_ps() as f64;
    let gap = rate.time_to_send(gap).as_ps() as f64;
    Span::from_ps(((gap + tau / 2.0) / epsilon + tau).round() as u64)
}

/// Returns τ, the longest time from a port's request for a pause, or for its end, until the effect arrives.
pub fn response_time(rate: BitRate, mtu: Bytes, delay: Span) -> Span {
    rate.time_to_send(mtu) * 2 + delay * 2
}

/// Marking of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Marked as undetermined: the port is in ON-OFF mode.
    Undetermined,
    /// Not marked: the queue is a remainder of pauses.
    Spared,
    /// Marked by the network's curve: the port has turned out to be congested.
    Congested,
    /// Marked by the network's curve, as usual.
    Curve,
}

/// State of a queue in addition to the curve's verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// None: the curve alone decides.
    #[default]
    Curve,
    Undetermined,
    Checking,
}

/// TCD's state of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    phase: Phase,
    /// End of the last pause, and the queue's length in bytes at that time.
    resume: Option<(Time, u32)>,
    /// Time of the last check, and the queue's length in bytes at that time.
    check: (Time, u32),
    /// Longest recent time of sending without a pause; decays by an eighth per pause.
    longest: Span,
    /// State at the start of the present pause; `None` outside pauses.
    held: Option<PortState>,
}

/// Reserved bytes of a queue in the public code.
const RESERVED: u32 = 1030;
/// Queue length, in bytes, up to which a queue counts as drained in the public code.
const DRAINED: u32 = 2 * RESERVED;
/// Growth per period, in bytes, that the public code still counts as shrinking.
const TOLERATED: u32 = 900;

/// Returns the whole microseconds from `from` to `to`, both truncated.
fn microseconds(from: Time, to: Time) -> u64 {
    to.as_ps() / 1_000_000 - from.as_ps() / 1_000_000
}

impl Machine {
    /// Initial state in the public code: as if a pause had ended at time zero.
    pub const AS_CODED: Self = Self {
        phase: Phase::Curve,
        resume: Some((Time::ZERO, 0)),
        check: (Time::ZERO, 0),
        longest: Span::ZERO,
        held: None,
    };

    /// Returns the state that the last departure left, or `None` if the curve decides.
    pub fn found(&self) -> Option<PortState> {
        match self.phase {
            Phase::Curve => None,
            Phase::Undetermined => Some(PortState::Undetermined),
            Phase::Checking => Some(PortState::Checking),
        }
    }

    /// Returns the state of a queue of `queue` bytes. If the curve decides, a queue above the threshold is
    /// congested, but a paused queue keeps its state from before the pause. A port with nothing to send
    /// leaves ON-OFF mode by time alone.
    pub fn state(&self, rule: &Rule, now: Time, queue: u32) -> PortState {
        match self.found().or(self.held) {
            None if queue > rule.threshold => PortState::Congested,
            None => PortState::NotCongested,
            Some(_) if queue == 0 && !self.in_on_off_mode(rule, now) => PortState::NotCongested,
            Some(found) => found,
        }
    }

    /// Returns true if the curve marks all packets until the next pause ends.
    pub fn is_inactive(&self, rule: &Rule, now: Time) -> bool {
        self.phase == Phase::Curve && !self.in_on_off_mode(rule, now)
    }

    /// Handles the start of a pause; the queue holds `queue` bytes.
    pub fn on_pause(&mut self, rule: &Rule, now: Time, queue: u32) {
        self.held = Some(self.state(rule, now, queue));
        if let Some((resume, _)) = self.resume {
            // The old maximum decays, so that one long run does not keep T large for the rest of the run.
            let ton = now.saturating_since(resume);
            self.longest = ton.max(Span::from_ps(self.longest.as_ps() / 8 * 7));
        }
    }

    /// Handles the end of a pause; the queue holds `queue` bytes.
    pub fn on_resume(&mut self, now: Time, queue: u32) {
        self.resume = Some((now, queue));
        self.held = None;
    }

    /// Handles the departure of a data packet that leaves `left` bytes behind, and returns its marking.
    pub fn on_departure(&mut self, rule: &Rule, now: Time, left: u32) -> Verdict {
        if self.in_on_off_mode(rule, now) {
            self.phase = Phase::Undetermined;
            return Verdict::Undetermined;
        }
        match rule.variant {
            Variant::AsCoded => self.look_as_coded(rule, now, left),
            Variant::Thesis | Variant::Adaptive(_) => self.look(rule, now, left),
        }
    }

    fn period(&self, rule: &Rule) -> Span {
        match rule.variant {
            Variant::Adaptive(times) if self.longest > Span::ZERO => {
                let seen = (self.longest.as_ps() as f64 * times).round() as u64;
                Span::from_ps(seen).min(rule.max_ton)
            }
            _ => rule.max_ton,
        }
    }

    /// Returns true in ON-OFF mode: transitions (3) and (6).
    fn in_on_off_mode(&self, rule: &Rule, now: Time) -> bool {
        let Some((resume, _)) = self.resume else {
            return false;
        };
        match rule.variant {
            Variant::AsCoded => microseconds(resume, now) <= rule.max_ton.as_ps() / 1_000_000,
            _ => now.saturating_since(resume) <= self.period(rule),
        }
    }

    /// Applies transitions (1), (2), (4) and (5).
    fn look(&mut self, rule: &Rule, now: Time, left: u32) -> Verdict {
        let before = match self.phase {
            Phase::Curve => return Verdict::Curve,
            Phase::Undetermined => self.resume.map_or(0, |(_, queue)| queue),
            Phase::Checking => self.check.1,
        };
        // (4): the queue that pauses left behind is gone.
        if left <= rule.threshold {
            self.phase = Phase::Curve;
            return Verdict::Spared;
        }
        let is_due = now.saturating_since(self.check.0) >= self.period(rule);
        if self.phase == Phase::Checking && !is_due {
            return Verdict::Spared;
        }
        // (5): the backlog did not shrink although the port sent without pause, so its own input feeds it.
        if left >= before {
            self.phase = Phase::Curve;
            return Verdict::Congested;
        }
        (self.phase, self.check) = (Phase::Checking, (now, left));
        Verdict::Spared
    }

    fn look_as_coded(&mut self, rule: &Rule, now: Time, left: u32) -> Verdict {
        let shared = |queue: u32| queue.saturating_sub(RESERVED);
        let left = shared(left);
        match self.phase {
            Phase::Curve => return Verdict::Curve,
            Phase::Undetermined => {
                if left >= self.resume.map_or(0, |(_, queue)| shared(queue)) {
                    self.phase = Phase::Curve;
                    return Verdict::Congested;
                }
                (self.phase, self.check) = (Phase::Checking, (now, left));
            }
            Phase::Checking => {
                if microseconds(self.check.0, now) >= rule.max_ton.as_ps() / 1_000_000 {
                    if left >= self.check.1 + TOLERATED {
                        self.phase = Phase::Curve;
                        return Verdict::Congested;
                    }
                    self.check = (now, left);
                }
                if left <= DRAINED {
                    self.phase = Phase::Curve;
                }
            }
        }
        Verdict::Spared
    }
}

/// Switch half of TCD: one state machine per queue of a port.
#[derive(Clone, Debug)]
pub struct Ternary {
    rule: Rule,
    queues: Box<[Machine]>,
}

impl Ternary {
    /// Creates the state of a port that was never paused.
    pub fn new(rule: Rule, port: &EgressPort) -> Self {
        Self {
            rule,
            queues: vec![Machine::default(); port.classes].into(),
        }
    }
}

impl SwitchHalf for Ternary {
    fn on_pause(&mut self, at: &mut Egress<'_>, class: u8, queue: u32) {
        self.queues[usize::from(class)].on_pause(&self.rule, at.now, queue);
    }

    fn on_resume(&mut self, at: &mut Egress<'_>, class: u8, queue: switch::Queue) {
        self.queues[usize::from(class)].on_resume(at.now, queue.bytes);
    }

    #[inline]
    fn on_departure(&mut self, at: &mut Egress<'_>, packet: &PacketView) -> Marking {
        if packet.load != PayloadKind::Data {
            return Marking::Curve;
        }
        let machine = &mut self.queues[usize::from(packet.class)];
        match machine.on_departure(&self.rule, at.now, packet.queue) {
            Verdict::Undetermined => Marking::Put(Mark::Undetermined),
            Verdict::Spared => Marking::Put(Mark::None),
            Verdict::Congested | Verdict::Curve => Marking::Curve,
        }
    }

    fn is_inactive(&self, now: Time) -> bool {
        self.queues
            .iter()
            .all(|machine| machine.is_inactive(&self.rule, now))
    }

    fn on_link_down(&mut self) {
        self.queues.fill(Machine::default());
    }

    fn state(&self, now: Time, class: u8, queue: u32) -> Option<PortState> {
        let machine = &self.queues[usize::from(class)];
        Some(machine.state(&self.rule, now, queue))
    }
}

#[cfg(test)]
mod tests;
