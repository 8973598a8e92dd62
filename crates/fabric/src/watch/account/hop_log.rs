//! Hop logs: the ports that the packets of accounted flows left, and the times.
//!
//! Nothing else is recorded where a switch handles a packet. The logs of a flow's packets are added up when a packet's
//! slot is used again, and at the end of the run: sums and maxima, which do not depend on the order.

use crate::ids::{AccountId, PacketId, PortId};
use paceline_kernel::ids::{Id, List};
use paceline_run::outcome::account::SenderTime;
use serde::{Deserialize, Serialize};

/// Keys that are no ports: the time for which the packet's class was paused while it waited for what the next step
/// logs, the time in the receiver's host, and the end of the step before if its key has [`LONG`].
pub(super) const PAUSED: u32 = u32::MAX;
pub(super) const INSIDE: u32 = PAUSED - 1;
pub(super) const ARRIVED: u32 = PAUSED - 2;
/// Key of the time for which a packet waited at the end of a link for a frame that link-level retry sent again.
pub(super) const RETRIED: u32 = PAUSED - 3;
/// Flag in the key of a step whose flight is too long for its field.
pub(super) const LONG: u32 = 1 << 31;

/// A step of a packet: its departure from a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Port as [`key_of`] encodes it, or one of the keys above.
    pub(super) key: u32,
    /// Time from the departure until the last bit is at the other end, in ps.
    pub(super) flight: u32,
    /// Start of the transmission, in ps; with the keys above, a duration or a time.
    pub(super) left: u64,
}

/// Returns the key of a port that a packet left, as data or as an acknowledgement.
#[inline(always)]
pub(super) const fn key_of(port: PortId, is_data: bool) -> u32 {
    2 * port.0 + is_data as u32
}

/// Returns a key's port, and true if acknowledgements left it.
pub(super) const fn port_of(key: u32) -> (PortId, bool) {
    (PortId(key / 2), key.is_multiple_of(2))
}

impl Step {
    const NONE: Self = Self::other(PAUSED, 0);

    /// Returns a step that is no departure.
    pub(super) const fn other(key: u32, value: u64) -> Self {
        Self {
            key,
            flight: 0,
            left: value,
        }
    }

    /// Returns the arrival at the other end, in ps.
    #[inline]
    pub(super) const fn arrives(&self) -> u64 {
        self.left + self.flight as u64
    }
}

/// Head of a packet's log.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Sender's time at the start of the packet's transmission.
    pub(super) sender: SenderTime,
    /// Time for which the packet's class had been paused when the packet joined its present queue, in ps.
    pub(super) paused_before: u64,
    /// Account of the flow; `AccountId::NONE` if the log was added up.
    pub(super) position: AccountId,
    /// Number of steps so far.
    pub(super) count: u32,
    /// Time at which the packet left its sender, in ps.
    pub(super) start: u64,
    /// True if only the ports where the packet waited are logged: it takes its flow's known path ([`super::paths`]).
    pub(super) is_quiet: bool,
}

impl Head {
    /// Returns the number of steps.
    pub(crate) const fn count(&self) -> usize {
        self.count as usize
    }

    pub(super) const NOTHING: Self = Self {
        sender: SenderTime::NONE,
        paused_before: 0,
        position: AccountId::NONE,
        count: 0,
        start: 0,
        is_quiet: false,
    };
}

/// Steps that a log has room for: there and back through five switches.
const ROOM: usize = 12;

/// Hop log of a packet.
#[derive(Clone, Debug)]
pub(super) struct HopLog {
    pub(super) head: Head,
    steps: [Step; ROOM],
    /// All steps, if there are more than fit in `steps`.
    long: Vec<Step>,
}

/// Logs of all packets, by slot.
#[derive(Clone, Debug, Default)]
pub(super) struct HopLogs(List<PacketId, HopLog>);

impl HopLogs {
    /// Allocates logs for `expected` packets: memory that is set aside is not touched before use, while a list that
    /// grows is copied.
    pub(super) fn new(expected: usize) -> Self {
        Self(Vec::with_capacity(expected).into())
    }

    /// Returns the log of a packet that is to start one.
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

    /// Returns a packet's log.
    #[inline(always)]
    pub(super) fn get_mut(&mut self, packet: PacketId) -> &mut HopLog {
        &mut self.0[packet]
    }

