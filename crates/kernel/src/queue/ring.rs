//! A FIFO in a ring of a power of two, which asks for its memory ahead of time.
//!
//! In a large network a lane holds megabytes and is walked from end to end: both ends always stand
//! in memory that the cache has long forgotten, but it is known which memory comes next.

use super::Timed;
use super::heads::NEVER;
use crate::prefetch::prefetch;

/// Entries ahead of both ends that are asked for: two or three cache lines.
const AHEAD: usize = 8;
/// Entries of a cache line.
const A_LINE: usize = 4;

/// A FIFO of events.
#[derive(Clone, Debug)]
pub(super) struct Ring<E> {
    entries: Box<[Timed<E>]>,
    /// How many were taken, and how many were added.
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

    /// Events that there have been room for.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Adds an event; true if it is the only one.
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

    /// Takes the first event of a ring that has one.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> E {
        let head = self.head;
        self.head = head.wrapping_add(1);
        self.ask_ahead_of(head);
        self.entries[self.place(head)].event
    }

    /// Asks for the memory ahead of an end, once for each cache line.
    #[inline(always)]
    fn ask_ahead_of(&self, end: usize) {
        if end.is_multiple_of(A_LINE) {
            prefetch(&self.entries, self.place(end.wrapping_add(AHEAD)));
        }
    }

    /// Takes the events at `at` that come first and appends them to `to`; tells the time of the next.
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

    /// The time of the first event.
    #[inline]
    pub(super) fn first_time(&self) -> u64 {
        if self.head == self.tail {
            NEVER
        } else {
            self.entries[self.place(self.head)].at
        }
    }

    /// The `i`-th event from the front, if there are so many.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&Timed<E>> {
        if i < self.len() {
            Some(&self.entries[self.place(self.head.wrapping_add(i))])
        } else {
            None
        }
    }

    /// All events, from the front.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Timed<E>> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    /// Doubles the ring; the FIFO then starts at its beginning.
    #[cold]
    fn grow(&mut self) {
        let mut entries: Vec<_> = self.iter().copied().collect();
        self.head = 0;
        self.tail = entries.len();
        entries.resize(2 * entries.len(), Timed::default());
        self.entries = entries.into();
    }
}
