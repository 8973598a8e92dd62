//! Gradient boosting of oblivious trees, for the mean square error.
//!
//! Features are taken onto their grids first, and thresholds lie on them; leaves are rounded to the forest's units before
//! the next tree is grown. So what is trained is what decides, to the last bit, and later trees make up for the rounding.
//!
//! A tree grows level by level. For each feature, sums of residuals and of weights by leaf and bin (a histogram) tell
//! what each threshold would gain:
//! ```text
//! gain = sum over leaves of G_below^2 / (W_below + l2) + G_above^2 / (W_above + l2)         (1)
//! ```
//! with G the sum of weighted residuals and W that of weights. The best (feature, threshold) is the level's question.
//! A leaf adds `rate G / (W + l2)`.
//!
//! # Trends
//! Where a feature is to be followed in one direction, (1) counts a pair of leaves that would go the other way as one
//! leaf; the finished tree's leaves are put in order along the feature by pooling neighbours that are not
//! (isotonic regression; with several such features in turn, until all agree). Every tree has the trend, so their sum has.
//!
//! # What is deterministic
//! A histogram is one thread's work, in the order of rows. Threads only share out features: their number moves nothing.

mod bins;
mod grow;
mod order;

use std::ops::Range;

use paceline_congestion::learned::forest::{Feature, Forest, ForestError, Parts, Tree};
use paceline_kernel::rng::{Purpose, Rng};
use serde_json::Map;

use bins::{Ask, Binned};
use grow::{Grower, Grown};

/// Fractional bits of leaves at most.
const MAX_FRACTION: i32 = 30;
/// The largest leaf: what fits into 16 bits keeps an exported forest small.
const LARGEST: f64 = i16::MAX as f64;
/// The stream of random numbers that chooses the rows of validation.
const VALIDATION: u64 = 64;

/// What to learn from.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Row by row.
    pub features: Vec<f32>,
    /// What should come of each row.
    pub targets: Vec<f32>,
    /// How much each row counts; nothing for all alike.
    pub weights: Vec<f32>,
}

impl Rows {
    /// One more.
    pub fn push(&mut self, features: &[f32], target: f32) {
        self.features.extend_from_slice(features);
        self.targets.push(target);
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Trees at most.
    pub trees: usize,
    /// Questions of a tree.
    pub depth: usize,
    /// How much of what is left a tree takes away.
    pub learning_rate: f64,
    /// Of (1).
    pub l2: f64,
    /// Bins of a feature: one more than it has thresholds to choose from.
    pub bins: usize,
    /// The share of rows that judge and are not learned from.
    pub validation: f64,
    /// Trees without a lower error of validation after which there are no more; the best ones are kept. 0 for all.
    pub patience: usize,
    /// Between which the output is cut.
    pub limits: Option<[f64; 2]>,
    /// Which rows judge.
    pub seed: u64,
    /// Threads; the forest does not depend on them.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trees: 300,
            depth: 6,
            learning_rate: 0.1,
            l2: 1.0,
            bins: 128,
            validation: 0.1,
            patience: 0,
            limits: None,
            seed: 1,
            threads: 1,
        }
    }
}

/// Why nothing was trained.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// An option is out of its range.
    #[error("{option} is {found}; expected {expected}")]
    Option {
        /// Which.
        option: &'static str,
        /// What it is.
        found: String,
        /// What it may be.
        expected: &'static str,
    },
    /// Features, targets and weights are not of the same rows.
    #[error("{found} {what} for {rows} rows; expected {expected}")]
    Rows {
        /// Of what.
        what: &'static str,
        /// How many.
        found: usize,
        /// Targets.
        rows: usize,
        /// How many there have to be.
        expected: usize,
    },
    /// Something is not a number that can be learned from.
    #[error("{what} of row {row} is {found}; expected {expected}")]
    Number {
        /// What.
        what: String,
        /// Of which row.
        row: usize,
        /// What it is.
        found: f32,
        /// What it should be.
        expected: &'static str,
    },
    /// The forest does not fit together.
    #[error(transparent)]
    Forest(#[from] ForestError),
}

/// After a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Root of the mean square error of the rows that were learned from.
    pub train: f64,
    /// Of those that judge; not a number if there are none.
    pub validation: f64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The forest.
    pub forest: Forest,
    /// Tree by tree, also those that were not kept.
    pub course: Vec<Step>,
    /// By feature, what its questions gained, as a share of what all gained: (1) after a level, less that before.
    pub gains: Vec<f64>,
}

