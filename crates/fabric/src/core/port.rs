//! Ports: one end of a link, with what its transmitter, its queues and its ingress counters need.

use crate::core::packet::{Packet, PacketSlab};
use crate::ids::{NicId, PacketId, PortId, ProfileId, SwitchId};
use crate::world::classes::{LINK_CONTROL, STRICT};
use paceline_kernel::ids::{Id, List};
use paceline_run::spec::NodeId;

/// One end of a link. The first 64 bytes are all that a hop touches of it, alongside its queues.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// When the current transmission ends, in ps.
    pub free_at: u64,
    /// Place of that end among the events of its instant.
    pub(crate) free_tie: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Bytes in all queues.
    pub queued: u32,
    /// The port at the other end.
    pub peer: PortId,
    /// The node that it belongs to.
    pub node: NodeId,
    /// Number of the switch that the port belongs to, or of the NIC that it is.
    pub owner: u32,
    /// Where the ports of its node begin in the routing's list, and its place among them.
    pub ways: u32,
    /// Its place among the ports of its node.
    pub place: u16,
    /// What it has in common with others.
    pub profile: ProfileId,
    /// Bit per dense class that has packets.
    pub ready: u16,
    /// Bit per dense class that the other end has paused.
    pub paused: u16,
    /// Bit per dense class that this end has asked the other to pause.
    pub(crate) asked: u16,
    /// Dense class served last.
    pub(crate) served: u8,
    /// Whether its node is a host.
    pub is_host: bool,
    pub(crate) link: LinkState,
    /// Whether arrivals are not just handed on: the link can lose them (it has errors, or fails at some time), or
    /// somebody is told of each.
    pub(crate) needs_slow_path: bool,
    /// Whether the end of the transmission is (already) an event.
    pub(crate) done_pending: bool,
    /// Part of the run that its peer belongs to ([`crate::run::cut`]), [`Port::SAME_PART`] if that is its own.
    pub(crate) peer_part: u8,
    /// Largest queue that a packet found itself the last of, since the last sample.
    pub queue_max: u32,
}

const _: () = assert!(size_of::<Port>() == 64);

impl Port {
    /// No part has this number.
    pub(crate) const SAME_PART: u8 = u8::MAX;

    /// True if its packets leave for another part of the run.
    #[inline]
    pub(crate) fn crosses(&self) -> bool {
        self.peer_part != Self::SAME_PART
    }
}

/// What a port may do with its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Send: whoever asks whether the link is this one need not ask for anything else.
    Open,
    /// Send what has credit ([`crate::core::credits`]).
    OnCredit,
    /// Nothing: it has failed.
    Down,
}

/// All ports of a network.
pub type Ports = List<PortId, Port>;

impl Port {
    /// The switch that it belongs to.
    #[inline(always)]
    pub fn switch(&self) -> SwitchId {
        debug_assert!(!self.is_host);
        SwitchId(self.owner)
    }

    /// The NIC that it is.
    #[inline(always)]
    pub fn nic(&self) -> NicId {
        debug_assert!(self.is_host);
        NicId(self.owner)
    }

    /// Whether it is sending, up to the place `tie` within the instant `now`.
    #[inline(always)]
    pub(crate) fn is_busy(&self, now: u64, tie: u64) -> bool {
        self.free_at > now || self.free_at == now && self.free_tie > tie
    }

    /// Whether nothing waits and nothing holds back what would come, nor has to be asked.
    #[inline(always)]
    pub(crate) fn is_clear(&self) -> bool {
        self.ready | self.paused == 0 && self.link == LinkState::Open
    }

    /// Whether its link has not failed.
    #[inline(always)]
    pub fn is_up(&self) -> bool {
        self.link != LinkState::Down
    }

    /// Whether something may follow; what is paused waits for the resume, not for a transmission.
    #[inline]
    pub(crate) fn has_sendable(&self) -> bool {
        self.ready & !self.paused != 0
    }

    /// The class to serve now: link control, priority 0, then round robin over what is not paused.
    #[inline(always)]
    pub(crate) fn next_class(&self) -> Option<u8> {
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

/// Takes `bytes` from an account that must hold them, in every build: no result is better than that of a network
/// in which a queue has less than nothing.
#[inline(always)]
pub fn debit(account: &mut u32, bytes: u32) {
    assert!(*account >= bytes, "an account of bytes fell below zero");
    *account -= bytes;
}

/// One (port, class): the egress queue, and the ingress counters of what came in through the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassQueue {
    pub(crate) head: PacketId,
    pub(crate) tail: PacketId,
    /// Bytes in the egress queue.
    pub(crate) bytes: u32,
    /// Bytes that entered through this port and are still in the switch, headroom apart.
    pub(crate) ingress: u32,
    /// Of those, bytes in headroom.
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
        // The next one is due when this one has left.
        packets.prefetch(packet.next);
        (id, packet)
    }
}
