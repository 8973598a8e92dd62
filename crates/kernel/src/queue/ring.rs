//! FIFO in a ring buffer with a power-of-two capacity and prefetching.
//!
//! In a large network a lane takes megabytes and is traversed from end to end. Both ends are always in memory
//! that the cache has evicted long ago, but the next addresses are known.

use super::Timed;
use super::heads::NEVER;
use crate::prefetch::prefetch;

/// Distance of the prefetch from both ends, in entries: two or three cache lines.
const AHEAD: usize = 8;
/// Entries per cache line.
const A_LINE: usize = 4;

/// FIFO of events in a ring buffer.
#[derive(Clone, Debug)]
pub(super) struct Ring<E> {
    entries: Box<[Timed<E>]>,
    /// Numbers of removed and of added entries.
    head: usize,
    tail: usize,
}

impl<E: Copy + Default> Ring<E> {
    pub(super) fn new() -> Self {
        Self {
            entries: vec![Timed::default(); 4].into(),
            head: 0,
            tail: 0,
        }
    }

    #[inline]
    fn place(&self, i: usize) -> usize {
        i & (self.entries.len() - 1)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Returns the capacity in events.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Appends an event. Returns true if it is the only one.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: Timed<E>) -> bool {
        if self.len() == self.entries.len() {
            self.grow();
        }
        let tail = self.tail;
        self.tail = tail.wrapping_add(1);
        self.ask_ahead_of(tail);
        let place = self.place(tail);
        self.entries[place] = entry;
        self.head == tail
    }

    /// Removes the first event of a non-empty ring.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> E {
        let head = self.head;
        self.head = head.wrapping_add(1);
        self.ask_ahead_of(head);
        self.entries[self.place(head)].event
    }

    /// Prefetches the memory ahead of an end, once per cache line.
    #[inline(always)]
    fn ask_ahead_of(&self, end: usize) {
        if end.is_multiple_of(A_LINE) {
            prefetch(&self.entries, self.place(end.wrapping_add(AHEAD)));
        }
    }

    /// Moves the leading events with the time `at` to `to`, and returns the time of the next.
    #[inline]
    pub(super) fn drain_instant(&mut self, at: u64, to: &mut Vec<E>) -> u64 {
        while self.head != self.tail {
            let entry = self.entries[self.place(self.head)];
            if entry.at != at {
                return entry.at;
            }
            to.push(entry.event);
            self.head = self.head.wrapping_add(1);
        }
        NEVER
    }

    /// Returns the time of the first event, or [`NEVER`].
    #[inline]
    pub(super) fn first_time(&self) -> u64 {
        if self.head == self.tail {
            NEVER
        } else {
            self.entries[self.place(self.head)].at
        }
    }

    /// Returns the `i`-th event from the front; `None` if there are fewer.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&Timed<E>> {
        if i < self.len() {
            Some(&self.entries[self.place(self.head.wrapping_add(i))])
        } else {
            None
        }
    }

    /// Iterates over all events from the front.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Timed<E>> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    /// Doubles the capacity and moves the first event to index 0.
    #[cold]
    fn grow(&mut self) {
        let mut entries: Vec<_> = self.iter().copied().collect();
        self.head = 0;
        self.tail = entries.len();
        entries.resize(2 * entries.len(), Timed::default());
        self.entries = entries.into();
    }
}
