//! The event list: by time, and in the order of insertion where times are equal.
//!
//! Most events lie within two microseconds, so they go into a ring of buckets of 256 ps, each a list in the order of
//! insertion. A bucket is sorted when its turn comes. Later events wait in a coarser ring, and much later ones in a heap.
//! An event of this very instant goes to a list of its own, which comes after everything that was inserted for it before.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No node.
pub(super) const NONE: u32 = u32::MAX;
/// What a cancelled event stands for.
const CANCELLED: u32 = u32::MAX;

/// A bucket takes 2^8 ps.
const WIDTH: u32 = 8;
/// Buckets of the fine ring.
const FINE: u64 = 1 << 12;
/// Half of the fine ring: one bucket of the coarse ring.
const HALF: u64 = FINE / 2;
/// Buckets of the coarse ring.
const COARSE: u64 = 1 << 10;

#[derive(Clone, Copy)]
struct Node {
    at: u64,
    word: u32,
    next: u32,
}

/// A node of what is far away.
const FAR: u32 = 1 << 31;

/// Nodes of what is near and far: timers that are mostly cancelled would only spread those of the next microseconds over more
/// memory.
#[derive(Clone)]
struct Nodes {
    near: Vec<Node>,
    far: Vec<Node>,
    free: [u32; 2],
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            near: Vec::new(),
            far: Vec::new(),
            free: [NONE; 2],
        }
    }
}

impl Nodes {
    #[inline(always)]
    fn get(&self, node: u32) -> &Node {
        match node & FAR {
            0 => &self.near[node as usize],
            _ => &self.far[(node ^ FAR) as usize],
        }
    }

    #[inline(always)]
    fn get_mut(&mut self, node: u32) -> &mut Node {
        match node & FAR {
            0 => &mut self.near[node as usize],
            _ => &mut self.far[(node ^ FAR) as usize],
        }
    }

    #[inline(always)]
    fn remove(&mut self, node: u32) {
        let free = usize::from(node & FAR != 0);
        self.get_mut(node).next = self.free[free];
        self.free[free] = node;
    }

    #[inline(always)]
    fn add(&mut self, new: Node, is_far: bool) -> u32 {
        let free = self.free[usize::from(is_far)];
        if free != NONE {
            self.free[usize::from(is_far)] = self.get(free).next;
            *self.get_mut(free) = new;
            return free;
        }
        let (nodes, bit) = match is_far {
            false => (&mut self.near, 0),
            true => (&mut self.far, FAR),
        };
        nodes.push(new);
        (nodes.len() as u32 - 1) | bit
    }
}

/// Nodes in the order of insertion.
#[derive(Clone, Copy)]
struct Chain {
    head: u32,
    tail: u32,
}

const EMPTY: Chain = Chain {
    head: NONE,
    tail: NONE,
};

/// Events to come; an event is a word.
#[derive(Clone)]
pub(super) struct Schedule {
    now: u64,
    /// Nothing is scheduled from here on.
    end: u64,
    nodes: Nodes,
    /// Nodes in use.
    len: usize,
    /// The bucket whose events run now.
    bucket: u64,
    /// The first bucket that is still in the coarse ring.
    horizon: u64,
    fine: Vec<Chain>,
    /// Which buckets of the fine ring have events, and which words of this have bits.
    full: Vec<u64>,
    words: [u64; (FINE / 64 / 64) as usize],
    coarse: Vec<Chain>,
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    far_count: u64,
    /// Events of the present bucket: time, order, node.
    current: Vec<(u64, u32, u32)>,
    position: usize,
    instant: Chain,
}

impl Schedule {
    /// Nothing happens at `end` or later; 0: no end.
    pub(super) fn new(end: u64) -> Self {
        Self {
            now: 0,
            end: if end == 0 { u64::MAX } else { end },
            nodes: Nodes::default(),
            len: 0,
            bucket: 0,
            horizon: FINE,
            fine: vec![EMPTY; FINE as usize],
            full: vec![0; (FINE / 64) as usize],
            words: [0; (FINE / 64 / 64) as usize],
            coarse: vec![EMPTY; COARSE as usize],
            far: BinaryHeap::new(),
            far_count: 0,
            current: Vec::new(),
            position: 0,
            instant: EMPTY,
        }
    }

    /// The present time.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Schedules a word; the node is for [`Self::cancel`], and [`NONE`] if that is beyond the end of the run.
    #[inline]
    pub(super) fn insert(&mut self, at: u64, word: u32) -> u32 {
        debug_assert!(at >= self.now, "events lie ahead");
        if at >= self.end {
            return NONE;
        }
        self.len += 1;
        let bucket = at >> WIDTH;
        let node = self
            .nodes
            .add(Node { at, word, next: NONE }, bucket >= self.horizon);
        if at == self.now {
            append(&mut self.nodes, &mut self.instant, node);
            return node;
        }
        if bucket == self.bucket {
            let rest = &self.current[self.position..];
            let behind = self.position + rest.partition_point(|entry| entry.0 <= at);
            self.current.insert(behind, (at, 0, node));
        } else if bucket < self.horizon {
            self.put(bucket, node);
        } else {
            self.put_far(bucket, at, node);
        }
        node
    }

    /// Cancels an event that has not happened.
    pub(super) fn cancel(&mut self, node: u32) {
        self.nodes.get_mut(node).word = CANCELLED;
    }

