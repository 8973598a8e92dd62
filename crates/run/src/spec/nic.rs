//! Hosts: NICs, acknowledgements and loss recovery.

use paceline_kernel::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

/// Properties of all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NicSpec {
    /// Times at which the receiver acknowledges.
    pub ack: AckPolicy,
    /// With [`super::Quirks::ack_threshold`]: an ACK is also sent whenever the next expected byte is a
    /// multiple of it.
    pub ack_chunk: Bytes,
    /// Class of ACKs, NACKs and CNPs in hosts and switches; `None` for the flow's own.
    pub ack_class: Option<u8>,
    /// Processing times in a receiver's host before it acknowledges; `None` for none.
    pub endpoint: Option<Endpoint>,
    /// Limit of the NIC's memory for packets that wait for processing; `None` without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ReceiveBuffer>,
    /// Least time between two NACKs of a receiver for the same gap.
    pub nack_interval: Span,
    /// Go-back-N returns to the start of the chunk of this size rather than to the gap. A chunk counts as in
    /// flight until all of it has arrived, so windows must be larger.
    pub back_to_chunk: Option<Bytes>,
    /// Go-back-N's retransmission timeout: after this time without progress, return to the first
    /// unacknowledged byte; `None` for never.
    pub rto: Option<Span>,
    /// Loss recovery of all flows.
    pub recovery: Recovery,
    /// True if packets are paced at the scheme's rate; otherwise they leave at line rate.
    pub pacing: bool,
    /// True if `base_rtt` and the bandwidth-delay product are the largest over all pairs of hosts; otherwise
    /// they are each flow's own.
    pub global_rtt: bool,
    /// Idle time after which a persistent connection restarts with its scheme's initial state; `None` for
    /// never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_reset: Option<Span>,
    /// Scheduler of queue pairs.
    #[serde(default, skip_serializing_if = "Scheduling::is_round_robin")]
    pub scheduling: Scheduling,
    /// Number of planes: every host has so many links, one into each, which its NIC uses together.
    #[serde(default = "one_plane", skip_serializing_if = "is_one_plane")]
    pub planes: u8,
}

const fn one_plane() -> u8 {
    1
}

const fn is_one_plane(planes: &u8) -> bool {
    *planes == 1
}

/// A NIC that acknowledges each packet, paces, and returns to a gap (go-back-N).
impl Default for NicSpec {
    fn default() -> Self {
        Self {
            ack: AckPolicy::EveryPackets(1),
            ack_chunk: Bytes::new(4000),
            ack_class: None,
            endpoint: None,
            receive_buffer: None,
            nack_interval: Span::from_us(500),
            back_to_chunk: None,
            rto: None,
            recovery: Recovery::GoBackN,
            pacing: true,
            global_rtt: true,
            idle_reset: None,
            scheduling: Scheduling::RoundRobin,
            planes: one_plane(),
        }
    }
}

/// Scheduler of a NIC's queue pairs that are ready to send (`host/scheduler/`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// Round-robin, one packet each.
    #[default]
    RoundRobin,
    /// Deficit round-robin: each sends this many bytes on the wire per turn.
    Quantum(Bytes),
    /// Start-time fair queueing: the one that has had the least service is next.
    MaxMin,
}

impl Scheduling {
    fn is_round_robin(&self) -> bool {
        *self == Self::RoundRobin
    }
}

/// Processing in a receiver's host, between a data packet's arrival at its NIC and the acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Endpoint {
    /// Constant delay of every packet between the NIC and the application: interrupts, bus, software.
    pub delay: Span,
    /// Service time per packet of the receive engine, which serves one packet at a time.
    pub per_packet: Span,
    /// Rate at which the receive engine reads packets, in addition; `None` for no such time.
    pub rate: Option<BitRate>,
    /// Largest random extra delay; packets never overtake each other.
    pub jitter: Span,
}

/// Memory of a NIC for data packets that have arrived and wait for processing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReceiveBuffer {
    /// Size of the memory; packets that do not fit are dropped.
    pub size: Bytes,
    /// Fill level above which, under PFC, the NIC pauses the class of an arriving packet.
    pub xoff: Bytes,
    /// Fill level up to which it resumes the classes that it paused.
    pub xon: Bytes,
}

/// Loss recovery: go-back-N, or one of two kinds of selective repeat.
// The tag has its own byte: it is read for every packet, and a tag inside another field's spare bits takes
// six instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Recovery {
    /// Go-back-N: the receiver accepts packets in order only; the sender returns to a gap and resends
    /// everything after it.
    GoBackN,
    /// Selective repeat: the receiver accepts packets in any order; the sender resends the missing ones.
    SelectiveRepeat(Irn),
    /// Selective repeat for networks that spray packets: only a trimmed packet or a timeout indicates a loss.
    Rud(Rud),
}

/// Reliable unordered delivery as in Ultra Ethernet (Ultra Ethernet Specification 1.0, section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rud {
    /// Time without feedback after which a packet is resent.
    pub rto: Span,
}

/// Selective repeat as in IRN (Mittal et al., SIGCOMM 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Irn {
    /// Timeout without progress while fewer than `low_packets` are in flight.
    pub rto_low: Span,
    /// Timeout without progress otherwise; not below `rto_low`.
    pub rto_high: Span,
    /// Packets in flight from which on `rto_high` applies.
    pub low_packets: u32,
    /// True if new packets are sent only up to one bandwidth-delay product beyond the cumulative
    /// acknowledgement.
    pub bdp_cap: bool,
    /// Reordering tolerance: a packet counts as lost once one more than this many packets beyond it has
    /// arrived.
    pub reordering: u32,
}

/// Times at which a receiver acknowledges in-order data. The last packet is always acknowledged, except under
/// [`super::Quirks::ack_threshold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// After every `n`-th packet.
    EveryPackets(u32),
    /// Whenever this many new bytes have arrived.
    EveryBytes(Bytes),
}

impl Endpoint {
    /// Returns the service time of a packet of `wire` bytes in the receive engine, in ps.
    #[inline]
    pub fn service(&self, wire: u16) -> u64 {
        self.service_at(self.rate, wire)
    }

    /// Returns the service time at another read rate, in ps.
    #[inline]
    pub fn service_at(&self, rate: Option<BitRate>, wire: u16) -> u64 {
        let bytes = Bytes::new(u64::from(wire));
        let reading = rate.map_or(Span::ZERO, |rate| rate.time_to_send(bytes));
        (self.per_packet + reading).as_ps()
    }
}

impl Recovery {
    /// Returns the shortest time without progress after which a sender acts; `None` if it never does.
    pub fn shortest_timeout(&self, nic: &NicSpec) -> Option<u64> {
        match self {
            Self::GoBackN => nic.rto.map(|rto| rto.as_ps()),
            Self::SelectiveRepeat(irn) => Some(irn.rto_low.as_ps()),
            Self::Rud(rud) => Some(rud.rto.as_ps()),
        }
    }
    /// Returns the longest time without progress after which a sender acts.
    pub fn longest_timeout(&self, nic: &NicSpec) -> Option<u64> {
        match self {
            Self::GoBackN => nic.rto.map(|rto| rto.as_ps()),
            Self::SelectiveRepeat(irn) => Some(irn.rto_high.as_ps()),
            Self::Rud(rud) => Some(rud.rto.as_ps()),
        }
    }
}
