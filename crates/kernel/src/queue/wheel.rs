//! Timing wheel of sorted lists, with a heap for events beyond its span.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Timed;
use super::heads::NEVER;

/// A bucket is 2^10 ps, about a nanosecond.
const BUCKET_BITS: u32 = 10;
/// The wheel has 4096 buckets for 4.2 µs: ends of transmissions and most pacing delays.
const BUCKETS: usize = 64 * 64;
/// List length above which insertion takes too long.
const LONG: usize = 1024;
/// End of every list: a node later than all others.
const END: u32 = 0;

/// Event in a bucket's list.
#[derive(Clone, Copy, Debug)]
struct Node<E> {
    entry: Timed<E>,
    next: u32,
}

/// Events at arbitrary times: timers, paced transmissions, and packets of odd sizes.
///
/// Buckets are so short that few events share one. Their lists are sorted, so the next event is always the
/// first one of the first list. All events of the wheel are less than one turn ahead of the clock, so a
/// bucket's slot is its number modulo the number of buckets.
#[derive(Clone, Debug)]
pub(super) struct Wheel<E> {
    /// First node of each slot's list.
    lists: Box<[u32; BUCKETS]>,
    /// Bitmap of non-empty slots, and bitmap of its non-zero words.
    occupied: [u64; BUCKETS / 64],
    words: u64,
    nodes: Vec<Node<E>>,
    /// First node of the linked list of free nodes.
    free: u32,
    /// Number of usable buckets: all of them, or 0 after a list became too long, until all lists are empty.
    span: u64,
    /// Heap of events that were beyond the span when added, and of the current instant.
    far: BinaryHeap<Reverse<Timed<E>>>,
    /// Time of the heap's first event.
    far_first: u64,
    /// Number of events in the heap that were added for the current instant.
    crowd: usize,
}

impl<E: Copy + Default + Ord> Wheel<E> {
    pub(super) fn new() -> Self {
        let entry = Timed {
            at: u64::MAX,
            event: E::default(),
        };
        Self {
            lists: Box::new([END; BUCKETS]),
            occupied: [0; BUCKETS / 64],
            words: 0,
            nodes: vec![Node { entry, next: END }],
            free: END,
            span: BUCKETS as u64,
            far: BinaryHeap::new(),
            far_first: NEVER,
            crowd: 0,
        }
    }

    /// Adds an event at or after `now`, which never decreases.
    #[inline]
    pub(super) fn push(&mut self, now: u64, entry: Timed<E>) {
        let bucket = entry.at >> BUCKET_BITS;
        // A slot must not hold events of different turns.
        if bucket - (now >> BUCKET_BITS) >= self.span {
            return self.push_far(entry);
        }
        let slot = bucket as usize % BUCKETS;
        let (mut before, mut next) = (END, self.lists[slot]);
        while self.nodes[next as usize].entry.at < entry.at {
            before = next;
            next = self.nodes[next as usize].next;
        }
        let node = self.add_node(slot, Node { entry, next });
        if before == END {
            self.lists[slot] = node;
            self.occupied[slot / 64] |= 1 << (slot % 64);
            self.words |= 1 << (slot / 64);
        } else {
            self.nodes[before as usize].next = node;
        }
    }

    /// Adds an event of the current instant, while no list has such an event.
    pub(super) fn push_crowd(&mut self, entry: Timed<E>) {
        self.push_far(entry);
        self.crowd += 1;
    }

    /// Returns true if the wheel has events of the current instant.
    #[inline]
    pub(super) fn has_crowd(&self) -> bool {
        self.crowd > 0
    }

    /// Returns the first event of the current instant, if there are any.
    pub(super) fn first_of_crowd(&self) -> Option<E> {
        let first = self.far.peek().map(|Reverse(entry)| entry.event);
        first.filter(|_| self.has_crowd())
    }

    #[cold]
    fn push_far(&mut self, entry: Timed<E>) {
        self.far.push(Reverse(entry));
        self.far_first = self.far_first.min(entry.at);
    }

    #[cold]
    fn pop_far(&mut self) -> E {
        self.crowd = self.crowd.saturating_sub(1);
        // All lists are empty, so none is too long any more.
        if self.words == 0 {
            self.span = BUCKETS as u64;
        }
        let first = self.far.pop();
        self.far_first = self.far.peek().map_or(NEVER, |Reverse(entry)| entry.at);
        first.map_or(E::default(), |Reverse(entry)| entry.event)
    }

    #[inline]
    fn add_node(&mut self, slot: usize, node: Node<E>) -> u32 {
        let place = self.free;
        if place == END {
            return self.grow(slot, node);
        }
        self.free = self.nodes[place as usize].next;
        self.nodes[place as usize] = node;
        place
    }

    #[cold]
    fn grow(&mut self, slot: usize, node: Node<E>) -> u32 {
        let place = self.nodes.len();
        self.nodes.push(node);
        // Checked only when the number of nodes reaches a power of two, so the cost is small.
        if place >= LONG && place.is_power_of_two() && self.is_long(self.lists[slot]) {
            // All new events go to the heap until the lists are empty, because a long list makes each
            // insertion slow.
            self.span = 0;
        }
        place as u32
    }

    fn is_long(&self, list: u32) -> bool {
        let after = |&place: &u32| Some(self.nodes[place as usize].next).filter(|&next| next != END);
        std::iter::successors(Some(list), after).nth(LONG / 2).is_some()
    }

    /// Removes an event at `at`, the time of the first one, and returns it with the time of the next.
    #[inline]
    pub(super) fn pop(&mut self, at: u64) -> (E, u64) {
        let slot = (at >> BUCKET_BITS) as usize % BUCKETS;
        let place = self.lists[slot];
        let first = &mut self.nodes[place as usize];
        let Timed { at: time, event } = first.entry;
        // The heap has the first event.
        if time != at {
            let event = self.pop_far();
            return (event, self.first_time(at));
        }
        let next = std::mem::replace(&mut first.next, self.free);
        self.free = place;
        self.lists[slot] = next;
        if next != END {
            let after = self.nodes[next as usize].entry.at;
            return (event, after.min(self.far_first));
        }
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        if self.occupied[slot / 64] == 0 {
            self.words &= !(1 << (slot / 64));
        }
        (event, self.first_time(at))
    }

    /// Returns the time of the first event, which is not before `now`.
    #[inline]
    fn first_time(&self, now: u64) -> u64 {
        match self.first_slot(now) {
            Some(slot) => self.far_first.min(self.nodes[self.lists[slot] as usize].entry.at),
            None => self.far_first,
        }
    }

    /// Returns the first non-empty slot in circular order from that of `now`.
    #[inline]
    fn first_slot(&self, now: u64) -> Option<usize> {
        let start = (now >> BUCKET_BITS) as usize % BUCKETS;
        let word = start / 64;
        let here = self.occupied[word] >> (start % 64);
        if here != 0 {
            return Some(start + here.trailing_zeros() as usize);
        }
        if self.words == 0 {
            return None;
        }
        // Words after this one in circular order; the low bits of this word come last.
        let ahead = self.words.rotate_right(word as u32 + 1).trailing_zeros() as usize;
        let word = (word + 1 + ahead) % self.occupied.len();
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }

    /// Calls `show` for every event in arbitrary order.
    pub(super) fn for_each(&self, show: &mut impl FnMut(&Timed<E>)) {
        self.far.iter().for_each(|Reverse(entry)| show(entry));
        for &list in self.lists.iter() {
            let mut node = &self.nodes[list as usize];
            while node.entry.at != u64::MAX {
                show(&node.entry);
                node = &self.nodes[node.next as usize];
            }
        }
    }
}
