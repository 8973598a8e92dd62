//! Packets: one cache line each, in a slab, linked into queues through their own `next`.

use crate::ids::{FlowId, PacketId, PortId, ProfileId, QpId};
use paceline_congestion::{HopSample, Mark, Words};
use paceline_kernel::ids::{Id, List};
use paceline_kernel::prefetch::prefetch;
use paceline_run::outcome::PacketKind;

/// Hops that the reference's header has room for.
pub(crate) const WIRE_HOPS: usize = 5;

/// A packet on its way. An acknowledgement takes over the slot of the data packet that it answers.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Packet {
    /// Next packet of the queue.
    pub next: PacketId,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Slot of the flow's queue pair.
    pub qp: QpId,
    /// Port through which it entered the switch that holds it.
    pub ingress: PortId,
    /// Its way on, and the way back ([`crate::world::routing`]); of data that is spread, the port that it is
    /// to come to (`switch/spread.rs`).
    pub path: u64,
    /// Data: offset of the payload. ACK, NACK: next expected byte.
    pub seq: u64,
    /// When the data packet's transmission started, in ps (kept in its ACK).
    pub sent_at: u64,
    /// Bytes on the wire.
    pub wire: u16,
    /// Payload bytes.
    pub payload: u16,
    /// HPCC-PINT's digest, or the entropy value. In ACKs of schemes that read telemetry: the data packet's way.
    pub pint: u16,
    /// Generation of the topology that `path` belongs to, or `crate::world::SPREAD` and the way so far.
    pub epoch: u16,
    /// What it is.
    pub kind: PacketKind,
    /// Dense class (see [`crate::world::classes::Classes`]); of a PFC frame: the class that it speaks of.
    pub class: u8,
    /// Congestion mark: of the packet itself in data, the echo in ACKs.
    pub mark: Mark,
    /// Telemetry samples so far.
    pub hops: u8,
    /// See `Packet::ACK_REQUEST` and its like.
    pub flags: u8,
    /// What the scheme wrote into it when it left, and switches may change; kept in its ACK. Of a signal: whose it
    /// is (`world/signals.rs`).
    pub tag: u8,
    /// The link profile of the congested port that `note` or a signal speaks of, none where it is about no port.
    pub note_port: ProfileId,
    /// What a switch or the receiver has to say to the sender: bytes in a queue, a rate in Mbit/s, or nanoseconds
    /// spent in the receiver's host. Of a signal: with `answers`, `pint` and `payload` the scheme's words.
    pub note: u32,
    /// ACK, NACK: number of the data packet that it answers, for selective repeat.
    pub answers: u32,
}

impl Packet {
    /// The sender's window is full: the receiver is to answer at once (the BTH's AckReq bit).
    pub(crate) const ACK_REQUEST: u8 = 1;
    /// Its way is written down (see [`crate::watch::account`]).
    pub(crate) const ACCOUNTED: u8 = 1 << 1;
    /// Every port that it leaves is written down, whether it waits there or not.
    pub(crate) const TRACED: u8 = 1 << 3;
    /// A frame that has arrived, and which its port will come to.
    pub(crate) const HEARD: u8 = 1 << 4;
    /// A switch cut its payload off.
    pub(crate) const TRIMMED: u8 = 1 << 2;
    /// It was trimmed before the receiver's link.
    pub(crate) const AT_LAST_HOP: u8 = 1 << 6;
    /// Data: a message ends with it, and its connection goes on: what follows is numbered as if it were full.
    pub(crate) const ENDS_MESSAGE: u8 = 1 << 5;

    /// A packet with nothing in it.
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

    /// The words of a signal, in fields that it has no other use for.
    #[inline]
    pub fn words(&self) -> Words {
        let words = Words::EMPTY.with_u32(0, self.note).with_u32(4, self.answers);
        words.with_u16(8, self.pint).with_u16(10, self.payload)
    }

    /// Makes a signal say these.
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
    /// Whether it is no data packet like most others.
    #[inline]
    pub(crate) const fn is_special(&self) -> bool {
        self.flags & (Self::TRIMMED | Self::ENDS_MESSAGE) != 0
    }
    #[inline]
    pub(crate) const fn ends_message(&self) -> bool {
        self.flags & Self::ENDS_MESSAGE != 0
    }
    /// Data: the sequence number of what follows it.
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

/// Flags are bits of their own.
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
    let (mut seen, mut place) = (0, 0);
    while place < ALL.len() {
        assert!(seen & ALL[place] == 0);
        (seen, place) = (seen | ALL[place], place + 1);
    }
};