    /// The next event that is known without looking ahead, if there is one: otherwise [`Self::advance`].
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        loop {
            let node = self.pop_node()?;
            let word = self.nodes.get(node).word;
            self.nodes.remove(node);
            self.len -= 1;
            if word != CANCELLED {
                return Some(word);
            }
        }
    }

    #[inline]
    fn pop_node(&mut self) -> Option<u32> {
        let first = self.current.get(self.position).copied();
        if let Some((at, _, node)) = first
            && (at == self.now || self.instant.head == NONE)
        {
            self.now = at;
            self.position += 1;
            return Some(node);
        }
        let node = self.instant.head;
        if node == NONE {
            return None;
        }
        self.instant.head = self.nodes.get(node).next;
        Some(node)
    }

    #[inline]
    fn put(&mut self, bucket: u64, node: u32) {
        let slot = (bucket % FINE) as usize;
        append(&mut self.nodes, &mut self.fine[slot], node);
        self.full[slot / 64] |= 1 << (slot % 64);
        self.words[slot / 64 / 64] |= 1 << (slot / 64 % 64);
    }

    fn put_far(&mut self, bucket: u64, at: u64, node: u32) {
        if bucket < self.horizon + (COARSE - 1) * HALF {
            let slot = (bucket / HALF % COARSE) as usize;
            append(&mut self.nodes, &mut self.coarse[slot], node);
        } else {
            self.far.push(Reverse((at, self.far_count, node)));
            self.far_count += 1;
        }
    }

    /// Goes to the next bucket that has events, or as far as the fine ring knows. Returns whether there are any.
    pub(super) fn advance(&mut self) -> bool {
        if self.len == 0 {
            return false;
        }
        self.current.clear();
        self.position = 0;
        match self.next_full() {
            Some(bucket) => {
                self.bucket = bucket;
                self.load((bucket % FINE) as usize);
            }
            None => self.bucket = self.horizon - 1,
        }
        // Before anything else is inserted: what waited in the coarse ring was inserted before.
        while self.horizon - self.bucket <= HALF {
            self.refine();
        }
        if let Some(next) = self.next_full() {
            // The load goes on while the events of this bucket run.
            let head = self.fine[(next % FINE) as usize].head;
            std::hint::black_box(self.nodes.get(head).at);
        }
        true
    }

    /// The words of the events of the present bucket.
    pub(super) fn bucket(&self) -> impl Iterator<Item = u32> {
        self.current.iter().map(|(_, _, node)| self.nodes.get(*node).word)
    }

    /// The first full bucket behind the present one.
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

    /// Takes the events of a bucket of the fine ring, in their order.
    fn load(&mut self, slot: usize) {
        let mut node = self.fine[slot].head;
        let (mut order, mut sorted, mut last) = (0, true, 0);
        while node != NONE {
            let Node { at, next, .. } = *self.nodes.get(node);
            sorted &= at >= last;
            last = at;
            self.current.push((at, order, node));
            order += 1;
            node = next;
        }
        if !sorted {
            self.current.sort_unstable();
        }
        self.fine[slot] = EMPTY;
        self.full[slot / 64] &= !(1 << (slot % 64));
        if self.full[slot / 64] == 0 {
            self.words[slot / 64 / 64] &= !(1 << (slot / 64 % 64));
        }
    }

    /// Brings one bucket of the coarse ring into the fine one.
    fn refine(&mut self) {
        let slot = (self.horizon / HALF % COARSE) as usize;
        let mut node = std::mem::replace(&mut self.coarse[slot], EMPTY).head;
        while node != NONE {
            let Node { at, next, word } = *self.nodes.get(node);
            if word == CANCELLED {
                self.nodes.remove(node);
                self.len -= 1;
            } else {
                self.put(at >> WIDTH, node);
            }
            node = next;
        }
        self.horizon += HALF;
        let limit = (self.horizon + (COARSE - 1) * HALF) << WIDTH;
        while let Some(&Reverse((at, _, node))) = self.far.peek()
            && at < limit
        {
            self.far.pop();
            let slot = ((at >> WIDTH) / HALF % COARSE) as usize;
            append(&mut self.nodes, &mut self.coarse[slot], node);
        }
    }
}

#[inline]
fn append(nodes: &mut Nodes, chain: &mut Chain, node: u32) {
    nodes.get_mut(node).next = NONE;
    if chain.head == NONE {
        chain.head = node;
    } else {
        nodes.get_mut(chain.tail).next = node;
    }
    chain.tail = node;
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

    /// Against a plain sorted list, with delays of every scale, ties and cancelled events.
    #[test]
    fn it_is_a_stable_sorted_list() {
        let mut random = crate::uet_htsim::random::Random::new(5);
        let (mut schedule, mut plain) = (Schedule::new(0), Vec::<(u64, u32, u32)>::new());
        let mut count = 0;
        let mut add = |schedule: &mut Schedule, plain: &mut Vec<_>, draw: u32, scale: u32| {
            let at = schedule.now() + u64::from(draw % 8) * 10_u64.pow(scale);
            let node = schedule.insert(at, count);
            plain.push((at, count, node));
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
                for _ in 0..random.draw() % 3 {
                    let (draw, scale) = (random.draw(), random.draw() % 11);
                    add(&mut schedule, &mut plain, draw, scale);
                }
                if plain.len() > 10 && random.draw().is_multiple_of(5) {
                    let which = random.draw() as usize % plain.len();
                    schedule.cancel(plain.remove(which).2);
                }
            }
        }
        assert!(plain.is_empty() && popped > 10_000);
    }

    #[test]
    fn nothing_happens_at_the_end() {
        let mut schedule = Schedule::new(10);
        assert_eq!(schedule.insert(10, 1), NONE);
        assert_ne!(schedule.insert(9, 2), NONE);
        assert_eq!(next(&mut schedule), Some(2));
        assert_eq!(next(&mut schedule), None);
    }
}
