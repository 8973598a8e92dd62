//! Interface between a congestion control scheme and the world: callbacks in, limits out.
//!
//! A scheme gets callbacks with a [`Ctx`] (the time, its path, its timers, its random stream). After each
//! callback the NIC reads its [`SendLimits`]. Nothing else goes in or out, so the same code runs in the
//! simulator, in a test that is a loop of calls, or over real packets.

use crate::copies::copies;
use std::fmt;

use paceline_kernel::rng::Rng;
use paceline_kernel::{BitRate, Bytes, Span, Time};

pub use crate::mark::Mark;
pub use crate::observation::{Counters, Observation};
pub use crate::receiver::{Cnp, Grant};
pub use crate::signal::{Signal, Words};
pub use crate::switch_ack::PortReport;
pub use crate::timers::{Expiry, Requests, TimerBank, TimerEvent, TimerSlot};

/// Present limits of the sender. The NIC reads them after every callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendLimits {
    /// Rate at which packets may leave, headers included. At zero, none may leave until it changes.
    pub rate: BitRate,
    /// Upper limit of payload bytes in flight; [`Bytes::MAX`] for a scheme without a window. The NIC also
    /// applies the run's window mode ([`crate::registry::WindowMode`]).
    pub window: Bytes,
}

/// Properties of a flow's path that its sender may know.
#[derive(Clone, Debug)]
pub struct PathInfo {
    /// Rate of the sender's link.
    pub line_rate: BitRate,
    /// Round-trip time of the empty network as the run defines it: of this path, or the largest of all paths.
    pub base_rtt: Span,
    /// Bandwidth-delay product for `base_rtt`, in bytes: the largest window.
    pub bdp: Bytes,
    /// Largest payload of a packet.
    pub mtu: Bytes,
    /// Wire size of a packet with that payload, including the scheme's own headers.
    pub full_packet: Bytes,
    /// Bytes to send when the flow starts: all of its data, or its connection's first message.
    pub first_message: Bytes,
    /// Rates of the switch ports on the path, in order: hop `i` of an ACK's telemetry left a port of rate
    /// `hop_rates[i]`.
    pub hop_rates: Vec<BitRate>,
    /// Widths of the telemetry fields.
    pub int: IntFormat,
}

/// Wrap-around of the fields of in-band telemetry: differences are taken modulo these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntFormat {
    /// Picoseconds after which a time stamp restarts at zero; 0 for never.
    pub time_wrap_ps: u64,
    /// Bytes after which a byte counter restarts at zero; 0 for never.
    pub bytes_wrap: u64,
    /// Number of hops that a header can hold, as in the reference's; 0 for any. The reference's sender
    /// compares a hop's sample with the last one at that index, whichever port wrote it, or with zeros.
    pub room: usize,
}

impl PathInfo {
    /// Returns the number of links on the path, including the sender's.
    pub fn links(&self) -> usize {
        self.hop_rates.len() + 1
    }

    /// Returns the bandwidth-delay product in packets.
    pub fn bdp_packets(&self) -> f64 {
        self.bdp.get() as f64 / self.mtu.get().max(1) as f64
    }

    /// Returns the rate at which full packets leave `gap` apart; windows below one packet are paced at it.
    pub fn rate_of_gap(&self, gap: Span) -> BitRate {
        let bits = u128::from(self.full_packet.get()) * 8 * 1_000_000_000_000;
        let bps = bits / u128::from(gap.as_ps().max(1));
        let bps = u64::try_from(bps).unwrap_or(u64::MAX);
        BitRate::from_bps(bps.max(1)).min(self.line_rate)
    }
}

impl IntFormat {
    /// Exact telemetry: 64 bits each for picoseconds and bytes, any number of hops.
    pub const EXACT: Self = Self {
        time_wrap_ps: 0,
        bytes_wrap: 0,
        room: 0,
    };

