//! The simulator's settings and traffic.

use paceline_congestion::{ibcc::omnet as ibcc, rrcc::omnet as rrcc};
use paceline_fabric::spec::{NodeId, RunSpec};
use paceline_kernel::{Bytes, Span, Time};
pub use paceline_scenario::traffic::PacedSource as Source;
use serde::{Deserialize, Serialize};

/// A network under credit-based flow control. All ports are alike, except for the rates of their links.
///
/// A credit is one packet of the MTU: every packet takes one credit, regardless of its size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CreditSpec {
    /// Number of virtual lanes. Packets use the first.
    pub lanes: u8,
    /// Packets that each lane may send per turn.
    pub weights: Vec<u16>,
    /// Packets in an input buffer, per lane.
    pub buffer: u32,
    /// Interval at which all ports check for credits to announce, at the same instants.
    pub period: Span,
    /// Size of a flow-control packet.
    pub update: Bytes,
    /// Packets in an output queue; one slot stays free.
    pub fifo: u32,
    /// Maximum number of data packets queued in a host.
    pub host_queue: u32,
    /// Delay from an input to an output's arbiter.
    pub input_delay: Span,
    /// Delay from the arbiter to the wire.
    pub output_delay: Span,
    /// Interval between arbitrations at a switch output.
    pub switch_arbitration: Span,
    /// Interval between arbitrations at a host.
    pub host_arbitration: Span,
    /// Time of a host to create a packet, to pass it to its arbiter, and to consume one.
    pub host_packet: Span,
    /// Periodic stall in which all hosts stop consuming packets.
    pub stall: Option<Stall>,
    /// One of this many candidates (packets that found others waiting) is marked, per port; 0 marks every candidate.
    pub marking_rate: u32,
    /// Congestion control of hosts.
    pub control: Control,
    /// Hosts with congestion control, as senders and as receivers.
    pub controlled: Vec<NodeId>,
    /// Senders that receivers notify; `None` means all.
    pub notified: Option<Vec<NodeId>>,
    /// Message sources, at most one per host.
    pub sources: Vec<Source>,
    /// Time windows in which steps are recorded ([`crate::ib_omnet::outcome::CreditEvent`]).
    pub trace: Vec<(Time, Time)>,
}

/// Periodic stall of all hosts. The first one starts after `lasts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stall {
    /// Time from the end of a stall to the start of the next.
    pub every: Span,
    /// Duration of a stall.
    pub lasts: Span,
}

/// Congestion control schemes of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// No control: hosts send as fast as they can.
    None,
    /// InfiniBand congestion control ([`ibcc`]).
    Ibcc(ibcc::Params),
    /// Rates computed by receivers ([`rrcc`]).
    Rrcc(rrcc::Params),
}

impl CreditSpec {
    /// Returns the specification of a run, or `None` for another network model.
    pub fn of(run: &RunSpec) -> Option<&Self> {
        run.model.as_ref()?.get()
    }

    /// Returns the specification of a run for modification.
    pub fn of_mut(run: &mut RunSpec) -> Option<&mut Self> {
        run.model.as_mut()?.get_mut()
    }

    /// Returns the published simulator's settings, without traffic and congestion control.
    pub fn ib_omnet() -> Self {
        Self {
            lanes: 2,
            weights: vec![1, 20],
            buffer: 32,
            period: Span::from_ps(4_096_000),
            update: Bytes::new(8),
            fifo: 5,
            host_queue: 10,
            input_delay: Span::from_ns(50),
            output_delay: Span::from_ns(50),
            // Cycles per 2048-byte packet: 24 bytes each at 1.2 GHz, and 16 bytes each at 1 GHz; then 4 bytes per ns.
            switch_arbitration: Span::from_ps(71_111),
            host_arbitration: Span::from_ns(128),
            host_packet: Span::from_ns(512),
            stall: Some(Stall {
                every: Span::from_us(10_000),
                lasts: Span::from_ns(1),
            }),
            marking_rate: 1,
            control: Control::None,
            controlled: Vec::new(),
            notified: None,
            sources: Vec::new(),
            trace: Vec::new(),
        }
    }
}
