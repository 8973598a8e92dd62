//! What a congestion control scheme sees of the world, and the one answer that it gives.
//!
//! A scheme gets callbacks with a [`Ctx`] (the time, its path, its timers, its random stream) and
//! after each of them is asked for its [`SendLimits`]. Nothing else goes in or out, so the same
//! code runs in the simulator, in a test that is a loop of calls, or over real packets.

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

/// What the sender may do right now. The NIC reads it after every callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendLimits {
    /// The rate at which packets (headers included) may leave. At a rate of zero none may, until it changes.
    pub rate: BitRate,
    /// The payload bytes that may be in flight; [`Bytes::MAX`] for a scheme without a window of
    /// its own. The NIC also applies the run's window mode ([`crate::registry::WindowMode`]).
    pub window: Bytes,
}

/// The path of a flow, as far as its sender may know it.
#[derive(Clone, Debug)]
pub struct PathInfo {
    /// Rate of the sender's link.
    pub line_rate: BitRate,
    /// Round-trip time of an empty network, as the run defines it (of this path or the largest of all).
    pub base_rtt: Span,
    /// The bandwidth-delay product that goes with `base_rtt`, in bytes: the largest window.
    pub bdp: Bytes,
    /// The largest payload of a packet.
    pub mtu: Bytes,
    /// A packet with that payload on the wire, what the scheme adds to its headers included.
    pub full_packet: Bytes,
    /// What the flow has to send when it starts: all of it, or its connection's first message.
    pub first_message: Bytes,
    /// Rates of the switch ports on the way, in order: hop `i` of an ACK's telemetry left a port
    /// of rate `hop_rates[i]`.
    pub hop_rates: Vec<BitRate>,
    /// How telemetry fields wrap.
    pub int: IntFormat,
}

/// How the fields of in-band telemetry wrap: differences are taken modulo these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntFormat {
    /// Picoseconds after which a time stamp starts again at zero; 0 for never.
    pub time_wrap_ps: u64,
    /// Bytes after which a byte counter starts again at zero; 0 for never.
    pub bytes_wrap: u64,
    /// Hops that a header has room for: the reference's. Its sender compares a hop's sample with the last one
    /// of the same number whatever port wrote that, or with zeros. 0 for any number.
    pub room: usize,
}

impl PathInfo {
    /// Links on the way, the sender's included.
    pub fn links(&self) -> usize {
        self.hop_rates.len() + 1
    }

    /// Packets in the bandwidth-delay product.
    pub fn bdp_packets(&self) -> f64 {
        self.bdp.get() as f64 / self.mtu.get().max(1) as f64
    }

    /// Full packets at such a rate leave `gap` apart. (What a window below one packet comes to.)
    pub fn rate_of_gap(&self, gap: Span) -> BitRate {
        let bits = u128::from(self.full_packet.get()) * 8 * 1_000_000_000_000;
        let bps = bits / u128::from(gap.as_ps().max(1));
        let bps = u64::try_from(bps).unwrap_or(u64::MAX);
        BitRate::from_bps(bps.max(1)).min(self.line_rate)
    }
}

impl IntFormat {
    /// Exact telemetry: 64 bits of picoseconds and of bytes, of all hops.
    pub const EXACT: Self = Self {
        time_wrap_ps: 0,
        bytes_wrap: 0,
        room: 0,
    };

    /// The time from `old` to `new`, both in picoseconds as telemetry gives them.
    pub const fn time_between(&self, old: u64, new: u64) -> Span {
        Span::from_ps(if new >= old {
            new - old
        } else {
            (new + self.time_wrap_ps).wrapping_sub(old)
        })
    }

    /// The bytes from `old` to `new`, both as telemetry gives them. A counter that never wraps and yet runs
    /// back is another port's; it counts as none.
    pub const fn bytes_between(&self, old: u64, new: u64) -> u64 {
        if new >= old {
            new - old
        } else {
            new.saturating_add(self.bytes_wrap).saturating_sub(old)
        }
    }
}

