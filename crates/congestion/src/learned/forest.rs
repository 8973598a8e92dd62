//! Boosted oblivious trees: a policy of integer comparisons and sums.
//!
//! In an oblivious tree all nodes of a level share one split, so the bits of a leaf's number are the results
//! of the splits, and nothing branches. Each feature is first quantised to its own grid ([`Scale`]). All
//! further arithmetic is on integers, so a decision has the same bits on every machine, and in C.

mod file;
mod layout;
mod scale;

use std::fmt;

use serde_json::{Map, Value};

pub use file::{FORMAT, ForestError};
use layout::Layout;
pub use scale::{LAST, Scale};

/// Upper limit of features: a decision keeps them on the stack.
pub const MAX_FEATURES: usize = 64;
/// Upper limit of a tree's depth.
pub const MAX_DEPTH: usize = 16;
/// Upper limit of the leaves of all trees, each counted as the deepest.
pub const MAX_LEAVES: usize = 1 << 24;
/// Upper limit of the fractional bits of leaves.
pub const MAX_FRACTION: u8 = 40;

/// Input of a forest.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    /// Name; `NAME[t-1]` is `NAME` one decision earlier.
    pub name: String,
    /// Quantisation to an integer.
    pub scale: Scale,
    /// Monotonicity that training enforced; `None` if it enforced none.
    pub trend: Option<Trend>,
}

/// Direction in which the output follows a feature while all others stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// The output never falls if the feature grows.
    Rising,
    /// The output never rises if the feature grows.
    Falling,
}

impl Trend {
    /// Returns the name in a model file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rising => "rising",
            Self::Falling => "falling",
        }
    }

    /// Returns the trend called `name`, if there is one.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Rising, Self::Falling]
            .into_iter()
            .find(|trend| trend.name() == name)
    }

    /// Returns 1 for rising, -1 for falling.
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

/// Split of a tree: compares a feature with a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Split {
    /// Index of the feature.
    pub feature: usize,
    /// Threshold, in the feature's [positions](Scale::position); only greater positions set the bit.
    pub above: i32,
}

/// Oblivious tree: bit `k` of a leaf's index is the result of split `k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Splits, one per level.
    pub splits: Vec<Split>,
    /// Values added by each combination of results, in the forest's units.
    pub leaves: Vec<i32>,
}

impl Tree {
    /// Returns the index of the leaf for these positions of the features.
    pub fn leaf(&self, positions: &[i32]) -> usize {
        let answer = |(k, split): (usize, &Split)| usize::from(positions[split.feature] > split.above) << k;
        self.splits.iter().enumerate().map(answer).sum()
    }
}

/// Claim about a forest that can be proved.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Short description of the claim.
    pub what: String,
    /// Ranges to which the claim is limited, by feature name; a name without `[..]` applies to all time
    /// steps.
    pub within: Vec<(String, [f32; 2])>,
    /// Smallest and largest output that the claim allows.
    pub output: [f64; 2],
}

/// Contents of a forest.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Name of the model.
    pub name: String,
    /// Inputs, in the order in which decisions pass them.
    pub features: Vec<Feature>,
    /// Name of the output.
    pub output: String,
    /// Fractional bits of leaves: an output is a sum of leaves times 2^-fraction.
    pub fraction: u8,
    /// Initial value of the sum.
    pub start: i64,
    /// Bounds to which the sum is clamped; `None` without bounds.
    pub limits: Option<[i64; 2]>,
    /// Trees whose leaves are added.
    pub trees: Vec<Tree>,
    /// Claims about the output.
    pub claims: Vec<Claim>,
    /// Notes on how it was made.
    pub about: Map<String, Value>,
}

impl Parts {
    /// Returns a feature's distinct thresholds, in ascending order.
    pub fn borders(&self, feature: usize) -> Vec<i32> {
        borders(&self.trees, feature)
    }
}

