//! FIFO lanes for constant delays, and a timing wheel for all others.

use super::heads::{Heads, MAX_LANES, NEVER};
use super::ring::Ring;
use super::wheel::Wheel;
use super::{LaneId, Timed};

/// Index of the wheel among the lanes.
const WHEEL: usize = LaneId::WHEEL.0 as usize;
/// Events of the current instant that are kept sorted while others are added. If there are more, the later
/// ones wait in the wheel, so that the cost of an event does not grow with the number of simultaneous ones.
const IN_ORDER: usize = 128;
/// Distances in events of the three calls of [`Lanes::for_upcoming`], within an instant and in a lane.
/// Measured in networks of 8192 hosts; twice the distance has no advantage.
const AHEAD: [usize; 3] = [12, 4, 1];
const AHEAD_IN_LANE: [usize; 3] = [6, 2, 0];

/// Pending event set: see the [module](super). Simultaneous events are sorted by their own order.
#[derive(Clone, Debug)]
pub(super) struct Lanes<E> {
    /// Tournament over each lane's first event.
    heads: Heads,
    /// Lanes by index; the wheel's index has an unused one.
    lanes: Box<[Ring<E>; MAX_LANES]>,
    count: usize,
    wheel: Wheel<E>,
    /// Time of the event popped last.
    now: u64,
    /// Events of the current instant in order; those from `next` on are pending. Others of this instant in
    /// the wheel come after these.
    instant: Vec<E>,
    next: usize,
}

impl<E: Copy + Default + Ord> Lanes<E> {
    pub(super) fn new() -> Self {
        Self {
            heads: Heads::new(),
            lanes: Box::new(std::array::from_fn(|_| Ring::new())),
            count: 1,
            wheel: Wheel::new(),
            now: 0,
            instant: Vec::new(),
            next: 0,
        }
    }

    /// Returns an empty set with the same lanes.
    pub(super) fn emptied(&self) -> Self {
        let mut lanes = Self::new();
        lanes.count = self.count;
        lanes.heads.reserve(self.count);
        lanes
    }

    pub(super) fn add_lane(&mut self) -> LaneId {
        if self.count == MAX_LANES {
            return LaneId::WHEEL;
        }
        self.count += 1;
        self.heads.reserve(self.count);
        LaneId(self.count as u8 - 1)
    }

    #[inline(always)]
    pub(super) fn push(&mut self, lane: LaneId, entry: Timed<E>) {
        if lane == LaneId::WHEEL {
            return self.push_odd(entry);
        }
        let lane = usize::from(lane.0) % MAX_LANES;
        let ring = &mut self.lanes[lane];
        debug_assert!(entry.at > self.now, "what is due now has no lane");
        debug_assert!(
            ring.iter().next_back().is_none_or(|last| last.at <= entry.at),
            "a lane must stay in order"
        );
        if ring.push(entry) {
            self.heads.set(lane, entry.at);
        }
    }

    /// Adds an event that has no lane.
    #[inline(never)]
    fn push_odd(&mut self, entry: Timed<E>) {
        if entry.at == self.now {
            return self.push_now(entry.event);
        }
        self.wheel.push(self.now, entry);
        if entry.at < self.heads.time(WHEEL) {
            self.heads.set(WHEEL, entry.at);
        }
    }

    /// Inserts an event of the current instant among the pending ones.
    #[cold]
    fn push_now(&mut self, event: E) {
        if self.next == self.instant.len() {
            self.instant.clear();
            self.next = 0;
        }
        let at = self.now;
        // The wheel has the instant's last events. What belongs behind its first one must wait there too.
        if self.wheel.first_of_crowd().is_some_and(|first| first < event) {
            return self.wheel.push_crowd(Timed { at, event });
        }
        let place = self.instant[self.next..].partition_point(|other| *other < event);
        self.instant.insert(self.next + place, event);
        // Insertion into a long list is slow, so all but the first events wait in the wheel.
        if self.instant.len() - self.next > 2 * IN_ORDER {
            for event in self.instant.drain(self.next + IN_ORDER..) {
                self.wheel.push_crowd(Timed { at, event });
            }
            self.heads.set(WHEEL, at);
        }
    }

