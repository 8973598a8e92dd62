//! The event list: by time, and in the order of insertion where times are equal.
//!
//! Most events lie within two microseconds, so they go into a ring of buckets of 256 ps. A bucket is a list of cache lines, in
//! the order of insertion, and is sorted when its turn comes. Later events wait in a coarser ring, and much later ones in a heap.
//! An event of this very instant goes to a queue of its own, which comes after everything that was inserted for it before.
//!
//! What waits in coarser rings enters a finer one before anything else can be inserted there, so the order of insertion holds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// No timer.
pub(super) const NONE: u32 = u32::MAX;
/// A word that is the number of a timer.
const TIMER: u32 = 1 << 31;
/// What a cancelled timer stands for.
const CANCELLED: u32 = u32::MAX;

/// A bucket takes 2^8 ps.
const WIDTH: u32 = 8;
/// Buckets of the fine ring.
const FINE: u64 = 1 << 14;
/// Half of the fine ring: one bucket of the coarse ring.
const HALF: u64 = FINE / 2;
/// Buckets of the coarse ring.
const COARSE: u64 = 1 << 10;
/// Events of a line.
const EVENTS: usize = 7;

/// Some events of a bucket: each is its time within the bucket, and its word.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    events: [u64; EVENTS],
    next: u32,
}

/// Lines in the order of insertion, and how many events the last one has.
#[derive(Clone, Copy)]
struct Chain {
    head: u32,
    tail: u32,
    last: u32,
}

const EMPTY: Chain = Chain {
    head: NONE,
    tail: NONE,
    last: 0,
};

/// Events to come; an event is a word below 2^31.
#[derive(Clone)]
pub(super) struct Schedule {
    now: u64,
    /// Nothing is scheduled from here on.
    end: u64,
    /// Events that are neither of this instant nor of the present bucket.
    waiting: usize,
    /// The bucket whose events run now.
    bucket: u64,
    /// The first bucket that is still in the coarse ring.
    horizon: u64,
    lines: Vec<Line>,
    free_lines: Vec<u32>,
    fine: Vec<Chain>,
    /// Which buckets of the fine ring have events, and which words of this have bits.
    full: Vec<u64>,
    words: [u64; (FINE / 64 / 64) as usize],
    coarse: Vec<Vec<(u64, u32)>>,
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    far_count: u64,
    /// Events of the present bucket: time, order, word.
    current: Vec<(u64, u32, u32)>,
    position: usize,
    instant: VecDeque<u32>,
    /// Words of timers.
    timers: Vec<u32>,
    free_timers: Vec<u32>,
}

impl Schedule {
    /// Nothing happens at `end` or later; 0: no end.
    pub(super) fn new(end: u64) -> Self {
        Self {
            now: 0,
            end: if end == 0 { u64::MAX } else { end },
            waiting: 0,
            bucket: 0,
            horizon: FINE,
            lines: Vec::new(),
            free_lines: Vec::new(),
            fine: vec![EMPTY; FINE as usize],
            full: vec![0; (FINE / 64) as usize],
            words: [0; (FINE / 64 / 64) as usize],
            coarse: vec![Vec::new(); COARSE as usize],
            far: BinaryHeap::new(),
            far_count: 0,
            current: Vec::new(),
            position: 0,
            instant: VecDeque::new(),
            timers: Vec::new(),
            free_timers: Vec::new(),
        }
    }

    /// The present time.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Nothing happens from here on.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Schedules an event, unless that is beyond the end of the run.
    #[inline]
    pub(super) fn insert(&mut self, at: u64, word: u32) {
        debug_assert!(at >= self.now, "events lie ahead");
        if at >= self.end {
            return;
        }
        if at == self.now {
            self.instant.push_back(word);
            return;
        }
        let bucket = at >> WIDTH;
        if bucket == self.bucket {
            let rest = &self.current[self.position..];
            let behind = self.position + rest.partition_point(|entry| entry.0 <= at);
            self.current.insert(behind, (at, 0, word));
            return;
        }
        self.waiting += 1;
        if bucket < self.horizon {
            self.put(bucket, at, word);
        } else {
            self.put_far(bucket, at, word);
        }
    }

    /// Schedules an event that may be cancelled; [`NONE`] if that is beyond the end of the run.
    pub(super) fn insert_timer(&mut self, at: u64, word: u32) -> u32 {
        if at >= self.end {
            return NONE;
        }
        let timer = self.free_timers.pop().unwrap_or_else(|| {
            self.timers.push(word);
            self.timers.len() as u32 - 1
        });
        self.timers[timer as usize] = word;
        self.insert(at, timer | TIMER);
        timer
    }

