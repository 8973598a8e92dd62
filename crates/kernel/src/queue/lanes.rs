//! FIFO lanes for constant delays over a timing wheel for the rest.

use super::ring::Ring;
use super::{Entry, LaneId, Wheel};

/// No event: later than every time.
const NEVER: u64 = u64::MAX;
/// Bits of a head that tell its lane.
const LANE_BITS: u32 = 5;

/// How far ahead in a lane [`EventQueue::upcoming`] looks.
const LOOK_AHEAD: usize = 2;

/// A lane's head in one word: the time of its first event, then the lane, so that the least head
/// tells both. Times up to 2^59 ps (6.6 days) fit.
#[inline]
const fn head_key(at: u64, lane: usize) -> u64 {
    if at == NEVER {
        NEVER
    } else {
        at << LANE_BITS | lane as u64
    }
}
#[inline]
const fn time_of(head: u64) -> u64 {
    head >> LANE_BITS
}
#[inline]
const fn lane_of(head: u64) -> usize {
    (head & ((1 << LANE_BITS) - 1)) as usize
}

/// The pending event set: see the [module](super).
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Head of each lane; index 0 is the wheel's, whose time may be a lower bound.
    heads: Vec<u64>,
    /// Lanes; index 0 is unused, the wheel stands there.
    lanes: Vec<Ring>,
    wheel: Wheel,
    /// Events of the current instant that are still to run, the next one last.
    batch: Vec<Entry>,
    /// The current instant.
    batch_at: u64,
    len: usize,
    /// See [`EventQueue::upcoming`].
    upcoming: Vec<u64>,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl EventQueue {
    /// Lanes that there can be, the wheel included: the heads are searched one by one.
    pub const MAX_LANES: usize = 1 << LANE_BITS;
    /// Events must lie before this, in ps.
    pub const END_OF_TIME: u64 = NEVER >> LANE_BITS;

    /// An empty set without lanes.
    pub fn new() -> Self {
        Self {
            heads: vec![NEVER],
            lanes: vec![Ring::new()],
            wheel: Wheel::default(),
            batch: Vec::new(),
            batch_at: NEVER,
            len: 0,
            upcoming: Vec::new(),
        }
    }

    /// A new lane, for events whose delay is always the same; the wheel when there are too many.
    pub fn add_lane(&mut self) -> LaneId {
        if self.lanes.len() == Self::MAX_LANES {
            return LaneId::WHEEL;
        }
        self.lanes.push(Ring::new());
        self.heads.push(NEVER);
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
            self.wheel.push(entry);
            self.heads[0] = self.heads[0].min(head_key(entry.at, 0));
            return;
        }
        let i = lane.0 as usize;
        let queue = &mut self.lanes[i];
        #[cfg(debug_assertions)]
        assert!(
            queue.back().is_none_or(|last| last.at <= entry.at),
            "a lane must stay in order"
        );
        if queue.is_empty() {
            self.heads[i] = head_key(entry.at, i);
        }
        queue.push_back(entry);
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

    /// Events that will probably run soon: a lane is in order, so what it holds next is known, and
    /// its data can be fetched in time. To be emptied by the caller after every [`EventQueue::pop`].
    #[inline]
    pub fn upcoming(&mut self) -> &mut Vec<u64> {
        &mut self.upcoming
    }

    /// Moves on to the next instant, gathers its events and takes the first.
    #[inline]
    fn next_instant(&mut self) -> Option<Entry> {
        let (first, second) = loop {
            let (first, second) = self.least_two_heads();
            if first == NEVER {
                return None;
            }
            // The wheel's head may be a lower bound: make it exact before believing it.
            if lane_of(first) != 0 && (lane_of(second) != 0 || time_of(second) > time_of(first)) {
                break (first, second);
            }
            let head = self.heads[0];
            self.heads[0] = head_key(self.wheel.settle(), 0);
            if self.heads[0] == head {
                break (first, second);
            }
        };
        let at = time_of(first);
        self.batch_at = at;
        let i = lane_of(first);
        if time_of(second) != at {
            // The most frequent case: one lane has events due, and most often just one.
            let (entry, next) = if i == 0 {
                self.wheel.pop()
            } else {
                let queue = &mut self.lanes[i];
                let entry = queue.pop_front();
                self.upcoming.extend(queue.get(LOOK_AHEAD).map(|soon| soon.what));
                (entry, queue.front().map_or(NEVER, |next| next.at))
            };
            self.heads[i] = head_key(next, i);
            if next != at {
                return entry;
            }
            self.batch.extend(entry);
        }
        self.gather(at);
        self.batch.pop()
    }

    /// The two earliest heads: there is but one event due unless they are of the same time.
    #[inline]
    fn least_two_heads(&self) -> (u64, u64) {
        let (mut first, mut second) = (NEVER, NEVER);
        for &head in &self.heads {
            let later = first.max(head);
            first = first.min(head);
            second = second.min(later);
        }
        (first, second)
    }

    /// Collects all events at `at`, in order, the first last.
    fn gather(&mut self, at: u64) {
        for i in 0..self.lanes.len() {
            if time_of(self.heads[i]) != at {
                continue;
            }
            if i == 0 {
                self.wheel.take(at, &mut self.batch);
                self.heads[0] = head_key(self.wheel.head(), 0);
                continue;
            }
            let queue = &mut self.lanes[i];
            while queue.front().is_some_and(|next| next.at == at) {
                self.batch.extend(queue.pop_front());
                self.upcoming.extend(queue.get(LOOK_AHEAD).map(|soon| soon.what));
            }
            self.heads[i] = queue.front().map_or(NEVER, |next| head_key(next.at, i));
        }
        if self.batch.len() > 1 {
            self.batch
                .sort_unstable_by_key(|entry| std::cmp::Reverse(entry.tie));
        }
    }
}
