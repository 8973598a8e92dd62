//! Packets: one cache line each, in a slab, linked into queues through their `next` fields.

use crate::ids::{FlowId, PacketId, PortId, ProfileId, QpId};
use paceline_congestion::{HopSample, Mark, Words};
use paceline_kernel::ids::{Id, List};
use paceline_kernel::prefetch::prefetch;
use paceline_run::outcome::PacketKind;

/// Upper limit of hops in the reference's telemetry header.
pub(crate) const WIRE_HOPS: usize = 5;

/// A packet in the network. An acknowledgement takes over the slot of the data packet that it answers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// Next packet of the queue that holds this one.
    pub next: PacketId,
    /// Flow that the packet belongs to, for control packets too.
    pub flow: FlowId,
    /// Slot of the flow's queue pair.
    pub qp: QpId,
    /// Port through which the packet entered the switch that holds it.
    pub ingress: PortId,
    /// Next hops on the path, and those of the path back ([`crate::world::routing`]). For data that is sprayed, the
    /// port of the receiving host (`switch/spread.rs`).
    pub path: u64,
    /// Data: offset of the payload. ACK, NACK: next expected byte.
    pub seq: u64,
    /// Time at which the data packet's transmission started, in ps; an ACK has its data packet's.
    pub sent_at: u64,
    /// Bytes on the wire, headers and preamble included.
    pub wire: u16,
    /// Payload bytes; 0 in control and trimmed packets.
    pub payload: u16,
    /// HPCC-PINT's digest, or the entropy value. In ACKs of schemes that read telemetry: a hash of the data packet's
    /// path.
    pub pint: u16,
    /// Generation of the topology that `path` belongs to, or `crate::world::SPREAD` and the path so far.
    pub epoch: u16,
    /// Kind of packet, which decides how a host handles it.
    pub kind: PacketKind,
    /// Dense class (see [`crate::world::classes::Classes`]). In a PFC frame: the class that is paused or resumed.
    pub class: u8,
    /// Congestion mark: of the packet itself in data, its echo in ACKs.
    pub mark: Mark,
    /// Number of switches that have stamped telemetry so far.
    pub hops: u8,
    /// Bits such as `Packet::ACK_REQUEST`.
    pub flags: u8,
    /// Tag that the scheme set on sending and that switches may change; echoed in the ACK. In a signal: the number of
    /// the scheme (`world/signals.rs`).
    pub tag: u8,
    /// Link profile of the congested port that `note` or a signal is about; `NONE` if it is about no port.
    pub note_port: ProfileId,
    /// Feedback of a switch or the receiver to the sender: bytes in a queue, a rate in Mbit/s, or nanoseconds spent in
    /// the receiver's host. In a signal, the scheme's words take this field, `answers`, `pint` and `payload`.
    pub note: u32,
    /// ACK, NACK: number of the data packet that is acknowledged, for selective repeat.
    pub answers: u32,
}

impl Packet {
    /// Flag of data that fills the sender's window: the receiver has to answer at once (the BTH's AckReq bit).
    pub(crate) const ACK_REQUEST: u8 = 1;
    /// Flag of packets whose hops are logged (see [`crate::watch::account`]).
    pub(crate) const ACCOUNTED: u8 = 1 << 1;
    /// Flag of packets of which every departure is logged, with or without a wait.
    pub(crate) const TRACED: u8 = 1 << 3;
    /// Flag of a pause frame that has arrived and waits for its port's reaction time.
    pub(crate) const HEARD: u8 = 1 << 4;
    /// Flag of a packet whose payload a switch has removed.
    pub(crate) const TRIMMED: u8 = 1 << 2;
    /// Flag of a packet that was trimmed before the receiver's link.
    pub(crate) const AT_LAST_HOP: u8 = 1 << 6;
    /// Flag of the last packet of a message on a persistent connection. What follows is numbered as if the packet were
    /// full.
    pub(crate) const ENDS_MESSAGE: u8 = 1 << 5;
    /// Flag of a packet that a switch has put into another class than that in which it came.
    pub(crate) const MOVED: u8 = 1 << 7;

    /// Packet with all fields empty, as a base for others.
    pub const EMPTY: Self = Self {
        next: PacketId::NONE,
        flow: FlowId::NONE,
        qp: QpId::NONE,
        path: 0,
        seq: 0,
        sent_at: 0,
        ingress: PortId::NONE,
        wire: 0,
        payload: 0,
        pint: 0,
        epoch: 0,
        kind: PacketKind::Data,
        class: 0,
        mark: Mark::None,
        hops: 0,
        flags: 0,
        tag: 0,
        note_port: ProfileId::NONE,
        note: 0,
        answers: 0,
    };

