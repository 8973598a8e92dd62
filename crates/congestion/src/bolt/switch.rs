//! The switch's half of Bolt: what an egress port does about every packet that will leave through it.

use paceline_kernel::{Bytes, Time};

use super::{BOLT, DEC, FIRST, INC, LAST, Params};
use crate::api::CongestedPort;
use crate::params::Auto;
use crate::signal::{Carrier, Signal, Words};
use crate::switch::{
    Egress, EgressPort, Hooks, Notify, PacketView, PayloadKind, Queue, SwitchHalf, SwitchSupport, Verdict,
};

/// So much in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// In bytes.
    Bytes(Bytes),
    /// In full packets.
    Packets(u32),
}

impl Threshold {
    /// In bytes, a full packet having `full`.
    pub fn bytes(self, full: u64) -> u32 {
        let bytes = match self {
            Self::Bytes(bytes) => bytes.get(),
            Self::Packets(packets) => full.saturating_mul(u64::from(packets)),
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// What SRC says: bytes in the queue. The port's rate and the time since the packet left come with any signal.
#[inline]
pub fn src(queue: u32) -> Words {
    Words::EMPTY.with_u32(0, queue)
}

/// The port that SRC speaks of.
pub fn port_of(signal: &Signal) -> CongestedPort {
    CongestedPort {
        queue: Bytes::new(u64::from(signal.words.u32(0))),
        rate: signal.port_rate,
    }
}

impl Params {
    /// CCTHRESH: a port with so much queued is congested.
    pub fn congestion_threshold(&self) -> Threshold {
        match self.threshold {
            Auto::Auto => Threshold::Packets(self.threshold_packets),
            Auto::Is(bytes) => Threshold::Bytes(bytes),
        }
    }

    pub(super) fn asks_switches(&self) -> SwitchSupport {
        SwitchSupport {
            task: "that run its ingress algorithm",
            params: match self.threshold {
                Auto::Auto => &["src", "pru", "sm", "threshold", "threshold-packets", "pru-max"],
                Auto::Is(_) => &["src", "pru", "sm", "threshold", "pru-max"],
            },
            hooks: Hooks {
                arrivals: true,
                ..Hooks::default()
            },
            turns_back: self.src,
            signal: Some("src"),
            ..SwitchSupport::default()
        }
    }
}

/// An egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoltPort {
    /// Bytes in the queue that are congestion.
    pub(super) threshold: u32,
    /// Whether congestion is told to the sender at once (SRC).
    pub(super) src_on: bool,
    /// Whether the end of a flow leaves tokens (PRU).
    pub(super) pru_on: bool,
    /// Whether unused capacity is handed out (SM).
    pub(super) sm_on: bool,
    /// PRU tokens that it can hold.
    pub(super) pru_max: u32,
    /// Time of a full packet, in ps: the most that the SM token can be.
    pub(super) full: i64,
    /// PRU tokens: packets whose senders send no more after them.
    pub(super) pru: u32,
    /// The SM token: the time in ps for which it could have sent and was not given anything, less the time
    /// that took what it was given and could not send.
    pub(super) sm: i64,
    /// When the last packet came.
    pub(super) last: Time,
}

impl BoltPort {
    /// Without tokens.
    pub fn new(params: &Params, port: &EgressPort) -> Self {
        Self {
            threshold: params.congestion_threshold().bytes(u64::from(port.full_bytes)),
            src_on: params.src,
            pru_on: params.pru,
            sm_on: params.sm,
            pru_max: params.pru_max,
            full: port.full_packet.as_ps() as i64,
            pru: 0,
            sm: 0,
            last: Time::ZERO,
        }
    }

    /// Supply and demand, at every packet: what the port could have sent since the last one, less the packet,
    /// both in ps.
    #[inline]
    pub(super) fn supply(&mut self, gained: i64, spent: i64) {
        self.sm = self
            .sm
            .saturating_add(gained)
            .saturating_sub(spent)
            .min(self.full);
    }

    /// Algorithm 1 for a data packet that finds `queue` bytes before it: its tag from there on, and who is told.
    #[inline]
    pub(super) fn judge(&mut self, queue: u32, tag: u8) -> (u8, Notify) {
        if queue >= self.threshold {
            return ((tag | DEC) & !INC, self.congested(queue, tag));
        }
        (self.grant(tag), Notify::Nobody)
    }

    /// What becomes of INC and of the tokens at a port that is not congested: see the scheme's page,
    /// equations (2) to (5).
    #[inline]
    fn grant(&mut self, tag: u8) -> u8 {
        if tag & LAST != 0 {
            if tag & FIRST == 0 && self.pru_on {
                self.pru = (self.pru + 1).min(self.pru_max);
            }
            tag
        } else if tag & INC != 0 && !self.has_token() {
            tag & !INC
        } else {
            tag
        }
    }

    /// Whether a token is there for one more packet per round trip; it is taken.
    fn has_token(&mut self) -> bool {
        if self.pru_on && self.pru > 0 {
            self.pru -= 1;
            true
        } else if self.sm_on && self.sm >= self.full {
            self.sm -= self.full;
            true
        } else {
            false
        }
    }

    /// Only the first congested port of a packet's way tells the sender.
    fn congested(&self, queue: u32, tag: u8) -> Notify {
        match (self.src_on, tag & DEC != 0) {
            (true, false) => Notify::Sender(src(queue), Carrier::Headers),
            (true, true) => Notify::Nobody,
            (false, _) => Notify::Packet,
        }
    }
}

impl SwitchHalf for BoltPort {
    #[inline]
    fn on_arrival(&mut self, at: &mut Egress<'_>, packet: &PacketView) -> Verdict {
        let gained = (at.now.as_ps() - self.last.as_ps()) as i64;
        self.last = at.now;
        self.supply(gained, packet.takes.as_ps() as i64);
        let mut verdict = Verdict::pass(packet);
        if packet.load == PayloadKind::Data && packet.tag & BOLT != 0 {
            (verdict.tag, verdict.notify) = self.judge(at.queued, packet.tag);
        }
        verdict
    }

    /// No token is above its cap.
    fn verify(&self, now: Time, _class: u8, _queue: Queue) {
        assert!(self.sm <= self.full, "SM token of {} ps", self.sm);
        assert!(self.pru <= self.pru_max, "{} PRU tokens", self.pru);
        assert!(self.last <= now, "a packet of the future");
    }
}
