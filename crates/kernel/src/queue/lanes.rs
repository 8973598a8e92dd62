//! FIFO lanes for constant delays over a timing wheel for the rest.

use std::collections::VecDeque;

use super::{Entry, LaneId, Wheel};

/// No event: later than every time.
const NEVER: u64 = u64::MAX;

/// The pending event set: see the [module](super).
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Time of the first event of each lane; index 0 is the wheel's (a lower bound).
    heads: Vec<u64>,
    /// Lanes; index 0 is unused, the wheel stands there.
    lanes: Vec<VecDeque<Entry>>,
    wheel: Wheel,
    /// Events of the current instant that are still to run, the next one last.
    batch: Vec<Entry>,
    /// The current instant.
    batch_at: u64,
    len: usize,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl EventQueue {
    /// Lanes that there can be, the wheel included: the heads are searched one by one.
    pub const MAX_LANES: usize = 32;

    /// An empty set without lanes.
    pub fn new() -> Self {
        Self {
            heads: vec![NEVER],
            lanes: vec![VecDeque::new()],
            wheel: Wheel::default(),
            batch: Vec::new(),
            batch_at: NEVER,
            len: 0,
        }
    }

    /// A new lane, for events whose delay is always the same; the wheel when there are too many.
    pub fn add_lane(&mut self) -> LaneId {
        if self.lanes.len() == Self::MAX_LANES {
            return LaneId::WHEEL;
        }
        self.lanes.push(VecDeque::new());
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
            self.heads[0] = self.heads[0].min(entry.at);
            return;
        }
        let i = lane.0 as usize;
        let queue = &mut self.lanes[i];
        debug_assert!(
            queue.back().is_none_or(|last| last.at <= entry.at),
            "a lane must stay in order"
        );
        if queue.is_empty() {
            self.heads[i] = entry.at;
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

    /// Moves on to the next instant, gathers its events and takes the first.
    #[inline]
    fn next_instant(&mut self) -> Option<Entry> {
        let (at, due) = loop {
            let at = self.heads.iter().copied().fold(NEVER, u64::min);
            if at == NEVER {
                return None;
            }
            let due = self
                .heads
                .iter()
                .enumerate()
                .fold(0u32, |due, (i, &head)| due | u32::from(head == at) << i);
            // The wheel's head may be a lower bound: make it exact before believing it.
            if due & 1 == 0 || self.wheel.settle() == at {
                break (at, due);
            }
            self.heads[0] = self.wheel.head();
        };
        self.batch_at = at;
        if due.is_power_of_two() && due != 1 {
            let i = due.trailing_zeros() as usize;
            let queue = &mut self.lanes[i];
            let entry = queue.pop_front().expect("a lane with a head has an event");
            self.heads[i] = queue.front().map_or(NEVER, |next| next.at);
            if self.heads[i] != at {
                return Some(entry);
            }
            self.batch.push(entry);
        }
        self.gather(at, due);
        self.batch.pop()
    }

    /// Collects all events at `at` from the lanes in the bit set `due`, in order, the first last.
    fn gather(&mut self, at: u64, mut due: u32) {
        while due != 0 {
            let i = due.trailing_zeros() as usize;
            due &= due - 1;
            if i == 0 {
                self.wheel.take(at, &mut self.batch);
                self.heads[0] = self.wheel.head();
                continue;
            }
            let queue = &mut self.lanes[i];
            while queue.front().is_some_and(|next| next.at == at) {
                self.batch.extend(queue.pop_front());
            }
            self.heads[i] = queue.front().map_or(NEVER, |next| next.at);
        }
        if self.batch.len() > 1 {
            self.batch.sort_unstable_by(|a, b| b.tie.cmp(&a.tie));
        }
    }
}
