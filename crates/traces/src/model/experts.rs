//! Uneven routing: shares of tokens that experts get.
//!
//! The r-th expert of a layer by popularity gets a share in proportion to r^-z (Zipf). A token goes to k different
//! experts, so none gets more than 1/k of all copies; what is above goes to the others in their ratios. Each layer has
//! its experts in another random order. Micro-batches and replicas have the same shares.

use std::sync::Arc;

use paceline_kernel::rng::{Purpose, Rng, mix};

use super::plan::Plan;

/// Layers whose experts a message or a computation is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Layers {
    first: u16,
    last: u16,
}

impl Layers {
    pub(super) const fn of(layer: u32) -> Self {
        Self {
            first: layer as u16,
            last: layer as u16,
        }
    }

    /// Returns the smallest range that contains both.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }
}

/// Unit of weights: the copies of all tokens in a layer.
const WHOLE: f64 = (1_u64 << 40) as f64;

/// Offset of the random streams, which no other purpose uses.
const STREAM: u64 = 0x6578_7065_7274_7300;

impl Plan {
    /// Returns true if experts get different numbers of tokens.
    pub fn is_uneven(&self) -> bool {
        self.training.experts_skew > 0.0 && self.model.experts > 0
    }

    /// Returns the shares of the experts by popularity, in descending order; they add up to 1.
    fn popularity(&self) -> Vec<f64> {
        let count = self.model.experts;
        let raw: Vec<f64> = (1..=count)
            .map(|rank| libm::pow(f64::from(rank), -self.training.experts_skew))
            .collect();
        let most = 1.0 / f64::from(self.model.top_k.max(1));
        let mut capped = 0;
        loop {
            let left = (1.0 - capped as f64 * most).max(0.0);
            let sum: f64 = raw[capped..].iter().sum();
            if capped + 1 >= raw.len() || raw[capped] / sum * left <= most {
                let share = |rank: usize| {
                    if rank < capped {
                        most
                    } else {
                        raw[rank] / sum * left
                    }
                };
                return (0..raw.len()).map(share).collect();
            }
            capped += 1;
        }
    }

    /// Returns the weights of the expert-parallel ranks in a layer, in the ratio of the tokens that they get.
    pub fn expert_weights_of(&self, layer: u32) -> Vec<u64> {
        let mut order: Vec<usize> = (0..self.model.experts as usize).collect();
        let seed = mix(self.training.experts_seed ^ STREAM);
        Rng::stream(seed, Purpose::Workload, u64::from(layer)).shuffle(&mut order);
        let popularity = self.popularity();
        let each = (self.model.experts / self.parallel.expert) as usize;
        let weight = |&expert: &usize| (popularity[expert] * WHOLE).round() as u64;
        order
            .chunks(each.max(1))
            .map(|mine| mine.iter().map(weight).sum())
            .collect()
    }

    /// Returns the weights of the expert-parallel ranks over several layers.
    pub(super) fn expert_weights_over(&self, layers: Layers) -> Arc<[u64]> {
        let mut sums = vec![0; self.parallel.expert as usize];
        for layer in layers.first..=layers.last {
            if self.model.has_experts(layer.into()) {
                let of_layer = self.expert_weights_of(layer.into());
                sums.iter_mut()
                    .zip(of_layer)
                    .for_each(|(sum, weight)| *sum += weight);
            }
        }
        sums.into()
    }

    /// Returns the tokens of the busiest expert-parallel rank of each layer with experts, relative to the mean.
    pub fn busiest(&self) -> Vec<f64> {
        let layers = (0..self.model.layers).filter(|&layer| self.model.has_experts(layer));
        layers
            .map(|layer| {
                let weights = self.expert_weights_of(layer);
                let most = weights.iter().max().copied().unwrap_or(0) as f64;
                most * weights.len() as f64 / weights.iter().sum::<u64>().max(1) as f64
            })
            .collect()
    }
}
