//! Packets: 32 bytes each, in a slab.

/// Index that stands for no packet.
pub(super) const NONE: u32 = u32::MAX;

/// Kinds of packets. Bits 12 and up of [`Packet::bits`] hold the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum PacketType {
    /// A data packet: speculative, credited or retransmitted; or a probe.
    #[default]
    Data,
    /// A request to send, without payload.
    Rts,
    Ack,
    Nack,
    /// A credit grant from the receiver.
    Pull,
}

/// Flags in the low bits of [`Packet::bits`].
pub(super) mod bit {
    /// A data packet sent before any feedback.
    pub(in crate::uet_htsim) const SPECULATIVE: u16 = 1;
    /// A retransmission, or the ACK of one.
    pub(in crate::uet_htsim) const AGAIN: u16 = 2;
    /// A packet that requests an ACK.
    pub(in crate::uet_htsim) const ASKS: u16 = 4;
    /// Marked with ECN by a switch.
    pub(in crate::uet_htsim) const MARKED: u16 = 8;
    /// Trimmed to its header.
    pub(in crate::uet_htsim) const TRIMMED: u16 = 16;
    /// Trimmed in the queue to its host.
    pub(in crate::uet_htsim) const LAST_HOP: u16 = 32;
    /// A probe, or the ACK of one.
    pub(in crate::uet_htsim) const PROBE: u16 = 64;
    /// An ACK or NACK that echoes an ECN mark.
    pub(in crate::uet_htsim) const ECHO: u16 = 128;
    /// An ACK of a request to send, or one that reuses the object of such an ACK.
    pub(in crate::uet_htsim) const ANSWERS_RTS: u16 = 256;
}

/// A packet, or a free slot: half a cache line. Fields that all packets of a connection share are in [`Ends`].
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Packet {
    /// The next packet of the same list.
    pub(super) next: u32,
    /// Index of the connection.
    pub(super) conn: u32,
    /// Sequence number; in an ACK, the one that is acknowledged.
    pub(super) seq: u32,
    /// On a link: low bits of the next packet's arrival time. In a data queue: the previous packet. In a control
    /// queue: the size of the next packet.
    pub(super) link: u32,
    pub(super) size: u16,
    /// Entropy value, which selects the path.
    pub(super) ev: u16,
    /// In an ACK: number of packets that the receiver holds out of order. In a data queue: the size of the next
    /// packet.
    pub(super) held: u16,
    /// Flags of [`bit`], and the kind.
    pub(super) bits: u16,
    /// In data: the pull target. In a pull: its cumulative number of quanta. In an ACK: the index of its [`Report`].
    pub(super) word: u64,
}

/// The receiver's state in an ACK.
#[derive(Clone, Copy, Default)]
pub(super) struct Report {
    /// Cumulative acknowledgement: all packets before it have arrived.
    pub(super) cum: u32,
    /// Sequence number of the bitmap's first bit.
    pub(super) first: u32,
    /// Packets held out of order from `first` on, one bit each.
    pub(super) bitmap: u64,
    /// Wire bytes received, without duplicates.
    pub(super) received: u64,
}

/// Fields shared by all packets of a connection.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// Flow ids of the sender's packets (`flow`) and of the receiver's (`back`).
    pub(super) flow: u32,
    pub(super) back: u32,
    pub(super) src: u32,
    pub(super) dst: u32,
}

const _: () = assert!(size_of::<Packet>() == 32, "half a cache line");

/// Position of the kind in [`Packet::bits`].
const KIND: u32 = 12;

impl Packet {
    /// Decodes the packet's kind.
    #[inline(always)]
    pub(super) fn kind(&self) -> PacketType {
        match self.bits >> KIND {
            0 => PacketType::Data,
            1 => PacketType::Rts,
            2 => PacketType::Ack,
            3 => PacketType::Nack,
            _ => PacketType::Pull,
        }
    }

    /// Returns true if the flow's sender sent the packet.
    #[inline(always)]
    pub(super) fn goes_forward(&self) -> bool {
        self.bits >> KIND <= 1
    }