    /// Cancels a timer that has not ended.
    pub(super) fn cancel(&mut self, timer: u32) {
        self.timers[timer as usize] = CANCELLED;
    }

    /// The next event that is known without looking ahead, if there is one: otherwise [`Self::advance`].
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        loop {
            let (at, word) = match self.current.get(self.position) {
                Some(&(at, _, word)) if at == self.now || self.instant.is_empty() => {
                    self.position += 1;
                    (at, word)
                }
                _ => (self.now, self.instant.pop_front()?),
            };
            // Nothing happens where a timer was cancelled, so that is not the time of an event.
            let word = match word & TIMER {
                0 => Some(word),
                _ => self.end_timer(word),
            };
            if word.is_some() {
                self.now = at;
                return word;
            }
        }
    }

    /// The event of a timer, if it was not cancelled.
    fn end_timer(&mut self, word: u32) -> Option<u32> {
        let timer = word & !TIMER;
        self.free_timers.push(timer);
        Some(self.timers[timer as usize]).filter(|word| *word != CANCELLED)
    }

    #[inline]
    fn put(&mut self, bucket: u64, at: u64, word: u32) {
        let slot = (bucket % FINE) as usize;
        let chain = &mut self.fine[slot];
        if chain.head == NONE || chain.last as usize == EVENTS {
            let line = self.free_lines.pop().unwrap_or_else(|| {
                let events = [0; EVENTS];
                self.lines.push(Line { events, next: NONE });
                self.lines.len() as u32 - 1
            });
            if chain.head == NONE {
                chain.head = line;
                self.full[slot / 64] |= 1 << (slot % 64);
                self.words[slot / 64 / 64] |= 1 << (slot / 64 % 64);
            } else {
                self.lines[chain.tail as usize].next = line;
            }
            chain.tail = line;
            chain.last = 0;
        }
        let within = at & ((1 << WIDTH) - 1);
        let line = &mut self.lines[chain.tail as usize];
        line.events[chain.last as usize] = within << 32 | u64::from(word);
        chain.last += 1;
    }

    fn put_far(&mut self, bucket: u64, at: u64, word: u32) {
        if bucket < self.horizon + (COARSE - 1) * HALF {
            self.coarse[(bucket / HALF % COARSE) as usize].push((at, word));
        } else {
            self.far.push(Reverse((at, self.far_count, word)));
            self.far_count += 1;
        }
    }

    /// Goes to the next bucket that has events, or as far as the fine ring knows. Returns whether there are any.
    pub(super) fn advance(&mut self) -> bool {
        if self.waiting == 0 {
            return false;
        }
        self.current.clear();
        self.position = 0;
        match self.next_full() {
            Some(bucket) => {
                self.bucket = bucket;
                self.load(bucket);
            }
            None => self.bucket = self.horizon - 1,
        }
        // Before anything else is inserted: what waited in the coarse ring was inserted before.
        while self.horizon - self.bucket <= HALF {
            self.refine();
        }
        if let Some(next) = self.next_full() {
            // The load goes on while the events of this bucket run.
            let head = self.fine[(next % FINE) as usize].head;
            std::hint::black_box(self.lines[head as usize].next);
        }
        true
    }

    /// The words of the events of the present bucket; those of timers are none.
    pub(super) fn bucket(&self) -> impl Iterator<Item = u32> {
        self.current.iter().map(|(_, _, word)| *word)
    }

    /// The first full bucket behind the present one.
    fn next_full(&self) -> Option<u64> {
        let from = (self.bucket + 1) % FINE;
        let (word, bit) = ((from / 64) as usize, from % 64);
        let found = |word: usize, bits: u64| {
            let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
            Some(self.bucket + 1 + (slot + FINE - from) % FINE)
        };
        let first = self.full[word] & (u64::MAX << bit);
        if first != 0 {
            return found(word, first);
        }
        let count = self.full.len();
        let mut next = word + 1;
        for _ in 0..=self.words.len() {
            let at = next % count;
            let bits = self.words[at / 64] & (u64::MAX << (at % 64));
            if bits != 0 {
                let word = at / 64 * 64 + bits.trailing_zeros() as usize;
                return found(word, self.full[word]);
            }
            next = (at / 64 + 1) * 64;
        }
        None
    }

    /// Takes the events of a bucket of the fine ring, in their order.
    fn load(&mut self, bucket: u64) {
        let slot = (bucket % FINE) as usize;
        let chain = std::mem::replace(&mut self.fine[slot], EMPTY);
        let start = bucket << WIDTH;
        let mut line = chain.head;
        let (mut order, mut sorted, mut before) = (0, true, 0);
        while line != NONE {
            let Line { events, next } = self.lines[line as usize];
            let is_last = line == chain.tail;
            let count = if is_last { chain.last as usize } else { EVENTS };
            for event in &events[..count] {
                let at = start + (event >> 32);
                sorted &= at >= before;
                before = at;
                self.current.push((at, order, *event as u32));
                order += 1;
            }
            self.free_lines.push(line);
            line = if is_last { NONE } else { next };
        }
        self.waiting -= self.current.len();
        if !sorted {
            self.current.sort_unstable();
        }
        self.full[slot / 64] &= !(1 << (slot % 64));
        if self.full[slot / 64] == 0 {
            self.words[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
        }
    }

    /// Brings one bucket of the coarse ring into the fine one.
    fn refine(&mut self) {
        let slot = (self.horizon / HALF % COARSE) as usize;
        let mut coarse = std::mem::take(&mut self.coarse[slot]);
        for &(at, word) in &coarse {
            let is_cancelled = word & TIMER != 0 && self.timers[(word & !TIMER) as usize] == CANCELLED;
            if is_cancelled {
                self.free_timers.push(word & !TIMER);
                self.waiting -= 1;
            } else {
                self.put(at >> WIDTH, at, word);
            }
        }
        // Its room is kept.
        coarse.clear();
        self.coarse[slot] = coarse;
        self.horizon += HALF;
        let limit = (self.horizon + (COARSE - 1) * HALF) << WIDTH;
        while let Some(&Reverse((at, _, word))) = self.far.peek()
            && at < limit
        {
            self.far.pop();
            self.coarse[((at >> WIDTH) / HALF % COARSE) as usize].push((at, word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &mut Schedule) -> Option<u32> {
        loop {
            if let Some(word) = schedule.pop() {
                return Some(word);
            }
            if !schedule.advance() {
                return None;
            }
        }
    }

    /// Against a plain sorted list, with delays of every scale, ties and cancelled events.
    #[test]
    fn it_is_a_stable_sorted_list() {
        let mut random = crate::uet_htsim::random::Random::new(5);
        let (mut schedule, mut plain) = (Schedule::new(0), Vec::<(u64, u32, u32)>::new());
        let mut count = 0;
        let mut add = |schedule: &mut Schedule, plain: &mut Vec<_>, draw: u32, scale: u32| {
            let at = schedule.now() + u64::from(draw % 8) * 10_u64.pow(scale);
            let mut timer = NONE;
            if draw & 8 == 0 {
                schedule.insert(at, count);
            } else {
                timer = schedule.insert_timer(at, count);
            }
            plain.push((at, count, timer));
            count += 1;
        };
        for _ in 0..40 {
            add(&mut schedule, &mut plain, random.draw(), 3);
        }
        let mut popped = 0;
        while let Some(word) = next(&mut schedule) {
            plain.sort_by_key(|entry| (entry.0, entry.1));
            let (at, expected, _) = plain.remove(0);
            assert_eq!((schedule.now(), word), (at, expected));
            popped += 1;
            if popped < 20_000 {
                let more = if plain.len() < 60 { 2 } else { random.draw() % 3 };
                for _ in 0..more {
                    let (draw, scale) = (random.draw(), random.draw() % 11);
                    add(&mut schedule, &mut plain, draw, scale);
                }
                if plain.len() > 10 && random.draw().is_multiple_of(5) {
                    let which = random.draw() as usize % plain.len();
                    if plain[which].2 != NONE {
                        schedule.cancel(plain.remove(which).2);
                    }
                }
            }
        }
        assert!(plain.is_empty() && popped > 10_000);
    }

    #[test]
    fn nothing_happens_at_the_end() {
        let mut schedule = Schedule::new(10);
        schedule.insert(10, 1);
        assert_eq!(schedule.insert_timer(10, 1), NONE);
        schedule.insert(9, 2);
        assert_eq!(next(&mut schedule), Some(2));
        assert_eq!(next(&mut schedule), None);
    }
}
