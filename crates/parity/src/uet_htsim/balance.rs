//! Which entropy value a packet carries: the algorithms of [`paceline_congestion::entropy`], and one that is this simulator's
//! alone.

use std::collections::VecDeque;

use paceline_congestion::entropy::{Draw, Entropy, PathFeedback, PathSelector, Selector};
use paceline_kernel::Time;

/// Which load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// [`Selector::Bitmap`].
    Bitmap,
    /// [`Selector::Reps`].
    Reps,
    /// A list of all values that came back unmarked.
    RepsLegacy,
    /// [`Selector::Oblivious`].
    Oblivious,
    /// [`Selector::Mixed`].
    Mixed,
}

/// REPS has no answer to a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// A load balancer's state for one flow.
#[derive(Clone, Debug)]
pub(super) enum Balancer {
    Common(PathSelector),
    RepsLegacy(Legacy),
}

impl Balancer {
    /// A new flow's, with this number of values, a power of two.
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
        Self::Common(Entropy { selector, values }.build(draw))
    }

    /// The value of the next packet, given its sequence number and the window in packets.
    #[inline]
    pub(super) fn next(&mut self, seq: u32, window: i64, draw: &mut impl Draw) -> u16 {
        match self {
            Self::Common(selector) => selector.next(draw),
            Self::RepsLegacy(legacy) => legacy.next(seq, window, draw),
        }
    }

    /// What came of a packet. `trims` says whether the network trims: without trimming, REPS has no answer to a timeout.
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

/// REPS with an unbounded list: the first window explores, then values that came back unmarked are used again.
#[derive(Clone, Debug)]
pub(super) struct Legacy {
    values: u32,
    /// The last value, wherever it came from: the first window counts on from there, also where it goes on because the window
    /// has grown.
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
