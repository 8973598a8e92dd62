//! Compression of a network: the smallest weights are taken away, what is left becomes multiples of a step per layer.
//!
//! # Pruning
//! The least sum of squares of what is taken away, for a share p of all weights, has one threshold T for all layers.
//! With weights of layer i spread as Laplace's distribution of scale tau_i, N_i of them, N in all:
//! ```text
//! F(x) = exp(x / tau) / 2 for x < 0, 1 - exp(-x / tau) / 2 otherwise                     (1)
//! g(T) = sum N_i (1 - exp(-T / tau_i)) / N - p = 0                                       (2)
//! ```
//! tau_i is fitted to the distribution of the weights by Levenberg and Marquardt's method, from the mean of their sizes,
//! which is the likeliest; (2) is solved by Newton's method from T = 0: g rises and is concave, so each step stays below
//! the root. Both what (2) predicts and what T takes away are told. The last layer, and biases, stay.
//!
//! # Quantisation
//! With B bits in the mean, n_ij weights left in output j of layer i, whose largest is a_ij, n in all:
//! ```text
//! A_i = sum_j n_ij a_ij,   D_i = 2^(1 - B) / n  A_i^(1/3)  sum_k A_k^(2/3)                (3)
//! w = D_i round(w / D_i)                                                                 (4)
//! ```
//! (3) minimises the sum of D_i^2 / 12 where the mean of the numbers of steps, 2 a_ij / D_i, is 2^B. The paper's print of
//! it, its equations (26) and (27), lacks a factor and does not satisfy its equation (21).
//!
//! # Fine tuning
//! Which weights are there and how large the steps are stays; the weights before rounding learn what the network did
//! that was compressed, with derivatives taken at the rounded ones (straight through).

use paceline_congestion::learned::layers::Network;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The share of weights that (2) says is taken away.
    pub share: f64,
    /// B of (3).
    pub bits: f64,
}

impl Default for Asked {
    /// What the paper prints.
    fn default() -> Self {
        Self {
            share: 0.65,
            bits: 4.0,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    /// The network, of multiples of steps.
    pub network: Network,
    /// The scale of each layer's distribution.
    pub scales: Vec<f64>,
    /// The threshold T.
    pub threshold: f64,
    /// The share of weights that is taken away, of those that may be.
    pub taken: f64,
    /// The step of each layer.
    pub steps: Vec<f64>,
    /// The mean of log2 of the numbers of steps, over the weights that are left.
    pub bits: f64,
    /// The largest multiple.
    pub most: i32,
}

/// The scale that fits (1) best to the distribution of these numbers: Levenberg and Marquardt, in one unknown.
fn laplace(values: &[f32]) -> f64 {
    let count = values.len().max(1) as f64;
    let mut sorted: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    sorted.sort_by(f64::total_cmp);
    let points = || {
        sorted
            .iter()
            .zip(0..)
            .map(|(x, rank)| (*x, (f64::from(rank) + 0.5) / count))
    };
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

/// The root of (2), of layers of so many weights and such scales.
fn threshold(layers: &[(usize, f64)], share: f64) -> f64 {
    let all: usize = layers.iter().map(|(count, _)| count).sum();
    let over = |of: &dyn Fn(f64) -> f64| {
        let each = layers.iter().filter(|(_, tau)| *tau > 0.0);
        each.map(|(count, tau)| *count as f64 * of(*tau)).sum::<f64>() / all.max(1) as f64
    };
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

/// Which numbers of a network are its weights, layer by layer: where they begin, how many, and in how many columns.
fn weights(network: &Network) -> Vec<(usize, usize, usize)> {
    let mut end = 0;
    let of = |layer: &paceline_congestion::learned::layers::Layer| {
        let (columns, count) = (layer.columns(), layer.inputs * layer.columns());
        end += layer.size();
        (end - count, count, columns)
    };
    network.layers().iter().map(of).collect()
}

/// The rounding of a network: which weights are there, and the step of each number (0: it is not rounded).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    kept: Vec<bool>,
    step: Vec<f32>,
}

impl Grid {
    /// Equation (4), of numbers that may have moved since the grid was made.
    pub(super) fn rounded(&self, network: &Network) -> Network {
        let each = network.values().iter().zip(&self.kept).zip(&self.step);
        let of = |((value, kept), step): ((&f32, &bool), &f32)| match (kept, *step > 0.0) {
            (false, _) => 0.0,
            (true, false) => *value,
            (true, true) => (value / step).round() * step,
        };
        Network::new(network.layers(), each.map(of).collect())
    }

    /// The largest multiple in a network that was rounded.
    pub(super) fn most(&self, network: &Network) -> i32 {
        let each = network.values().iter().zip(&self.step);
        let on_grid = each.filter(|(_, step)| **step > 0.0);
        on_grid.fold(0, |most, (value, step)| {
            most.max((value / step).round().abs() as i32)
        })
    }

    /// Derivatives by numbers that are not there are nothing.
    pub(super) fn cut(&self, slope: &mut [f32]) {
        let gone = slope.iter_mut().zip(&self.kept).filter(|(_, kept)| !**kept);
        gone.for_each(|(by, _)| *by = 0.0);
    }
}

/// Takes away and rounds.
pub(super) fn compress(network: &Network, asked: &Asked) -> (Compressed, Grid) {
    let values = network.values();
    let parts = weights(network);
    let (_, inner) = parts.split_last().expect("a network has layers");
    let of = |&(from, count, _): &(usize, usize, usize)| (count, laplace(&values[from..from + count]));
    let fitted: Vec<(usize, f64)> = inner.iter().map(of).collect();
    let threshold = threshold(&fitted, asked.share);
    let mut kept = vec![true; values.len()];
    for &(from, count, _) in inner {
        for place in from..from + count {
            kept[place] = f64::from(values[place].abs()) > threshold;
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

/// Of each layer's outputs, how many weights are left and the size of the largest.
fn columns(values: &[f32], kept: &[bool], parts: &[(usize, usize, usize)]) -> Vec<Vec<(usize, f64)>> {
    let of = |&(from, count, columns): &(usize, usize, usize)| {
        let mut each = vec![(0, 0.0f64); columns];
        for place in (from..from + count).filter(|place| kept[*place]) {
            let (left, largest) = &mut each[(place - from) % columns];
            (*left, *largest) = (*left + 1, largest.max(f64::from(values[place].abs())));
        }
        each
    };
    parts.iter().map(of).collect()
}

/// Equation (3).
fn steps(columns: &[Vec<(usize, f64)>], bits: f64) -> Vec<f64> {
    let left: usize = columns.iter().flatten().map(|(left, _)| left).sum();
    let areas: Vec<f64> = (columns.iter())
        .map(|layer| layer.iter().map(|(left, largest)| *left as f64 * largest).sum())
        .collect();
    let sum: f64 = areas.iter().map(|area| libm::pow(*area, 2.0 / 3.0)).sum();
    let scale = libm::exp2(1.0 - bits) / left.max(1) as f64 * sum;
    areas.iter().map(|area| scale * libm::cbrt(*area)).collect()
}

/// The mean of log2 of the numbers of steps, and the largest multiple.
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
