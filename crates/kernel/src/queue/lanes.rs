//! FIFO lanes for constant delays over a timing wheel for the rest.

use super::heads::{Heads, LANE_BITS, MAX_LANES, NEVER, head_key, head_of, lane_of, time_of};
use super::ring::Ring;
use super::{Entry, LaneId, Wheel};

/// Events pending up to which everything that they touch stays in the cache without help.
const CACHE_HOLDS: usize = 1024;
/// How far ahead in a lane [`EventQueue::take_upcoming`] looks.
const LOOK_AHEAD: usize = 2;

/// The pending event set: see the [module](super).
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Heads of the lanes; the wheel's time may be a lower bound.
    heads: Heads,
    /// Lanes; index 0 is unused, the wheel stands there.
    lanes: Vec<Ring>,
    wheel: Wheel,
    /// Events of the current instant that are still to run, the next one last.
    batch: Vec<Entry>,
    /// The current instant.
    batch_at: u64,
    len: usize,
    /// See [`EventQueue::take_upcoming`].
    upcoming: [u64; 16],
    upcoming_count: usize,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl EventQueue {
    /// Lanes that there can be, the wheel included.
    pub const MAX_LANES: usize = MAX_LANES;
    /// Events must lie before this, in ps.
    pub const END_OF_TIME: u64 = NEVER >> LANE_BITS;

    /// An empty set without lanes.
    pub fn new() -> Self {
        Self {
            heads: Heads::new(),
            lanes: vec![Ring::new()],
            wheel: Wheel::default(),
            batch: Vec::new(),
            batch_at: NEVER,
            len: 0,
            upcoming: [0; 16],
            upcoming_count: 0,
        }
    }

    /// A new lane, for events whose delay is always the same; the wheel when there are too many.
    pub fn add_lane(&mut self) -> LaneId {
        if self.lanes.len() == Self::MAX_LANES {
            return LaneId::WHEEL;
        }
        self.lanes.push(Ring::new());
        LaneId(self.lanes.len() as u8 - 1)
    }

    /// Events pending.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event. Its time must not lie before that of the event popped last, and within a lane
    /// not before that of the event pushed last.
    #[inline]
    pub fn push(&mut self, lane: LaneId, entry: Entry) {
        self.len += 1;
        if entry.at == self.batch_at {
            return self.push_now(entry);
        }
        if lane == LaneId::WHEEL {
            return self.push_to_wheel(entry);
        }
        let i = lane.0 as usize;
        let queue = &mut self.lanes[i];
        #[cfg(debug_assertions)]
        assert!(
            queue.back().is_none_or(|last| last.at <= entry.at),
            "a lane must stay in order"
        );
        if queue.is_empty() {
            self.heads.insert(head_of(entry.at, i));
        }
        queue.push_back(entry);
    }

    #[inline(never)]
    fn push_to_wheel(&mut self, entry: Entry) {
        self.wheel.push(entry);
        self.heads.lower_wheel(head_of(entry.at, 0));
    }

    /// An event for the instant that is running takes its place among those still to run.
    #[cold]
    fn push_now(&mut self, entry: Entry) {
        let place = self.batch.partition_point(|other| other.tie > entry.tie);
        self.batch.insert(place, entry);
    }

    /// Takes the next event: least time, then least tie.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        let next = match self.batch.pop() {
            Some(entry) => entry,
            None => self.next_instant()?,
        };
        self.len -= 1;
        Some(next)
    }

    /// Shows every pending event, in no particular order: for those who ask what is under way, not for
    /// each event.
    pub fn for_each(&self, mut show: impl FnMut(&Entry)) {
        self.batch.iter().for_each(&mut show);
        self.lanes.iter().flat_map(Ring::iter).for_each(&mut show);
        self.wheel.for_each(&mut show);
    }

    /// Events that will probably run soon: a lane is in order, so what it holds next is known, and
    /// its data can be fetched in time. Each is told once, after the [`EventQueue::pop`] that found it.
    #[inline]
    pub fn take_upcoming(&mut self) -> Option<u64> {
        let last = self.upcoming_count.checked_sub(1)?;
        self.upcoming_count = last;
        Some(self.upcoming[last])
    }

    /// Remembers what lane `i` will hold soon.
    #[inline]
    fn look_ahead(&mut self, i: usize) {
        if let Some(soon) = self.lanes[i].get(LOOK_AHEAD)
            && self.upcoming_count < self.upcoming.len()
        {
            self.upcoming[self.upcoming_count] = soon.what;
            self.upcoming_count += 1;
        }
    }

    /// Moves on to the next instant, gathers its events and takes the first.
    #[inline]
    fn next_instant(&mut self) -> Option<Entry> {
        while !self.is_exact(self.heads.first()) {}
        let first = self.heads.first();
        if first == NEVER {
            return None;
        }
        let at = time_of(first);
        self.batch_at = at;
        // The most frequent case: one lane has events due, and just one.
        let entry = self.take_first(lane_of(first));
        if time_of(self.heads.first()) != at {
            return entry;
        }
        self.batch.extend(entry);
        while time_of(self.heads.first()) == at {
            let first = self.heads.first();
            if self.is_exact(first) {
                let entry = self.take_first(lane_of(first));
                self.batch.extend(entry);
            }
        }
        self.batch
            .sort_unstable_by_key(|entry| std::cmp::Reverse(entry.tie));
        self.batch.pop()
    }

    /// Whether the least head can be believed. The wheel's may be a lower bound: if so it is made
    /// exact, and another may be the least.
    #[inline]
    fn is_exact(&mut self, first: u64) -> bool {
        if lane_of(first) != 0 {
            return true;
        }
        let exact = head_key(self.wheel.settle(), 0);
        if exact != first {
            self.heads.replace_wheel(exact);
        }
        exact == first
    }

    /// Takes the first event of lane `i`, whose head is the least.
    #[inline]
    fn take_first(&mut self, i: usize) -> Option<Entry> {
        if i == 0 {
            let (entry, next) = self.wheel.pop();
            self.heads.replace_wheel(head_key(next, 0));
            return entry;
        }
        let lane = &mut self.lanes[i];
        let entry = lane.pop_front();
        match lane.front() {
            Some(next) => self.heads.replace_first(head_of(next.at, i)),
            None => self.heads.remove_first(),
        }
        if self.len > CACHE_HOLDS {
            self.look_ahead(i);
        }
        entry
    }
}
