//! State of ports and of slots at arbiters, and shared state.

use paceline_fabric::model::{PacketId, PortId};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

/// A port: input, arbiter and output.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) peer: PortId,
    pub(super) is_host: bool,
    /// Index of its switch or host (`owner`), and its index among that node's ports (`index`).
    pub(super) owner: u32,
    pub(super) index: u8,
    /// Index of its first slot. It has one slot per input and lane.
    pub(super) slots: u32,
    /// Index of its node's first port in the list by node.
    pub(super) first: u32,
    /// Index in the order of ports by node, which is the order of the scan.
    pub(super) order: u32,
    /// True between a grant and the next arbitration.
    pub(super) arbitrating: bool,
    /// Lane served last, lane whose turn it is, and grants since the last mark was due.
    pub(super) last_lane: u8,
    pub(super) table: u8,
    pub(super) slot: u32,
    /// Times at which its input and its arbiter last handed on a packet, ps.
    pub(super) input_sent: u64,
    pub(super) output_sent: u64,
    /// True if an arbiter took a packet from its input at this instant.
    pub(super) giving: bool,
    /// Output queue in front of the wire: first and last packet, and their number.
    pub(super) head: PacketId,
    pub(super) tail: PacketId,
    pub(super) waiting: u32,
    /// True while the wire is in use (`sending`), and if the packet on it came from the queue (`waited`).
    pub(super) sending: bool,
    pub(super) waited: bool,
    /// Next lane to announce (`telling`), and the number of the scan that this refers to (`scanned`).
    pub(super) telling: u8,
    pub(super) scanned: u32,
    /// True if it is in the list of ports with credits to announce.
    pub(super) listed: bool,
    /// Transmission times of a data packet and of a flow-control packet, ps, each with its event lane.
    pub(super) wire: [(u64, LaneId); 2],
    pub(super) packets: u64,
    pub(super) marked: u64,
    pub(super) updates: u64,
}

/// Packets from one input for one output in one lane: the packet at the arbiter (`held`), and the list of those in
/// the input buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) held: PacketId,
    pub(super) head: PacketId,
    pub(super) tail: PacketId,
}

impl Slot {
    pub(super) const EMPTY: Self = Self {
        held: PacketId::NONE,
        head: PacketId::NONE,
        tail: PacketId::NONE,
    };
}

/// Event lanes of constant delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) input: LaneId,
    pub(super) output: LaneId,
    pub(super) switch_arbitration: LaneId,
    pub(super) host_arbitration: LaneId,
    pub(super) host_packet: LaneId,
}

/// State of the latest scan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// Number of scans so far.
    pub(super) count: u32,
    /// Time of the latest scan, ps, and the base of the tie order for checks of ports with an idle wire.
    pub(super) at: u64,
    pub(super) tie: u64,
}
