//! A timing wheel that sorts a bucket when it is reached, over a heap for what lies beyond it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Entry;

/// A bucket spans 2^14 ps, 16.4 ns.
const BUCKET_BITS: u32 = 14;
/// The wheel spans 8192 buckets, 134 µs: pacing and most timers.
const BUCKETS: u64 = 8192;
const NONE: u32 = u32::MAX;
const NEVER: u64 = u64::MAX;

/// While no bucket has any, up to so many events that are due soon are kept sorted instead.
const FEW: usize = 48;
/// Soon: within 2^22 ps, 4 µs.
const SOON: u64 = 1 << 22;

/// Events at any time: the home of timers, paced wake-ups and packets of odd sizes.
///
/// Whatever is in `current` and `heap` may be next; before one of them is taken, every bucket that
/// begins no later is emptied into `current`.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// Sorted events, the earliest last: the bucket that was reached, and a few that are due soon.
    current: Vec<Entry>,
    /// What came too late for its bucket, or lies beyond the wheel.
    heap: BinaryHeap<Reverse<Entry>>,
    /// Number of the bucket that was reached, counted from time zero.
    cursor: u64,
    /// First node of each bucket's list.
    buckets: Vec<u32>,
    /// A bit per bucket that has events.
    occupied: Vec<u64>,
    nodes: Vec<(Entry, u32)>,
    free: u32,
    /// Events in buckets.
    in_buckets: usize,
    /// Time of the event taken last.
    now: u64,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            heap: BinaryHeap::new(),
            cursor: 0,
            buckets: vec![NONE; BUCKETS as usize],
            occupied: vec![0; BUCKETS as usize / 64],
            nodes: Vec::new(),
            free: NONE,
            in_buckets: 0,
            now: 0,
        }
    }
}

impl Wheel {
    /// Adds an event, not before the last one that was taken.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        if self.in_buckets == 0 {
            if self.current.len() < FEW && entry.at - self.now < SOON {
                let place = self.current.partition_point(|other| other.at > entry.at);
                return self.current.insert(place, entry);
            }
            self.cursor = self.cursor.max(self.now >> BUCKET_BITS);
        }
        let bucket = entry.at >> BUCKET_BITS;
        if bucket > self.cursor && bucket < self.cursor + BUCKETS {
            self.push_bucket(bucket, entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    fn push_bucket(&mut self, bucket: u64, entry: Entry) {
        let slot = (bucket % BUCKETS) as usize;
        let next = self.buckets[slot];
        let node = if self.free == NONE {
            self.nodes.push((entry, next));
            self.nodes.len() as u32 - 1
        } else {
            let node = self.free;
            self.free = self.nodes[node as usize].1;
            self.nodes[node as usize] = (entry, next);
            node
        };
        self.buckets[slot] = node;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.in_buckets += 1;
    }

    /// A lower bound of the time of the next event.
    #[inline]
    pub fn head(&self) -> u64 {
        if self.in_buckets == 0 {
            self.reached()
        } else {
            self.reached().min(self.next_bucket() << BUCKET_BITS)
        }
    }

    /// Empties the buckets that begin before the next event, and tells its time exactly.
    ///
    /// To be called only when no event is due before [`Wheel::head`]: the wheel never runs ahead of
    /// the clock, so what is pushed later still finds its bucket.
    pub fn settle(&mut self) -> u64 {
        while self.in_buckets > 0 {
            let bucket = self.next_bucket();
            if bucket << BUCKET_BITS > self.reached() {
                break;
            }
            self.cursor = bucket;
            self.drain_bucket((bucket % BUCKETS) as usize);
            self.current.sort_unstable_by_key(|entry| Reverse(entry.at));
        }
        self.reached()
    }

    /// The time of the next event that is in no bucket.
    #[inline]
    fn reached(&self) -> u64 {
        let current = self.current.last().map_or(NEVER, |next| next.at);
        let heap = self.heap.peek().map_or(NEVER, |Reverse(next)| next.at);
        current.min(heap)
    }

    /// Takes the next event and tells the head after it; the wheel must be settled.
    #[inline]
    pub fn pop(&mut self) -> (Option<Entry>, u64) {
        let entry = match (self.current.last(), self.heap.peek()) {
            (Some(a), Some(Reverse(b))) if b.at < a.at => self.heap.pop().map(|Reverse(entry)| entry),
            (None, _) => self.heap.pop().map(|Reverse(entry)| entry),
            _ => self.current.pop(),
        };
        if let Some(entry) = &entry {
            self.now = entry.at;
        }
        (entry, self.head())
    }

    /// Shows every event, in no particular order.
    pub(super) fn for_each(&self, show: &mut impl FnMut(&Entry)) {
        self.current.iter().for_each(&mut *show);
        self.heap.iter().for_each(|Reverse(entry)| show(entry));
        for (word, &occupied) in self.occupied.iter().enumerate() {
            let mut bits = occupied;
            while bits != 0 {
                let mut node = self.buckets[word * 64 + bits.trailing_zeros() as usize];
                while node != NONE {
                    let (entry, next) = &self.nodes[node as usize];
                    show(entry);
                    node = *next;
                }
                bits &= bits - 1;
            }
        }
    }

    fn drain_bucket(&mut self, slot: usize) {
        let mut node = std::mem::replace(&mut self.buckets[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while node != NONE {
            let (entry, next) = self.nodes[node as usize];
            self.current.push(entry);
            self.nodes[node as usize].1 = self.free;
            self.free = node;
            self.in_buckets -= 1;
            node = next;
        }
    }

    /// The first bucket after the cursor that has events; there must be one.
    fn next_bucket(&self) -> u64 {
        let start = ((self.cursor + 1) % BUCKETS) as usize;
        let words = self.occupied.len();
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        // One word more than there are: the first word's low bits come last.
        for _ in 0..=words {
            if bits != 0 {
                let slot = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                let ahead = (slot + BUCKETS - start as u64) % BUCKETS;
                return self.cursor + 1 + ahead;
            }
            word = (word + 1) % words;
            bits = self.occupied[word];
        }
        unreachable!("no bucket has events, but they are counted")
    }
}