    #[inline]
    pub(super) fn peek_time(&self) -> Option<u64> {
        if self.next < self.instant.len() {
            return Some(self.now);
        }
        let at = self.heads.first().time();
        (at != NEVER).then_some(at)
    }

    #[inline(always)]
    pub(super) fn pop_before(&mut self, end: u64) -> Option<Timed<E>> {
        if let Some(&event) = self.instant.get(self.next) {
            if self.now >= end {
                return None;
            }
            self.next += 1;
            return Some(Timed { at: self.now, event });
        }
        let first = self.heads.first();
        let at = first.time();
        if at >= end.min(NEVER) {
            return None;
        }
        self.now = at;
        let lane = first.lane();
        let event = if lane == WHEEL {
            self.pop_odd(at)
        } else {
            let ring = &mut self.lanes[lane];
            let event = ring.pop();
            let next = ring.first_time();
            // Further events of this instant must be sorted together with this one.
            if next == at {
                let event = self.gather(event);
                return Some(Timed { at, event });
            }
            self.heads.set(lane, next);
            event
        };
        // In the most frequent case this was the only event due at this time.
        if self.heads.first().time() != at {
            return Some(Timed { at, event });
        }
        let event = self.gather(event);
        Some(Timed { at, event })
    }

    pub(super) fn longest_lane(&self) -> usize {
        self.lanes.iter().map(Ring::capacity).max().unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn for_upcoming(&self, far: impl Fn(E), near: impl Fn(E), next: impl Fn(E)) {
        let mut new = &[][..];
        let soon = if self.next == self.instant.len() {
            let lane = &self.lanes[self.heads.first().lane()];
            AHEAD_IN_LANE.map(|ahead| lane.get(ahead).map(|timed| timed.event))
        } else {
            if self.next == 1 {
                // Nobody has looked at the first events of an instant yet.
                new = &self.instant[1..self.instant.len().min(AHEAD[0])];
            }
            AHEAD.map(|ahead| self.instant.get(self.next + ahead - 1).copied())
        };
        // Each is called in one place, so that its code is inlined.
        new.iter().chain(&soon[0]).for_each(|&event| far(event));
        if let Some(event) = soon[1] {
            near(event);
        }
        if let Some(event) = soon[2] {
            next(event);
        }
    }

    #[inline(never)]
    fn pop_odd(&mut self, at: u64) -> E {
        let (event, next) = self.wheel.pop(at);
        self.heads.set(WHEEL, next);
        event
    }

    /// Collects and sorts all events of this instant, with `event` among them, and returns the first.
    #[inline(never)]
    fn gather(&mut self, event: E) -> E {
        self.instant.clear();
        self.instant.push(event);
        if self.wheel.has_crowd() {
            return self.gather_some();
        }
        loop {
            let first = self.heads.first();
            if first.time() != self.now {
                break;
            }
            let lane = first.lane();
            if lane == WHEEL {
                let event = self.pop_odd(self.now);
                self.instant.push(event);
            } else {
                let ring = &mut self.lanes[lane];
                let next = ring.drain_instant(self.now, &mut self.instant);
                self.heads.set(lane, next);
            }
        }
        self.instant.sort_unstable();
        self.next = 1;
        self.instant[0]
    }

    /// Continues an instant whose remaining events are in the wheel. The wheel returns them in order.
    #[cold]
    fn gather_some(&mut self) -> E {
        while self.instant.len() < IN_ORDER && self.wheel.has_crowd() {
            let event = self.pop_odd(self.now);
            self.instant.push(event);
        }
        self.next = 1;
        self.instant[0]
    }

    pub(super) fn len(&self) -> usize {
        let mut len = 0;
        self.for_each(|_| len += 1);
        len
    }

    pub(super) fn for_each(&self, mut show: impl FnMut(&Timed<E>)) {
        for &event in &self.instant[self.next..] {
            show(&Timed { at: self.now, event });
        }
        self.lanes.iter().flat_map(Ring::iter).for_each(&mut show);
        self.wheel.for_each(&mut show);
    }
}