    /// Returns the time from `old` to `new`, both in picoseconds as telemetry gives them.
    pub const fn time_between(&self, old: u64, new: u64) -> Span {
        Span::from_ps(if new >= old {
            new - old
        } else {
            (new + self.time_wrap_ps).wrapping_sub(old)
        })
    }

    /// Returns the bytes from `old` to `new`, both as telemetry gives them. A counter that never wraps but
    /// has decreased belongs to another port; it counts as no bytes.
    pub const fn bytes_between(&self, old: u64, new: u64) -> u64 {
        if new >= old {
            new - old
        } else {
            new.saturating_add(self.bytes_wrap).saturating_sub(old)
        }
    }
}

/// Record that one switch port wrote into a packet as it left (in-band network telemetry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HopSample {
    /// Departure time of the packet, in picoseconds (see [`IntFormat::time_wrap_ps`]).
    pub at_ps: u64,
    /// Bytes that the port had sent before this packet (see [`IntFormat::bytes_wrap`]).
    pub tx_bytes: u64,
    /// Bytes in the port's queues after the packet left.
    pub queue_bytes: u32,
    /// Port's rate in Gbit/s, as the reference's header encodes it; 0 if the header has none, then
    /// [`PathInfo::hop_rates`] applies.
    pub rate_gbps: u32,
}

/// Contents of an acknowledgement, and what the sender derives from it.
#[derive(Clone, Copy, Debug)]
pub struct AckInfo<'a> {
    /// End of the highest payload byte known to have arrived. Once it passes `snd_nxt` of an earlier time, a
    /// packet sent after that time has been acknowledged: schemes delimit round trips by this. If receivers
    /// accept packets out of order (IRN), bytes below it may be missing, so it does not count bytes.
    pub highest: u64,
    /// Payload bytes acknowledged in total, cumulatively or selectively: `highest` minus the gaps below it.
    pub delivered: u64,
    /// Payload bytes that this acknowledgement is the first to acknowledge.
    pub newly_acked: u64,
    /// Next payload byte that the sender will send.
    pub snd_nxt: u64,
    /// Time from the start of the data packet's transmission to now.
    pub rtt: Span,
    /// Congestion mark of the data packet on arrival; the strongest one if the ACK covers several packets.
    pub mark: Mark,
    /// Telemetry of the data packet, one sample per switch in path order; empty without INT.
    pub hops: &'a [HopSample],
    /// Sixteen bits of the data packet's header, echoed. The run decides their use: HPCC-PINT's digest; the
    /// entropy value if senders choose paths ([`crate::entropy`]); or with telemetry the path's identifier if
    /// switches choose paths (HPCC's pathID). Samples with different identifiers come from different ports
    /// and must not be compared.
    pub header_bits: u16,
    /// True for a NACK: the receiver saw a gap.
    pub nack: bool,
    /// Number in the flow of the acknowledged data packet, if the receiver accepts packets in any order.
    pub packet: u32,
    /// Position of the switch that trimmed the packet; `None` if it was not trimmed.
    pub trimmed: Option<TrimmedAt>,
    /// Tag of the data packet ([`CongestionControl::tag`]) on arrival; switches may have changed it.
    pub tag: u8,
    /// Report of a congested port that a switch wrote into the data packet; only if switches do not signal
    /// senders directly (Bolt without SRC).
    pub congested: Option<CongestedPort>,
    /// Time that the receiver's host took to respond: from the data packet's arrival at its NIC until the NIC
    /// has the acknowledgement. Part of `rtt`.
    pub endpoint_delay: Span,
}

impl AckInfo<'_> {
    /// Returns the payload bytes that were sent and not acknowledged, including lost ones.
    pub fn in_flight(&self) -> u64 {
        self.snd_nxt.saturating_sub(self.delivered)
    }
}

/// Position of the switch that removed a packet's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimmedAt {
    /// In front of a link between switches.
    Network,
    /// In front of the receiver's link, which no other path avoids.
    LastHop,
}