    /// Returns the words of a signal, from fields that signals do not use otherwise.
    #[inline]
    pub fn words(&self) -> Words {
        let words = Words::EMPTY.with_u32(0, self.note).with_u32(4, self.answers);
        words.with_u16(8, self.pint).with_u16(10, self.payload)
    }

    /// Sets the words of a signal.
    #[inline]
    pub fn set_words(&mut self, words: Words) {
        (self.note, self.answers) = (words.u32(0), words.u32(4));
        (self.pint, self.payload) = (words.u16(8), words.u16(10));
    }

    #[inline]
    pub(crate) const fn asks_for_ack(&self) -> bool {
        self.flags & Self::ACK_REQUEST != 0
    }
    #[inline]
    pub(crate) const fn is_accounted(&self) -> bool {
        self.flags & Self::ACCOUNTED != 0
    }
    #[inline]
    pub(crate) const fn is_traced(&self) -> bool {
        self.flags & Self::TRACED != 0
    }
    /// Returns true for data packets that the receiver's fast path does not handle.
    #[inline]
    pub(crate) const fn is_special(&self) -> bool {
        self.flags & (Self::TRIMMED | Self::ENDS_MESSAGE) != 0
    }
    #[inline]
    pub(crate) const fn ends_message(&self) -> bool {
        self.flags & Self::ENDS_MESSAGE != 0
    }
    /// Returns the sequence number of the data that follows this packet's.
    #[inline]
    pub(crate) const fn end(&self, mtu: u64) -> u64 {
        self.seq
            + if self.ends_message() {
                mtu
            } else {
                self.payload as u64
            }
    }
    #[inline]
    pub(crate) const fn is_trimmed(&self) -> bool {
        self.flags & Self::TRIMMED != 0
    }
}

const _: () = assert!(size_of::<Packet>() == 64);

/// No two flags share a bit.
const _: () = {
    const ALL: [u8; 7] = [
        Packet::ACK_REQUEST,
        Packet::ACCOUNTED,
        Packet::TRIMMED,
        Packet::TRACED,
        Packet::HEARD,
        Packet::ENDS_MESSAGE,
        Packet::AT_LAST_HOP,
    ];
    let (mut seen, mut index) = (0, 0);
    while index < ALL.len() {
        assert!(seen & ALL[index] == 0);
        (seen, index) = (seen | ALL[index], index + 1);
    }
};

/// Slots of all packets. Alongside, in runs that need them: telemetry, with as many samples for each packet as the
/// longest path has switches, and eight bytes that sender and receiver exchange (`words`).
#[derive(Clone, Debug)]
pub struct PacketSlab {
    packets: List<PacketId, Packet>,
    telemetry: Vec<HopSample>,
    samples: usize,
    words: Vec<u64>,
    has_words: bool,
    /// Free slots first; the one freed last is at the end of them. It has as many entries as there are slots, so that
    /// it never grows when a slot is freed. A list through the slots would have to read one slot to know the next.
    free: Vec<PacketId>,
    free_count: usize,
    live: u32,
}

impl PacketSlab {
    /// Largest number of slots that are allocated in advance.
    pub(crate) const SET_ASIDE: usize = 1 << 18;

    /// Creates a slab for packets with `samples` telemetry samples each, with room for `expected` packets. Memory that
    /// is set aside is not touched before it is used, while a slab that grows is copied.
    pub(crate) fn new(samples: usize, has_words: bool, expected: usize) -> Self {
        Self {
            packets: Vec::with_capacity(expected).into(),
            telemetry: Vec::with_capacity(expected * samples),
            words: Vec::new(),
            has_words,
            free: Vec::new(),
            free_count: 0,
            samples,
            live: 0,
        }
    }

    /// Returns a copy whose packets are not logged.
    pub(super) fn without_journals(&self) -> Self {
        let mut slab = self.clone();
        for packet in &mut slab.packets {
            packet.flags &= !(Packet::ACCOUNTED | Packet::TRACED);
        }
        slab
    }

