//! Windows of a cut run: their length, and statistics.

use serde::{Deserialize, Serialize};

/// Statistics of the windows of a run in parts. They depend on the run and its parts alone, not on threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowCounts {
    /// Number of windows in which the parts ran.
    pub windows: u64,
    /// Events of all parts in the windows.
    pub events: u64,
    /// Sum over windows of the most events of one part: the events left in sequence with a processor for each part.
    pub busiest: u64,
    /// Packet-hops from one part to another.
    pub crossed: u64,
    /// Events of the part that had most of all.
    pub largest_part: u64,
}

/// Length of the next window, and counts of past ones.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// Least time that a packet to another part takes, in ps: no window may be longer.
    lookahead: u64,
    /// Length of the next window, in ps.
    span: u64,
    /// Events of each part so far.
    events: Vec<u64>,
    counts: WindowCounts,
}

/// Events of all parts per window to aim at. In a longer window the wait for other parts hardly matters any more. In a
/// shorter one exchanged packets take less memory and are still in the cache, and a user's request to stop is noticed
/// soon.
const ENOUGH: u64 = 1 << 15;

impl Windows {
    pub(super) fn new(parts: usize, lookahead: u64) -> Self {
        Self {
            lookahead,
            span: lookahead.min(1_000_000),
            events: vec![0; parts],
            counts: WindowCounts::default(),
        }
    }

    /// Returns the length of the next window, in ps.
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

    /// Counts a window: the events of each part so far, and the packets that it sent to others in the window.
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
        // With too many events, other threads and the user wait for long; with too few, the barrier takes most of the
        // time.
        let enough = ENOUGH / self.events.len() as u64;
        self.span = if most > enough {
            (self.span / 2).max(1)
        } else if most < enough / 4 {
            self.span.saturating_mul(2).min(self.lookahead)
        } else {
            self.span
        };
    }
}
