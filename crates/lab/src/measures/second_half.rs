//! What a run came to in its second half.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::{Measure, MeasureSet, Metrics, measure};
use crate::stats::{jain, mean, percentile};

pub(super) const SET: MeasureSet = MeasureSet {
    name: "second-half",
    about: "Round trips and goodput in the second half of a run. Needs record.rtt-samples = true and record.rates = \"100us\".",
    values: VALUES,
    series: &[],
    of,
};

const VALUES: &[Measure] = &[
    measure("rtt", "mean RTT", "ns", 1),
    measure("p99", "p99 RTT", "ns", 1),
    measure("goodput", "goodput of all flows", "Gbit/s", 2),
    measure("jain", "Jain's index of goodput", "", 3),
];

/// Of the second half: mean and 99th percentile of round trips in ns, goodput in bit/ns, Jain's index.
fn of(_: &Resolved, outcome: &Outcome) -> Metrics {
    let half = outcome.end.as_ps() / 2;
    let late = outcome
        .rtt_samples
        .iter()
        .filter(|sample| sample.at.as_ps() >= half);
    let mut rtts: Vec<f64> = late.map(|sample| sample.rtt.as_ps() as f64 / 1e3).collect();
    rtts.sort_by(f64::total_cmp);
    let bin = 100_000_000;
    let first = (half / bin) as usize;
    let late =
        |record: &paceline_fabric::outcome::RateRecord| record.bytes.iter().skip(first).sum::<u64>() as f64;
    let shares: Vec<f64> = outcome.rates.iter().map(late).collect();
    let time = (outcome.end.as_ps() - half) as f64 / 1e3;
    let values = [
        ("rtt", mean(&rtts)),
        ("p99", percentile(&rtts, 0.99)),
        ("goodput", Some(8.0 * shares.iter().sum::<f64>() / time)),
        ("jain", jain(&shares)),
    ];
    Metrics::of(values)
}
