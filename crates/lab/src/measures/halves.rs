//! Metrics of flows over a whole run, and over its second half, when they have settled.

use paceline_fabric::Outcome;
use paceline_fabric::spec::NodeId;
use paceline_kernel::sorted::SortedSet;
use paceline_scenario::Resolved;

use super::{Measure, MeasureSet, Metrics, measure};
use crate::results::payload_gbps;
use crate::stats::jain;

pub(super) const SET: MeasureSet = MeasureSet {
    name: "halves",
    about: "Goodput of all flows over the payload that receivers' links carry, one-way latency, Jain's index of delivered bytes \
            and losses, in the whole run and in its second half. Needs record.latency = true and record.halves = true.",
    values: VALUES,
    series: &[],
    of,
};

const VALUES: &[Measure] = &[
    measure("goodput", "goodput, of link capacity, second half", "%", 2),
    measure("latency", "mean one-way latency, second half", "µs", 2),
    measure("p99", "p99 of one-way latency, second half", "µs", 2),
    measure("jain", "Jain's index, second half", "of 1", 3),
    measure("loss", "packets lost, second half", "%", 3),
    measure("whole_goodput", "goodput, of link capacity", "%", 2),
    measure("whole_latency", "mean one-way latency", "µs", 2),
    measure("whole_p99", "p99 of one-way latency", "µs", 2),
    measure("whole_jain", "Jain's index", "of 1", 3),
    measure("whole_loss", "packets lost", "%", 3),
];

/// Computes the metrics of the second half and of the whole run; those that were not recorded are missing.
fn of(input: &Resolved, outcome: &Outcome) -> Metrics {
    let mut numbers = Metrics::default();
    // A run that was over by then has no second half.
    let first = outcome.first_half.as_deref();
    let first = first.filter(|first| first.end < outcome.end);
    let halves: [(&str, Option<&Outcome>); 2] = [("whole_", None), ("", first)];
    for (prefix, before) in halves {
        if prefix.is_empty() && before.is_none() {
            continue;
        }
        for (name, value) in since(input, before, outcome) {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                numbers.set(format!("{prefix}{name}"), value);
            }
        }
    }
    numbers
}

/// Computes the metrics since an instant of the run, or since its start.
fn since(input: &Resolved, before: Option<&Outcome>, outcome: &Outcome) -> [(&'static str, Option<f64>); 5] {
    let earlier = |flow: usize| before.map_or(0, |before| before.flows[flow].delivered.get());
    let flows = outcome.flows.iter().enumerate();
    let delivered: Vec<f64> = flows
        .map(|(flow, record)| (record.delivered.get() - earlier(flow)) as f64)
        .collect();
    let receivers: SortedSet<NodeId> = input.run.flows.iter().map(|flow| flow.dst).collect();
    let ns = (outcome.end.as_ps() - before.map_or(0, |before| before.end.as_ps())) as f64 / 1e3;
    let carries = payload_gbps(&input.run, &receivers) * ns / 8.0;
    let lost = |outcome: &Outcome| outcome.counters.buffer_drops;
    let sent = |outcome: &Outcome| outcome.counters.data_received + lost(outcome);
    let lost_since = lost(outcome) - before.map_or(0, lost);
    let sent_since = sent(outcome) - before.map_or(0, sent);
    let mut latency = outcome.latency.clone();
    if let (Some(latency), Some(before)) = (&mut latency, before.and_then(|before| before.latency.as_ref())) {
        // All samples of the first half are among those of the run.
        if latency.histogram_ns.subtract(&before.histogram_ns).is_err() {
            return Default::default();
        }
        latency.sum_ps -= before.sum_ps;
        latency.samples -= before.samples;
    }
    let latency = latency.filter(|latency| latency.samples > 0);
    let mean =
        |latency: &paceline_fabric::outcome::RttStats| latency.sum_ps as f64 / latency.samples as f64 / 1e6;
    let p99 = |latency: &paceline_fabric::outcome::RttStats| {
        latency.histogram_ns.value_at_quantile(0.99) as f64 / 1e3
    };
    [
        (
            "goodput",
            (!delivered.is_empty()).then(|| 100.0 * delivered.iter().sum::<f64>() / carries),
        ),
        ("latency", latency.as_ref().map(mean)),
        ("p99", latency.as_ref().map(p99)),
        ("jain", jain(&delivered)),
        (
            "loss",
            (sent_since > 0).then(|| 100.0 * lost_since as f64 / sent_since as f64),
        ),
    ]
}
