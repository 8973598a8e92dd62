//! Boosted oblivious trees: a policy of comparisons and sums of whole numbers.
//!
//! In an oblivious tree all nodes of a level ask the same question, so a leaf's number is the answers as bits, and
//! nothing branches. A feature is taken onto a grid of its own first ([`Scale`]); from there on all is integers, so a
//! decision has the same bits on every machine, and in C.

mod file;
mod layout;
mod scale;

use std::fmt;

use serde_json::{Map, Value};

pub use file::{FORMAT, ForestError};
use layout::Layout;
pub use scale::{LAST, Scale};

/// Features that a forest may read: what a decision keeps is on the stack.
pub const MAX_FEATURES: usize = 64;
/// Questions of a tree.
pub const MAX_DEPTH: usize = 16;
/// Leaves of all trees together, those of the deepest for each.
pub const MAX_LEAVES: usize = 1 << 24;
/// Fractional bits of leaves.
pub const MAX_FRACTION: u8 = 40;

/// What a forest reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// Its name; `NAME[t-1]` is `NAME` one decision ago.
    pub name: String,
    /// How it becomes a whole number.
    pub scale: Scale,
    /// How the output was made to follow it, if it was.
    pub trend: Option<Trend>,
}

/// How the output follows a feature while all others stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// It never falls when the feature grows.
    Rising,
    /// It never rises when the feature grows.
    Falling,
}

impl Trend {
    /// Its name in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rising => "rising",
            Self::Falling => "falling",
        }
    }

    /// Of a name.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Rising, Self::Falling]
            .into_iter()
            .find(|trend| trend.name() == name)
    }

    /// 1 or -1.
    pub const fn sign(self) -> i64 {
        match self {
            Self::Rising => 1,
            Self::Falling => -1,
        }
    }
}

impl fmt::Display for Trend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A question: is the feature above this?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Split {
    /// Which feature.
    pub feature: usize,
    /// In the feature's [positions](Scale::position).
    pub above: i32,
}

/// An oblivious tree: leaf `i` is where split `k` is answered with bit `k` of `i`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Its questions.
    pub splits: Vec<Split>,
    /// What each combination of answers adds, in the forest's units.
    pub leaves: Vec<i32>,
}

impl Tree {
    /// The leaf at these positions of the features.
    pub fn leaf(&self, positions: &[i32]) -> usize {
        let answer = |(k, split): (usize, &Split)| usize::from(positions[split.feature] > split.above) << k;
        self.splits.iter().enumerate().map(answer).sum()
    }
}

/// What is said of a forest and can be proved.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// In a few words.
    pub what: String,
    /// Features of which only this range is meant: by name, or without `[..]` for all of that name.
    pub within: Vec<(String, [f32; 2])>,
    /// The output is at least the first and at most the second.
    pub output: [f64; 2],
}

/// What a forest is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Its name.
    pub name: String,
    /// What it reads, in order.
    pub features: Vec<Feature>,
    /// What it gives.
    pub output: String,
    /// Fractional bits of leaves: an output is a sum of leaves times two to the power of minus this.
    pub fraction: u8,
    /// What the sum begins with.
    pub start: i64,
    /// Between which the sum is cut, if it is.
    pub limits: Option<[i64; 2]>,
    /// The trees.
    pub trees: Vec<Tree>,
    /// What is said of it.
    pub claims: Vec<Claim>,
    /// How it came to be.
    pub about: Map<String, Value>,
}

impl Parts {
    /// A feature's thresholds, in order, each once.
    pub fn borders(&self, feature: usize) -> Vec<i32> {
        borders(&self.trees, feature)
    }
}

/// Those of some trees.
fn borders(trees: &[Tree], feature: usize) -> Vec<i32> {
    let splits = trees.iter().flat_map(|tree| &tree.splits);
    let of = splits.filter(|split| split.feature == feature);
    let mut borders: Vec<i32> = of.map(|split| split.above).collect();
    borders.sort_unstable();
    borders.dedup();
    borders
}

/// A forest, ready to decide.
#[derive(Clone, Debug)]
pub struct Forest {
    parts: Parts,
    sha256: String,
    /// The fast way, if bytes suffice for it.
    layout: Option<Layout>,
}

impl PartialEq for Forest {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl Forest {
    /// Of its parts.
    ///
    /// # Errors
    /// They do not fit together.
    pub fn new(parts: Parts) -> Result<Self, ForestError> {
        file::check(&parts)?;
        Ok(Self {
            sha256: file::hash(&parts),
            layout: Layout::of(&parts),
            parts,
        })
    }

    /// Of the bytes of a file.
    ///
    /// # Errors
    /// It is none, or was changed.
    pub fn parse(json: &[u8]) -> Result<Self, ForestError> {
        let (parts, expected) = file::parse(json)?;
        let forest = Self::new(parts)?;
        if forest.sha256 != expected.to_lowercase() {
            return Err(ForestError::Hash {
                found: forest.sha256,
                expected,
            });
        }
        Ok(forest)
    }

    /// As a file.
    pub fn to_json(&self) -> String {
        file::write(&self.parts, &self.sha256)
    }

    /// What it is made of.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// SHA-256 of everything that decides.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// That it reads exactly these features, in this order.
    ///
    /// # Errors
    /// It does not.
    pub fn reads(&self, names: &[&str]) -> Result<(), ForestError> {
        let found: Vec<&str> = self.parts.features.iter().map(|feature| &*feature.name).collect();
        if found == names {
            return Ok(());
        }
        let differs = found.iter().zip(names).position(|(a, b)| a != b);
        let place = match differs {
            Some(k) => format!("features[{k}].name"),
            None => "the number of features".into(),
        };
        let listed = |names: &[&str]| match differs {
            Some(k) => format!("\"{}\"", names[k]),
            None => names.len().to_string(),
        };
        Err(ForestError::entry(place, listed(&found), listed(names)))
    }

    /// The output. A feature that is not a number counts as the lowest, one that is not there as 0.
    pub fn decide(&self, features: &[f32]) -> f32 {
        self.value(self.sum(features)) as f32
    }

    /// The output in the forest's units.
    pub fn sum(&self, features: &[f32]) -> i64 {
        match &self.layout {
            Some(layout) => self.cut(layout.sum(features)),
            None => self.sum_at(&self.positions(features)),
        }
    }

    /// The same, of positions, tree by tree: slower, and what the fast way has to give.
    pub fn sum_at(&self, positions: &[i32]) -> i64 {
        let trees = self.parts.trees.iter();
        let sum: i64 = trees
            .map(|tree| i64::from(tree.leaves[tree.leaf(positions)]))
            .sum();
        self.cut(self.parts.start + sum)
    }

    /// Positions of features; behind them, and of a feature that is not there, 0.
    pub fn positions(&self, features: &[f32]) -> [i32; MAX_FEATURES] {
        let mut positions = [0; MAX_FEATURES];
        let pairs = self.parts.features.iter().zip(features);
        for (position, (feature, value)) in positions.iter_mut().zip(pairs) {
            *position = feature.scale.position(*value);
        }
        positions
    }

    /// Units as a number.
    pub fn value(&self, units: i64) -> f64 {
        units as f64 * self.unit()
    }

    /// What a unit of the output is.
    pub fn unit(&self) -> f64 {
        1.0 / (1u64 << self.parts.fraction) as f64
    }

    fn cut(&self, sum: i64) -> i64 {
        match self.parts.limits {
            Some([low, high]) => sum.clamp(low, high),
            None => sum,
        }
    }
}

#[cfg(test)]
mod tests;
