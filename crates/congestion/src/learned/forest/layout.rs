//! Trees as they are decided by: eight side by side, a feature at a time.
//!
//! What costs time in a forest is fetching the feature of each question. So eight trees go together, and for each
//! feature that one of them asks for all eight compare at once; to those that do not ask the answer is worth no bit.
//! Trees with alike features are put together.

use super::scale::{Scale, fixed, float, grid};
use super::{MAX_FEATURES, Parts, Tree};

/// Trees side by side: the 16-bit lanes of the smallest vector registers.
const LANES: usize = 8;

/// A feature of eight trees.
#[derive(Clone, Debug)]
struct Pass {
    feature: usize,
    above: [i16; LANES],
    /// Of the leaf's number, where the answer is yes.
    bit: [u16; LANES],
}

/// How a feature is read.
#[derive(Clone, Debug)]
enum Reading {
    Fixed(f32),
    /// By its rank among the thresholds.
    Rank(Vec<i32>),
}

/// All trees.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    start: i64,
    readings: Vec<Reading>,
    passes: Vec<Pass>,
    /// By eight trees, how many passes they have.
    groups: Vec<usize>,
    /// By tree, as many as the deepest has.
    leaves: Vec<i32>,
    stride: usize,
}

impl Layout {
    pub(super) fn of(parts: &Parts) -> Self {
        let deepest = parts.trees.iter().map(|tree| tree.splits.len()).max();
        let stride = 1 << deepest.unwrap_or(0);
        let mut layout = Self {
            start: parts.start,
            readings: readings(parts),
            passes: Vec::new(),
            groups: Vec::new(),
            leaves: Vec::new(),
            stride,
        };
        for group in gather(parts) {
            let trees: Vec<&Tree> = group.iter().map(|tree| &parts.trees[*tree]).collect();
            let before = layout.passes.len();
            layout.add_passes(&trees);
            layout.groups.push(layout.passes.len() - before);
            for lane in 0..LANES {
                let end = layout.leaves.len() + stride;
                let leaves = trees.get(lane).map_or(&[][..], |tree| &tree.leaves);
                layout.leaves.extend(leaves);
                layout.leaves.resize(end, 0);
            }
        }
        layout
    }

    /// A tree that asks for a feature again does so in another pass.
    fn add_passes(&mut self, trees: &[&Tree]) {
        let first = self.passes.len();
        for (lane, tree) in trees.iter().enumerate() {
            for (k, split) in tree.splits.iter().enumerate() {
                let is_free = |pass: &Pass| pass.feature == split.feature && pass.bit[lane] == 0;
                let at = match self.passes[first..].iter().position(is_free) {
                    Some(at) => first + at,
                    None => {
                        self.passes.push(Pass {
                            feature: split.feature,
                            above: [0; LANES],
                            bit: [0; LANES],
                        });
                        self.passes.len() - 1
                    }
                };
                self.passes[at].above[lane] = match &self.readings[split.feature] {
                    Reading::Fixed(_) => split.above as i16,
                    Reading::Rank(borders) => borders.partition_point(|border| *border < split.above) as i16,
                };
                self.passes[at].bit[lane] = 1 << k;
            }
        }
    }

    #[inline]
    pub(super) fn sum(&self, features: &[f32]) -> i64 {
        let mut wide = [[0i16; LANES]; MAX_FEATURES];
        for ((wide, reading), feature) in wide.iter_mut().zip(&self.readings).zip(features) {
            let position = match reading {
                Reading::Fixed(grid) => fixed(*feature, *grid) as i16,
                Reading::Rank(borders) => {
                    let position = float(*feature);
                    borders.partition_point(|border| *border < position) as i16
                }
            };
            *wide = [position; LANES];
        }
        let mut passes = &self.passes[..];
        let mut sum = self.start;
        for (count, leaves) in self
            .groups
            .iter()
            .zip(self.leaves.chunks_exact(LANES * self.stride))
        {
            let mut numbers = [0u16; LANES];
            let (these, others) = passes.split_at(*count);
            passes = others;
            for pass in these {
                let wide = &wide[pass.feature % MAX_FEATURES];
                for lane in 0..LANES {
                    // The sign of the difference, as sixteen bits: this the compiler makes vectors of.
                    let above = (i32::from(pass.above[lane]) - i32::from(wide[lane])) >> 31;
                    numbers[lane] |= above as u16 & pass.bit[lane];
                }
            }
            for (lane, number) in numbers.iter().enumerate() {
                sum += i64::from(leaves[lane * self.stride + usize::from(*number)]);
            }
        }
        sum
    }
}

fn readings(parts: &Parts) -> Vec<Reading> {
    let reading = |(k, feature): (usize, &super::Feature)| match feature.scale {
        Scale::Fixed(fraction) => Reading::Fixed(grid(fraction)),
        Scale::Float => {
            let splits = parts.trees.iter().flat_map(|tree| &tree.splits);
            let mut borders: Vec<i32> = splits
                .filter(|split| split.feature == k)
                .map(|split| split.above)
                .collect();
            borders.sort_unstable();
            borders.dedup();
            Reading::Rank(borders)
        }
    };
    parts.features.iter().enumerate().map(reading).collect()
}

/// Numbers of trees, those together that share features: each group takes the tree next that adds the fewest passes.
fn gather(parts: &Parts) -> Vec<Vec<usize>> {
    let counts = |tree: &Tree| {
        let mut counts = [0u8; MAX_FEATURES];
        for split in &tree.splits {
            counts[split.feature] += 1;
        }
        counts
    };
    let all: Vec<[u8; MAX_FEATURES]> = parts.trees.iter().map(counts).collect();
    let mut left: Vec<usize> = (0..all.len()).collect();
    let mut groups = Vec::new();
    while !left.is_empty() {
        let mut group = Vec::with_capacity(LANES);
        let mut has = [0u8; MAX_FEATURES];
        while group.len() < LANES && !left.is_empty() {
            let added = |tree: &usize| {
                let splits = &parts.trees[*tree].splits;
                let mut more: u32 = 0;
                for (k, split) in splits.iter().enumerate() {
                    let before = splits[..k].iter().filter(|other| other.feature == split.feature);
                    more += u32::from(before.count() >= usize::from(has[split.feature]));
                }
                more
            };
            let best = (0..left.len()).min_by_key(|at| added(&left[*at]));
            let tree = left.remove(best.unwrap_or(0));
            for (has, more) in has.iter_mut().zip(&all[tree]) {
                *has = (*has).max(*more);
            }
            group.push(tree);
        }
        groups.push(group);
    }
    groups
}
