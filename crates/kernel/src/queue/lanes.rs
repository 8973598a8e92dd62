//! FIFO lanes for constant delays over a timing wheel for the rest.

use super::Look;
use super::heads::{Heads, MAX_LANES, NEVER};
use super::ring::Ring;
use super::wheel::Wheel;
use super::{LaneId, Timed};

/// The wheel's place among the lanes.
const WHEEL: usize = LaneId::WHEEL.0 as usize;
/// Events of the current instant that are kept in order while others come to it. Of more, those behind wait in
/// the wheel, so that in a crowd that meets in one instant each costs no more than in a small one.
const IN_ORDER: usize = 128;
/// How many events ahead the three looks of [`Lanes::for_upcoming`] are, within an instant and in a lane. Found by trying in
/// networks of 8192 hosts; twice as far is no better.
const AHEAD: [usize; 3] = [12, 4, 1];
const AHEAD_IN_LANE: [usize; 3] = [6, 2, 0];

/// The pending event set: see the [module](super). Events of one instant run in their own order.
#[derive(Clone, Debug)]
pub(super) struct Lanes<E> {
    /// The time of each lane's first event.
    heads: Heads,
    /// Lanes; at the wheel's place there is an empty one.
    lanes: Box<[Ring<E>; MAX_LANES]>,
    count: usize,
    wheel: Wheel<E>,
    /// The current instant: that of the event taken last.
    now: u64,
    /// Its events, in order; those from `next` on are still to run. If others are in the wheel, they come after these.
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

    /// The same lanes, empty.
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

    /// An event for the instant that is running takes its place among those still to run.
    #[cold]
    fn push_now(&mut self, event: E) {
        if self.next == self.instant.len() {
            self.instant.clear();
            self.next = 0;
        }
        let at = self.now;
        if self.wheel.first_of_crowd().is_some_and(|first| first < event) {
            return self.wheel.push_crowd(Timed { at, event });
        }
        let place = self.instant[self.next..].partition_point(|other| *other < event);
        self.instant.insert(self.next + place, event);
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
            if next == at {
                let event = self.gather(event);
                return Some(Timed { at, event });
            }
            self.heads.set(lane, next);
            event
        };
        // The most frequent case: one lane has events due, and just one.
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
    pub(super) fn for_upcoming(&self, mut show: impl FnMut(Look, E)) {
        const LOOKS: [Look; 3] = [Look::First, Look::Second, Look::Last];
        if self.next == self.instant.len() {
            let lane = &self.lanes[self.heads.first().lane()];
            for (look, ahead) in LOOKS.into_iter().zip(AHEAD_IN_LANE) {
                if let Some(soon) = lane.get(ahead) {
                    show(look, soon.event);
                }
            }
            return;
        }
        if self.next == 1 {
            let all = self.instant[1..].iter().take(AHEAD[0] - 1);
            all.for_each(|&event| show(Look::First, event));
        }
        for (look, ahead) in LOOKS.into_iter().zip(AHEAD) {
            if let Some(&event) = self.instant.get(self.next + ahead - 1) {
                show(look, event);
            }
        }
    }

    #[inline(never)]
    fn pop_odd(&mut self, at: u64) -> E {
        let (event, next) = self.wheel.pop(at);
        self.heads.set(WHEEL, next);
        event
    }

    /// Brings the events of this instant into their order, `event` among them, and takes the first.
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

    /// Goes on with an instant of which the wheel has what comes after all that has run, in order.
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
