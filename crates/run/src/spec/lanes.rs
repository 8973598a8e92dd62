//! Credit-based flow control as in standards: settings of a network's links and switches.

use paceline_kernel::{Bytes, Span};
use serde::{Deserialize, Serialize};

/// Upper limit of a port's virtual lanes: the number of priorities other than 0.
pub const MOST_LANES: u8 = 7;

/// Settings of credit-based flow control, with [`crate::spec::FlowControl::Credits`]. All ports are alike
/// except for the rates of their links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LaneSpec {
    /// Times at which credits are sent.
    pub binding: Binding,
    /// Unit of credits: InfiniBand's block or a cell of Ethernet's. Packets take whole units.
    pub unit: Bytes,
    /// Input buffer of each lane, in units; one entry per lane. All are equal if the lanes share one.
    pub buffers: Vec<u32>,
    /// Lane of each priority; the entry of priority 0 is unused.
    pub lane_of: [u8; 8],
    /// Size of a flow-control packet.
    pub update: Bytes,
    /// Extra header of a message's first packet: InfiniBand's RETH, of 16 bytes.
    pub first_header: Bytes,
    /// When a switch may forward a packet that is still arriving.
    pub forwarding: Forwarding,
    /// When a packet's buffer space counts as free.
    pub release: Release,
    /// Order in which a port serves its lanes.
    pub arbitration: Arbitration,
}

/// Times at which a port sends credits to the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Binding {
    /// InfiniBand: once per period for each lane.
    Ib {
        /// Time between two flow-control packets of a lane.
        period: Span,
        /// Phase of the periods at different ports.
        phase: Phase,
    },
    /// Ethernet's credit-based flow control: once buffer space becomes free.
    Cbfc(Cbfc),
}

/// Credit-based flow control (CBFC) of Ethernet: receivers tell in control ordered sets what they have freed, and
/// senders in frames what they have sent.
///
/// Names and meaning as in the Switch Abstraction Interface's CBFC profile (opencomputeproject/SAI, `doc/CBFC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cbfc {
    /// Bytes by which a packet counts for more than its size, or for less.
    pub overhead: i16,
    /// Least distance of two CF_Updates of a port, in bytes.
    pub cf_min: Bytes,
    /// Greatest distance of two CF_Updates of a port, in bytes.
    pub cf_max: Bytes,
    /// Time between two CC_Updates.
    pub cc_timer: Span,
    /// Phase of the ports' CC_Updates.
    pub phase: Phase,
    /// Buffer that a port's credits stand for.
    pub scope: Scope,
}

impl Cbfc {
    /// Size of a CF_Update, a control ordered set, in bytes.
    pub const CF_UPDATE: u16 = 8;
    /// Size of a CC_Update, a frame, in bytes.
    pub const CC_UPDATE: u16 = 64;
}

/// Buffer at the other end of a link that the lanes of a port send into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each lane has a buffer of its own.
    Lane,
    /// All lanes share one.
    Port,
}

/// Phase of the ports' periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// All ports at the multiples of the period.
    Aligned,
    /// Each port with its own offset: the period in equal parts, in the order of the ports' numbers.
    PerPort,
}

/// Time at which a switch starts to forward a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Forwarding {
    /// A packet may leave once enough of it has arrived that the transmission never runs dry.
    CutThrough {
        /// Headers that a switch reads before forwarding.
        header: Bytes,
    },
    /// A packet leaves after all of it has arrived.
    StoreAndForward,
}

/// Time at which a packet's space in an input buffer becomes free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// When it starts to leave.
    Start,
    /// When its last bit has left.
    End,
}

/// Arbitration tables of a port, each a cycle of lanes: entries of the high-priority table go first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arbitration {
    /// Lanes of the high-priority table, each with the multiple of 64 bytes that it may send per turn; a
    /// packet that was started is sent whole.
    pub high: Vec<(u8, u8)>,
    /// Lanes and weights of the low-priority table.
    pub low: Vec<(u8, u8)>,
    /// Multiple of 4096 bytes that the high-priority table may send while the low-priority one has packets: 0
    /// for one packet, 255 for no limit.
    pub limit: u8,
}

impl Arbitration {
    /// Creates tables with `lanes` lanes of equal weight.
    pub fn fair(lanes: u8) -> Self {
        Self {
            high: Vec::new(),
            low: (0..lanes).map(|lane| (lane, 64)).collect(),
            limit: 255,
        }
    }
}

impl LaneSpec {
    /// Returns the number of lanes of a port.
    pub fn lanes(&self) -> u8 {
        self.buffers.len() as u8
    }

    /// Returns the credits that a packet of `wire` bytes takes.
    pub fn units(&self, wire: u16) -> u32 {
        self.binding.units(wire, self.unit.get() as u32)
    }
}

impl Binding {
    /// Returns the range of the credit counters, a power of two; at most half of it may be granted to the
    /// other end.
    pub const fn numbers(self) -> u32 {
        match self {
            // Twelve bits (InfiniBand Architecture, volume 1, 7.9.4).
            Self::Ib { .. } => 1 << 12,
            Self::Cbfc(_) => 1 << 20,
        }
    }

    /// Returns the credits of `unit` bytes that a packet of `wire` bytes takes.
    #[inline]
    pub const fn units(self, wire: u16, unit: u32) -> u32 {
        match self {
            Self::Ib { .. } => (wire as u32).div_ceil(unit),
            Self::Cbfc(Cbfc { overhead, .. }) => {
                let counted = wire as i32 + overhead as i32;
                // A packet that took nothing could be sent without end.
                if counted > 0 {
                    (counted as u32).div_ceil(unit)
                } else {
                    1
                }
            }
        }
    }

    /// Returns the rules of Ethernet's credits.
    pub const fn cbfc(&self) -> Option<&Cbfc> {
        match self {
            Self::Ib { .. } => None,
            Self::Cbfc(cbfc) => Some(cbfc),
        }
    }
}
