//! The pending event set.
//!
//! Almost every delay in a packet network is one of a few constants: the serialisation of a full
//! packet or an acknowledgement at a link's speed, and that plus a cable. Events of one such delay
//! class are pushed in order of time, so each class is a FIFO *lane*; the next event is the least
//! of the lane heads and of a timing wheel that holds everything else. The cost of an event does not
//! depend on how many are pending.
//!
//! Events of the same instant are taken together and run in the order of their `tie`, so the order
//! depends on who scheduled them (or, if the tie is a counter, on when), never on where they waited.
//! Where each event is its own tie the tie takes no room.
//!
//! [`HeapQueue`] is the plain version with the same order: the tests' oracle.

mod heads;
mod heap;
mod lanes;
mod ring;
mod wheel;

use lanes::Lanes;

pub use heap::HeapQueue;

/// A pending event: when, in which order among equals, and what (opaque here).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Instant in picoseconds.
    pub at: u64,
    /// Order among the events of one instant, ascending.
    pub tie: u64,
    /// The event itself, as its owner encodes it.
    pub what: u64,
}

/// Where an event waits: a lane, or [`LaneId::WHEEL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneId(u8);

impl LaneId {
    /// The wheel: for every event whose delay has no lane.
    pub const WHEEL: Self = Self(0);
}

/// Which look it is at an event that will run soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// From afar: nothing of it is in the cache.
    First,
    /// What the first look asked for is there.
    Second,
    /// It is about to run.
    Last,
}

/// An event with its time, as it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Timed<E> {
    at: u64,
    event: E,
}

const _: () = assert!(size_of::<Timed<u64>>() == 16);

/// The event is its own tie.
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

/// The tie, then the event.
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

/// The pending event set: see the [module](self).
#[derive(Clone, Debug)]
pub struct EventQueue(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Untied(Lanes<u64>),
    Tied(Lanes<(u64, u64)>),
}

/// The same expression for whichever kind of queue it is.
macro_rules! each {
    ($kind:expr, $lanes:ident => $value:expr) => {
        match $kind {
            Kind::Untied($lanes) => $value,
            Kind::Tied($lanes) => $value,
        }
    };
}

impl EventQueue {
    /// Lanes that there can be, the wheel included.
    pub const MAX_LANES: usize = heads::MAX_LANES;
    /// Events must lie before this, in ps.
    pub const END_OF_TIME: u64 = heads::NEVER;

    /// An empty set without lanes, for events with any ties.
    pub fn new() -> Self {
        Self(Kind::Tied(Lanes::new()))
    }

    /// An empty set without lanes, for events each of which is its own tie.
    pub fn untied() -> Self {
        Self(Kind::Untied(Lanes::new()))
    }

    /// A new lane, for events that are always pushed `delay` ahead; the wheel if that is nothing, or
    /// when there are too many.
    pub fn add_lane(&mut self, delay: u64) -> LaneId {
        if delay == 0 {
            return LaneId::WHEEL;
        }
        each!(&mut self.0, lanes => lanes.add_lane())
    }

    /// A set with the same lanes and nothing in it, at the beginning of time.
    pub fn emptied(&self) -> Self {
        Self(match &self.0 {
            Kind::Untied(lanes) => Kind::Untied(lanes.emptied()),
            Kind::Tied(lanes) => Kind::Tied(lanes.emptied()),
        })
    }

    /// Events pending, counted one by one.
    pub fn len(&self) -> usize {
        each!(&self.0, lanes => lanes.len())
    }

    /// Whether none is pending.
    pub fn is_empty(&self) -> bool {
        self.peek_time().is_none()
    }

    /// Adds an event. Its time must not lie before that of the event popped last; within a lane it
    /// must lie behind it, and not before that of the event pushed last.
    #[inline(always)]
    pub fn push(&mut self, lane: LaneId, entry: Entry) {
        each!(&mut self.0, lanes => lanes.push(lane, entry.into()));
    }

    /// The same set, if events are their own ties: to add several without asking each time.
    #[inline(always)]
    pub fn as_untied(&mut self) -> Option<Untied<'_>> {
        match &mut self.0 {
            Kind::Untied(lanes) => Some(Untied(lanes)),
            Kind::Tied(_) => None,
        }
    }

    /// When the next event is due.
    #[inline]
    pub fn peek_time(&self) -> Option<u64> {
        each!(&self.0, lanes => lanes.peek_time())
    }

    /// Takes the next event: least time, then least tie.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        self.pop_before(u64::MAX)
    }

    /// Takes the next event if it is due before `end`.
    #[inline(always)]
    pub fn pop_before(&mut self, end: u64) -> Option<Entry> {
        each!(&mut self.0, lanes => lanes.pop_before(end).map(Entry::from))
    }

    /// Events that the longest lane has room for: what there have been at most, up to the next power of two.
    pub fn longest_lane(&self) -> usize {
        each!(&self.0, lanes => lanes.longest_lane())
    }

    /// Shows what events will probably run soon, each from afar, then nearer, then as the next. What is left of an instant is
    /// in order, and so is a lane, so that what one look has asked for is there at the next. Some are shown twice, some not.
    #[inline(always)]
    pub fn for_upcoming(&self, mut show: impl FnMut(Look, u64)) {
        each!(&self.0, lanes => lanes.for_upcoming(|look, event| {
            show(look, Entry::from(Timed { at: 0, event }).what);
        }));
    }

    /// Shows every pending event, in no particular order: for those who ask what is under way, not for
    /// each event.
    pub fn for_each(&self, mut show: impl FnMut(&Entry)) {
        each!(&self.0, lanes => lanes.for_each(|timed| show(&Entry::from(*timed))));
    }
}

/// A pending event set whose events are their own ties.
#[derive(Debug)]
pub struct Untied<'a>(&'a mut Lanes<u64>);

impl Untied<'_> {
    /// See [`EventQueue::push`].
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
