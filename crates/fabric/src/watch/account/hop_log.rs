//! What packets of accounted flows write down on their way: which ports they left, and when.
//!
//! Nothing else is written where a switch handles a packet. What a flow's packets met is added up when the
//! slot of one is used again, and at the end of the run: sums and largest values, which do not depend on the order.

use crate::ids::{AccountId, PacketId, PortId};
use paceline_kernel::ids::{Id, List};
use paceline_run::outcome::account::SenderTime;

/// Keys that are no ports: how long the packet's class was paused while it waited for what the next step says,
/// how long it was in the receiver's host, and when the step before ended, where its key is [`LONG`].
pub(super) const PAUSED: u32 = u32::MAX;
pub(super) const INSIDE: u32 = PAUSED - 1;
pub(super) const ARRIVED: u32 = PAUSED - 2;
/// Set in a key where the step's flight has no room in it.
pub(super) const LONG: u32 = 1 << 31;

/// A port that a packet left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// See [`key_of`]; or one of the keys above.
    pub(super) key: u32,
    /// How long it took from there until its last bit was at the other end, in ps.
    pub(super) flight: u32,
    /// When its transmission began; with the keys above, how long, or when.
    pub(super) left: u64,
}

/// The key of a port that a packet left, as data or as an acknowledgement.
#[inline(always)]
pub(super) const fn key_of(port: PortId, is_data: bool) -> u32 {
    2 * port.0 + is_data as u32
}

/// A key's port, and whether it was left by acknowledgements.
pub(super) const fn port_of(key: u32) -> (PortId, bool) {
    (PortId(key / 2), key.is_multiple_of(2))
}

impl Step {
    const NONE: Self = Self::other(PAUSED, 0);

    /// What is no port.
    pub(super) const fn other(key: u32, value: u64) -> Self {
        Self {
            key,
            flight: 0,
            left: value,
        }
    }

    /// When it was at the other end.
    #[inline]
    pub(super) const fn arrives(&self) -> u64 {
        self.left + self.flight as u64
    }
}

/// What a packet's journal begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The sender's time when its transmission began.
    pub(super) sender: SenderTime,
    /// For how long its class had been paused, up to when it came to the queue that it is in.
    pub(super) paused_before: u64,
    /// The flow's account; `AccountId::NONE` where there is nothing to add.
    pub(super) place: AccountId,
    /// Steps so far.
    pub(super) count: u32,
    /// When the packet began to leave its sender.
    pub(super) start: u64,
    /// Whether only the ports where it waited are written down: it goes its flow's way ([`super::paths`]).
    pub(super) is_quiet: bool,
}

impl Head {
    /// How many steps there are.
    pub(crate) const fn count(&self) -> usize {
        self.count as usize
    }

    pub(super) const NOTHING: Self = Self {
        sender: SenderTime::NONE,
        paused_before: 0,
        place: AccountId::NONE,
        count: 0,
        start: 0,
        is_quiet: false,
    };
}

/// Steps that a journal has room for: there and back through five switches.
const ROOM: usize = 12;

/// A packet's journal.
#[derive(Clone, Debug)]
pub(super) struct HopLog {
    pub(super) head: Head,
    steps: [Step; ROOM],
    /// All steps, if they are more.
    long: Vec<Step>,
}

/// The journals of all packets, by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct HopLogs(List<PacketId, HopLog>);

impl HopLogs {
    /// Journals for so many packets take no memory before they begin, while a list that grows is copied.
    pub(super) fn new(expected: usize) -> Self {
        Self(Vec::with_capacity(expected).into())
    }

    /// The journal of a packet that is to begin one.
    #[inline]
    pub(super) fn open(&mut self, packet: PacketId) -> &mut HopLog {
        if packet.index() >= self.0.len() {
            self.extend(packet);
        }
        &mut self.0[packet]
    }

    #[cold]
    fn extend(&mut self, packet: PacketId) {
        self.0.reach(packet, || HopLog {
            head: Head::NOTHING,
            steps: [Step::NONE; ROOM],
            long: Vec::new(),
        });
    }