/// What a forest is called, what it reads and what it gives.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its name.
    pub name: String,
    /// What it reads.
    pub features: Vec<Feature>,
    /// What it gives.
    pub output: String,
}

/// Trains a forest.
///
/// # Errors
/// The rows or the options are none to learn with.
pub fn train(shape: &Shape, rows: &Rows, options: &Options) -> Result<Trained, TrainError> {
    check(shape, rows, options)?;
    let order = order_of(rows.len(), options);
    let mut fit = Fit::new(rows, &order, options);
    let binned = Binned::of(
        &shape.features,
        &rows.features,
        (&order, fit.learning),
        options.bins,
    );
    let weights = fit.weights[..fit.learning].to_vec();
    let mut grower = Grower::new(&binned, &shape.features, &weights, options, fit.unit());
    let mut trees: Vec<Tree> = Vec::new();
    let mut course: Vec<Step> = Vec::new();
    let mut best = (f64::INFINITY, 0);
    // Of each tree, by feature.
    let mut gains: Vec<Vec<f64>> = Vec::new();
    while trees.len() < options.trees {
        let Grown { tree, asks, gained } = grower.grow(&fit.residuals());
        if asks.is_empty() {
            break;
        }
        gains.push(by_feature(shape.features.len(), &asks, &gained));
        for (row, sum) in fit.sums.iter_mut().enumerate() {
            *sum += i64::from(tree.leaves[binned.leaf(&asks, row)]);
        }
        trees.push(tree);
        let step = fit.step();
        course.push(step);
        let judged = if step.validation.is_nan() {
            step.train
        } else {
            step.validation
        };
        if judged < best.0 {
            best = (judged, trees.len());
        } else if options.patience > 0 && trees.len() >= best.1 + options.patience {
            break;
        }
    }
    if options.patience > 0 {
        trees.truncate(best.1);
    }
    let gains = shares(shape.features.len(), &gains[..trees.len()]);
    let inward = |[low, high]: [f64; 2]| {
        [
            (low / fit.unit()).ceil() as i64,
            (high / fit.unit()).floor() as i64,
        ]
    };
    let forest = Forest::new(Parts {
        name: shape.name.clone(),
        features: shape.features.clone(),
        output: shape.output.clone(),
        fraction: fit.fraction,
        start: fit.start,
        limits: options.limits.map(inward),
        trees,
        claims: Vec::new(),
        about: Map::new(),
    })?;
    Ok(Trained {
        forest,
        course,
        gains,
    })
}

/// What a tree's questions gained, by feature.
fn by_feature(features: usize, asks: &[Ask], gained: &[f64]) -> Vec<f64> {
    let mut gains = vec![0.0; features];
    for (ask, gain) in asks.iter().zip(gained) {
        gains[ask.feature] += gain;
    }
    gains
}

/// The sum over trees, as shares of all.
fn shares(features: usize, trees: &[Vec<f64>]) -> Vec<f64> {
    let sums: Vec<f64> = (0..features)
        .map(|k| trees.iter().map(|gains| gains[k]).sum())
        .collect();
    let all: f64 = sums.iter().sum();
    sums.into_iter()
        .map(|sum| if all > 0.0 { sum / all } else { 0.0 })
        .collect()
}

/// Targets, and how far the trees have come.
struct Fit {
    targets: Vec<f64>,
    weights: Vec<f64>,
    /// So many of the first rows are learned from; the others judge.
    learning: usize,
    fraction: u8,
    start: i64,
    /// What the trees give for each row.
    sums: Vec<i64>,
}

impl Fit {
    fn new(rows: &Rows, order: &[usize], options: &Options) -> Self {
        let learning = order.len() - judging(order.len(), options);
        let weight = |row: &usize| rows.weights.get(*row).map_or(1.0, |weight| f64::from(*weight));
        let targets: Vec<f64> = order.iter().map(|row| f64::from(rows.targets[*row])).collect();
        let weights: Vec<f64> = order.iter().map(weight).collect();
        let (mean, reach) = centre(&targets[..learning], &weights[..learning]);
        let room = LARGEST / (options.learning_rate * reach).max(1e-9);
        let fraction = (room.log2().floor() as i32).clamp(0, MAX_FRACTION) as u8;
        let start = (mean * (1u64 << fraction) as f64).round() as i64;
        Self {
            sums: vec![start; targets.len()],
            targets,
            weights,
            learning,
            fraction,
            start,
        }
    }

