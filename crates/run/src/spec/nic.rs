//! Hosts: their NICs, when receivers answer, how losses are repaired.

use paceline_kernel::{BitRate, Bytes, Span};
use serde::{Deserialize, Serialize};

/// Hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NicSpec {
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// With [`super::Quirks::ack_threshold`]: an ACK also whenever the next expected byte is a multiple of it.
    pub ack_chunk: Bytes,
    /// Class of ACKs, NACKs and CNPs in hosts and switches; `None`: the flow's own.
    pub ack_class: Option<u8>,
    /// What a receiver's host takes before it answers; `None`: nothing.
    pub endpoint: Option<Endpoint>,
    /// What the NIC's memory holds of packets that wait for that; `None`: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ReceiveBuffer>,
    /// A receiver repeats the NACK for the same gap no sooner than this.
    pub nack_interval: Span,
    /// Go-back-N goes back to the start of the chunk of this size rather than to the gap. A chunk
    /// counts as in flight until all of it has arrived, so windows must be larger.
    pub back_to_chunk: Option<Bytes>,
    /// Go-back-N's retransmission timeout: without progress for so long, go back to the first
    /// unacknowledged byte; `None`: never.
    pub rto: Option<Span>,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whether packets are paced at the scheme's rate (otherwise at line rate).
    pub pacing: bool,
    /// Whether `base_rtt` and the bandwidth-delay product are the largest of all pairs of hosts, or
    /// each flow's own.
    pub global_rtt: bool,
    /// A persistent connection over which nothing was under way for so long begins again, as its scheme is at its start;
    /// `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_reset: Option<Span>,
    /// Which queue pair goes next.
    #[serde(default, skip_serializing_if = "Scheduling::is_round_robin")]
    pub scheduling: Scheduling,
}

/// Which of a NIC's queue pairs goes next, of those that nothing holds back (`host/scheduler/`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// In turn, a packet each.
    #[default]
    RoundRobin,
    /// In turn, each until it has sent so many bytes on the wire: deficit round robin.
    Quantum(Bytes),
    /// The one that has had the least of the port: start-time fair queueing.
    MaxMin,
}

impl Scheduling {
    fn is_round_robin(&self) -> bool {
        *self == Self::RoundRobin
    }
}

/// What a receiver's host takes between a data packet's arrival at its NIC and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Endpoint {
    /// The way from the NIC to who answers, for every packet: interrupts, the bus, software.
    pub delay: Span,
    /// The receive engine serves one packet at a time, each for so long.
    pub per_packet: Span,
    /// And as long as its bytes take at this rate.
    pub rate: Option<BitRate>,
    /// The way takes up to so much longer, at random; no packet overtakes another.
    pub jitter: Span,
}

/// The memory of a NIC for data packets that have arrived and are not served yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReceiveBuffer {
    /// What does not fit is dropped.
    pub size: Bytes,
    /// Under PFC, the NIC pauses the class of a packet that makes it hold more than this.
    pub xoff: Bytes,
    /// It resumes the classes that it paused when it holds no more than this.
    pub xon: Bytes,
}

/// How losses are repaired.
// The tag has a byte of its own: it is looked at for every packet, and one that shares a field takes six instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Recovery {
    /// The receiver takes packets in order only; the sender goes back to a gap and sends everything
    /// again from there.
    GoBackN,
    /// The receiver takes packets in any order; the sender repeats what is missing.
    SelectiveRepeat(Irn),
    /// The same over networks that spread packets: only a trimmed packet or a timeout tells of a loss.
    Rud(Rud),
}

/// Reliable unordered delivery as Ultra Ethernet has it (Ultra Ethernet Specification 1.0, section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rud {
    /// A packet of which nothing was heard for so long is sent again.
    pub rto: Span,
}

/// Selective repeat as IRN has it (Mittal et al., SIGCOMM 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Irn {
    /// Timeout without progress while fewer than `low_packets` are in flight.
    pub rto_low: Span,
    /// Timeout otherwise; not below `rto_low`.
    pub rto_high: Span,
    /// See `rto_low`.
    pub low_packets: u32,
    /// Whether new packets are sent only up to one bandwidth-delay product beyond the cumulative
    /// acknowledgement.
    pub bdp_cap: bool,
    /// A packet counts as lost once one has arrived that is more than so many beyond it.
    pub reordering: u32,
}

/// When a receiver acknowledges in-order data. The last packet is always acknowledged, except
/// under [`super::Quirks::ack_threshold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// Every `n`-th packet.
    EveryPackets(u32),
    /// Whenever so many new bytes have arrived.
    EveryBytes(Bytes),
}

impl Endpoint {
    /// How long the receive engine serves a packet of so many bytes, in ps.
    #[inline]
    pub fn service(&self, wire: u16) -> u64 {
        self.service_at(self.rate, wire)
    }

    /// The same where it reads at another rate.
    #[inline]
    pub fn service_at(&self, rate: Option<BitRate>, wire: u16) -> u64 {
        let bytes = Bytes::new(u64::from(wire));
        let reading = rate.map_or(Span::ZERO, |rate| rate.time_to_send(bytes));
        (self.per_packet + reading).as_ps()
    }
}

impl Recovery {
    /// The shortest time without progress after which a sender does something; `None`: it never does.
    pub fn shortest_timeout(&self, nic: &NicSpec) -> Option<u64> {
        match self {
            Self::GoBackN => nic.rto.map(|rto| rto.as_ps()),
            Self::SelectiveRepeat(irn) => Some(irn.rto_low.as_ps()),
            Self::Rud(rud) => Some(rud.rto.as_ps()),
        }
    }
    /// The longest.
    pub fn longest_timeout(&self, nic: &NicSpec) -> Option<u64> {
        match self {
            Self::GoBackN => nic.rto.map(|rto| rto.as_ps()),
            Self::SelectiveRepeat(irn) => Some(irn.rto_high.as_ps()),
            Self::Rud(rud) => Some(rud.rto.as_ps()),
        }
    }
}