    #[inline]
    pub(super) fn head(&mut self, packet: PacketId) -> &mut Head {
        &mut self.0[packet].head
    }

    /// A packet's journal.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, packet: PacketId) -> &mut HopLog {
        &mut self.0[packet]
    }

    /// Adds a step to a packet's journal.
    pub(super) fn push(&mut self, packet: PacketId, step: Step) {
        self.0[packet].push(step);
    }

    /// A packet's journal, if there is one that has not been added up.
    #[inline]
    pub(super) fn of(&self, packet: PacketId) -> Option<(&Head, &[Step])> {
        let hop_log = self.0.get(packet)?;
        hop_log.read()
    }

    /// A packet's journal has been added up, or is elsewhere.
    #[inline]
    pub(super) fn forget(&mut self, packet: PacketId) {
        self.0[packet].head.place = AccountId::NONE;
    }

    /// Packets that there are journals for.
    pub(super) fn packets(&self) -> impl Iterator<Item = PacketId> + use<> {
        self.0.ids()
    }
}

impl HopLog {
    /// Begins it: it must have been added up before.
    #[inline]
    pub(super) fn begin(&mut self, place: AccountId, sender: &SenderTime) {
        let head = &mut self.head;
        (head.place, head.count, head.paused_before) = (place, 0, 0);
        (head.sender, head.is_quiet) = (*sender, false);
    }

    /// Begins it again with other steps.
    pub(super) fn begin_anew(&mut self) -> Vec<Step> {
        let steps = self.read().map_or(Vec::new(), |(_, steps)| steps.to_vec());
        (self.head.count, self.head.is_quiet) = (0, false);
        steps
    }

    /// What there is in it, if it has not been added up.
    #[inline]
    pub(super) fn read(&self) -> Option<(&Head, &[Step])> {
        let steps = match self.steps.get(..self.head.count as usize) {
            Some(steps) => steps,
            None => &self.long,
        };
        (self.head.place != AccountId::NONE).then_some((&self.head, steps))
    }

    /// The packet leaves a port.
    #[inline(always)]
    pub(super) fn leave(&mut self, key: u32, left: u64, arrives: u64) {
        let count = self.head.count as usize;
        if let Ok(flight) = u32::try_from(arrives - left)
            && let Some(place) = self.steps.get_mut(count)
        {
            self.head.count += 1;
            *place = Step { key, flight, left };
            return;
        }
        self.leave_for_long(key, left, arrives);
    }

    pub(super) fn push(&mut self, step: Step) {
        let count = self.head.count as usize;
        self.head.count += 1;
        if let Some(place) = self.steps.get_mut(count) {
            *place = step;
            return;
        }
        if count == ROOM {
            self.long.clear();
            self.long.extend_from_slice(&self.steps);
        }
        self.long.push(step);
    }

    /// A step for which there is no room: it takes long, or has many before it.
    #[cold]
    #[inline(never)]
    fn leave_for_long(&mut self, key: u32, left: u64, arrives: u64) {
        if let Ok(flight) = u32::try_from(arrives - left) {
            return self.push(Step { key, flight, left });
        }
        self.push(Step::other(key | LONG, left));
        self.push(Step::other(ARRIVED, arrives));
    }
}

/// Shows the steps of a packet that comes to the first of these ports at `ready`: each with its key, when it was at
/// the other end, how long it queued before, and how long it was paused there. That is what lies between its arrival
/// and its leaving, less the time in the receiver's host.
#[inline]
pub(super) fn for_each_wait(steps: &[Step], mut ready: u64, mut show: impl FnMut(u32, &Step, u64, u64, u64)) {
    let mut paused = 0;
    for (place, step) in steps.iter().enumerate() {
        match step.key {
            PAUSED => paused = step.left,
            INSIDE => {
                ready += step.left;
                show(INSIDE, step, ready, 0, 0);
            }
            ARRIVED => {}
            key => {
                let arrives = match key & LONG {
                    0 => step.arrives(),
                    _ => steps[place + 1].left,
                };
                show(key & !LONG, step, arrives, step.left - ready - paused, paused);
                (ready, paused) = (arrives, 0);
            }
        }
    }
}
