//! Tournament tree over the first events of all lanes.

/// Time of no event, later than all others.
pub(super) const NEVER: u64 = u64::MAX >> LANE_BITS;
/// Bits of a key that identify its lane.
const LANE_BITS: u32 = 5;
/// Upper limit of lanes including the wheel (lane 0).
pub(super) const MAX_LANES: usize = 1 << LANE_BITS;
/// Up to this number of lanes the tournament has three rounds; with more it has five.
const FEW: usize = 8;

/// First event of a lane in one word: its time, or [`NEVER`], above the lane number, so that keys compare by
/// time. Times below 2^59 ps (6.6 days) fit.
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

/// Binary tree in an array: node `i` is the minimum of the nodes `2i` and `2i + 1`, the root is node 1, and
/// the leaves are the lanes' first events. An update recomputes the path to the root without a branch that
/// depends on values.
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

    /// Extends the tree to at least `lanes` leaves.
    pub(super) fn reserve(&mut self, lanes: usize) {
        if lanes > self.leaves {
            let few = self.clone();
            self.leaves = MAX_LANES;
            for lane in 0..few.leaves {
                self.set(lane, few.time(lane));
            }
        }
    }

    /// Returns the minimum of all lanes.
    #[inline]
    pub(super) fn first(&self) -> Key {
        Key(self.nodes[1])
    }

    /// Returns the time of a lane's first event.
    #[inline]
    pub(super) fn time(&self, lane: usize) -> u64 {
        Key(self.nodes[self.leaves + lane]).time()
    }

    /// Sets the time of a lane's first event.
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
        // The lane number breaks ties, so keys are never equal.
        let mut least = at << LANE_BITS | lane as u64;
        self.nodes[node] = least;
        for _ in 0..LEAVES.ilog2() {
            least = least.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = least;
        }
    }
}
