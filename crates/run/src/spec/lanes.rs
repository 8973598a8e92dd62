//! Flow control by credits, as standards have it: what a network's links and switches are told.

use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// Virtual lanes that a port has at most: as many as there are priorities but 0.
pub const MOST_LANES: u8 = 7;

/// Flow control by credits, with [`crate::spec::FlowControl::Credits`]. All ports are alike, but for the rates of their
/// links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LaneSpec {
    /// When credits are told.
    pub binding: Binding,
    /// What credits count: InfiniBand's blocks, a cell of Ethernet's. A packet takes whole ones.
    pub unit: Bytes,
    /// The input buffer of each lane, in whole units; there are as many lanes as entries.
    pub buffers: Vec<u32>,
    /// The lane of each priority; 0 stands for none, and its entry is not read.
    pub lane_of: [u8; 8],
    /// A flow-control packet.
    pub update: Bytes,
    /// What the first packet of a message has alongside the headers of all: InfiniBand's RETH, of 16 bytes.
    pub first_header: Bytes,
    /// Whether switches send a packet on before all of it has come.
    pub forwarding: Forwarding,
    /// When a switch counts a packet's place as free.
    pub release: Release,
    /// In which order a port serves its lanes.
    pub arbitration: Arbitration,
}

/// When a port tells what credits the other end has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Binding {
    /// InfiniBand: once in a period, for each lane.
    Ib {
        /// The period.
        period: Span,
        /// At the same instants at all ports, or at each port's own.
        phase: Phase,
    },
    /// Ethernet's credit-based flow control: whenever places have become free.
    Cbfc {
        /// From there to the message.
        delay: Span,
        /// What was sent is told so often, where links can lose it, and what was lost is told again.
        period: Span,
    },
}

/// Instants at which ports tell credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The multiples of the period.
    Aligned,
    /// Each port's are so much later: the period in equal parts, by the ports' numbers.
    PerPort,
}

/// How a switch forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Forwarding {
    /// A packet may leave once so much of it has come, and never runs dry.
    CutThrough {
        /// The headers that a switch reads first.
        header: Bytes,
    },
    /// Once all of it has come.
    StoreAndForward,
}

/// When a packet's place in an input buffer is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// When it begins to leave.
    Start,
    /// When its last bit has left.
    End,
}

/// The two tables of a port, of lanes in turn: entries of the high one go first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arbitration {
    /// Lanes, and how many times 64 bytes each may send in its turn, the last packet started sent whole.
    pub high: Vec<(u8, u8)>,
    /// The same of the low one.
    pub low: Vec<(u8, u8)>,
    /// Times 4096 bytes that the high one may send while the low one has something to send: none, one packet; 255
    /// without end.
    pub limit: u8,
}

impl Arbitration {
    /// So many lanes, all alike.
    pub fn fair(lanes: u8) -> Self {
        Self {
            high: Vec::new(),
            low: (0..lanes).map(|lane| (lane, 64)).collect(),
            limit: 255,
        }
    }
}

impl LaneSpec {
    /// How many lanes a port has.
    pub fn lanes(&self) -> u8 {
        self.buffers.len() as u8
    }

    /// Credits that a packet of so many bytes takes.
    pub fn units(&self, wire: u16) -> u32 {
        u32::from(wire).div_ceil(self.unit.get() as u32)
    }
}

impl Binding {
    /// Numbers that counters of credits have, a power of two; the other end is granted half of them at most.
    pub const fn numbers(self) -> u32 {
        match self {
            // Twelve bits (InfiniBand Architecture, volume 1, 7.9.4).
            Self::Ib { .. } => 1 << 12,
            Self::Cbfc { .. } => 1 << 16,
        }
    }
}
