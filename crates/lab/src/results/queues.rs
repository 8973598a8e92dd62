//! Queues of switch ports in a summary.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::QueueRecord;
use serde::{Deserialize, Serialize};

use crate::stats;

/// Queue lengths of switch ports, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueBytes {
    /// Mean over all samples of all ports; null unless queues were sampled.
    pub mean: Option<f64>,
    /// 99th percentile over the same samples, rounded up to 1000 bytes.
    pub p99: Option<u64>,
    /// Largest queue, exact, independent of sampling.
    pub max: u64,
}

/// Sampled switch port with the largest mean queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BusiestPort {
    /// Name as in series. (A text, since sweeps take means of numbers.)
    #[serde(default)]
    pub port: String,
    /// Mean queue, in bytes.
    pub mean: f64,
    /// 99th percentile, rounded up to 1000 bytes.
    pub p99: u64,
    /// Largest sample, in bytes.
    pub max: u64,
}

/// Distribution of queues over the samples of ports: percentiles, each rounded up to 1000 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCdf {
    /// Percentiles over all samples of all ports.
    pub all: QueuePercentiles,
    /// Percentiles of the port with the largest mean.
    pub busiest_port: QueuePercentiles,
}

/// Percentiles of queue samples, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePercentiles {
    /// Number of samples in the distribution.
    pub samples: u64,
    /// Median of the samples.
    pub p50: u64,
    /// 95th percentile of the queue.
    pub p95: u64,
    /// 99th percentile of the queue.
    pub p99: u64,
    /// 99.9th percentile of the queue.
    pub p999: u64,
}

impl QueuePercentiles {
    fn of(bins: &[u64], max: u64) -> Option<Self> {
        let at = |q| stats::quantile_of_kb_bins(bins, q).map(|bytes| bytes.min(max));
        Some(Self {
            samples: bins.iter().sum(),
            p50: at(0.50)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            p999: at(0.999)?,
        })
    }
}

/// Returns the distribution of the samples; `None` unless queues were sampled.
pub(super) fn queue_cdf(queues: &[QueueRecord]) -> Option<QueueCdf> {
    let max = queues.iter().map(|queue| queue.max.get()).max()?;
    let busiest = longest(queues)?;
    Some(QueueCdf {
        all: QueuePercentiles::of(&histogram_of_all(queues), max)?,
        busiest_port: QueuePercentiles::of(&busiest.histogram_kb, busiest.max.get())?,
    })
}

/// Returns the histogram of all ports' samples by size in KB.
fn histogram_of_all(queues: &[QueueRecord]) -> Vec<u64> {
    let bins = queues
        .iter()
        .map(|queue| queue.histogram_kb.len())
        .max()
        .unwrap_or(0);
    let mut all = vec![0u64; bins];
    for queue in queues {
        for (sum, count) in all.iter_mut().zip(&queue.histogram_kb) {
            *sum += count;
        }
    }
    all
}

fn mean_of(queue: &QueueRecord) -> f64 {
    let samples: u64 = queue.histogram_kb.iter().sum();
    if samples == 0 {
        0.0
    } else {
        queue.sum as f64 / samples as f64
    }
}

/// Returns the queue with the largest mean; the first of equals.
fn longest(queues: &[QueueRecord]) -> Option<&QueueRecord> {
    queues
        .iter()
        .rev()
        .max_by(|a, b| mean_of(a).total_cmp(&mean_of(b)))
}

/// Summarises the queues of all recorded ports together.
pub fn queue_bytes(outcome: &Outcome) -> QueueBytes {
    let all = histogram_of_all(&outcome.queues);
    let samples: u64 = all.iter().sum();
    let sum: u128 = outcome.queues.iter().map(|queue| queue.sum).sum();
    let max = outcome.queue_max.get();
    QueueBytes {
        mean: (samples > 0).then(|| sum as f64 / samples as f64),
        p99: stats::quantile_of_kb_bins(&all, 0.99).map(|p99| p99.min(max)),
        max,
    }
}

pub(super) fn busiest_port(queues: &[QueueRecord]) -> Option<BusiestPort> {
    let busiest = longest(queues)?;
    let max = busiest.max.get();
    Some(BusiestPort {
        port: busiest.port.to_string(),
        mean: mean_of(busiest),
        p99: stats::quantile_of_kb_bins(&busiest.histogram_kb, 0.99).map_or(0, |p99| p99.min(max)),
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn distribution_by_hand() {
        // One port 100 times empty; the other 97 times below 1 KB, twice below 2, once below 3.
        let (_, outcome) = sample::incast();
        let cdf = queue_cdf(&outcome.queues).unwrap();
        let of = |cdf: QueuePercentiles| (cdf.samples, cdf.p50, cdf.p95, cdf.p99, cdf.p999);
        assert_eq!(of(cdf.all), (200, 0, 0, 2_000, 2_096));
        assert_eq!(of(cdf.busiest_port), (100, 0, 0, 2_000, 2_096));
        assert_eq!(queue_cdf(&[]), None);
    }
}
