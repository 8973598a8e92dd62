//! Binary heap with the order of [`super::EventQueue`]: slow but simple, the reference for tests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Entry;

/// Binary heap of events.
#[derive(Clone, Debug, Default)]
pub struct HeapQueue {
    heap: BinaryHeap<Reverse<Entry>>,
}

impl HeapQueue {
    /// Adds an event at any time.
    pub fn push(&mut self, entry: Entry) {
        self.heap.push(Reverse(entry));
    }
    /// Removes and returns the next event: lowest time, then lowest tie.
    pub fn pop(&mut self) -> Option<Entry> {
        self.heap.pop().map(|Reverse(entry)| entry)
    }
    /// Returns the next event without removing it.
    pub fn peek(&self) -> Option<&Entry> {
        self.heap.peek().map(|Reverse(entry)| entry)
    }
    /// Returns the number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
    /// Returns true if no event is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
