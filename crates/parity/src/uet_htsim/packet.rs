//! Packets: 64 bytes each, in a slab.

/// No packet.
pub(super) const NONE: u32 = u32::MAX;

/// What a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Data: sent without leave, with leave, or again; or a probe.
    #[default]
    Data,
    /// A request to send.
    Rts,
    Ack,
    Nack,
    /// A grant of credit.
    Pull,
}

/// Bits of [`Packet::bits`].
pub(super) mod bit {
    /// Data that was sent before any feedback.
    pub(in crate::uet_htsim) const SPECULATIVE: u16 = 1;
    /// Data that is sent again; an ACK of such.
    pub(in crate::uet_htsim) const AGAIN: u16 = 2;
    /// Asks for an ACK.
    pub(in crate::uet_htsim) const ASKS: u16 = 4;
    /// Marked by a switch.
    pub(in crate::uet_htsim) const MARKED: u16 = 8;
    /// Only the header is left.
    pub(in crate::uet_htsim) const TRIMMED: u16 = 16;
    /// It was trimmed in the queue to its host.
    pub(in crate::uet_htsim) const LAST_HOP: u16 = 32;
    /// A probe; an ACK of one.
    pub(in crate::uet_htsim) const PROBE: u16 = 64;
    /// An ACK that echoes a mark, or a NACK that does.
    pub(in crate::uet_htsim) const ECHO: u16 = 128;
    /// An ACK that answers a request to send, or reuses the object of one that did.
    pub(in crate::uet_htsim) const ANSWERS_RTS: u16 = 256;
}

/// A packet, or a free slot: half a cache line. What follows from its connection is there.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
pub(super) struct Packet {
    /// The next in the same list.
    pub(super) next: u32,
    /// Its connection.
    pub(super) conn: u32,
    /// Sequence number; the acknowledged one in an ACK.
    pub(super) seq: u32,
    /// On a link: the lower bits of the time when the next one leaves. In a data queue: the packet before it. In a queue of
    /// headers: the size of the next one.
    pub(super) link: u32,
    pub(super) size: u16,
    /// Entropy value: chooses the path.
    pub(super) ev: u16,
    /// ACK: packets that the receiver holds out of order. In a data queue: the size of the next one.
    pub(super) held: u16,
    /// See [`bit`].
    pub(super) bits: u16,
    /// Data: the pull target. Pull: its number. ACK: the number of its [`Report`].
    pub(super) word: u64,
}

/// What an ACK says of the receiver.
#[derive(Clone, Copy, Default)]
pub(super) struct Report {
    /// Everything before this has arrived.
    pub(super) cum: u32,
    /// The sequence number of the first bit.
    pub(super) first: u32,
    /// Packets that it holds, one bit each.
    pub(super) bitmap: u64,
    /// Bytes received.
    pub(super) received: u64,
}

/// What all packets of a connection have in common.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// Flow ids of what the sender and the receiver send.
    pub(super) flow: u32,
    pub(super) back: u32,
    pub(super) src: u32,
    pub(super) dst: u32,
}

const _: () = assert!(size_of::<Packet>() == 32, "half a cache line");

/// Where the kind is in the bits.
const KIND: u32 = 12;

impl Packet {
    /// What it is.
    #[inline(always)]
    pub(super) fn kind(&self) -> Kind {
        match self.bits >> KIND {
            0 => Kind::Data,
            1 => Kind::Rts,
            2 => Kind::Ack,
            3 => Kind::Nack,
            _ => Kind::Pull,
        }
    }

    /// Whether the sender sent it, not the receiver.
    #[inline(always)]
    pub(super) fn goes_forward(&self) -> bool {
        self.bits >> KIND <= 1
    }

    /// Data with its payload: everything else goes ahead of it in switches.
    #[inline(always)]
    pub(super) fn is_payload(&self) -> bool {
        self.bits >> KIND == 0 && self.bits & bit::TRIMMED == 0
    }

    /// The bits of a packet of a kind.
    pub(super) const fn bits(kind: Kind, bits: u16) -> u16 {
        ((kind as u16) << KIND) | bits
    }

    #[inline(always)]
    pub(super) fn has(&self, bits: u16) -> bool {
        self.bits & bits != 0
    }
}

/// All packets that are under way.
#[derive(Clone, Default)]
pub(super) struct Packets {
    slots: Vec<Packet>,
    free: Option<u32>,
    reports: Vec<Report>,
    free_reports: Vec<u32>,
    /// By connection.
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

    /// Adds an ACK.
    pub(super) fn add_ack(&mut self, mut packet: Packet, report: Report) -> u32 {
        let at = self.free_reports.pop().unwrap_or_else(|| {
            self.reports.push(report);
            self.reports.len() as u32 - 1
        });
        self.reports[at as usize] = report;
        packet.word = u64::from(at);
        self.add(packet)
    }

    /// What an ACK says.
    pub(super) fn report(&self, ack: &Packet) -> Report {
        self.reports[ack.word as usize]
    }

    /// The flow id that is hashed: the sender's or the receiver's.
    #[inline(always)]
    pub(super) fn flow(&self, packet: &Packet) -> u32 {
        let ends = &self.ends[packet.conn as usize];
        if packet.goes_forward() {
            ends.flow
        } else {
            ends.back
        }
    }

    /// The host to which it goes.
    #[inline(always)]
    pub(super) fn dst(&self, packet: &Packet) -> u32 {
        let ends = &self.ends[packet.conn as usize];
        if packet.goes_forward() { ends.dst } else { ends.src }
    }

    pub(super) fn remove(&mut self, id: u32) {
        let packet = &self.slots[id as usize];
        if packet.kind() == Kind::Ack {
            self.free_reports.push(packet.word as u32);
        }
        self.slots[id as usize].next = self.free.unwrap_or(NONE);
        self.free = Some(id);
    }

    /// A slot, if there is one of this number.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&Packet> {
        self.slots.get(id as usize)
    }

    /// Packets that are neither delivered nor dropped.
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

/// Packets in their order.
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
