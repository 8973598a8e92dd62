//! Ports: one end of a link, with what its transmitter, its queues and its ingress counters need.

use crate::core::packet::{Packet, PacketSlab};
use crate::ids::{NicId, PacketId, PortId, ProfileId, SwitchId};
use crate::spec::NodeId;
use paceline_congestion::Red;
use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{BitRate, Bytes, Span, ns3};

/// The dense class of link-level frames (PFC): first in every port, never paused.
pub(crate) const LINK_CONTROL: u8 = 0;
/// The dense class of priority 0: strict, exempt from buffer accounting and flow control.
pub(crate) const STRICT: u8 = 1;

/// Which priority classes a run uses, numbered densely so that a port holds only those.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    dense: [u8; 8],
    priority: Vec<u8>,
}

impl Classes {
    /// Link control, priority 0, and the given others in ascending order.
    pub(crate) fn new(used: impl IntoIterator<Item = u8>) -> Self {
        let mut used: Vec<u8> = used.into_iter().filter(|&class| class != 0).collect();
        used.sort_unstable();
        used.dedup();
        let mut dense = [STRICT; 8];
        for (i, &class) in used.iter().enumerate() {
            dense[usize::from(class)] = STRICT + 1 + i as u8;
        }
        Self {
            dense,
            priority: [0, 0].into_iter().chain(used).collect(),
        }
    }
    pub(crate) fn dense(&self, priority: u8) -> u8 {
        self.dense[usize::from(priority)]
    }
    pub(crate) fn priority(&self, dense: u8) -> u8 {
        self.priority[usize::from(dense)]
    }
    pub(crate) fn count(&self) -> usize {
        self.priority.len()
    }
}

/// One end of a link. The first 64 bytes are all that a hop touches of it, beside its queues.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// When the current transmission ends, in ps.
    pub(crate) free_at: u64,
    /// Place of that end among the events of its instant.
    pub(crate) free_tie: u64,
    /// Bytes sent.
    pub(crate) tx_bytes: u64,
    /// Bytes in all queues.
    pub(crate) queued: u32,
    /// The port at the other end.
    pub(crate) peer: PortId,
    pub(crate) node: NodeId,
    /// Number of the switch that the port belongs to, or of the NIC that it is.
    pub(crate) owner: u32,
    /// Where the ports of its node begin in the routing's list, and its place among them.
    pub(crate) ways: u32,
    pub(crate) place: u16,
    pub(crate) profile: ProfileId,
    /// Bit per dense class that has packets.
    pub(crate) ready: u16,
    /// Bit per dense class that the other end has paused.
    pub(crate) paused: u16,
    /// Bit per dense class that this end has asked the other to pause.
    pub(crate) asked: u16,
    /// Dense class served last.
    pub(crate) served: u8,
    pub(crate) is_host: bool,
    pub(crate) up: bool,
    /// Whether arrivals are not just handed on: the link can lose them (it has errors, or fails at some time), or
    /// somebody is told of each.
    pub(crate) odd: bool,
    /// Whether the end of the transmission is (already) an event.
    pub(crate) done_pending: bool,
    /// Whether what it sends goes to another part of the run ([`crate::run::cut`]).
    pub(crate) crosses: bool,
    /// Largest queue that a packet found itself the last of, since the last sample.
    pub(crate) queue_max: u32,
}

const _: () = assert!(size_of::<Port>() == 64);

/// All ports of a network.
pub(crate) type Ports = List<PortId, Port>;

impl Port {
    /// The switch that it belongs to.
    #[inline(always)]
    pub(crate) fn switch(&self) -> SwitchId {
        debug_assert!(!self.is_host);
        SwitchId(self.owner)
    }

    /// The NIC that it is.
    #[inline(always)]
    pub(crate) fn nic(&self) -> NicId {
        debug_assert!(self.is_host);
        NicId(self.owner)
    }

    /// Whether it is sending, up to the place `tie` within the instant `now`.
    #[inline(always)]
    pub(crate) fn is_busy(&self, now: u64, tie: u64) -> bool {
        self.free_at > now || self.free_at == now && self.free_tie > tie
    }

    /// Whether nothing waits and nothing holds back what would come.
    #[inline(always)]
    pub(crate) fn is_clear(&self) -> bool {
        self.ready | self.paused == 0 && self.up
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
pub(crate) fn debit(account: &mut u32, bytes: u32) {
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

/// What links have in common, by rate and delay.
pub(crate) type Profiles = List<ProfileId, LinkProfile>;

/// What all links of one rate and delay share.
#[derive(Clone, Debug)]
pub(crate) struct LinkProfile {
    pub(crate) rate: BitRate,
    /// Picoseconds that 1024 bytes take, cut to whole ones.
    pub(crate) ps_per_kib: u64,
    /// Propagation delay, in ps.
    pub(crate) delay: u64,
    /// How far a dynamic PFC threshold is shifted at this rate.
    pub(crate) shift: u32,
    /// Bytes of headroom of an ingress port.
    pub(crate) headroom: u32,
    /// The marking curve.
    pub(crate) red: Red,
    /// Sizes that occur all the time.
    pub(crate) common: Vec<CommonSize>,
    /// Bytes that the link adds to each packet.
    pub(crate) framing: u16,
    pub(crate) truncate_to_ns: bool,
    pub(crate) floor_to_ns: bool,
}

/// A packet size with a serialisation time and event lanes of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommonSize {
    pub(crate) wire: u16,
    pub(crate) tx: u64,
    pub(crate) tx_lane: LaneId,
    pub(crate) arrive_lane: LaneId,
}

impl LinkProfile {
    /// Serialisation time in ps, and the lanes of its end and of the arrival.
    #[inline(always)]
    pub(crate) fn serialise(&self, wire: u16) -> CommonSize {
        for common in &self.common {
            if common.wire == wire {
                // Field by field: copied as a whole it would go through memory.
                let CommonSize {
                    tx,
                    tx_lane,
                    arrive_lane,
                    ..
                } = *common;
                return CommonSize {
                    wire,
                    tx,
                    tx_lane,
                    arrive_lane,
                };
            }
        }
        CommonSize {
            wire,
            tx: self.serialise_rare(wire),
            tx_lane: LaneId::WHEEL,
            arrive_lane: LaneId::WHEEL,
        }
    }

    #[cold]
    fn serialise_rare(&self, wire: u16) -> u64 {
        self.time_to_send(self.rate, wire).as_ps()
    }

    /// Time for a packet of `wire` bytes and its framing at `rate`, by this run's arithmetic.
    #[inline]
    pub(crate) fn time_to_send(&self, rate: BitRate, wire: u16) -> Span {
        let wire = wire + self.framing;
        if self.floor_to_ns {
            return ns3::whole_time_to_send(rate, u32::from(wire));
        }
        time_to_send(rate, wire, self.truncate_to_ns)
    }
}

/// Time for `wire` bytes at `rate`: exact, or as ns-3 has it.
#[inline]
pub(crate) fn time_to_send(rate: BitRate, wire: u16, truncate_to_ns: bool) -> Span {
    if truncate_to_ns {
        ns3::time_to_send(rate, u32::from(wire))
    } else {
        rate.time_to_send(Bytes::new(u64::from(wire)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_in_order() {
        let classes = Classes::new([5, 3, 3, 0]);
        assert_eq!(
            [classes.dense(0), classes.dense(3), classes.dense(5)],
            [STRICT, 2, 3]
        );
        assert_eq!(
            (classes.priority(2), classes.priority(3), classes.count()),
            (3, 5, 4)
        );
    }
}
