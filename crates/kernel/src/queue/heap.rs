//! A binary heap with the order of [`super::EventQueue`]: slow, obvious, the oracle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Entry;

/// A binary heap of events.
#[derive(Clone, Debug, Default)]
pub struct HeapQueue {
    heap: BinaryHeap<Reverse<Entry>>,
}

impl HeapQueue {
    /// Adds an event.
    pub fn push(&mut self, entry: Entry) {
        self.heap.push(Reverse(entry));
    }
    /// Takes the next event: least time, then least tie.
    pub fn pop(&mut self) -> Option<Entry> {
        self.heap.pop().map(|Reverse(entry)| entry)
    }
    /// The next event.
    pub fn peek(&self) -> Option<&Entry> {
        self.heap.peek().map(|Reverse(entry)| entry)
    }
    /// Events pending.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
    /// Whether none is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
