//! Gradient boosting of oblivious trees, for the mean square error.
//!
//! Features are rounded to their grids first, and thresholds are on the grids. Leaves are rounded to the
//! forest's units before the next tree is grown. So training and inference agree bit for bit, and later trees
//! correct the rounding.
//!
//! A tree grows level by level. For each feature, histograms of residuals and weights by leaf and bin give
//! the gain of each threshold:
//! ```text
//! gain = sum over leaves of G_below^2 / (W_below + l2) + G_above^2 / (W_above + l2)         (1)
//! ```
//! with G the sum of weighted residuals and W that of weights. The best (feature, threshold) becomes the
//! level's split. A leaf adds `rate G / (W + l2)`.
//!
//! # Trends
//! If the output must be monotone in a feature, (1) counts a pair of leaves in the wrong order as one leaf.
//! The leaves of the complete tree are made monotone by isotonic regression, for several such features
//! alternately until all agree. Every tree has the trend, so their sum has it.
//!
//! # Determinism
//! Each histogram is computed by one thread in the order of rows. Threads only divide the features, so their
//! number does not influence the result.

mod bins;
mod grow;
mod order;

use std::ops::Range;

use paceline_congestion::learned::forest::{Feature, Forest, ForestError, Parts, Tree};
use paceline_kernel::rng::{Purpose, Rng};
use serde_json::Map;

use bins::{Ask, Binned};
use grow::{Grower, Grown};

/// Upper limit of a leaf's fractional bits.
const MAX_FRACTION: i32 = 30;
/// Upper limit of a leaf: 16 bits keep an exported forest small.
const LARGEST: f64 = i16::MAX as f64;
/// Number of the random stream that selects validation rows.
const VALIDATION: u64 = 64;

/// Training data of a forest.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Features in row-major order.
    pub features: Vec<f32>,
    /// Target output of each row.
    pub targets: Vec<f32>,
    /// Weight of each row; empty for equal weights.
    pub weights: Vec<f32>,
}

impl Rows {
    /// Appends a row without a weight.
    pub fn push(&mut self, features: &[f32], target: f32) {
        self.features.extend_from_slice(features);
        self.targets.push(target);
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

/// Settings of a forest's training.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Upper limit of the number of trees.
    pub trees: usize,
    /// Upper limit of splits per tree.
    pub depth: usize,
    /// Fraction of the residuals that a tree removes.
    pub learning_rate: f64,
    /// Regularisation term `l2` of (1).
    pub l2: f64,
    /// Bins per feature: one more than its candidate thresholds.
    pub bins: usize,
    /// Fraction of rows for validation, which are not used for training.
    pub validation: f64,
    /// Number of trees without a lower validation error after which training stops; the forest with the
    /// lowest error is kept. 0 trains all trees.
    pub patience: usize,
    /// Lower and upper limit of the output.
    pub limits: Option<[f64; 2]>,
    /// Seed of the selection of validation rows.
    pub seed: u64,
    /// Number of threads; the forest does not depend on it.
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

/// Reason for which training is impossible.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// Option outside its range.
    #[error("{option} is {found}; expected {expected}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Value of the option.
        found: String,
        /// Valid range of the option.
        expected: &'static str,
    },
    /// Number of features, targets or weights that does not fit the number of rows.
    #[error("{found} {what} for {rows} rows; expected {expected}")]
    Rows {
        /// Kind of the values.
        what: &'static str,
        /// Number of these values.
        found: usize,
        /// Number of targets in the rows.
        rows: usize,
        /// Expected number of these values.
        expected: usize,
    },
    /// Number that is unsuitable for training.
    #[error("{what} of row {row} is {found}; expected {expected}")]
    Number {
        /// Kind of the number.
        what: String,
        /// Row of the number.
        row: usize,
        /// Value of the number.
        found: f32,
        /// Expected values in words.
        expected: &'static str,
    },
    /// Trained forest that is inconsistent.
    #[error(transparent)]
    Forest(#[from] ForestError),
}

/// Errors after a tree was added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Root mean square error of the training rows.
    pub train: f64,
    /// Root mean square error of the validation rows; NaN if there are none.
    pub validation: f64,
}

/// Result of a forest's training.
#[derive(Clone, Debug)]
pub struct Trained {
    /// Forest with the kept trees.
    pub forest: Forest,
    /// Errors after each tree, including dropped ones.
    pub course: Vec<Step>,
    /// Share of each feature in the total gain: (1) after a level minus (1) before it.
    pub gains: Vec<f64>,
}

/// Name, features and output of a forest.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Name of the forest.
    pub name: String,
    /// Input features in order.
    pub features: Vec<Feature>,
    /// Name of the output.
    pub output: String,
}

/// Trains a forest.
///
/// # Errors
/// The rows or the options are unsuitable for training.
pub fn train(shape: &Shape, rows: &Rows, options: &Options) -> Result<Trained, TrainError> {
    check(shape, rows, options)?;
    let order = order_of(rows.len(), options);
    let mut fit = Fit::new(rows, &order, options);
    let binned = Binned::of(
        &shape.features,
        &rows.features,
        &order,
        fit.learning,
        options.bins,
    );
    let weights = fit.weights[..fit.learning].to_vec();
    let mut grower = Grower::new(&binned, &shape.features, &weights, options, fit.unit());
    let mut trees: Vec<Tree> = Vec::new();
    let mut course: Vec<Step> = Vec::new();
    let mut best = (f64::INFINITY, 0);
    // Gains of each tree by feature.
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
        // Without validation rows the training error decides.
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
    // The trees after the lowest validation error would fit noise.
    if options.patience > 0 {
        trees.truncate(best.1);
    }
    let gains = shares(shape.features.len(), &gains[..trees.len()]);
    // Rounded inwards, so that the output never exceeds the limits.
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

/// Returns the gains of a tree's splits, summed by feature.
fn by_feature(features: usize, asks: &[Ask], gained: &[f64]) -> Vec<f64> {
    let mut gains = vec![0.0; features];
    for (ask, gain) in asks.iter().zip(gained) {
        gains[ask.feature] += gain;
    }
    gains
}

/// Returns each feature's share in the gains of all trees.
fn shares(features: usize, trees: &[Vec<f64>]) -> Vec<f64> {
    let sums: Vec<f64> = (0..features)
        .map(|k| trees.iter().map(|gains| gains[k]).sum())
        .collect();
    let all: f64 = sums.iter().sum();
    sums.into_iter()
        .map(|sum| if all > 0.0 { sum / all } else { 0.0 })
        .collect()
}

/// Targets and the present output of the trees.
struct Fit {
    targets: Vec<f64>,
    weights: Vec<f64>,
    /// Number of training rows, which come first; the others are for validation.
    learning: usize,
    fraction: u8,
    start: i64,
    /// Sum of the trees for each row, in units of a leaf.
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
        // As many fractional bits as possible while the largest leaf fits into 16 bits.
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

    /// Returns the root mean square error of these rows; NaN without rows.
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

/// Returns the weighted mean of targets, and their largest distance from it.
fn centre(targets: &[f64], weights: &[f64]) -> (f64, f64) {
    let total: f64 = weights.iter().sum();
    let mean = targets.iter().zip(weights).map(|(y, w)| y * w).sum::<f64>() / total;
    let reach = targets.iter().map(|y| (y - mean).abs()).fold(0.0, f64::max);
    (mean, reach)
}

/// Returns the number of validation rows.
fn judging(rows: usize, options: &Options) -> usize {
    (rows as f64 * options.validation) as usize
}

/// Returns the row indices: training rows in their order, followed by randomly drawn validation rows.
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
