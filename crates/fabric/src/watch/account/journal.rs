//! What packets of accounted flows write down on their way: which ports they left, and when.
//!
//! Nothing else is written where a switch handles a packet. What a flow's packets met is added up when the
//! slot of one is used again, and at the end of the run: sums and largest values, which do not hang on the order.

use crate::ids::{AccountId, PacketId};
use crate::watch::account::SenderTime;
use paceline_kernel::ids::{Id, List};

/// Set in a step's key where the packet left as an acknowledgement.
pub(super) const BACK: u32 = 1 << 31;
/// Keys that are no ports: how long the packet's class was paused while it waited for what the next step says,
/// and how long it was in the receiver's host.
pub(super) const PAUSED: u32 = u32::MAX;
pub(super) const INSIDE: u32 = PAUSED - 1;

/// A port that a packet left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// The port and [`BACK`], or one of the keys above.
    pub(super) key: u32,
    /// When its transmission began; with the keys above, how long.
    pub(super) left: u64,
    /// When its last bit is at the other end.
    pub(super) arrives: u64,
}

/// What a packet's journal begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The flow's account; `AccountId::NONE` where there is nothing to add.
    pub(super) place: AccountId,
    /// Steps so far.
    pub(super) steps: u32,
    /// The sender's time when its transmission began.
    pub(super) sender: SenderTime,
    /// For how long its class had been paused, up to when it came to the queue that it is in.
    pub(super) paused_before: u64,
}

impl Head {
    /// How many steps there are.
    pub(crate) const fn count(&self) -> usize {
        self.steps as usize
    }

    pub(super) const NOTHING: Self = Self {
        place: AccountId::NONE,
        steps: 0,
        sender: SenderTime::NONE,
        paused_before: 0,
    };
}

/// The journals of all packets, by slot.
#[derive(Clone, Debug)]
pub(super) struct Journals {
    heads: List<PacketId, Head>,
    /// `room` for each.
    steps: Vec<Step>,
    room: usize,
}

impl Default for Journals {
    fn default() -> Self {
        Self {
            heads: List::new(),
            steps: Vec::new(),
            room: 8,
        }
    }
}

impl Journals {
    /// Begins the journal of a packet, which must have been added up before.
    #[inline]
    pub(super) fn begin(&mut self, packet: PacketId, place: AccountId, sender: &SenderTime) {
        if packet.index() >= self.heads.len() {
            self.extend(packet);
        }
        let head = &mut self.heads[packet];
        (head.place, head.steps, head.paused_before) = (place, 0, 0);
        head.sender = *sender;
    }

    #[cold]
    fn extend(&mut self, packet: PacketId) {
        self.heads.reach(packet, || Head::NOTHING);
        let steps = self.heads.len() * self.room;
        self.steps.resize(steps, Step::default());
    }

    #[inline]
    pub(super) fn head(&mut self, packet: PacketId) -> &mut Head {
        &mut self.heads[packet]
    }

    /// Adds a step to a packet's journal.
    #[inline]
    pub(super) fn push(&mut self, packet: PacketId, step: Step) {
        let first = packet.index() * self.room;
        if let Some(head) = self.heads.get_mut(packet)
            && (head.steps as usize) < self.room
            && let Some(place) = self.steps.get_mut(first + head.steps as usize)
        {
            head.steps += 1;
            *place = step;
            return;
        }
        self.push_beyond(packet, step);
    }

    /// A step for which there is no room yet.
    #[cold]
    #[inline(never)]
    fn push_beyond(&mut self, packet: PacketId, step: Step) {
        assert!(
            packet.index() < self.heads.len(),
            "a journal begins at the sender"
        );
        self.widen();
        self.push(packet, step);
    }

    /// Makes room for twice as many steps.
    #[cold]
    fn widen(&mut self) {
        let mut wide = vec![Step::default(); 2 * self.steps.len()];
        for (new, old) in wide
            .chunks_exact_mut(2 * self.room)
            .zip(self.steps.chunks_exact(self.room))
        {
            new[..self.room].copy_from_slice(old);
        }
        (self.steps, self.room) = (wide, 2 * self.room);
    }

    /// A packet's journal, if there is one that has not been added up.
    #[inline]
    pub(super) fn of(&self, packet: PacketId) -> Option<(&Head, &[Step])> {
        let head = self.heads.get(packet)?;
        let first = packet.index() * self.room;
        (head.place != AccountId::NONE).then(|| (head, &self.steps[first..first + head.steps as usize]))
    }

    /// A packet's journal has been added up, or is elsewhere.
    #[inline]
    pub(super) fn forget(&mut self, packet: PacketId) {
        self.heads[packet].place = AccountId::NONE;
    }

    /// Packets that there are journals for.
    pub(super) fn packets(&self) -> impl Iterator<Item = PacketId> + use<> {
        self.heads.ids()
    }
}
