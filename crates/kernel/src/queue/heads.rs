//! The heads of all lanes, in a tournament.

/// No event: later than every time.
pub(super) const NEVER: u64 = u64::MAX >> LANE_BITS;
/// Bits of a key that tell its lane.
const LANE_BITS: u32 = 5;
/// Lanes that there can be, the wheel (lane 0) included.
pub(super) const MAX_LANES: usize = 1 << LANE_BITS;
/// Up to so many lanes the tournament has three rounds, with more it has five.
const FEW: usize = 8;

/// A lane's head in one word: the time of its first event, or [`NEVER`], then the lane, so that
/// keys compare as their times do. Times below 2^59 ps (6.6 days) fit.
#[derive(Clone, Copy)]
pub(super) struct Key(u64);

impl Key {
    #[inline]
    pub(super) const fn time(self) -> u64 {
        self.0 >> LANE_BITS
    }

    #[inline]
    pub(super) const fn lane(self) -> usize {
        self.0 as usize % MAX_LANES
    }
}

/// A binary tree in an array: node `i` has the lesser of the nodes `2i` and `2i + 1`, the root is
/// node 1, the leaves are the heads of the lanes. A head that moves plays the rounds up to the root
/// without one branch that depends on the outcome.
#[derive(Clone, Debug)]
pub(super) struct Heads {
    nodes: [u64; 2 * MAX_LANES],
    leaves: usize,
}

impl Heads {
    pub(super) fn new() -> Self {
        Self {
            nodes: [u64::MAX; 2 * MAX_LANES],
            leaves: FEW,
        }
    }

    /// Makes room for `lanes` of them.
    pub(super) fn reserve(&mut self, lanes: usize) {
        if lanes > self.leaves {
            let few = self.clone();
            self.leaves = MAX_LANES;
            for lane in 0..few.leaves {
                self.set(lane, few.time(lane));
            }
        }
    }

    /// The least.
    #[inline]
    pub(super) fn first(&self) -> Key {
        Key(self.nodes[1])
    }

    /// The time of a lane's first event.
    #[inline]
    pub(super) fn time(&self, lane: usize) -> u64 {
        Key(self.nodes[self.leaves + lane]).time()
    }

    /// The first event of `lane` is `at` now.
    #[inline]
    pub(super) fn set(&mut self, lane: usize, at: u64) {
        if self.leaves == FEW {
            self.play::<FEW>(lane, at);
        } else {
            self.play::<MAX_LANES>(lane, at);
        }
    }

    #[inline]
    fn play<const LEAVES: usize>(&mut self, lane: usize, at: u64) {
        let mut node = LEAVES + lane % LEAVES;
        let mut least = at << LANE_BITS | lane as u64;
        self.nodes[node] = least;
        for _ in 0..LEAVES.ilog2() {
            least = least.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = least;
        }
    }
}