/// What one switch port wrote into a packet when it left (in-band network telemetry).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct HopSample {
    /// When the packet left, in picoseconds (see [`IntFormat::time_wrap_ps`]).
    pub at_ps: u64,
    /// Bytes that the port had sent before this packet (see [`IntFormat::bytes_wrap`]).
    pub tx_bytes: u64,
    /// Bytes in the port's queues when the packet had left.
    pub queue_bytes: u32,
    /// The port's rate in Gbit/s as the reference's header codes it; 0 where the header has none, and
    /// [`PathInfo::hop_rates`] says it.
    pub rate_gbps: u32,
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub struct AckInfo<'a> {
    /// Behind the highest payload byte known to have arrived. Once it is past what had been sent at some time, a packet
    /// sent after that time is acknowledged: this is how schemes tell round trips. Where receivers take packets out of
    /// order (IRN) bytes below it may be missing, so it counts nothing.
    pub highest: u64,
    /// Payload bytes acknowledged in all, cumulatively or selectively: `highest` without the gaps below it.
    pub delivered: u64,
    /// Bytes that this acknowledgement is the first to acknowledge.
    pub newly_acked: u64,
    /// The next payload byte that the sender will send.
    pub snd_nxt: u64,
    /// From the start of the data packet's transmission to now.
    pub rtt: Span,
    /// The congestion mark with which the data packet arrived; the strongest, where it answers for several.
    pub mark: Mark,
    /// Telemetry of the data packet, a sample per switch in path order; empty without INT.
    pub hops: &'a [HopSample],
    /// Sixteen bits of the data packet's header that come back, by what the run has them for: HPCC-PINT's digest; the
    /// entropy value, where senders choose paths ([`crate::entropy`]); or with telemetry the packet's way, where switches
    /// choose it (HPCC's pathID): telemetry that came by different ways is of different ports, and not to be compared.
    pub header_bits: u16,
    /// Whether this is a NACK: the receiver saw a gap.
    pub nack: bool,
    /// The data packet that it answers, by its number in the flow, where the receiver takes packets in any order.
    pub packet: u32,
    /// Where a switch trimmed that packet, if one did.
    pub trimmed: Option<TrimmedAt>,
    /// The tag of the data packet ([`CongestionControl::tag`]) as it arrived: switches may have
    /// changed it.
    pub tag: u8,
    /// What a switch on the way wrote into the data packet about its congested port, if one did and
    /// told the sender no other way (Bolt without SRC).
    pub congested: Option<CongestedPort>,
    /// How long the receiver's host took to answer: from the data packet's arrival at its NIC to the
    /// acknowledgement's way back into it. Part of `rtt`.
    pub endpoint_delay: Span,
}

impl AckInfo<'_> {
    /// Payload bytes that were sent and are not acknowledged, lost ones included.
    pub fn in_flight(&self) -> u64 {
        self.snd_nxt.saturating_sub(self.delivered)
    }
}

/// Where a switch cut a packet's payload off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimmedAt {
    /// Before a link between switches.
    Network,
    /// Before the receiver's link: no other path avoids it.
    LastHop,
}

/// A congested port, as a switch describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongestedPort {
    /// Bytes in its queue.
    pub queue: Bytes,
    /// Its rate.
    pub rate: BitRate,
}

/// A data packet that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Offset of its first payload byte.
    pub seq: u64,
    /// Payload bytes.
    pub payload: u64,
    /// The first byte that is not acknowledged.
    pub snd_una: u64,
    /// Where the data ends: the flow's size.
    pub end: u64,
}

/// A data packet that has just started on the wire.
#[derive(Clone, Copy, Debug)]
pub struct SentInfo {
    /// Payload bytes.
    pub payload: Bytes,
    /// Bytes on the wire, headers included.
    pub wire: Bytes,
}

/// All that a scheme may ask of the world.
pub struct Ctx<'a> {
    /// The time.
    pub now: Time,
    /// The flow's path.
    pub path: &'a PathInfo,
    /// The flow's timers.
    pub timers: &'a mut TimerBank,
    /// The flow's random stream.
    pub rng: &'a mut Rng,
}

impl Ctx<'_> {
    /// Sets a timer to `after` from now.
    pub fn arm(&mut self, slot: TimerSlot, after: Span) {
        self.timers.arm(slot, self.now.saturating_add(after));
    }
    /// Stops a timer.
    pub fn cancel(&mut self, slot: TimerSlot) {
        self.timers.cancel(slot);
    }
    /// The scheme has computed its rate again, perhaps to the same value: with [`Requirements::repaces`] the
    /// reference's NIC then looks again when the next packet may go.
    pub fn recompute_pacing(&mut self) {
        self.timers.ask_repace();
    }
    /// Asks the NIC to compute a decision: it takes [`Decisions::latency`], after a wait for its turn,
    /// and ends with [`CongestionControl::on_decision`]. Only with [`Requirements::decisions`]; not again
    /// before that call.
    pub fn decide(&mut self) {
        self.timers.ask_decision();
    }
    /// Counts that a decision made a policy, where most only watch: see [`crate::spine`].
    pub fn count_trigger(&mut self) {
        self.timers.ask_count();
    }
    /// What the sender has in common with others ([`CongestionControl::shared`]) has changed: they are told.
    pub fn share(&mut self) {
        self.timers.ask_share();
    }
}

/// What the senders of one port, priority and scheme have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// A number whose meaning is the scheme's.
    pub value: u32,
    /// Since when it has been that.
    pub since: Time,
}

