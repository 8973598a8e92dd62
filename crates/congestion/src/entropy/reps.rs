//! Selectors that reuse values which returned without a mark.

use std::collections::VecDeque;

use super::{Draw, FREEZE, PathFeedback};
use paceline_kernel::Time;

/// Slots of REPS's ring, as in its paper.
const SLOTS: usize = 8;
/// Values drawn at random after a freeze, before REPS trusts its ring again.
const EXPLORE: u32 = 16;

/// REPS: a ring of the last eight values that returned without a mark. Each is used once, oldest first. A
/// timeout freezes the ring: its values are then reused repeatedly, because a random value might take the
/// broken path.
#[derive(Clone, Debug)]
pub struct Ring {
    values: u32,
    slots: [(u16, bool); SLOTS],
    head: usize,
    count: usize,
    /// Values not used since they returned; below zero while frozen values are reused.
    fresh: i64,
    frozen_until: Option<Time>,
    frozen_head: usize,
    explore: u32,
}

impl Ring {
    pub(super) fn new(values: u32) -> Self {
        Self {
            values,
            slots: [(0, false); SLOTS],
            head: 0,
            count: 0,
            fresh: 0,
            frozen_until: None,
            frozen_head: 0,
            explore: 0,
        }
    }

    /// Returns true if a timeout would freeze the ring.
    pub fn would_freeze(&self) -> bool {
        self.frozen_until.is_none() && self.explore == 0
    }

    fn drawn(&self, draw: &mut impl Draw) -> u16 {
        (draw.draw() % self.values) as u16
    }

    pub(super) fn next(&mut self, draw: &mut impl Draw) -> u16 {
        if self.explore > 0 {
            self.explore -= 1;
            return self.drawn(draw);
        }
        if self.frozen_until.is_some() {
            if self.count == 0 {
                return self.drawn(draw);
            }
            let slot = &mut self.slots[self.frozen_head];
            self.fresh -= i64::from(slot.1);
            slot.1 = false;
            self.frozen_head = (self.frozen_head + 1) % self.count;
            return slot.0;
        }
        if self.count == 0 || self.fresh <= 0 {
            return self.drawn(draw);
        }
        // The oldest value that was not used.
        let index = (self.head + SLOTS - self.fresh as usize) % SLOTS;
        self.fresh -= 1;
        self.slots[index].1 = false;
        self.slots[index].0
    }

    fn add(&mut self, entropy: u16) {
        let slot = &mut self.slots[self.head];
        // Overwriting an unused value does not change their number.
        if !slot.1 {
            self.fresh = (self.fresh + 1).min(SLOTS as i64);
        }
        *slot = (entropy, true);
        self.head = (self.head + 1) % SLOTS;
        self.count = (self.count + 1).min(SLOTS);
    }

    pub(super) fn on_feedback(&mut self, now: Time, entropy: u16, feedback: PathFeedback) {
        if feedback == PathFeedback::Timeout && self.would_freeze() {
            self.frozen_until = Some(now + FREEZE);
        }
        // The ring is old by now. Random values first find out which paths are good.
        if self.frozen_until.is_some_and(|until| now > until) {
            *self = Self {
                explore: EXPLORE,
                ..Self::new(self.values)
            };
        }
        if feedback == PathFeedback::Good {
            self.add(entropy);
        }
    }
}

/// Values that returned without a mark, each used once, in order of return.
#[derive(Clone, Debug, Default)]
pub struct Recycled {
    values: VecDeque<u16>,
}

impl Recycled {
    pub(super) fn take(&mut self) -> Option<u16> {
        self.values.pop_front()
    }

    pub(super) fn on_feedback(&mut self, entropy: u16, feedback: PathFeedback) {
        if feedback == PathFeedback::Good {
            self.values.push_back(entropy);
        }
    }
}
