//! The windows of a run that is cut: how long they are, and what they have been.

use serde::{Deserialize, Serialize};

/// What the windows of a run in parts have been, in numbers that depend on the run and its parts alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowCounts {
    /// Windows in which the parts ran.
    pub windows: u64,
    /// Events of all parts in them.
    pub events: u64,
    /// The sum of the most events of one part in each: what is left to do one after another with a processor for each
    /// part.
    pub busiest: u64,
    /// Packet-hops from one part to another.
    pub crossed: u64,
    /// Events of the part that had most of all.
    pub largest_part: u64,
}

/// The windows of a run.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// What a packet to another part takes at least, in ps: no window is longer.
    lookahead: u64,
    /// How long the next one is.
    span: u64,
    /// Events of each part so far.
    events: Vec<u64>,
    counts: WindowCounts,
}

/// Events of one part in a window that is long enough, and too long: what waiting for the others takes is little alongside
/// it, packets that change hands are still in the cache, and the user who wants to stop is heard soon.
const ENOUGH: u64 = 1 << 14;

impl Windows {
    pub(super) fn new(parts: usize, lookahead: u64) -> Self {
        Self {
            lookahead,
            span: lookahead.min(1_000_000),
            events: vec![0; parts],
            counts: WindowCounts::default(),
        }
    }

    /// How long the next window is, in ps.
    pub(super) fn span(&self) -> u64 {
        self.span
    }

    pub(super) fn counts(&self) -> WindowCounts {
        let largest_part = self.events.iter().copied().max().unwrap_or(0);
        WindowCounts {
            largest_part,
            ..self.counts
        }
    }

    /// Takes in a window: the events of each part so far, and the packets that it sent to others in it.
    pub(super) fn count(&mut self, parts: impl Iterator<Item = [u64; 2]>) {
        let (mut all, mut most) = (0, 0);
        for ([events, crossed], before) in parts.zip(&mut self.events) {
            let own = events.saturating_sub(*before);
            *before = events;
            all += own;
            most = own.max(most);
            self.counts.crossed += crossed;
        }
        self.counts.windows += 1;
        self.counts.events += all;
        self.counts.busiest += most;
        self.span = if most > ENOUGH {
            (self.span / 2).max(1)
        } else if most < ENOUGH / 4 {
            self.span.saturating_mul(2).min(self.lookahead)
        } else {
            self.span
        };
    }
}