    /// Returns true for data with its payload. Switches give priority to all other packets.
    #[inline(always)]
    pub(super) fn is_payload(&self) -> bool {
        self.bits >> KIND == 0 && self.bits & bit::TRIMMED == 0
    }

    /// Combines a kind and flags to [`Packet::bits`].
    pub(super) const fn bits(kind: PacketType, bits: u16) -> u16 {
        ((kind as u16) << KIND) | bits
    }

    #[inline(always)]
    pub(super) fn has(&self, bits: u16) -> bool {
        self.bits & bits != 0
    }
}

/// Slab of all packets in flight or queued.
#[derive(Clone, Default)]
pub(super) struct Packets {
    slots: Vec<Packet>,
    free: Option<u32>,
    reports: Vec<Report>,
    free_reports: Vec<u32>,
    /// Shared fields, by connection.
    pub(super) ends: Vec<Ends>,
}

impl Packets {
    pub(super) fn add(&mut self, packet: Packet) -> u32 {
        let Some(id) = self.free else {
            self.slots.push(packet);
            return self.slots.len() as u32 - 1;
        };
        let slot = &mut self.slots[id as usize];
        self.free = (slot.next != NONE).then_some(slot.next);
        *slot = packet;
        id
    }

    /// Adds an ACK and its report.
    pub(super) fn add_ack(&mut self, mut packet: Packet, report: Report) -> u32 {
        let at = self.free_reports.pop().unwrap_or_else(|| {
            self.reports.push(report);
            self.reports.len() as u32 - 1
        });
        self.reports[at as usize] = report;
        packet.word = u64::from(at);
        self.add(packet)
    }

    /// Returns the report of an ACK.
    pub(super) fn report(&self, ack: &Packet) -> Report {
        self.reports[ack.word as usize]
    }

    /// Returns the flow id to hash, which depends on the direction.
    #[inline(always)]
    pub(super) fn flow(&self, packet: &Packet) -> u32 {
        let ends = &self.ends[packet.conn as usize];
        if packet.goes_forward() {
            ends.flow
        } else {
            ends.back
        }
    }

    /// Returns the destination host.
    #[inline(always)]
    pub(super) fn dst(&self, packet: &Packet) -> u32 {
        let ends = &self.ends[packet.conn as usize];
        if packet.goes_forward() { ends.dst } else { ends.src }
    }

    pub(super) fn remove(&mut self, id: u32) {
        let packet = &self.slots[id as usize];
        if packet.kind() == PacketType::Ack {
            self.free_reports.push(packet.word as u32);
        }
        self.slots[id as usize].next = self.free.unwrap_or(NONE);
        self.free = Some(id);
    }

    /// Returns the packet in a slot, or `None` if the slot does not exist.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&Packet> {
        self.slots.get(id as usize)
    }

    /// Counts packets that are neither delivered nor dropped.
    pub(super) fn alive(&self) -> usize {
        let mut free = 0;
        let mut next = self.free;
        while let Some(id) = next {
            free += 1;
            next = Some(self.slots[id as usize].next).filter(|id| *id != NONE);
        }
        self.slots.len() - free
    }
}

impl std::ops::Index<u32> for Packets {
    type Output = Packet;
    #[inline(always)]
    fn index(&self, id: u32) -> &Packet {
        &self.slots[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Packets {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.slots[id as usize]
    }
}

/// A queue of packets, linked through [`Packet::next`].
#[derive(Clone, Copy)]
pub(super) struct List {
    pub(super) head: u32,
    pub(super) tail: u32,
}

impl Default for List {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
        }
    }
}

impl List {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    #[inline]
    pub(super) fn push(&mut self, packets: &mut Packets, id: u32) {
        packets[id].next = NONE;
        if self.head == NONE {
            self.head = id;
        } else {
            packets[self.tail].next = id;
        }
        self.tail = id;
    }

    #[inline]
    pub(super) fn pop(&mut self, packets: &Packets) -> u32 {
        let id = self.head;
        self.head = packets[id].next;
        id
    }
}
