//! What the simulator is told.

use paceline_congestion::{ibcc::omnet as ibcc, rrcc::omnet as rrcc};
use paceline_fabric::spec::{NodeId, RunSpec};
use paceline_kernel::{Bytes, Span, Time};
pub use paceline_scenario::traffic::PacedSource as Source;
use serde::{Deserialize, Serialize};

/// A network under credit-based flow control. All of its ports are alike, but for the rates of their links.
///
/// A credit is one packet of the MTU: every packet takes one, whatever it carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CreditSpec {
    /// Virtual lanes. Packets go on the first.
    pub lanes: u8,
    /// Packets that each lane may send in its turn.
    pub weights: Vec<u16>,
    /// Packets that an input buffer holds of each lane.
    pub buffer: u32,
    /// Each port looks so often whether it has credits to tell of, all at the same instants.
    pub period: Span,
    /// A flow-control packet.
    pub update: Bytes,
    /// Packets that an output has room for in front of the wire; one place stays free.
    pub fifo: u32,
    /// Data packets that wait in a host for its arbiter at most.
    pub host_queue: u32,
    /// From an input to the arbiter of an output, and from there to the wire.
    pub input_delay: Span,
    /// See `input_delay`.
    pub output_delay: Span,
    /// From one arbitration of a switch's output to the next.
    pub switch_arbitration: Span,
    /// The same of a host's.
    pub host_arbitration: Span,
    /// What a host takes to make a packet, to bring it to its arbiter, and to take one that has come.
    pub host_packet: Span,
    /// Every host stops taking packets so often, for so long.
    pub stall: Option<Stall>,
    /// A switch marks one packet of so many that leave by a port, if it found others waiting; 0: every one that did.
    pub marking_rate: u32,
    /// What hosts do about marks.
    pub control: Control,
    /// Hosts that do so, as senders and as receivers.
    pub controlled: Vec<NodeId>,
    /// Senders that receivers notify; `None`: all.
    pub notified: Option<Vec<NodeId>>,
    /// What hosts send, at most one each.
    pub sources: Vec<Source>,
    /// When to write down each step ([`crate::ib_omnet::outcome::CreditEvent`]).
    pub trace: Vec<(Time, Time)>,
}

/// Hosts that stop taking packets: for the first time after `lasts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stall {
    /// From the end of one to the beginning of the next.
    pub every: Span,
    /// How long.
    pub lasts: Span,
}

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// None: hosts send as fast as they can.
    None,
    /// See [`ibcc`].
    Ibcc(ibcc::Params),
    /// See [`rrcc`].
    Rrcc(rrcc::Params),
}

impl CreditSpec {
    /// That of a run, if it is of this simulator.
    pub fn of(run: &RunSpec) -> Option<&Self> {
        run.model.as_ref()?.get()
    }

    /// The same, to be changed.
    pub fn of_mut(run: &mut RunSpec) -> Option<&mut Self> {
        run.model.as_mut()?.get_mut()
    }

    /// What the published simulator has, without traffic and congestion control.
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
            // 2048 bytes, 24 in each cycle of 1.2 GHz; 16 in each of 1 GHz; 4 a nanosecond.
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
