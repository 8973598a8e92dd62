//! The pending event set.
//!
//! Almost every delay in a packet network is one of a few constants: the serialisation of a full packet or an
//! acknowledgement at a link's speed, alone or plus a cable. Events of such a delay class are pushed in order
//! of time, so each class is a FIFO *lane*. The next event is the minimum of the lanes' first events and of a
//! timing wheel for all other delays. The cost of an event does not depend on the number of pending ones.
//!
//! Events of the same instant are sorted by their `tie`, so the order depends on their scheduler (or, if the
//! tie is a counter, on the order of scheduling), never on their lane. If each event is its own tie, the tie
//! takes no memory.
//!
//! [`HeapQueue`] is a simple version with the same order, as the reference for tests.

mod heads;
mod heap;
mod lanes;
mod ring;
mod wheel;

use lanes::Lanes;

pub use heap::HeapQueue;

/// Pending event: time, order among simultaneous events, and content (opaque here).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Time of the event in picoseconds.
    pub at: u64,
    /// Order among the events of one instant, ascending.
    pub tie: u64,
    /// Event itself in its owner's encoding.
    pub what: u64,
}

/// Lane of an event, or [`LaneId::WHEEL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneId(u8);

impl LaneId {
    /// Timing wheel, for every event whose delay has no lane.
    pub const WHEEL: Self = Self(0);

    /// Returns the number of the lane.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the lane of a number.
    pub const fn of_number(number: u8) -> Self {
        Self(number)
    }
}

/// Event with its time, as stored in lanes and wheel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Timed<E> {
    at: u64,
    event: E,
}

const _: () = assert!(size_of::<Timed<u64>>() == 16);

/// An event that is its own tie is stored once.
impl From<Entry> for Timed<u64> {
    #[inline]
    fn from(Entry { at, tie, what }: Entry) -> Self {
        debug_assert_eq!(tie, what, "the event is its own tie");
        Self { at, event: what }
    }
}

impl From<Timed<u64>> for Entry {
    #[inline]
    fn from(Timed { at, event }: Timed<u64>) -> Self {
        let (tie, what) = (event, event);
        Self { at, tie, what }
    }
}

/// Tie and event are stored as a pair, which sorts by the tie first.
impl From<Entry> for Timed<(u64, u64)> {
    #[inline]
    fn from(Entry { at, tie, what }: Entry) -> Self {
        let event = (tie, what);
        Self { at, event }
    }
}

impl From<Timed<(u64, u64)>> for Entry {
    #[inline]
    fn from(Timed { at, event }: Timed<(u64, u64)>) -> Self {
        let (tie, what) = event;
        Self { at, tie, what }
    }
}

/// Pending event set: see the [module](self).
#[derive(Clone, Debug)]
pub struct EventQueue(QueueKind);

#[derive(Clone, Debug)]
enum QueueKind {
    Untied(Lanes<u64>),
    Tied(Lanes<(u64, u64)>),
}

/// Evaluates an expression for both kinds of queues.
macro_rules! each {
    ($kind:expr, $lanes:ident => $value:expr) => {
        match $kind {
            QueueKind::Untied($lanes) => $value,
            QueueKind::Tied($lanes) => $value,
        }
    };
}

impl EventQueue {
    /// Upper limit of lanes including the wheel.
    pub const MAX_LANES: usize = heads::MAX_LANES;
    /// Upper limit of event times, in ps.
    pub const END_OF_TIME: u64 = heads::NEVER;

    /// Returns an empty set without lanes, for events with arbitrary ties.
    pub fn new() -> Self {
        Self(QueueKind::Tied(Lanes::new()))
    }

    /// Returns an empty set without lanes, for events that are their own ties.
    pub fn untied() -> Self {
        Self(QueueKind::Untied(Lanes::new()))
    }

    /// Adds a lane for events that are always pushed `delay` ahead, in ps. Returns the wheel if the delay is
    /// zero or there are too many lanes.
    pub fn add_lane(&mut self, delay: u64) -> LaneId {
        if delay == 0 {
            return LaneId::WHEEL;
        }
        each!(&mut self.0, lanes => lanes.add_lane())
    }

    /// Returns an empty set with the same lanes at time zero.
    pub fn emptied(&self) -> Self {
        Self(match &self.0 {
            QueueKind::Untied(lanes) => QueueKind::Untied(lanes.emptied()),
            QueueKind::Tied(lanes) => QueueKind::Tied(lanes.emptied()),
        })
    }

    /// Counts the pending events one by one.
    pub fn len(&self) -> usize {
        each!(&self.0, lanes => lanes.len())
    }

    /// Returns true if no event is pending.
    pub fn is_empty(&self) -> bool {
        self.peek_time().is_none()
    }

    /// Adds an event. It must not be earlier than the event popped last. In a lane it must be later than
    /// that, and not earlier than the lane's last one.
    #[inline(always)]
    pub fn push(&mut self, lane: LaneId, entry: Entry) {
        each!(&mut self.0, lanes => lanes.push(lane, entry.into()));
    }

    /// Returns access without ties if events are their own ties, which saves the check for each of several
    /// additions.
    #[inline(always)]
    pub fn as_untied(&mut self) -> Option<Untied<'_>> {
        match &mut self.0 {
            QueueKind::Untied(lanes) => Some(Untied(lanes)),
            QueueKind::Tied(_) => None,
        }
    }

    /// Returns the time of the next event in ps.
    #[inline]
    pub fn peek_time(&self) -> Option<u64> {
        each!(&self.0, lanes => lanes.peek_time())
    }

    /// Removes and returns the next event: lowest time, then lowest tie.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        self.pop_before(u64::MAX)
    }

    /// Removes and returns the next event if it is before `end`.
    #[inline(always)]
    pub fn pop_before(&mut self, end: u64) -> Option<Entry> {
        each!(&mut self.0, lanes => lanes.pop_before(end).map(Entry::from))
    }

    /// Returns the capacity of the longest lane: the most events it has held, rounded up to a power of two.
    pub fn longest_lane(&self) -> usize {
        each!(&self.0, lanes => lanes.longest_lane())
    }

    /// Shows events that will probably run soon to `far`, later to `near`, and shortly before they run to `next`. The rest
    /// of an instant is sorted, as is a lane, so data prefetched by one are in the cache at the next. Some events are shown
    /// twice, others never.
    #[inline(always)]
    pub fn for_upcoming(&self, far: impl Fn(u64), near: impl Fn(u64), next: impl Fn(u64)) {
        match &self.0 {
            QueueKind::Untied(lanes) => lanes.for_upcoming(far, near, next),
            QueueKind::Tied(lanes) => lanes.for_upcoming(
                |(_, what)| far(what),
                |(_, what)| near(what),
                |(_, what)| next(what),
            ),
        }
    }

    /// Calls `show` for every pending event in arbitrary order. This is slow and intended for inspection
    /// only.
    pub fn for_each(&self, mut show: impl FnMut(&Entry)) {
        each!(&self.0, lanes => lanes.for_each(|timed| show(&Entry::from(*timed))));
    }
}

/// Pending event set whose events are their own ties.
#[derive(Debug)]
pub struct Untied<'a>(&'a mut Lanes<u64>);

impl Untied<'_> {
    /// Adds an event like [`EventQueue::push`].
    #[inline(always)]
    pub fn push(&mut self, lane: LaneId, at: u64, event: u64) {
        self.0.push(lane, Timed { at, event });
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