    fn unit(&self) -> f64 {
        1.0 / (1u64 << self.fraction) as f64
    }

    fn residual(&self, row: usize) -> f64 {
        self.targets[row] - self.sums[row] as f64 * self.unit()
    }

    fn residuals(&self) -> Vec<f64> {
        (0..self.learning).map(|row| self.residual(row)).collect()
    }

    /// Without rows the error is not a number.
    fn error(&self, rows: Range<usize>) -> f64 {
        let total: f64 = self.weights[rows.clone()].iter().sum();
        let squares = rows.map(|row| self.weights[row] * self.residual(row).powi(2));
        (squares.sum::<f64>() / total).sqrt()
    }

    fn step(&self) -> Step {
        Step {
            train: self.error(0..self.learning),
            validation: self.error(self.learning..self.targets.len()),
        }
    }
}

/// The weighted mean, and how far from it targets go.
fn centre(targets: &[f64], weights: &[f64]) -> (f64, f64) {
    let total: f64 = weights.iter().sum();
    let mean = targets.iter().zip(weights).map(|(y, w)| y * w).sum::<f64>() / total;
    let reach = targets.iter().map(|y| (y - mean).abs()).fold(0.0, f64::max);
    (mean, reach)
}

/// How many rows judge.
fn judging(rows: usize, options: &Options) -> usize {
    (rows as f64 * options.validation) as usize
}

/// Rows in their order, but those that judge, which are drawn, behind the others.
fn order_of(rows: usize, options: &Options) -> Vec<usize> {
    let mut drawn: Vec<usize> = (0..rows).collect();
    Rng::stream(options.seed, Purpose::Training, VALIDATION).shuffle(&mut drawn);
    let mut order = drawn.split_off(judging(rows, options));
    order.sort_unstable();
    order.extend(drawn);
    order
}

fn check(shape: &Shape, rows: &Rows, options: &Options) -> Result<(), TrainError> {
    let o = options;
    let refuse = |option, found: &dyn std::fmt::Display, expected| {
        let found = found.to_string();
        Err(TrainError::Option {
            option,
            found,
            expected,
        })
    };
    if !(1..=16).contains(&o.depth) {
        return refuse("the depth", &o.depth, "1 to 16");
    }
    if !(2..=256).contains(&o.bins) {
        return refuse("the number of bins", &o.bins, "2 to 256");
    }
    if !(o.learning_rate > 0.0 && o.learning_rate <= 1.0) {
        return refuse("the learning rate", &o.learning_rate, "above 0, at most 1");
    }
    if !(o.l2 >= 0.0 && o.l2.is_finite()) {
        return refuse("l2", &o.l2, "a number from 0 on");
    }
    if !(0.0..0.95).contains(&o.validation) {
        return refuse("the share of validation", &o.validation, "0 to 0.95");
    }
    if let Some([low, high]) = o.limits
        && (low.is_nan() || high.is_nan() || low >= high)
    {
        return refuse("limits", &format!("{low} to {high}"), "the lower one first");
    }
    let count = |what, found, expected| match found == expected {
        true => Ok(()),
        false => Err(TrainError::Rows {
            what,
            found,
            rows: rows.len(),
            expected,
        }),
    };
    let features = shape.features.len();
    count("features", rows.features.len(), rows.len() * features)?;
    if !rows.weights.is_empty() {
        count("weights", rows.weights.len(), rows.len())?;
    }
    if rows.len() < 2 {
        return refuse("the number of rows", &rows.len(), "2 at least");
    }
    let is_bad = |x: &f32| !x.is_finite();
    let number = |what: String, row: usize, found: f32, expected| TrainError::Number {
        what,
        row,
        found,
        expected,
    };
    if let Some(row) = rows.targets.iter().position(is_bad) {
        let found = rows.targets[row];
        return Err(number("the target".into(), row, found, "a finite number"));
    }
    if let Some(at) = rows.features.iter().position(is_bad) {
        let what = format!("`{}`", shape.features[at % features].name);
        return Err(number(what, at / features, rows.features[at], "a finite number"));
    }
    let is_no_weight = |w: &f32| !(*w > 0.0 && w.is_finite());
    if let Some(row) = rows.weights.iter().position(is_no_weight) {
        let found = rows.weights[row];
        return Err(number("the weight".into(), row, found, "a number above 0"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
