//! Switch half of Bolt: the steps of an egress port for each packet that will leave through it.

use paceline_kernel::{Bytes, Time};

use super::{BOLT, DEC, FIRST, INC, LAST, Params};
use crate::api::CongestedPort;
use crate::params::Auto;
use crate::signal::{Carrier, Signal, Words};
use crate::switch::{
    Egress, EgressPort, Hooks, Notify, PacketView, PayloadKind, Queue, SwitchHalf, SwitchSupport, Verdict,
};

/// Queue length from which a port is congested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Length in bytes on the wire.
    Bytes(Bytes),
    /// Length in full packets of the scheme.
    Packets(u32),
}

impl Threshold {
    /// Returns the threshold in bytes, for full packets of `full` bytes.
    pub fn bytes(self, full: u64) -> u32 {
        let bytes = match self {
            Self::Bytes(bytes) => bytes.get(),
            Self::Packets(packets) => full.saturating_mul(u64::from(packets)),
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// Returns the contents of an SRC: bytes in the queue. Any signal also carries the port's rate and the time
/// since the packet left.
#[inline]
pub fn src(queue: u32) -> Words {
    Words::EMPTY.with_u32(0, queue)
}

/// Returns the congested port that an SRC describes.
pub fn port_of(signal: &Signal) -> CongestedPort {
    CongestedPort {
        queue: Bytes::new(u64::from(signal.words.u32(0))),
        rate: signal.port_rate,
    }
}

impl Params {
    /// Returns CCTHRESH, the queue length from which a port is congested.
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

/// Bolt's state at one egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoltPort {
    /// Queue length from which the port is congested, in bytes.
    pub(super) threshold: u32,
    /// True if congestion is reported to the sender directly (SRC).
    pub(super) src_on: bool,
    /// True if flows that are about to end leave tokens (PRU).
    pub(super) pru_on: bool,
    /// True if unused capacity is handed out (SM).
    pub(super) sm_on: bool,
    /// Upper limit of `pru`.
    pub(super) pru_max: u32,
    /// Transmission time of a full packet, in ps: the upper limit of `sm`.
    pub(super) full: i64,
    /// PRU tokens: one for each packet whose sender sends nothing after it.
    pub(super) pru: u32,
    /// SM token, kept as time in ps: time in which the port could have sent more than arrived, minus time by
    /// which arrivals exceeded its capacity (then negative).
    pub(super) sm: i64,
    /// Arrival time of the last packet.
    pub(super) last: Time,
}

impl BoltPort {
    /// Creates a port without tokens.
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

    /// Applies equation (1) to an arriving packet: adds the time since the last packet and subtracts the
    /// packet's transmission time, both in ps.
    #[inline]
    pub(super) fn supply(&mut self, gained: i64, spent: i64) {
        // Capacity that was not used long ago cannot be used later, so at most one packet's is kept.
        self.sm = self
            .sm
            .saturating_add(gained)
            .saturating_sub(spent)
            .min(self.full);
    }

    /// Applies Algorithm 1 to a data packet that finds `queue` bytes ahead of it; returns its new tag and who
    /// is notified.
    #[inline]
    pub(super) fn judge(&mut self, queue: u32, tag: u8) -> (u8, Notify) {
        if queue >= self.threshold {
            return ((tag | DEC) & !INC, self.congested(queue, tag));
        }
        (self.grant(tag), Notify::Nobody)
    }

    /// Applies equations (3) to (5) at a port that is not congested, and returns the new tag.
    #[inline]
    fn grant(&mut self, tag: u8) -> u8 {
        if tag & LAST != 0 {
            // No other flow has shrunk for a flow that ends within its first window: it frees no capacity.
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

    /// Takes a token for one more packet per round trip; returns false if there is none.
    fn has_token(&mut self) -> bool {
        // PRU tokens first: they stand for capacity that another flow is about to free (Algorithm 1).
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

    /// Returns who is notified of congestion. Only the first congested port on a path notifies the sender.
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

    /// Checks that no token count exceeds its cap.
    fn verify(&self, now: Time, _class: u8, _queue: Queue) {
        assert!(self.sm <= self.full, "SM token of {} ps", self.sm);
        assert!(self.pru <= self.pru_max, "{} PRU tokens", self.pru);
        assert!(self.last <= now, "a packet of the future");
    }
}
