//! Packets: one cache line each, in a slab, linked into queues through their own `next`.

use crate::outcome::PacketKind;
use paceline_congestion::HopSample;
use paceline_kernel::prefetch::prefetch;

/// No packet, no queue pair, no port.
pub(crate) const NONE: u32 = u32::MAX;

/// A packet on its way. An acknowledgement takes over the slot of the data packet that it answers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    /// Next packet of the queue, or of the free list.
    pub(crate) next: u32,
    pub(crate) flow: u32,
    /// Slot of the flow's queue pair.
    pub(crate) qp: u32,
    /// Where in the route table the egress port of the next switch stands.
    pub(crate) path: u32,
    /// Data: offset of the payload. ACK, NACK: next expected byte.
    pub(crate) seq: u64,
    /// When the data packet's transmission started, in ps (kept in its ACK).
    pub(crate) sent_at: u64,
    /// Port through which it entered the switch that holds it.
    pub(crate) ingress: u32,
    /// Bytes on the wire.
    pub(crate) wire: u16,
    /// Payload bytes.
    pub(crate) payload: u16,
    /// HPCC-PINT's digest.
    pub(crate) pint: u16,
    /// Generation of routes that `path` belongs to.
    pub(crate) epoch: u16,
    pub(crate) kind: PacketKind,
    /// Dense class (see [`crate::port::Classes`]); of a PFC frame: the class that it speaks of.
    pub(crate) class: u8,
    /// Congestion marks: of the packet itself in data, the echo in ACKs.
    pub(crate) ecn: u8,
    /// Telemetry samples so far.
    pub(crate) hops: u8,
    /// The sender's window is full: the receiver is to answer at once (the BTH's AckReq bit).
    pub(crate) ack_request: bool,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// Telemetry samples that a packet can carry.
pub(crate) const MAX_HOPS: usize = 8;

/// All packets, and beside them (same index) their telemetry, in runs that read it.
#[derive(Debug, Default)]
pub(crate) struct PacketSlab {
    packets: Vec<Packet>,
    telemetry: Vec<[HopSample; MAX_HOPS]>,
    with_telemetry: bool,
    free: u32,
    live: u32,
}

impl PacketSlab {
    pub(crate) fn new(with_telemetry: bool) -> Self {
        Self {
            free: NONE,
            with_telemetry,
            ..Self::default()
        }
    }

    /// Stores `packet`; the slot freed last is used first, while it is warm in the cache.
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> u32 {
        self.live += 1;
        if self.free != NONE {
            let id = self.free;
            let slot = &mut self.packets[id as usize];
            self.free = slot.next;
            *slot = packet;
            return id;
        }
        self.packets.push(packet);
        if self.with_telemetry {
            self.telemetry.push([HopSample::default(); MAX_HOPS]);
        }
        self.packets.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: u32) {
        self.live -= 1;
        self.packets[id as usize].next = self.free;
        self.free = id;
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// Telemetry of a packet, a sample per switch that stamped it.
    #[inline]
    pub(crate) fn hops(&self, id: u32) -> &[HopSample] {
        let count = usize::from(self.packets[id as usize].hops).min(MAX_HOPS);
        if count == 0 {
            &[]
        } else {
            &self.telemetry[id as usize][..count]
        }
    }

    /// Writes telemetry sample `hop` of a packet.
    #[inline]
    pub(crate) fn stamp(&mut self, id: u32, hop: usize, sample: HopSample) {
        if let Some(slot) = self.telemetry[id as usize].get_mut(hop) {
            *slot = sample;
        }
    }

    /// Has a packet and its first samples fetched into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, id: u32) {
        prefetch(&self.packets, id as usize);
        prefetch(&self.telemetry, id as usize);
    }

    /// Packets that exist.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }
}