    /// Stores `packet` and returns its slot. The slot freed last is used first, while it is warm in the cache.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        self.live += 1;
        if self.free_count == 0 {
            return self.add_slot(packet);
        }
        self.free_count -= 1;
        let id = self.free[self.free_count];
        self.packets[id] = packet;
        id
    }

    #[inline(never)]
    fn add_slot(&mut self, packet: Packet) -> PacketId {
        let id = self.packets.push(packet);
        self.free.push(PacketId::NONE);
        self.telemetry
            .resize(self.packets.len() * self.samples, HopSample::default());
        if self.has_words {
            self.words.push(0);
        }
        id
    }

    /// Returns true if packets have words.
    #[inline]
    pub(crate) fn has_words(&self) -> bool {
        self.has_words
    }

    /// Returns a packet's words. In data: what the sender's scheme has written for the receiver. In ACKs under
    /// [`paceline_run::spec::Recovery::Rud`]: a bit for each packet that has arrived.
    #[inline]
    pub(crate) fn words(&self, id: PacketId) -> u64 {
        if self.has_words { self.words[id.index()] } else { 0 }
    }

    /// Sets a packet's words; ignored in runs without words.
    #[inline]
    pub(crate) fn set_words(&mut self, id: PacketId, words: u64) {
        if self.has_words {
            self.words[id.index()] = words;
        }
    }

    /// Frees the slot of a packet.
    #[inline]
    pub fn remove(&mut self, id: PacketId) {
        self.live -= 1;
        self.free[self.free_count] = id;
        self.free_count += 1;
    }

    /// Returns the packet in a slot.
    #[inline(always)]
    pub fn get(&self, id: PacketId) -> &Packet {
        &self.packets[id]
    }

    /// Returns the packet in a slot, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id]
    }

    /// Returns the packets of a queue, from `first` on.
    pub(crate) fn linked(&self, first: PacketId) -> impl Iterator<Item = PacketId> + '_ {
        let mut next = first;
        std::iter::from_fn(move || {
            let id = (next != PacketId::NONE).then_some(next)?;
            next = self.get(id).next;
            Some(id)
        })
    }

    /// Returns a packet's telemetry: a sample of each switch that stamped it.
    #[inline(always)]
    pub(crate) fn hops(&self, id: PacketId) -> &[HopSample] {
        // Hops beyond the longest path are counted, but have no sample.
        let count = usize::from(self.packets[id].hops).min(self.samples);
        let first = id.index() * self.samples;
        &self.telemetry[first..first + count]
    }

    /// Returns true if packets have telemetry.
    pub(super) fn has_samples(&self) -> bool {
        self.samples > 0
    }

    /// Sets a packet's telemetry to the first of `samples`, and returns the rest.
    pub(super) fn fill_hops<'a>(&mut self, id: PacketId, samples: &'a [HopSample]) -> &'a [HopSample] {
        let count = usize::from(self.get(id).hops).min(self.samples);
        let (own, others) = samples.split_at(count);
        let first = id.index() * self.samples;
        self.telemetry[first..first + count].copy_from_slice(own);
        others
    }

    /// Returns a packet, and the memory of its telemetry.
    #[inline(always)]
    pub(crate) fn with_room(&mut self, id: PacketId) -> (&mut Packet, Room<'_>) {
        let room = Room {
            telemetry: &mut self.telemetry,
            id,
            samples: self.samples,
        };
        (&mut self.packets[id], room)
    }

    /// Prefetches a packet and its first samples.
    #[inline]
    pub(super) fn prefetch(&self, id: PacketId) {
        self.packets.prefetch(id);
        prefetch(&self.telemetry, id.index().wrapping_mul(self.samples));
    }

    /// Prefetches the slot that the packet inserted `ahead` packets after the next one will have.
    #[inline]
    pub(super) fn prefetch_free(&self, ahead: usize) {
        if let Some(at) = self.free_count.checked_sub(ahead + 1) {
            self.prefetch(self.free[at]);
        }
    }

    /// Returns all slots, in use or free.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> impl Iterator<Item = PacketId> + use<> {
        self.packets.ids()
    }

    /// Returns the contents of all slots, free ones included.
    pub(super) fn all(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }

    /// Returns the number of packets in the network.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }
}

/// Memory of one packet's telemetry.
pub(crate) struct Room<'a> {
    telemetry: &'a mut [HopSample],
    id: PacketId,
    samples: usize,
}

impl<'a> Room<'a> {
    /// Returns the sample of a hop; `None` beyond the longest path.
    #[inline(always)]
    pub(crate) fn sample(self, hop: usize) -> Option<&'a mut HopSample> {
        if hop >= self.samples {
            return None;
        }
        self.telemetry.get_mut(self.id.index() * self.samples + hop)
    }
}
