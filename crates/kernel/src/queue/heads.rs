//! The heads of all lanes, in order.

/// No event: later than every time.
pub(super) const NEVER: u64 = u64::MAX;
/// Bits of a head that tell its lane.
pub(super) const LANE_BITS: u32 = 5;
/// Lanes that there can be, the wheel (lane 0) included.
pub(super) const MAX_LANES: usize = 1 << LANE_BITS;

/// A lane's head in one word: the time of its first event, then the lane, so that heads compare as
/// their times do. Times up to 2^59 ps (6.6 days) fit.
#[inline]
pub(super) const fn head_key(at: u64, lane: usize) -> u64 {
    if at == NEVER { NEVER } else { head_of(at, lane) }
}
/// The same, where there is an event.
#[inline]
pub(super) const fn head_of(at: u64, lane: usize) -> u64 {
    at << LANE_BITS | lane as u64
}
#[inline]
pub(super) const fn time_of(head: u64) -> u64 {
    head >> LANE_BITS
}
#[inline]
pub(super) const fn lane_of(head: u64) -> usize {
    (head & (MAX_LANES as u64 - 1)) as usize
}

/// Heads of the lanes that have events, in ascending order. There are few, and a head that was
/// served moves but a few places back: cheaper than searching all of them each time.
#[derive(Clone, Debug)]
pub(super) struct Heads {
    keys: [u64; MAX_LANES + 1],
    count: usize,
    /// The wheel's, among them.
    wheel: u64,
}

impl Heads {
    pub(super) fn new() -> Self {
        Self {
            keys: [NEVER; MAX_LANES + 1],
            count: 0,
            wheel: NEVER,
        }
    }

    /// The least head.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.keys[0]
    }

    /// A lane that was empty has an event.
    #[inline]
    pub(super) fn insert(&mut self, key: u64) {
        self.place(self.count, key);
        self.count += 1;
    }

    /// The least head's lane, which is not the wheel, has `key` as its head now.
    #[inline]
    pub(super) fn replace_first(&mut self, key: u64) {
        // What is beyond the last key is NEVER, so the search ends there.
        let mut i = 0;
        while i + 1 < self.keys.len() && self.keys[i + 1] < key {
            self.keys[i] = self.keys[i + 1];
            i += 1;
        }
        self.keys[i] = key;
    }

    /// The least head's lane is empty now.
    #[inline]
    pub(super) fn remove_first(&mut self) {
        self.replace_first(NEVER);
        self.count -= 1;
    }

    /// The wheel's head is the least, and is `key` (or [`NEVER`]) now.
    pub(super) fn replace_wheel(&mut self, key: u64) {
        self.wheel = key;
        self.replace_first(key);
        self.count -= usize::from(key == NEVER);
    }

    /// The wheel has an event at `key`.
    #[inline]
    pub(super) fn lower_wheel(&mut self, key: u64) {
        if key >= self.wheel {
            return;
        }
        let place = if self.wheel == NEVER {
            self.count += 1;
            self.count - 1
        } else {
            let is_wheel = |&key: &u64| lane_of(key) == 0;
            self.keys
                .iter()
                .position(is_wheel)
                .expect("the wheel's head is among them")
        };
        self.wheel = key;
        self.place(place, key);
    }

    /// Puts `key` where it belongs, at `free` or before.
    #[inline]
    fn place(&mut self, free: usize, key: u64) {
        let mut i = free;
        while i > 0 && self.keys[i - 1] > key {
            self.keys[i] = self.keys[i - 1];
            i -= 1;
        }
        self.keys[i] = key;
    }
}
