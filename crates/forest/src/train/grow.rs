//! Growth of a single tree.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use paceline_congestion::learned::forest::{Feature, Split, Tree, Trend};

use super::bins::{Ask, Binned};
use super::{LARGEST, Options, order};

/// Tree with its splits in terms of bins.
#[derive(Debug)]
pub(super) struct Grown {
    pub(super) tree: Tree,
    pub(super) asks: Vec<Ask>,
    /// Gain of each split.
    pub(super) gained: Vec<f64>,
}

/// Sums over the rows of a leaf or bin.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Sum of weighted residuals.
    pull: f64,
    weight: f64,
}

impl Sums {
    fn add(self, other: Self) -> Self {
        Self {
            pull: self.pull + other.pull,
            weight: self.weight + other.weight,
        }
    }

    fn minus(self, part: Self) -> Self {
        Self {
            pull: self.pull - part.pull,
            weight: self.weight - part.weight,
        }
    }
}

/// Split with its gain.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    gain: f64,
    ask: Ask,
}

/// Grows trees in sequence.
#[derive(Debug)]
pub(super) struct Grower<'a> {
    binned: &'a Binned,
    features: &'a [Feature],
    weights: &'a [f64],
    options: &'a Options,
    unit: f64,
    /// Leaf of each row in the present tree.
    leaves: Vec<u16>,
}

impl<'a> Grower<'a> {
    pub(super) fn new(
        binned: &'a Binned,
        features: &'a [Feature],
        weights: &'a [f64],
        options: &'a Options,
        unit: f64,
    ) -> Self {
        Self {
            binned,
            features,
            weights,
            options,
            unit,
            leaves: Vec::new(),
        }
    }

    /// Grows a tree for the residuals. It has no splits if none has a gain.
    pub(super) fn grow(&mut self, residuals: &[f64]) -> Grown {
        self.leaves.clear();
        self.leaves.resize(residuals.len(), 0);
        let pulls: Vec<f64> = residuals.iter().zip(self.weights).map(|(r, w)| r * w).collect();
        let (mut asks, mut gained): (Vec<Ask>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut before = self.worth(sums(&self.leaves, &pulls, self.weights, 1)[0]);
        for level in 0..self.options.depth {
            let Some(best) = self.best(&pulls, 1 << level) else {
                break;
            };
            // A difference within rounding errors is no gain.
            if best.gain <= before * (1.0 + 1e-12) {
                break;
            }
            gained.push(best.gain - before);
            before = best.gain;
            let column = &self.binned.columns[best.ask.feature];
            for (leaf, bin) in self.leaves.iter_mut().zip(column) {
                *leaf |= u16::from(*bin > best.ask.bin) << level;
            }
            asks.push(best.ask);
        }
        let sums = sums(&self.leaves, &pulls, self.weights, 1 << asks.len());
        Grown {
            tree: self.tree(&asks, &sums),
            asks,
            gained,
        }
    }

    /// Makes the leaves monotone where required and rounds them, which preserves the order.
    fn tree(&self, asks: &[Ask], sums: &[Sums]) -> Tree {
        let rate = self.options.learning_rate;
        let mut values: Vec<f64> = sums.iter().map(|sum| rate * self.value(*sum)).collect();
        let weights: Vec<f64> = sums.iter().map(|sum| sum.weight).collect();
        order::put(&mut values, &weights, asks, self.features);
        let round = |value: f64| (value / self.unit).round().clamp(-LARGEST, LARGEST) as i32;
        let split = |ask: &Ask| Split {
            feature: ask.feature,
            above: self.binned.borders[ask.feature][usize::from(ask.bin)],
        };
        Tree {
            splits: asks.iter().map(split).collect(),
            leaves: values.into_iter().map(round).collect(),
        }
    }

    /// Returns the best split of a level, the first of several.
    fn best(&self, pulls: &[f64], leaves: usize) -> Option<Candidate> {
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<(usize, Candidate)>> = Mutex::new(Vec::new());
        let work = || {
            loop {
                let feature = next.fetch_add(1, Ordering::Relaxed);
                if feature >= self.features.len() {
                    return;
                }
                if let Some(candidate) = self.best_of(feature, pulls, leaves) {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.push((feature, candidate));
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.options.threads.min(self.features.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Threads finish in any order, but ties must always go to the same feature.
        found.sort_by_key(|(feature, _)| *feature);
        let better = |best: Candidate, (_, other): (usize, Candidate)| match other.gain > best.gain {
            true => other,
            false => best,
        };
        let mut found = found.into_iter();
        let (_, first) = found.next()?;
        Some(found.fold(first, better))
    }

    /// Returns the best threshold of a feature.
    fn best_of(&self, feature: usize, pulls: &[f64], leaves: usize) -> Option<Candidate> {
        let bins = self.binned.borders[feature].len() + 1;
        if bins < 2 {
            return None;
        }
        let mut histogram = vec![Sums::default(); leaves * bins];
        let rows = self.leaves.iter().zip(&self.binned.columns[feature]);
        for ((leaf, bin), (pull, weight)) in rows.zip(pulls.iter().zip(self.weights)) {
            let sums = &mut histogram[usize::from(*leaf) * bins + usize::from(*bin)];
            sums.pull += pull;
            sums.weight += weight;
        }
        let trend = self.features[feature].trend;
        let mut gains = vec![0.0; bins - 1];
        for histogram in histogram.chunks_exact(bins) {
            let all = histogram.iter().fold(Sums::default(), |all, bin| all.add(*bin));
            let mut below = Sums::default();
            for (gain, sums) in gains.iter_mut().zip(histogram) {
                below = below.add(*sums);
                *gain += self.parted(below, all.minus(below), trend);
            }
        }
        let mut best: Option<Candidate> = None;
        for (bin, gain) in gains.into_iter().enumerate() {
            if best.is_none_or(|best| gain > best.gain) {
                let bin = bin as u8;
                let ask = Ask { feature, bin };
                best = Some(Candidate { gain, ask });
            }
        }
        best
    }

    /// Returns the worth of two leaves, or that of their union if they violate the trend.
    fn parted(&self, below: Sums, above: Sums, trend: Option<Trend>) -> f64 {
        let rise = self.value(above) - self.value(below);
        match trend {
            Some(trend) if rise * (trend.sign() as f64) < 0.0 => self.worth(below.add(above)),
            _ => self.worth(below) + self.worth(above),
        }
    }

    fn value(&self, sums: Sums) -> f64 {
        if sums.weight > 0.0 {
            sums.pull / (sums.weight + self.options.l2)
        } else {
            0.0
        }
    }

    fn worth(&self, sums: Sums) -> f64 {
        sums.pull * self.value(sums)
    }
}

/// Returns the sums of each leaf.
fn sums(leaves: &[u16], pulls: &[f64], weights: &[f64], count: usize) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); count];
    for (leaf, (pull, weight)) in leaves.iter().zip(pulls.iter().zip(weights)) {
        let sum = &mut sums[usize::from(*leaf)];
        sum.pull += pull;
        sum.weight += weight;
    }
    sums
}
