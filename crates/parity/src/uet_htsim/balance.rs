//! Selection of each packet's entropy value: the algorithms of [`paceline_congestion::entropy`], and one that only
//! this simulator has.

use std::collections::VecDeque;

use paceline_congestion::entropy::{Draw, Entropy, PathFeedback, PathSelector, Selector};
use paceline_kernel::Time;

/// Algorithms that choose the entropy value of each packet (`-load_balancing_algo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Skips values with recent congestion ([`Selector::Bitmap`]).
    Bitmap,
    /// Recycles values of unmarked packets ([`Selector::Reps`]).
    Reps,
    /// REPS with an unbounded list of the values that came back unmarked.
    RepsLegacy,
    /// Sprays regardless of feedback ([`Selector::Oblivious`]).
    Oblivious,
    /// The simulator's default ([`Selector::Mixed`]).
    Mixed,
}

/// Error for a case in which the simulator's REPS aborts: a timeout in a network that does not trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// A load balancer's state for one flow.
#[derive(Clone, Debug)]
pub(super) enum Balancer {
    Common(PathSelector),
    RepsLegacy(Legacy),
}

impl Balancer {
    /// Returns the balancer of a new flow. `values` is the number of entropy values, a power of two.
    pub(super) fn new(algorithm: Algorithm, values: u32, draw: &mut impl Draw) -> Self {
        let selector = match algorithm {
            Algorithm::Bitmap => Selector::Bitmap,
            Algorithm::Reps => Selector::Reps,
            Algorithm::Oblivious => Selector::Oblivious,
            Algorithm::Mixed => Selector::Mixed,
            Algorithm::RepsLegacy => {
                return Self::RepsLegacy(Legacy {
                    values,
                    last: 0,
                    good: VecDeque::new(),
                });
            }
        };
        Self::Common(
            Entropy {
                selector,
                values,
                mrc: None,
            }
            .build(1, draw),
        )
    }

    /// Returns the entropy value of the next packet. `window` is in packets.
    #[inline]
    pub(super) fn next(&mut self, seq: u32, window: i64, draw: &mut impl Draw) -> u16 {
        match self {
            Self::Common(selector) => selector.next(draw),
            Self::RepsLegacy(legacy) => legacy.next(seq, window, draw),
        }
    }

    /// Passes on the feedback of one packet. Fails if REPS would freeze after a timeout although the network does not
    /// trim (`trims`).
    #[inline]
    pub(super) fn learn(
        &mut self,
        entropy: u16,
        feedback: PathFeedback,
        now: u64,
        trims: bool,
    ) -> Result<(), Gone> {
        match self {
            Self::Common(PathSelector::Reps(ring))
                if feedback == PathFeedback::Timeout && !trims && ring.would_freeze() =>
            {
                return Err(Gone);
            }
            Self::Common(selector) => selector.on_feedback(Time::from_ps(now), entropy, feedback),
            Self::RepsLegacy(legacy) => {
                if feedback == PathFeedback::Good {
                    legacy.good.push_back(entropy);
                }
            }
        }
        Ok(())
    }
}

/// REPS with an unbounded list: the first window explores all values, then values that came back unmarked are reused.
#[derive(Clone, Debug)]
pub(super) struct Legacy {
    values: u32,
    /// The last value, explored or reused. Exploration counts up from it, also when a growing window resumes it.
    last: u32,
    good: VecDeque<u16>,
}

impl Legacy {
    fn next(&mut self, seq: u32, window: i64, draw: &mut impl Draw) -> u16 {
        if i64::from(seq) < window.min(i64::from(self.values)) {
            self.last += 1;
            if self.last == self.values {
                self.last = 0;
            }
        } else {
            let good = self.good.pop_front().map(u32::from);
            self.last = good.unwrap_or_else(|| draw.draw() % self.values);
        }
        self.last as u16
    }
}