    /// Adds a step to a packet's log.
    pub(super) fn push(&mut self, packet: PacketId, step: Step) {
        self.0[packet].push(step);
    }

    /// Returns a packet's log, if there is one that was not added up.
    #[inline]
    pub(super) fn of(&self, packet: PacketId) -> Option<(&Head, &[Step])> {
        let hop_log = self.0.get(packet)?;
        hop_log.read()
    }

    /// Marks a packet's log as added up, or moved elsewhere.
    #[inline]
    pub(super) fn forget(&mut self, packet: PacketId) {
        self.0[packet].head.position = AccountId::NONE;
    }

    /// Returns the packets that have logs.
    pub(super) fn packets(&self) -> impl Iterator<Item = PacketId> + use<> {
        self.0.ids()
    }
}

impl HopLog {
    /// Starts a log. The old one must have been added up.
    #[inline]
    pub(super) fn begin(&mut self, position: AccountId, sender: &SenderTime) {
        let head = &mut self.head;
        (head.position, head.count, head.paused_before) = (position, 0, 0);
        (head.sender, head.is_quiet) = (*sender, false);
    }

    /// Removes and returns all steps, to log them again in full.
    pub(super) fn begin_anew(&mut self) -> Vec<Step> {
        let steps = self.read().map_or(Vec::new(), |(_, steps)| steps.to_vec());
        (self.head.count, self.head.is_quiet) = (0, false);
        steps
    }

    /// Returns the contents, if the log was not added up.
    #[inline]
    pub(super) fn read(&self) -> Option<(&Head, &[Step])> {
        let steps = match self.steps.get(..self.head.count as usize) {
            Some(steps) => steps,
            None => &self.long,
        };
        (self.head.position != AccountId::NONE).then_some((&self.head, steps))
    }

    /// Logs a departure from a port.
    #[inline(always)]
    pub(super) fn leave(&mut self, key: u32, left: u64, arrives: u64) {
        let count = self.head.count as usize;
        // Nearly all steps fit into the array and its 32-bit field.
        if let Ok(flight) = u32::try_from(arrives - left)
            && let Some(position) = self.steps.get_mut(count)
        {
            self.head.count += 1;
            *position = Step { key, flight, left };
            return;
        }
        self.leave_for_long(key, left, arrives);
    }

    pub(super) fn push(&mut self, step: Step) {
        let count = self.head.count as usize;
        self.head.count += 1;
        if let Some(position) = self.steps.get_mut(count) {
            *position = step;
            return;
        }
        // The steps move to the heap once, when the array is full.
        if count == ROOM {
            self.long.clear();
            self.long.extend_from_slice(&self.steps);
        }
        self.long.push(step);
    }

    /// Logs a step that does not fit: its flight is long, or there are many before it.
    #[cold]
    #[inline(never)]
    fn leave_for_long(&mut self, key: u32, left: u64, arrives: u64) {
        if let Ok(flight) = u32::try_from(arrives - left) {
            return self.push(Step { key, flight, left });
        }
        // The end of a long flight needs a separate step.
        self.push(Step::other(key | LONG, left));
        self.push(Step::other(ARRIVED, arrives));
    }
}

/// Calls `show` for each step of a packet that is at the first of these ports at `ready`: with the key, the arrival at
/// the other end, the time of queueing before it, and the time of pauses. These times lie between the packet's arrival
/// and its departure, without the time in the receiver's host.
#[inline]
pub(super) fn for_each_wait(steps: &[Step], mut ready: u64, mut show: impl FnMut(u32, &Step, u64, u64, u64)) {
    let mut paused = 0;
    for (position, step) in steps.iter().enumerate() {
        match step.key {
            // A pause is logged ahead of the departure that it delayed.
            PAUSED => paused = step.left,
            INSIDE => {
                ready += step.left;
                show(INSIDE, step, ready, 0, 0);
            }
            ARRIVED => {}
            RETRIED => {
                ready += step.left;
                show(RETRIED, step, ready, 0, 0);
            }
            key => {
                let arrives = match key & LONG {
                    0 => step.arrives(),
                    _ => steps[position + 1].left,
                };
                show(key & !LONG, step, arrives, step.left - ready - paused, paused);
                (ready, paused) = (arrives, 0);
            }
        }
    }
}
