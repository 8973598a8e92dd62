//! Median of the last delays: a signal for flows whose packets take many paths.
//!
//! A sender that reacts to the last delay collapses if a few of its paths are congested. The median of the last
//! H delays ignores them as long as fewer than half of these are late (Gerstein et al., arXiv 2509.07907).

use std::collections::VecDeque;

choice! {
    /// Signal that a window reacts to: the last delay, or the median of the last ones.
    pub enum Middle {
        /// The last delay itself.
        Off = "off",
        /// Median; of an even number the lower of the two in the middle.
        Lower = "lower",
        /// Median; of an even number the upper of the two in the middle.
        Upper = "upper",
    }
}

impl Middle {
    /// Creates an empty filter, or `None` if the last delay is the signal.
    pub fn filter(self) -> Option<Median> {
        (self != Self::Off).then(|| Median {
            recent: VecDeque::new(),
            sorted: Vec::new(),
            upper: self == Self::Upper,
        })
    }
}

/// Median of the last delays of one flow, in ps.
#[derive(Clone, Debug)]
pub struct Median {
    /// Delays in order of arrival, oldest first.
    recent: VecDeque<u64>,
    /// Delays of `recent` in ascending order.
    sorted: Vec<u64>,
    upper: bool,
}

impl Median {
    /// Adds a delay and returns the median of the newest `keep`, at least of this one. It allocates only if it keeps
    /// more than ever before.
    pub fn push(&mut self, delay: u64, keep: usize) -> u64 {
        // Old delays go first, so that the lists never hold more than `keep`.
        while self.recent.len() >= keep.max(1) {
            let Some(old) = self.recent.pop_front() else { break };
            let index = self.sorted.partition_point(|&other| other < old);
            self.sorted.remove(index);
        }
        self.recent.push_back(delay);
        // A few hundred numbers at most: moving them costs less than the pointers of a tree.
        let index = self.sorted.partition_point(|&other| other < delay);
        self.sorted.insert(index, delay);
        let count = self.sorted.len();
        let middle = if self.upper { count / 2 } else { (count - 1) / 2 };
        self.sorted[middle]
    }
}

#[cfg(test)]
mod tests;
