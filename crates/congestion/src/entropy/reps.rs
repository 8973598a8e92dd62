//! Values that proved good are used again.

use std::collections::VecDeque;

use super::{Draw, FREEZE, PathFeedback};
use paceline_kernel::Time;

/// Slots of REPS's ring.
const SLOTS: usize = 8;
/// Values that are drawn before REPS trusts its ring again, when it stops being frozen.
const EXPLORE: u32 = 16;

/// REPS: a ring of the last eight values that came back without a mark. Each is used once, the oldest first. After a
/// timeout the ring is frozen: its values are used again and again, since a drawn one might take the broken path.
#[derive(Clone, Debug)]
pub struct Ring {
    values: u32,
    slots: [(u16, bool); SLOTS],
    head: usize,
    count: usize,
    /// Values that have not been used since they came; below zero while frozen ones are used again.
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

    /// Whether a timeout would freeze it.
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
        let place = (self.head + SLOTS - self.fresh as usize) % SLOTS;
        self.fresh -= 1;
        self.slots[place].1 = false;
        self.slots[place].0
    }

    fn add(&mut self, entropy: u16) {
        let slot = &mut self.slots[self.head];
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

/// Values that came back without a mark, each used once, in that order.
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
