//! A FIFO in a ring of a power of two, which asks for its memory ahead of time.
//!
//! In a large network a lane holds megabytes and is walked from end to end: both ends always stand
//! in memory that the cache has long forgotten, but it is known which memory comes next.

use super::Entry;
use crate::prefetch::prefetch;

const NOTHING: Entry = Entry {
    at: 0,
    tie: 0,
    what: 0,
};
/// Entries ahead of both ends that are asked for: two or three cache lines.
const AHEAD: usize = 6;

/// A FIFO of events.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    entries: Vec<Entry>,
    head: usize,
    len: usize,
}

impl Ring {
    pub(super) fn new() -> Self {
        Self {
            entries: vec![NOTHING; 64],
            head: 0,
            len: 0,
        }
    }

    #[inline]
    fn place(&self, i: usize) -> usize {
        (self.head + i) & (self.entries.len() - 1)
    }

    #[inline]
    pub(super) fn push_back(&mut self, entry: Entry) {
        if self.len == self.entries.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.entries[place] = entry;
        self.len += 1;
        prefetch(&self.entries, self.place(self.len + AHEAD));
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<Entry> {
        if self.len == 0 {
            return None;
        }
        let entry = self.entries[self.head];
        self.head = self.place(1);
        self.len -= 1;
        prefetch(&self.entries, self.place(AHEAD));
        Some(entry)
    }

    /// The `i`-th event from the front.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<&Entry> {
        if i < self.len {
            Some(&self.entries[self.place(i)])
        } else {
            None
        }
    }

    /// All events, from the front.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        (0..self.len).filter_map(|i| self.get(i))
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Entry> {
        self.get(0)
    }

    #[cfg(debug_assertions)]
    pub(super) fn back(&self) -> Option<&Entry> {
        self.len.checked_sub(1).and_then(|last| self.get(last))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Doubles the ring; the FIFO then starts at its beginning.
    #[cold]
    fn grow(&mut self) {
        self.entries.rotate_left(self.head);
        self.head = 0;
        self.entries.resize(2 * self.entries.len(), NOTHING);
    }
}