/// Congested port, as a switch describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestedPort {
    /// Bytes in the port's queue.
    pub queue: Bytes,
    /// Rate of the port's link.
    pub rate: BitRate,
}

/// Data packet that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Offset of the first payload byte.
    pub seq: u64,
    /// Payload bytes, without headers.
    pub payload: u64,
    /// First unacknowledged byte of the flow.
    pub snd_una: u64,
    /// Offset at which the flow's data ends.
    pub end: u64,
}

/// Data packet whose transmission has just started.
#[derive(Clone, Copy, Debug)]
pub struct SentInfo {
    /// Payload bytes, without headers.
    pub payload: Bytes,
    /// Bytes on the wire, including headers.
    pub wire: Bytes,
}

/// Everything that a scheme may ask of the world during a callback.
pub struct Ctx<'a> {
    /// Simulated time of the callback.
    pub now: Time,
    /// Path of the flow.
    pub path: &'a PathInfo,
    /// Timers of the flow.
    pub timers: &'a mut TimerBank,
    /// Random stream of the flow, independent of all others.
    pub rng: &'a mut Rng,
}

impl Ctx<'_> {
    /// Sets a timer that expires `after` from now, and replaces its earlier expiry.
    pub fn arm(&mut self, slot: TimerSlot, after: Span) {
        self.timers.arm(slot, self.now.saturating_add(after));
    }
    /// Stops a timer; does nothing if it is not running.
    pub fn cancel(&mut self, slot: TimerSlot) {
        self.timers.cancel(slot);
    }
    /// Reports that the scheme has recomputed its rate, perhaps to the same value. With
    /// [`Requirements::repaces`] the reference's NIC then recomputes when the next packet may leave.
    pub fn recompute_pacing(&mut self) {
        self.timers.ask_repace();
    }
    /// Asks the NIC to compute a decision. It waits for its turn, takes [`Decisions::latency`], and ends with
    /// [`CongestionControl::on_decision`]. Only with [`Requirements::decisions`], and not again before that
    /// call.
    pub fn decide(&mut self) {
        self.timers.ask_decision();
    }
    /// Counts a decision that created a policy; most decisions only observe: see [`crate::spine`].
    pub fn count_trigger(&mut self) {
        self.timers.ask_count();
    }
    /// Announces to the other senders of the group that [`CongestionControl::shared`] has changed.
    pub fn share(&mut self) {
        self.timers.ask_share();
    }
}

/// State common to the senders of one port, priority and scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Number whose meaning the scheme defines.
    pub value: u32,
    /// Time since which `value` holds.
    pub since: Time,
}

/// Services that a scheme needs from the network and the NIC. Validation and the fabric read them: a field
/// that no scheme needs is not stamped into packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requirements {
    /// Switches mark packets (ECN).
    pub ecn: bool,
    /// Switches write telemetry into data packets (INT).
    pub int: bool,
    /// Switches keep HPCC-PINT's digest.
    pub pint: bool,
    /// Data packets carry the time at which they were sent.
    pub timestamp: bool,
    /// The scheme wants [`CongestionControl::on_send`]: it counts what is sent.
    pub counts_sent: bool,
    /// A change of rate moves the departure time of the next packet (HPCC), rather than only the gap after
    /// it.
    pub repaces: bool,
    /// The scheme writes a tag into every data packet ([`CongestionControl::tag`]).
    pub tags: bool,
    /// The scheme writes eight bytes for the receiver into every data packet ([`CongestionControl::words`]).
    pub words: bool,
    /// Receiving hosts grant bytes to the scheme ([`crate::receiver::GrantScheduler`]).
    pub grants: bool,
    /// Bytes that the scheme adds to the headers of data packets and ACKs, in addition to the above.
    pub header: u8,
    /// Decisions take time at the NIC ([`Ctx::decide`]); `None` if they take effect at once.
    pub decisions: Option<Decisions>,
    /// The scheme uses [`CongestionControl::on_foresight`] before each [`CongestionControl::on_ack`]: an
    /// oracle that no real sender has, to measure the value of a perfect prediction.
    pub foresight: bool,
}

