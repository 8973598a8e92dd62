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

/// Events at any time: the home of timers, paced wake-ups and packets of odd sizes.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// Events of the bucket that was reached, the earliest last.
    current: Vec<Entry>,
    /// Events pushed into that bucket after it was reached.
    late: BinaryHeap<Reverse<Entry>>,
    /// Number of that bucket, counted from time zero.
    cursor: u64,
    /// First node of each bucket's list.
    buckets: Vec<u32>,
    /// A bit per bucket that has events.
    occupied: Vec<u64>,
    nodes: Vec<(Entry, u32)>,
    free: u32,
    /// Events in buckets.
    in_buckets: usize,
    /// Events beyond the wheel.
    beyond: BinaryHeap<Reverse<Entry>>,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            late: BinaryHeap::new(),
            cursor: 0,
            buckets: vec![NONE; BUCKETS as usize],
            occupied: vec![0; BUCKETS as usize / 64],
            nodes: Vec::new(),
            free: NONE,
            in_buckets: 0,
            beyond: BinaryHeap::new(),
        }
    }
}

impl Wheel {
    /// Adds an event, not before the last one that was taken.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        let bucket = entry.at >> BUCKET_BITS;
        if bucket <= self.cursor {
            self.late.push(Reverse(entry));
        } else if bucket < self.cursor + BUCKETS {
            self.push_bucket(bucket, entry);
        } else {
            self.beyond.push(Reverse(entry));
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

    /// A lower bound of the time of the next event, exact while a reached bucket has events.
    pub fn head(&self) -> u64 {
        let reached = self.reached();
        if reached != NEVER {
            return reached;
        }
        let bucket = self.next_bucket().map_or(NEVER, |bucket| bucket << BUCKET_BITS);
        let beyond = self.beyond.peek().map_or(NEVER, |Reverse(entry)| entry.at);
        bucket.min(beyond)
    }

    /// Moves to the bucket of the next event, and tells its time exactly.
    ///
    /// To be called only when no event is due before [`Wheel::head`]: the wheel never runs ahead of
    /// the clock, so what is pushed later still finds its bucket.
    pub fn settle(&mut self) -> u64 {
        if self.reached() == NEVER {
            let beyond = self
                .beyond
                .peek()
                .map_or(NEVER, |Reverse(entry)| entry.at >> BUCKET_BITS);
            let next = self.next_bucket().unwrap_or(NEVER).min(beyond);
            if next == NEVER {
                return NEVER;
            }
            self.cursor = next;
            self.drain_bucket((next % BUCKETS) as usize);
            // What lay beyond and is now within reach; most often nothing.
            while let Some(&Reverse(entry)) = self.beyond.peek() {
                let bucket = entry.at >> BUCKET_BITS;
                if bucket >= self.cursor + BUCKETS {
                    break;
                }
                self.beyond.pop();
                if bucket == self.cursor {
                    self.current.push(entry);
                } else {
                    self.push_bucket(bucket, entry);
                }
            }
            self.current
                .sort_unstable_by_key(|entry| std::cmp::Reverse(entry.at));
        }
        self.reached()
    }

    /// The time of the next event of the bucket that was reached.
    #[inline]
    fn reached(&self) -> u64 {
        let current = self.current.last().map_or(NEVER, |next| next.at);
        let late = self.late.peek().map_or(NEVER, |Reverse(next)| next.at);
        current.min(late)
    }

    /// Takes the next event and tells the head after it; the wheel must be settled.
    #[inline]
    pub fn pop(&mut self) -> (Option<Entry>, u64) {
        let entry = match (self.current.last(), self.late.peek()) {
            (Some(a), Some(Reverse(b))) if b.at < a.at => self.late.pop().map(|Reverse(entry)| entry),
            (None, _) => self.late.pop().map(|Reverse(entry)| entry),
            _ => self.current.pop(),
        };
        (entry, self.head())
    }

    /// Moves all events at `at` to the end of `batch`; the wheel must be settled there.
    pub fn take(&mut self, at: u64, batch: &mut Vec<Entry>) {
        while self.current.last().is_some_and(|next| next.at == at) {
            batch.extend(self.current.pop());
        }
        while self.late.peek().is_some_and(|Reverse(next)| next.at == at) {
            batch.extend(self.late.pop().map(|Reverse(entry)| entry));
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

    /// The first bucket after the cursor that has events.
    fn next_bucket(&self) -> Option<u64> {
        if self.in_buckets == 0 {
            return None;
        }
        let start = ((self.cursor + 1) % BUCKETS) as usize;
        let words = self.occupied.len();
        let mut word = start / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (start % 64));
        // One word more than there are: the first word's low bits come last.
        for _ in 0..=words {
            if bits != 0 {
                let slot = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                let ahead = (slot + BUCKETS - start as u64) % BUCKETS;
                return Some(self.cursor + 1 + ahead);
            }
            word = (word + 1) % words;
            bits = self.occupied[word];
        }
        None
    }
}