/// Returns the distinct thresholds of a feature in `trees`, in ascending order.
fn borders(trees: &[Tree], feature: usize) -> Vec<i32> {
    let splits = trees.iter().flat_map(|tree| &tree.splits);
    let of = splits.filter(|split| split.feature == feature);
    let mut borders: Vec<i32> = of.map(|split| split.above).collect();
    borders.sort_unstable();
    borders.dedup();
    borders
}

/// Forest that can decide.
#[derive(Clone, Debug)]
pub struct Forest {
    parts: Parts,
    sha256: String,
    /// Fast evaluation, if one-byte indices are large enough for it.
    layout: Option<Layout>,
}

impl PartialEq for Forest {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl Forest {
    /// Creates a forest from its parts.
    ///
    /// # Errors
    /// The parts are inconsistent.
    pub fn new(parts: Parts) -> Result<Self, ForestError> {
        file::check(&parts)?;
        Ok(Self {
            sha256: file::hash(&parts),
            layout: Layout::of(&parts),
            parts,
        })
    }

    /// Parses a forest file.
    ///
    /// # Errors
    /// The bytes are no forest, or its hash does not match.
    pub fn parse(json: &[u8]) -> Result<Self, ForestError> {
        let (parts, expected) = file::parse(json)?;
        let forest = Self::new(parts)?;
        // Without this check a damaged forest would decide differently without an error.
        if forest.sha256 != expected.to_lowercase() {
            return Err(ForestError::Hash {
                found: forest.sha256,
                expected,
            });
        }
        Ok(forest)
    }

    /// Returns the text of its file.
    pub fn to_json(&self) -> String {
        file::write(&self.parts, &self.sha256)
    }

    /// Returns the parts from which the forest was built.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Returns the SHA-256 of everything that affects decisions.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Checks that the forest reads exactly these features, in this order.
    ///
    /// # Errors
    /// It reads others, or in another order.
    pub fn reads(&self, names: &[&str]) -> Result<(), ForestError> {
        let found: Vec<&str> = self.parts.features.iter().map(|feature| &*feature.name).collect();
        if found == names {
            return Ok(());
        }
        let differs = found.iter().zip(names).position(|(a, b)| a != b);
        let location = match differs {
            Some(k) => format!("features[{k}].name"),
            None => "the number of features".into(),
        };
        let listed = |names: &[&str]| match differs {
            Some(k) => format!("\"{}\"", names[k]),
            None => names.len().to_string(),
        };
        Err(ForestError::entry(location, listed(&found), listed(names)))
    }

    /// Returns the output. A NaN feature counts as the lowest, a missing one as 0.
    pub fn decide(&self, features: &[f32]) -> f32 {
        self.value(self.sum(features)) as f32
    }

    /// Returns the output in the forest's units.
    pub fn sum(&self, features: &[f32]) -> i64 {
        match &self.layout {
            Some(layout) => self.cut(layout.sum(features)),
            None => self.sum_at(&self.positions(features)),
        }
    }

    /// Returns the output in the forest's units, tree by tree from positions: the slow reference for the fast
    /// evaluation.
    pub fn sum_at(&self, positions: &[i32]) -> i64 {
        let trees = self.parts.trees.iter();
        let sum: i64 = trees
            .map(|tree| i64::from(tree.leaves[tree.leaf(positions)]))
            .sum();
        self.cut(self.parts.start + sum)
    }

    /// Returns the positions of features; 0 for missing ones and beyond the last.
    pub fn positions(&self, features: &[f32]) -> [i32; MAX_FEATURES] {
        let mut positions = [0; MAX_FEATURES];
        let pairs = self.parts.features.iter().zip(features);
        for (position, (feature, value)) in positions.iter_mut().zip(pairs) {
            *position = feature.scale.position(*value);
        }
        positions
    }

    /// Converts units to a real number.
    pub fn value(&self, units: i64) -> f64 {
        units as f64 * self.unit()
    }

    /// Returns the value of one unit of the output.
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
