//! Ports: one end of a link, with the state of its transmitter, queues and ingress counters.

use crate::core::packet::{Packet, PacketSlab};
use crate::ids::{NicId, PacketId, PortId, ProfileId, SwitchId};
use crate::world::classes::{LINK_CONTROL, STRICT};
use paceline_kernel::ids::{Id, List};
use paceline_run::spec::NodeId;

/// One end of a link. A hop touches these 64 bytes and those of its queues, nothing else of the port.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// End of the current or last transmission, in ps.
    pub free_at: u64,
    /// Position of that end among the events of its instant.
    pub(crate) free_tie: u64,
    /// Bytes sent since the start, as telemetry reports them.
    pub tx_bytes: u64,
    /// Bytes in the egress queues of all classes.
    pub queued: u32,
    /// Port at the other end of the link.
    pub peer: PortId,
    /// Node that the port belongs to.
    pub node: NodeId,
    /// Number of the switch that the port belongs to, or of the NIC that it is.
    pub owner: u32,
    /// Index of the node's first port in the routing's list. (`index` is the offset from there.)
    pub ways: u32,
    /// Index among the ports of the node.
    pub index: u16,
    /// Rate, delay and thresholds, which ports with equal links share.
    pub profile: ProfileId,
    /// Bit per dense class that has packets.
    pub ready: u16,
    /// Bit per dense class that the other end has paused.
    pub paused: u16,
    /// Bit per dense class that this end has asked the other to pause.
    pub(crate) asked: u16,
    /// Dense class served last.
    pub(crate) served: u8,
    /// True if the node is a host.
    pub is_host: bool,
    pub(crate) link: LinkState,
    /// True if arrivals need checks: the link can lose packets (it has errors, or fails at some time), or every packet
    /// is traced.
    pub(crate) needs_slow_path: bool,
    /// True if the end of the transmission is already an event.
    pub(crate) done_pending: bool,
    /// Part of the run that the peer belongs to ([`crate::run::cut`]); [`Port::SAME_PART`] if it is this port's own.
    pub(crate) peer_part: u8,
    /// Longest queue, in bytes, that a packet found on arrival, itself included, since the last sample.
    pub queue_max: u32,
}

const _: () = assert!(size_of::<Port>() == 64);

impl Port {
    /// Number that no part has.
    pub(crate) const SAME_PART: u8 = u8::MAX;

    /// Returns true if packets leave through the port for another part of the run.
    #[inline]
    pub(crate) fn crosses(&self) -> bool {
        self.peer_part != Self::SAME_PART
    }
}

/// State of a port's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Sends without further checks: code that finds this state need not ask for anything else.
    Open,
    /// Sends packets that have credit ([`crate::core::credits`]).
    OnCredit,
    /// Sends frames that are kept until they have arrived ([`crate::core::retry`]).
    Retry,
    /// Belongs to a NIC that chooses among its links ([`crate::host::planes`]).
    Plane,
    /// Sends nothing, because the link has failed.
    Down,
}

/// Ports of a network; ports `2i` and `2i + 1` are the ends of link `i`.
pub type Ports = List<PortId, Port>;

impl Port {
    /// Returns the switch that the port belongs to.
    #[inline(always)]
    pub fn switch(&self) -> SwitchId {
        debug_assert!(!self.is_host);
        SwitchId(self.owner)
    }

    /// Returns the NIC that the port is.
    #[inline(always)]
    pub fn nic(&self) -> NicId {
        debug_assert!(self.is_host);
        NicId(self.owner)
    }

    /// Returns true if the port is sending, up to the position `tie` within the instant `now`.
    #[inline(always)]
    pub(crate) fn is_busy(&self, now: u64, tie: u64) -> bool {
        self.free_at > now || self.free_at == now && self.free_tie > tie
    }

    /// Returns true if no packet waits, no class is paused and the link needs no checks.
    #[inline(always)]
    pub(crate) fn is_clear(&self) -> bool {
        self.ready | self.paused == 0 && self.link == LinkState::Open
    }

    /// Returns true unless the link has failed.
    #[inline(always)]
    pub fn is_up(&self) -> bool {
        self.link != LinkState::Down
    }

    /// Returns true if a packet may follow the current one. A paused class waits for the resume, not for a
    /// transmission.
    #[inline]
    pub(crate) fn has_sendable(&self) -> bool {
        self.ready & !self.paused != 0
    }

    /// Returns the class to serve now: link control, priority 0, then round robin over the classes that are not paused.
    #[inline(always)]
    pub(crate) fn next_class(&self) -> Option<u8> {
        // Strict classes ignore pauses: a PFC frame that waited for a resume could wait for the very frame behind it.
        let strict = self.ready & (1 << LINK_CONTROL | 1 << STRICT);
        if strict != 0 {
            return Some(strict.trailing_zeros() as u8);
        }
        let sendable = self.ready & !self.paused;
        if sendable == 0 {
            return None;
        }
        // The first class after the one served last, wrapping around.
        let after = u16::MAX << (u32::from(self.served) + 1);
        let later = sendable & after;
        Some(if later != 0 { later } else { sendable }.trailing_zeros() as u8)
    }
}

/// Subtracts `bytes` from a count that must hold them. Checked in every build: no result at all is better than that of
/// a network in which a queue holds less than nothing.
#[inline(always)]
pub fn debit(account: &mut u32, bytes: u32) {
    assert!(*account >= bytes, "an account of bytes fell below zero");
    *account -= bytes;
}

/// State of one class of a port: the egress queue, and the ingress counters of what came in through the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassQueue {
    pub(crate) head: PacketId,
    pub(crate) tail: PacketId,
    /// Bytes in the egress queue.
    pub(crate) bytes: u32,
    /// Bytes that entered through this port and are still in the switch, except those in headroom.
    pub(crate) ingress: u32,
    /// Bytes that entered through this port and are in its headroom.
    pub(crate) headroom: u32,
}

impl ClassQueue {
    pub(crate) const EMPTY: Self = Self {
        head: PacketId::NONE,
        tail: PacketId::NONE,
        bytes: 0,
        ingress: 0,
        headroom: 0,
    };

    #[inline]
    pub(crate) fn push(&mut self, packets: &mut PacketSlab, id: PacketId) {
        let packet = packets.get_mut(id);
        packet.next = PacketId::NONE;
        self.bytes += u32::from(packet.wire);
        if self.head == PacketId::NONE {
            self.head = id;
        } else {
            packets.get_mut(self.tail).next = id;
        }
        self.tail = id;
    }

    #[inline(always)]
    pub(crate) fn pop<'a>(&mut self, packets: &'a PacketSlab) -> (PacketId, &'a Packet) {
        let id = self.head;
        let packet = packets.get(id);
        self.head = packet.next;
        debit(&mut self.bytes, u32::from(packet.wire));
        // Prefetched, since it is needed when this one has left.
        packets.prefetch(packet.next);
        (id, packet)
    }
}
