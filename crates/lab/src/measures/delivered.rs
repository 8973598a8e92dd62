//! What flows without end delivered, and how long short ones took.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::{Measure, MeasureSet, Metrics, measure};
use crate::stats::{RttSummary, jain, mean};

pub(super) const SET: MeasureSet = MeasureSet {
    name: "delivered",
    about: "What flows without end delivered over links of 100 Gbit/s with packets of 1 KB, their fairness and delays, and how \
            long flows labelled `short` took.",
    values: VALUES,
    series: &[],
    of,
};

const VALUES: &[Measure] = &[
    measure("utilisation", "delivered, of link capacity", "%", 2),
    measure("jain", "Jain's index of delivered bytes", "of 1", 3),
    measure("rtt", "mean RTT", "µs", 1),
    measure("rtt_p99", "p99 RTT", "µs", 1),
    measure("loss", "packets dropped", "%", 3),
    measure("short", "mean completion of short flows", "µs", 1),
];

/// What flows without end came to, and how long short ones took.
fn of(input: &Resolved, outcome: &Outcome) -> Metrics {
    let run = &input.run;
    let is_short = |label: u16| run.labels[usize::from(label)] == "short";
    let flows = || run.flows.iter().zip(&outcome.flows);
    let long: Vec<f64> = flows()
        .filter(|(spec, _)| !is_short(spec.label))
        .map(|(_, flow)| flow.delivered.get() as f64)
        .collect();
    let all: f64 = flows().map(|(_, flow)| flow.delivered.get() as f64).sum();
    let mut receivers: Vec<_> = run.flows.iter().map(|flow| flow.dst).collect();
    receivers.sort_unstable();
    receivers.dedup();
    // What a link of 100 Gbit/s carries of payload, in bytes.
    let payload = 1000.0 / 1048.0;
    let carries = outcome.end.as_secs_f64() * 100e9 / 8.0 * payload * receivers.len() as f64;
    let mut numbers = Metrics::default();
    let mut put = |name, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            numbers.set(name, value);
        }
    };
    put("utilisation", Some(100.0 * all / carries));
    put("jain", jain(&long));
    let counters = &outcome.counters;
    let sent = counters.data_received + counters.buffer_drops;
    put(
        "loss",
        Some(100.0 * counters.buffer_drops as f64 / sent.max(1) as f64),
    );
    let short: Vec<f64> = flows()
        .filter(|(spec, flow)| is_short(spec.label) && flow.fct.as_ps() > 0)
        .map(|(_, flow)| flow.fct.as_us_f64())
        .collect();
    put("short", mean(&short));
    let rtt = RttSummary::of(&outcome.rtt_per_ack);
    put("rtt", rtt.mean);
    put("rtt_p99", rtt.p99);
    numbers
}