/// What a scheme needs of the network and the NIC. Validation and the fabric read it: what nobody
/// needs is not stamped.
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
    /// A change of rate moves the time at which the next packet may leave (HPCC), rather than
    /// only the gap after it.
    pub repaces: bool,
    /// The scheme writes a tag into every data packet ([`CongestionControl::tag`]).
    pub tags: bool,
    /// The scheme writes eight bytes for the receiver into every data packet ([`CongestionControl::words`]).
    pub words: bool,
    /// Receiving hosts grant what the scheme may send ([`crate::receiver::GrantScheduler`]).
    pub grants: bool,
    /// Bytes that the scheme adds to the header of data packets and their ACKs, alongside those above.
    pub header: u8,
    /// Decisions take time at the NIC ([`Ctx::decide`]).
    pub decisions: Option<Decisions>,
    /// The scheme wants [`CongestionControl::on_foresight`] before each [`CongestionControl::on_ack`]:
    /// what no sender can know, to measure what knowing it would be worth.
    pub foresight: bool,
}

/// What computing a decision costs a NIC, in simulated time: a processor of the NIC works on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decisions {
    /// From its start to its effect.
    pub latency: Span,
    /// How many the NIC works on at a time, of all its flows; others wait their turn in the order in
    /// which they were asked for. 0 for any number.
    pub in_service: u32,
    /// Whether they are made outside the run: it tells whose are due, computing one begins with the answer, and
    /// ends with [`CongestionControl::on_answer`].
    pub outside: bool,
}

copies! {
    /// A copy of a sender's half, whatever its type: what runs that fork ask for. Every scheme that is [`Clone`]
    /// has it.
    CloneBox, clone_box, CongestionControl
}

/// The sender's half of a congestion control scheme.
pub trait CongestionControl: CloneBox + fmt::Debug + Send {
    /// What the sender may do now.
    fn limits(&self) -> SendLimits;
    /// An acknowledgement arrived.
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>);
    /// A congestion notification packet of the receiver arrived.
    fn on_cnp(&mut self, _cx: &mut Ctx<'_>, _cnp: &Cnp) {}
    /// A signal of the scheme's half in a switch arrived ([`crate::switch::Notify::Sender`]).
    fn on_signal(&mut self, _cx: &mut Ctx<'_>, _signal: &Signal) {}
    /// The tag of a data packet that is about to leave; called only with [`Requirements::tags`].
    fn tag(&mut self, _cx: &mut Ctx<'_>, _packet: &Outgoing) -> u8 {
        0
    }
    /// What a data packet that is about to leave tells the receiver, eight bytes whose meaning is the scheme's; called
    /// only with [`Requirements::words`].
    fn words(&mut self, _cx: &mut Ctx<'_>, _packet: &Outgoing) -> u64 {
        0
    }
    /// A grant of the receiver's host arrived ([`crate::receiver::GrantScheduler`]).
    fn on_grant(&mut self, _cx: &mut Ctx<'_>, _grant: Grant) {}
    /// The retransmission timer expired.
    fn on_timeout(&mut self, _cx: &mut Ctx<'_>) {}
    /// A data packet started on the wire; called only with [`Requirements::counts_sent`].
    fn on_send(&mut self, _cx: &mut Ctx<'_>, _sent: &SentInfo) {}
    /// The decision that was asked for with [`Ctx::decide`] takes effect now.
    fn on_decision(&mut self, _cx: &mut Ctx<'_>) {}
    /// The same, of a decision that was made outside ([`Decisions::outside`]): what it says.
    fn on_answer(&mut self, _cx: &mut Ctx<'_>, _limits: SendLimits) {}
    /// What the sender tells those outside, as of when it asked them ([`Decisions::outside`]).
    fn report(&self) -> Option<&Observation> {
        None
    }
    /// The round-trip time that a data packet sent right now would have, as far as the network's present
    /// state decides it; called only with [`Requirements::foresight`], before each acknowledgement.
    fn on_foresight(&mut self, _rtt: Span) {}
    /// A timer of this scheme expired.
    fn on_timer(&mut self, _cx: &mut Ctx<'_>, _slot: TimerSlot) {}
    /// The acknowledgement of all that a flow had to send arrived, and the flow waits for further
    /// messages (only where messages share flows); called instead of [`Self::on_ack`].
    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.on_ack(cx, ack);
    }
    /// What it has in common with the other senders of its port, priority and scheme, if it has something
    /// ([`Ctx::share`]).
    fn shared(&self) -> Option<Shared> {
        None
    }
    /// Another of them has changed that, or this one comes to them.
    fn on_shared(&mut self, _cx: &mut Ctx<'_>, _shared: &Shared) {}
    /// The flow takes over the window of another between the same hosts (only where messages share flows).
    fn inherit(&mut self, _window: Bytes) {}
}
