//! The event list: ordered by time, and by insertion for equal times.
//!
//! Most events are less than two microseconds ahead, so they go into a ring of buckets of 256 ps. A bucket is a list
//! of cache lines in insertion order, and is sorted when its turn comes. Later events wait in a coarser ring, and
//! much later ones in a heap. Events of the present instant go to a separate queue, which comes after all earlier
//! insertions for that instant.
//!
//! Events move from a coarser ring to a finer one before anything else can be inserted there, so the order of
//! insertion holds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Index that stands for no timer.
pub(super) const NONE: u32 = u32::MAX;
/// Flag of a word that holds a timer's index.
const TIMER: u32 = 1 << 31;
/// Content of a cancelled timer's word.
const CANCELLED: u32 = u32::MAX;

/// Binary logarithm of a bucket's width in ps.
const WIDTH: u32 = 8;
/// Number of buckets in the fine ring.
const FINE: u64 = 1 << 14;
/// Half of the fine ring, which is one bucket of the coarse ring.
const HALF: u64 = FINE / 2;
/// Number of buckets in the coarse ring.
const COARSE: u64 = 1 << 10;
/// Number of events in a line, so that a line fills a cache line.
const EVENTS: usize = 7;

/// Up to seven events of a bucket, each as its time within the bucket and its word.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    events: [u64; EVENTS],
    next: u32,
}

/// Lines in insertion order, and the number of events in the last one.
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

/// Pending events. An event is a word below 2^31.
#[derive(Clone)]
pub(super) struct Schedule {
    now: u64,
    /// End of the run: events from here on are dropped.
    end: u64,
    /// Number of events in the rings and the heap.
    waiting: usize,
    /// Number of the bucket that is being executed.
    bucket: u64,
    /// First bucket that is still in the coarse ring.
    horizon: u64,
    lines: Vec<Line>,
    free_lines: Vec<u32>,
    fine: Vec<Chain>,
    /// Bitmap of non-empty buckets in the fine ring (`full`), and of non-zero words in that bitmap (`words`).
    full: Vec<u64>,
    words: [u64; (FINE / 64 / 64) as usize],
    coarse: Vec<Vec<(u64, u32)>>,
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    far_count: u64,
    /// Events of the present bucket: time, order of insertion, word.
    current: Vec<(u64, u32, u32)>,
    position: usize,
    instant: VecDeque<u32>,
    /// Words of the timers, by timer index.
    timers: Vec<u32>,
    free_timers: Vec<u32>,
}

impl Schedule {
    /// Creates an empty schedule. Events at `end` or later are dropped; 0 means no end.
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

    /// Returns the present time, ps.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Returns the end of the run, ps; `u64::MAX` if there is none.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Schedules an event, or drops it if it is not before the end of the run.
    #[inline]
    pub(super) fn insert(&mut self, at: u64, word: u32) {
        debug_assert!(at >= self.now, "events lie ahead");
        if at >= self.end {
            return;
        }
        // Everything inserted for this instant before comes first, so it has a queue of its own.
        if at == self.now {
            self.instant.push_back(word);
            return;
        }
        let bucket = at >> WIDTH;
        if bucket == self.bucket {
            // The bucket is sorted already, so the event goes behind all of its time.
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

    /// Schedules an event that may be cancelled. Returns [`NONE`] if it is not before the end of the run.
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

    /// Cancels a timer that has not expired.
    pub(super) fn cancel(&mut self, timer: u32) {
        self.timers[timer as usize] = CANCELLED;
    }

    /// Returns the next event of the present bucket. After `None`, [`Self::advance`] loads the next bucket.
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
            // A cancelled timer must not advance the clock.
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

    /// Frees a timer. Returns its event unless it was cancelled.
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

    /// Moves to the next non-empty bucket, or to the end of the fine ring. Returns false if no events are left.
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
            // Nothing is left in the fine ring, which is filled again from its end on.
            None => self.bucket = self.horizon - 1,
        }
        // Coarse events were inserted earlier, so they must enter the fine ring before any new event does.
        while self.horizon - self.bucket <= HALF {
            self.refine();
        }
        if let Some(next) = self.next_full() {
            // Prefetch: the load overlaps with the execution of this bucket.
            let head = self.fine[(next % FINE) as usize].head;
            std::hint::black_box(self.lines[head as usize].next);
        }
        true
    }

    /// Returns the words of the present bucket's events. Words of timers match no event kind.
    pub(super) fn bucket(&self) -> impl Iterator<Item = u32> {
        self.current.iter().map(|(_, _, word)| *word)
    }

    /// Finds the first non-empty bucket after the present one.
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
        // One word more than there are: the search ends in the part of the first word that it skipped.
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

    /// Loads and sorts the events of a bucket of the fine ring.
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
        // `order` makes all entries distinct, so an unstable sort keeps the order of insertion.
        if !sorted {
            self.current.sort_unstable();
        }
        self.full[slot / 64] &= !(1 << (slot % 64));
        if self.full[slot / 64] == 0 {
            self.words[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
        }
    }

    /// Moves one bucket of the coarse ring to the fine ring.
    fn refine(&mut self) {
        let slot = (self.horizon / HALF % COARSE) as usize;
        let mut coarse = std::mem::take(&mut self.coarse[slot]);
        for &(at, word) in &coarse {
            // Cancelled timers end here, which spares the fine ring.
            let is_cancelled = word & TIMER != 0 && self.timers[(word & !TIMER) as usize] == CANCELLED;
            if is_cancelled {
                self.free_timers.push(word & !TIMER);
                self.waiting -= 1;
            } else {
                self.put(at >> WIDTH, at, word);
            }
        }
        // Keeps the allocation for reuse.
        coarse.clear();
        self.coarse[slot] = coarse;
        self.horizon += HALF;
        // The coarse ring reaches further now, and takes far events before new ones can get there.
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

    /// Compares the schedule with a plain sorted list: delays of every scale, ties and cancelled events.
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
