//! A timing wheel of sorted lists, over a heap for what lies beyond it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Timed;
use super::heads::NEVER;

/// A bucket spans 2^10 ps, about a nanosecond.
const BUCKET_BITS: u32 = 10;
/// The wheel spans 4096 buckets, 4.2 µs: ends of transmissions and most of pacing.
const BUCKETS: usize = 64 * 64;
/// In lists that are longer than this the place of an event would be sought for too long.
const LONG: usize = 1024;
/// The end of every list: a node that comes after all others.
const END: u32 = 0;

/// An event in a bucket's list.
#[derive(Clone, Copy, Debug)]
struct Node<E> {
    entry: Timed<E>,
    next: u32,
}

/// Events at any time: the home of timers, paced wake-ups and packets of odd sizes.
///
/// Buckets are so short that few events meet in one; where they do, their list is kept in order, so
/// the next event is always the first one of the first list. All events of the wheel lie less than
/// one turn ahead of the clock, so a bucket's slot is its number modulo theirs.
#[derive(Clone, Debug)]
pub(super) struct Wheel<E> {
    /// First node of each bucket's list, by slot.
    lists: Box<[u32; BUCKETS]>,
    /// A bit for each slot that has events, and one for each word of those that has any.
    occupied: [u64; BUCKETS / 64],
    words: u64,
    nodes: Vec<Node<E>>,
    /// Nodes to be used again, linked.
    free: u32,
    /// How many buckets are in use: all, or none as long as a list is too long.
    span: u64,
    /// What lay beyond those when it came, and the crowd.
    far: BinaryHeap<Reverse<Timed<E>>>,
    /// The time of the first of those.
    far_first: u64,
    /// How many events came for an instant that was running already, and are still here.
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

    /// Adds an event, not before the instant `now`, which never runs back.
    #[inline]
    pub(super) fn push(&mut self, now: u64, entry: Timed<E>) {
        let bucket = entry.at >> BUCKET_BITS;
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

    /// Adds an event of the current instant, of which none is in a list.
    pub(super) fn push_crowd(&mut self, entry: Timed<E>) {
        self.push_far(entry);
        self.crowd += 1;
    }

    /// Whether events of the current instant are here.
    #[inline]
    pub(super) fn has_crowd(&self) -> bool {
        self.crowd > 0
    }

    /// The first event of the current instant, if some are here.
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
        // Looked at so rarely that it costs little.
        if place >= LONG && place.is_power_of_two() && self.is_long(self.lists[slot]) {
            self.span = 0;
        }
        place as u32
    }

    fn is_long(&self, list: u32) -> bool {
        let after = |&place: &u32| Some(self.nodes[place as usize].next).filter(|&next| next != END);
        std::iter::successors(Some(list), after).nth(LONG / 2).is_some()
    }

    /// Takes an event at `at`, the time of the first one; tells the time of the next.
    #[inline]
    pub(super) fn pop(&mut self, at: u64) -> (E, u64) {
        let slot = (at >> BUCKET_BITS) as usize % BUCKETS;
        let place = self.lists[slot];
        let first = &mut self.nodes[place as usize];
        let Timed { at: time, event } = first.entry;
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

    /// The time of the first event, of which none lies before `now`.
    #[inline]
    fn first_time(&self, now: u64) -> u64 {
        match self.first_slot(now) {
            Some(slot) => self.far_first.min(self.nodes[self.lists[slot] as usize].entry.at),
            None => self.far_first,
        }
    }

    /// The first slot in turn, from that of `now`, that has events.
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
        // The words after this one; this one's low bits come last.
        let ahead = self.words.rotate_right(word as u32 + 1).trailing_zeros() as usize;
        let word = (word + 1 + ahead) % self.occupied.len();
        Some(word * 64 + self.occupied[word].trailing_zeros() as usize)
    }

    /// Shows every event, in no particular order.
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