/// Cost of a decision in simulated time: a processor of the NIC computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decisions {
    /// Time from the start of a computation to its effect.
    pub latency: Span,
    /// Number of decisions that the NIC computes in parallel, over all its flows; others wait in order of
    /// arrival. 0 for any number.
    pub in_service: u32,
    /// True if decisions are made outside the run. The run then reports due decisions; a computation starts
    /// with the answer and ends with [`CongestionControl::on_answer`].
    pub outside: bool,
}

copies! {
    /// Copies a sender of any type, for runs that fork. Every [`Clone`] scheme has it.
    CloneBox, clone_box, CongestionControl
}

/// Sender's half of a congestion control scheme.
pub trait CongestionControl: CloneBox + fmt::Debug + Send {
    /// Returns the present limits of the sender.
    fn limits(&self) -> SendLimits;
    /// Handles an acknowledgement or a NACK.
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>);
    /// Handles a congestion notification packet from the receiver.
    fn on_cnp(&mut self, _cx: &mut Ctx<'_>, _cnp: &Cnp) {}
    /// Handles a signal from the scheme's half in a switch ([`crate::switch::Notify::Sender`]).
    fn on_signal(&mut self, _cx: &mut Ctx<'_>, _signal: &Signal) {}
    /// Returns the tag of a data packet that is about to leave; called only with [`Requirements::tags`].
    fn tag(&mut self, _cx: &mut Ctx<'_>, _packet: &Outgoing) -> u8 {
        0
    }
    /// Returns eight bytes for the receiver, whose meaning the scheme defines, for a data packet that is
    /// about to leave; called only with [`Requirements::words`].
    fn words(&mut self, _cx: &mut Ctx<'_>, _packet: &Outgoing) -> u64 {
        0
    }
    /// Handles a grant from the receiver's host ([`crate::receiver::GrantScheduler`]).
    fn on_grant(&mut self, _cx: &mut Ctx<'_>, _grant: Grant) {}
    /// Handles an expiry of the retransmission timer.
    fn on_timeout(&mut self, _cx: &mut Ctx<'_>) {}
    /// Handles the start of a data packet's transmission; called only with [`Requirements::counts_sent`].
    fn on_send(&mut self, _cx: &mut Ctx<'_>, _sent: &SentInfo) {}
    /// Takes the decision that [`Ctx::decide`] asked for: it takes effect now.
    fn on_decision(&mut self, _cx: &mut Ctx<'_>) {}
    /// Applies limits that were decided outside the run ([`Decisions::outside`]).
    fn on_answer(&mut self, _cx: &mut Ctx<'_>, _limits: SendLimits) {}
    /// Returns the observation for a decision outside the run, as of the time of asking
    /// ([`Decisions::outside`]).
    fn report(&self) -> Option<&Observation> {
        None
    }
    /// Takes the round-trip time that a data packet sent now would have, as far as the network's present
    /// state determines it; called only with [`Requirements::foresight`], before each acknowledgement.
    fn on_foresight(&mut self, _rtt: Span) {}
    /// Handles an expiry of one of the scheme's own timers.
    fn on_timer(&mut self, _cx: &mut Ctx<'_>, _slot: TimerSlot) {}
    /// Handles the acknowledgement that completes all data of a flow that then waits for further messages
    /// (only if messages share flows); called instead of [`Self::on_ack`].
    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.on_ack(cx, ack);
    }
    /// Returns the state that the scheme shares with the other senders of its port, priority and scheme
    /// ([`Ctx::share`]), if any.
    fn shared(&self) -> Option<Shared> {
        None
    }
    /// Handles a change of the shared state by another sender, or the present state when this sender joins.
    fn on_shared(&mut self, _cx: &mut Ctx<'_>, _shared: &Shared) {}
    /// Takes over the window of another flow between the same hosts (only if messages share flows).
    fn inherit(&mut self, _window: Bytes) {}
}
