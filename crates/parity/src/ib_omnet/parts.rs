//! What the parts of a network under credits know: ports, slots at arbiters, and what all have in common.

use paceline_fabric::model::{PacketId, PortId};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

/// A port: its input, its arbiter, its output.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) peer: PortId,
    pub(super) is_host: bool,
    /// Its switch, or its host; and its place among the ports of it.
    pub(super) owner: u32,
    pub(super) place: u8,
    /// Where its slots begin, an input and a lane each.
    pub(super) slots: u32,
    /// Where the ports of its node begin in the list of all by node.
    pub(super) first: u32,
    /// Its place among the ports of the network, in the order in which they come to scan.
    pub(super) order: u32,
    /// Whether its arbiter has let a packet go and waits for the next time.
    pub(super) arbitrating: bool,
    /// The lane served last, and how many packets were let go since one was in turn to be marked.
    pub(super) last_lane: u8,
    pub(super) table: u8,
    pub(super) slot: u32,
    /// When its input, and its arbiter, handed a packet on last.
    pub(super) input_sent: u64,
    pub(super) output_sent: u64,
    /// Whether a packet of its input has been let go at this instant.
    pub(super) giving: bool,
    /// The packets in front of the wire.
    pub(super) head: PacketId,
    pub(super) tail: PacketId,
    pub(super) waiting: u32,
    /// Whether the wire is in use, and whether what is on it waited in front of it.
    pub(super) sending: bool,
    pub(super) waited: bool,
    /// The next lane of which to tell credits, and the scan that it belongs to.
    pub(super) telling: u8,
    pub(super) scanned: u32,
    /// Whether it is among those with something to tell.
    pub(super) listed: bool,
    /// The time that a data packet and a flow-control packet take on its wire, and their lanes of events.
    pub(super) wire: [(u64, LaneId); 2],
    pub(super) packets: u64,
    pub(super) marked: u64,
    pub(super) updates: u64,
}

/// What an input has for an output, of a lane: the packet at the arbiter, and those that wait in the input.
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

/// Lanes of events that are always so much later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) input: LaneId,
    pub(super) output: LaneId,
    pub(super) switch_arbitration: LaneId,
    pub(super) host_arbitration: LaneId,
    pub(super) host_packet: LaneId,
}

/// The latest scan.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// How many there have been.
    pub(super) count: u32,
    /// When the latest was, and the places that ports with a free wire have among the events that follow it.
    pub(super) at: u64,
    pub(super) tie: u64,
}
