//! Compression of a network: the smallest weights are removed, and the others become multiples of a step per
//! layer.
//!
//! # Pruning
//! For a share p of all weights, the sum of the removed squares is least with one threshold T for all layers.
//! With weights of layer i spread as Laplace's distribution of scale tau_i, N_i of them, N in all:
//! ```text
//! F(x) = exp(x / tau) / 2 for x < 0, 1 - exp(-x / tau) / 2 otherwise                     (1)
//! g(T) = sum N_i (1 - exp(-T / tau_i)) / N - p = 0                                       (2)
//! ```
//! tau_i is fitted to the distribution of the weights by Levenberg and Marquardt's method, starting from the
//! mean of their absolute values, the maximum-likelihood estimate. (2) is solved by Newton's method from T =
//! 0: g rises and is concave, so each step stays below the root. Both the share predicted by (2) and the
//! share removed by T are reported. The last layer and the biases are kept.
//!
//! # Quantisation
//! With B bits in the mean, n_ij weights left in output j of layer i, whose largest is a_ij, n in all:
//! ```text
//! A_i = sum_j n_ij a_ij,   D_i = 2^(1 - B) / n  A_i^(1/3)  sum_k A_k^(2/3)                (3)
//! w = D_i round(w / D_i)                                                                 (4)
//! ```
//! (3) minimises the sum of D_i^2 / 12 where the mean of the numbers of steps, 2 a_ij / D_i, is 2^B. The
//! paper's print of it, its equations (26) and (27), lacks a factor and does not satisfy its equation (21).
//!
//! # Fine tuning
//! The selection of weights and the steps stay fixed. The unrounded weights are trained to reproduce the
//! uncompressed network, with derivatives taken at the rounded weights (straight-through estimator).

use paceline_congestion::learned::layers::Network;

/// Requested degree of compression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Share of weights to remove by (2).
    pub share: f64,
    /// Bits per weight, B of (3).
    pub bits: f64,
}

impl Default for Asked {
    /// Returns the paper's values.
    fn default() -> Self {
        Self {
            share: 0.65,
            bits: 4.0,
        }
    }
}

/// Result of pruning and quantisation.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    /// Network whose weights are multiples of the steps.
    pub network: Network,
    /// Scale of each layer's distribution.
    pub scales: Vec<f64>,
    /// Threshold T below which weights are removed.
    pub threshold: f64,
    /// Share of the removable weights that was removed.
    pub taken: f64,
    /// Step of each layer.
    pub steps: Vec<f64>,
    /// Mean of log2 of the number of steps, over the remaining weights.
    pub bits: f64,
    /// Largest multiple of a quantised weight's step.
    pub most: i32,
}

/// Returns the scale that fits (1) best to the distribution of the values, by the method of Levenberg and
/// Marquardt in one unknown.
fn laplace(values: &[f32]) -> f64 {
    let count = values.len().max(1) as f64;
    let mut sorted: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    sorted.sort_by(f64::total_cmp);
    // The middle of each step of the empirical distribution.
    let points = || {
        sorted
            .iter()
            .zip(0..)
            .map(|(x, rank)| (*x, (f64::from(rank) + 0.5) / count))
    };
    // The maximum-likelihood estimate, from which the fit starts.
    let mut tau = sorted.iter().map(|x| x.abs()).sum::<f64>() / count;
    if tau == 0.0 {
        return 0.0;
    }
    let off = |tau: f64| {
        points()
            .map(|(x, share)| (cdf(x, tau) - share).powi(2))
            .sum::<f64>()
    };
    let (mut damping, mut now) = (1e-3, off(tau));
    while damping < 1e9 {
        let (mut square, mut product) = (0.0, 0.0);
        for (x, share) in points() {
            let slope = -x / (2.0 * tau * tau) * libm::exp(-x.abs() / tau);
            square += slope * slope;
            product += slope * (cdf(x, tau) - share);
        }
        let next = tau - product / (square * (1.0 + damping)).max(1e-300);
        // A scale is positive; a step below zero counts as worse and is damped.
        let then = if next > 0.0 { off(next) } else { f64::INFINITY };
        if then < now {
            let small = (next - tau).abs() < 1e-10 * tau;
            (tau, now, damping) = (next, then, damping / 10.0);
            if small {
                break;
            }
        } else {
            damping *= 10.0;
        }
    }
    tau
}

fn cdf(x: f64, tau: f64) -> f64 {
    let tail = libm::exp(-x.abs() / tau) / 2.0;
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// Returns the root of (2), for layers with these numbers of weights and scales.
fn threshold(layers: &[(usize, f64)], share: f64) -> f64 {
    let all: usize = layers.iter().map(|(count, _)| count).sum();
    let over = |of: &dyn Fn(f64) -> f64| {
        let each = layers.iter().filter(|(_, tau)| *tau > 0.0);
        each.map(|(count, tau)| *count as f64 * of(*tau)).sum::<f64>() / all.max(1) as f64
    };
    // From 0 each step of Newton's method stays below the root, because the function is concave.
    let mut at = 0.0;
    for _ in 0..200 {
        let off = over(&|tau| 1.0 - libm::exp(-at / tau)) - share;
        let slope = over(&|tau| libm::exp(-at / tau) / tau);
        let step = -off / slope.max(1e-300);
        at += step;
        if step.abs() <= 1e-12 * at {
            break;
        }
    }
    at
}

/// Returns the ranges of a network's weights by layer: start, length and number of columns.
fn weights(network: &Network) -> Vec<(usize, usize, usize)> {
    let mut end = 0;
    let of = |layer: &paceline_congestion::learned::layers::Layer| {
        let (columns, count) = (layer.columns(), layer.inputs * layer.columns());
        end += layer.size();
        (end - count, count, columns)
    };
    network.layers().iter().map(of).collect()
}

/// Selection and rounding of a network's weights; a step of 0 means no rounding.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    kept: Vec<bool>,
    step: Vec<f32>,
}