/// All packets, and alongside them, in runs that need it: their telemetry, as many samples for each as the longest path
/// has switches; and eight bytes that sender and receiver tell each other (`words`).
#[derive(Clone, Debug)]
pub struct PacketSlab {
    packets: List<PacketId, Packet>,
    telemetry: Vec<HopSample>,
    samples: usize,
    words: Vec<u64>,
    has_words: bool,
    /// Free slots first, the one freed last behind the others; as many entries as slots, so that it never grows when a slot is
    /// freed. A list through the slots would have to read one slot to know the next.
    free: Vec<PacketId>,
    free_count: usize,
    live: u32,
}

impl PacketSlab {
    /// Slots that are set aside at most.
    pub(crate) const SET_ASIDE: usize = 1 << 18;

    /// A slab for packets with room for `samples` telemetry samples each, of which there will be `expected` at
    /// most. What is set aside for them takes no memory before it is used, while a slab that grows is copied.
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

    /// The same packets where nobody accounts for their ways.
    pub(super) fn without_journals(&self) -> Self {
        let mut slab = self.clone();
        for packet in &mut slab.packets {
            packet.flags &= !(Packet::ACCOUNTED | Packet::TRACED);
        }
        slab
    }

    /// Stores `packet`; the slot freed last is used first, while it is warm in the cache.
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

    /// Whether packets have words.
    #[inline]
    pub(crate) fn has_words(&self) -> bool {
        self.has_words
    }

    /// In data: what the sender's scheme tells the receiver. In ACKs under [`paceline_run::spec::Recovery::Rud`]: the packets
    /// that have arrived, a bit each.
    #[inline]
    pub(crate) fn words(&self, id: PacketId) -> u64 {
        if self.has_words { self.words[id.index()] } else { 0 }
    }

    /// Writes them.
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

    /// A packet.
    #[inline(always)]
    pub fn get(&self, id: PacketId) -> &Packet {
        &self.packets[id]
    }

    /// A packet, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id]
    }

    /// The packets of a queue, from its first on.
    pub(crate) fn linked(&self, first: PacketId) -> impl Iterator<Item = PacketId> + '_ {
        let mut next = first;
        std::iter::from_fn(move || {
            let id = (next != PacketId::NONE).then_some(next)?;
            next = self.get(id).next;
            Some(id)
        })
    }

    /// Telemetry of a packet, a sample per switch that stamped it.
    #[inline(always)]
    pub(crate) fn hops(&self, id: PacketId) -> &[HopSample] {
        let count = usize::from(self.packets[id].hops).min(self.samples);
        let first = id.index() * self.samples;
        &self.telemetry[first..first + count]
    }

    /// True if packets have telemetry.
    pub(super) fn has_samples(&self) -> bool {
        self.samples > 0
    }

    /// Gives a packet its telemetry, which is the first of `samples`; returns the others.
    pub(super) fn fill_hops<'a>(&mut self, id: PacketId, samples: &'a [HopSample]) -> &'a [HopSample] {
        let count = usize::from(self.get(id).hops).min(self.samples);
        let (own, others) = samples.split_at(count);
        let first = id.index() * self.samples;
        self.telemetry[first..first + count].copy_from_slice(own);
        others
    }

    /// A packet and room for its telemetry.
    #[inline(always)]
    pub(crate) fn with_room(&mut self, id: PacketId) -> (&mut Packet, Room<'_>) {
        let room = Room {
            telemetry: &mut self.telemetry,
            id,
            samples: self.samples,
        };
        (&mut self.packets[id], room)
    }

    /// Has a packet and its first samples fetched into the cache.
    #[inline]
    pub(super) fn prefetch(&self, id: PacketId) {
        self.packets.prefetch(id);
        prefetch(&self.telemetry, id.index().wrapping_mul(self.samples));
    }

    /// Has the slot fetched into the cache that the packet inserted `ahead` packets after the next one will have.
    #[inline]
    pub(super) fn prefetch_free(&self, ahead: usize) {
        if let Some(at) = self.free_count.checked_sub(ahead + 1) {
            self.prefetch(self.free[at]);
        }
    }

    /// Slots, in use or free.
    #[cfg(test)]
    pub(crate) fn slots(&self) -> impl Iterator<Item = PacketId> + use<> {
        self.packets.ids()
    }

    /// All packets, those that are no more among them.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Packet> {
        self.packets.iter_mut()
    }

    /// What stands in all slots, those without a packet too.
    pub(super) fn all(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }

    /// Packets that exist.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }
}

/// Where a packet's telemetry has room.
pub(crate) struct Room<'a> {
    telemetry: &'a mut [HopSample],
    id: PacketId,
    samples: usize,
}

impl<'a> Room<'a> {
    /// That of a hop; beyond the longest path there is none.
    #[inline(always)]
    pub(crate) fn sample(self, hop: usize) -> Option<&'a mut HopSample> {
        if hop >= self.samples {
            return None;
        }
        self.telemetry.get_mut(self.id.index() * self.samples + hop)
    }
}
