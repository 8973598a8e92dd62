//! Search for positions at which a sum of trees exceeds a bound.

use std::collections::BTreeMap;

use paceline_congestion::learned::forest::{Split, Tree};

/// Lowest and highest position of each feature.
pub(super) type Ranges = Vec<[i32; 2]>;

/// Tree whose leaves may be differences of leaves.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    splits: Vec<Split>,
    leaves: Vec<i64>,
}

impl Plain {
    /// Returns a tree multiplied by `sign`.
    pub(super) fn of(tree: &Tree, sign: i64) -> Self {
        Self {
            splits: tree.splits.clone(),
            leaves: tree.leaves.iter().map(|leaf| sign * i64::from(*leaf)).collect(),
        }
    }

    /// Returns the tree's increase, multiplied by `sign`, at a crossing of the split `step`; `None` if the
    /// tree does not contain it.
    pub(super) fn across(tree: &Tree, step: Split, sign: i64) -> Option<Self> {
        if !tree.splits.contains(&step) {
            return None;
        }
        let of_others = |split: &&Split| split.feature != step.feature;
        let others: Vec<Split> = tree.splits.iter().filter(of_others).copied().collect();
        let leaf = |answers: usize, position: i32| {
            let mut answers = answers;
            let mut leaf = 0;
            for (k, split) in tree.splits.iter().enumerate() {
                if split.feature == step.feature {
                    leaf |= usize::from(position > split.above) << k;
                } else {
                    leaf |= (answers & 1) << k;
                    answers >>= 1;
                }
            }
            sign * i64::from(tree.leaves[leaf])
        };
        Some(Self {
            leaves: (0..1 << others.len())
                .map(|answers| leaf(answers, step.above + 1) - leaf(answers, step.above))
                .collect(),
            splits: others,
        })
    }

    /// Returns the minimum and maximum of the reachable leaves. `ranges` is unchanged at the end.
    fn extremes(&self, ranges: &mut Ranges, level: usize, leaf: usize) -> [i64; 2] {
        let Some(split) = self.splits.get(level) else {
            return [self.leaves[leaf]; 2];
        };
        let [low, high] = ranges[split.feature];
        let mut extremes = [i64::MAX, i64::MIN];
        let mut join = |[least, most]: [i64; 2]| {
            extremes = [extremes[0].min(least), extremes[1].max(most)];
        };
        if high > split.above {
            ranges[split.feature] = [low.max(split.above + 1), high];
            join(self.extremes(ranges, level + 1, leaf | 1 << level));
        }
        if low <= split.above {
            ranges[split.feature] = [low, high.min(split.above)];
            join(self.extremes(ranges, level + 1, leaf));
        }
        ranges[split.feature] = [low, high];
        extremes
    }
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The sum never exceeds the bound.
    Nowhere,
    /// The sum exceeds the bound at these positions.
    At(Vec<i32>),
    /// The budget was exhausted.
    Unknown,
}

/// Searches these ranges for positions at which `start` plus the trees' sum exceeds `allowed`. Also returns
/// the number of examined ranges.
pub(super) fn search(trees: &[Plain], start: i64, ranges: Ranges, allowed: i64, budget: u64) -> (Found, u64) {
    let mut looked = 0;
    let mut open = vec![ranges];
    while let Some(mut ranges) = open.pop() {
        looked += 1;
        if looked > budget {
            return (Found::Unknown, looked - 1);
        }
        let mut most = start;
        let mut doubts: BTreeMap<Split, i64> = BTreeMap::new();
        for tree in trees {
            let [low, high] = tree.extremes(&mut ranges, 0, 0);
            // The sum of the maxima of all trees is an upper bound of the maximum sum.
            most += high;
            if high > low {
                for split in tree.splits.iter().filter(|split| parts(split, &ranges)) {
                    *doubts.entry(*split).or_default() += high - low;
                }
            }
        }
        if most <= allowed {
            continue;
        }
        // Split at the undecided threshold with the largest influence, the first of several.
        let worst = doubts
            .iter()
            .max_by_key(|(split, doubt)| (**doubt, std::cmp::Reverse(**split)));
        let Some((split, _)) = worst else {
            // The range is a single cell, so the bound is the exact sum.
            return (Found::At(ranges.iter().map(nearest_to_zero).collect()), looked);
        };
        let [low, high] = ranges[split.feature];
        let mut below = ranges.clone();
        below[split.feature] = [low, split.above];
        ranges[split.feature] = [split.above + 1, high];
        // The half with the larger bound is examined first.
        let bound =
            |ranges: &mut Ranges| -> i64 { trees.iter().map(|tree| tree.extremes(ranges, 0, 0)[1]).sum() };
        match bound(&mut below) > bound(&mut ranges) {
            true => open.extend([ranges, below]),
            false => open.extend([below, ranges]),
        }
    }
    (Found::Nowhere, looked)
}

/// Returns true if a threshold splits a range.
fn parts(split: &Split, ranges: &Ranges) -> bool {
    let [low, high] = ranges[split.feature];
    low <= split.above && high > split.above
}

/// Returns the position in the range that is closest to zero. Any position of a cell would do; this one is
/// the most readable.
fn nearest_to_zero([low, high]: &[i32; 2]) -> i32 {
    0.clamp(*low, *high)
}