impl Grid {
    /// Applies equation (4) to weights that may have moved since the grid was made.
    pub(super) fn rounded(&self, network: &Network) -> Network {
        let each = network.values().iter().zip(&self.kept).zip(&self.step);
        let of = |((value, kept), step): ((&f32, &bool), &f32)| match (kept, *step > 0.0) {
            (false, _) => 0.0,
            (true, false) => *value,
            (true, true) => (value / step).round() * step,
        };
        Network::new(network.layers(), each.map(of).collect())
    }

    /// Returns the largest multiple in a rounded network.
    pub(super) fn most(&self, network: &Network) -> i32 {
        let each = network.values().iter().zip(&self.step);
        let on_grid = each.filter(|(_, step)| **step > 0.0);
        on_grid.fold(0, |most, (value, step)| {
            most.max((value / step).round().abs() as i32)
        })
    }

    /// Clears the derivatives of removed weights.
    pub(super) fn cut(&self, slope: &mut [f32]) {
        let gone = slope.iter_mut().zip(&self.kept).filter(|(_, kept)| !**kept);
        gone.for_each(|(by, _)| *by = 0.0);
    }
}

/// Removes and rounds weights.
pub(super) fn compress(network: &Network, asked: &Asked) -> (Compressed, Grid) {
    let values = network.values();
    let parts = weights(network);
    // The last layer is not pruned.
    let (_, inner) = parts.split_last().expect("a network has layers");
    let of = |&(from, count, _): &(usize, usize, usize)| (count, laplace(&values[from..from + count]));
    let fitted: Vec<(usize, f64)> = inner.iter().map(of).collect();
    let threshold = threshold(&fitted, asked.share);
    let mut kept = vec![true; values.len()];
    for &(from, count, _) in inner {
        for index in from..from + count {
            kept[index] = f64::from(values[index].abs()) > threshold;
        }
    }
    let all: usize = inner.iter().map(|(_, count, _)| count).sum();
    let gone = kept.iter().filter(|kept| !**kept).count();
    let columns = columns(values, &kept, &parts);
    let steps = steps(&columns, asked.bits);
    let mut step = vec![0.0; values.len()];
    for (&(from, count, _), own) in parts.iter().zip(&steps) {
        step[from..from + count].fill(*own as f32);
    }
    let grid = Grid { kept, step };
    let network = grid.rounded(network);
    let (bits, most) = sizes(&columns, &steps);
    let compressed = Compressed {
        network,
        scales: fitted.iter().map(|(_, tau)| *tau).collect(),
        threshold,
        taken: gone as f64 / all as f64,
        steps,
        bits,
        most,
    };
    (compressed, grid)
}

/// Returns, for the outputs of each layer, the number of remaining weights and the largest absolute value.
fn columns(values: &[f32], kept: &[bool], parts: &[(usize, usize, usize)]) -> Vec<Vec<(usize, f64)>> {
    let of = |&(from, count, columns): &(usize, usize, usize)| {
        let mut each = vec![(0, 0.0f64); columns];
        for index in (from..from + count).filter(|index| kept[*index]) {
            let (left, largest) = &mut each[(index - from) % columns];
            (*left, *largest) = (*left + 1, largest.max(f64::from(values[index].abs())));
        }
        each
    };
    parts.iter().map(of).collect()
}

/// Returns the steps of equation (3).
fn steps(columns: &[Vec<(usize, f64)>], bits: f64) -> Vec<f64> {
    let left: usize = columns.iter().flatten().map(|(left, _)| left).sum();
    let areas: Vec<f64> = (columns.iter())
        .map(|layer| layer.iter().map(|(left, largest)| *left as f64 * largest).sum())
        .collect();
    let sum: f64 = areas.iter().map(|area| libm::pow(*area, 2.0 / 3.0)).sum();
    let scale = libm::exp2(1.0 - bits) / left.max(1) as f64 * sum;
    areas.iter().map(|area| scale * libm::cbrt(*area)).collect()
}

/// Returns the mean of log2 of the numbers of steps, and the largest multiple.
fn sizes(columns: &[Vec<(usize, f64)>], steps: &[f64]) -> (f64, i32) {
    let (mut bits, mut count, mut most) = (0.0, 0, 0);
    for (layer, step) in columns.iter().zip(steps) {
        for (left, largest) in layer.iter().filter(|(left, _)| *left > 0) {
            bits += *left as f64 * libm::log2(2.0 * largest / step);
            count += left;
            most = most.max(libm::round(largest / step) as i32);
        }
    }
    (bits / count.max(1) as f64, most)
}

#[cfg(test)]
mod tests;
