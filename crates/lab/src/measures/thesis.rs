//! What the thesis of the PID and LSTM controller looks at in its incast of 20 to 1.

use std::collections::BTreeSet;

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::{MeasureSet, Metrics, described, measure};
use crate::results::flow_rows;
use crate::stats;

pub(super) const NODES: MeasureSet = MeasureSet {
    name: "thesis-nodes",
    about: "Round-trip times and the rate of the nodes that send first and second, over the time since each began; needs \
            `record.rtt-samples` and `record.flows`.",
    values: &[
        measure("node1_rtt_min", "least RTT of node 1", "µs", 2),
        measure("node1_rtt_max", "largest RTT of node 1", "µs", 2),
        measure("node2_rtt_min", "least RTT of node 2", "µs", 2),
        measure("node2_rtt_max", "largest RTT of node 2", "µs", 2),
        measure("node2_rate_min", "least rate of node 2", "Gbit/s", 2),
        measure("node2_rate_max", "largest rate of node 2", "Gbit/s", 2),
    ],
    series: &[
        measure("node1_rtt", "RTT of node 1", "µs", 2),
        measure("node2_rtt", "RTT of node 2", "µs", 2),
        measure("node2_rate", "rate of node 2", "Gbit/s", 2),
    ],
    of: nodes,
};

pub(super) const DECIDED_ON: MeasureSet = MeasureSet {
    name: "decided-on",
    about: "The round trips on which TIMELY decides: one sample per round trip of a flow, without its first; needs \
            `record.rtt-samples`.",
    values: &[
        measure("mean_rtt", "mean RTT", "µs", 4),
        measure("rate", "mean rate", "Gbit/s", 4),
        measure("p99_rtt", "p99 RTT", "µs", 3),
        measure("max_rtt", "max RTT", "µs", 3),
    ],
    series: &[],
    of: decided_on,
};

/// Times of nodes 1 and 2, which send first and second.
fn nodes(input: &Resolved, outcome: &Outcome) -> Metrics {
    let since = |flow: usize, ps: u64| {
        let start = described(&input.run, flow as u32)?.start;
        Some(ps.saturating_sub(start.as_ps()) as f64 / 1e9)
    };
    let rtt = |flow: usize| -> Vec<(f64, f64)> {
        let samples = outcome
            .rtt_samples
            .iter()
            .filter(|sample| sample.flow as usize == flow);
        samples
            .filter_map(|sample| Some((since(flow, sample.at.as_ps())?, sample.rtt.as_us_f64())))
            .collect()
    };
    let rate = |flow: usize| -> Vec<(f64, f64)> {
        let series = outcome
            .flow_series
            .iter()
            .find(|series| series.flow as usize == flow);
        let bins = series.into_iter().flat_map(|series| series.rate.bins());
        // Of several samples, the least and the largest.
        bins.flat_map(|bin| {
            let at = since(flow, bin.at.as_ps());
            let largest = (bin.max > bin.min).then_some(bin.max);
            [Some(bin.min), largest]
                .into_iter()
                .flatten()
                .filter_map(move |bps| Some((at?, bps as f64 / 1e9)))
        })
        .collect()
    };
    let mut all = Metrics::default();
    for (name, least, largest, points) in [
        ("node1_rtt", "node1_rtt_min", "node1_rtt_max", rtt(0)),
        ("node2_rtt", "node2_rtt_min", "node2_rtt_max", rtt(1)),
        ("node2_rate", "node2_rate_min", "node2_rate_max", rate(1)),
    ] {
        let values = || points.iter().map(|point| point.1);
        all.extend(values().min_by(f64::total_cmp).map(|value| (least, value)));
        all.extend(values().max_by(f64::total_cmp).map(|value| (largest, value)));
        all.draw(name, points);
    }
    all
}

/// One sample per round trip of a flow, but for its first, from which no difference can be taken; and the mean rate.
fn decided_on(input: &Resolved, outcome: &Outcome) -> Metrics {
    let mut begun = BTreeSet::new();
    let samples = outcome.rtt_samples.iter();
    let mut us: Vec<f64> = samples
        .filter(|sample| !begun.insert(sample.flow))
        .map(|sample| sample.rtt.as_us_f64())
        .collect();
    us.sort_unstable_by(f64::total_cmp);
    // The nearest rank: a sample, as the thesis prints one.
    let rank = (us.len() * 99).div_ceil(100).saturating_sub(1);
    let done = || flow_rows(input, outcome).filter_map(|row| Some((row.size_bytes, row.fct_ps?)));
    let bytes: u64 = done().map(|(bytes, _)| bytes).sum();
    let busy_ps: u64 = done().map(|(_, ps)| ps).sum();
    Metrics::of([
        ("mean_rtt", stats::mean(&us)),
        ("rate", (busy_ps > 0).then(|| bytes as f64 * 8e3 / busy_ps as f64)),
        ("p99_rtt", us.get(rank).copied()),
        ("max_rtt", us.last().copied()),
    ])
}
