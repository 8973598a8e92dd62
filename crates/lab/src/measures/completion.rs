//! Completion times and slowdowns of all flows, losses and pauses.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_scenario::Resolved;

use super::{Measure, MeasureSet, Metrics, element, measure};
use crate::results::IdealFct;

pub(super) const SET: MeasureSet = MeasureSet {
    name: "completion",
    about: "Completion times and slowdowns of the flows that completed, losses, pauses. Percentiles are element floor(n p) \
            of the values in order.",
    values: VALUES,
    series: &[],
    of,
};

const VALUES: &[Measure] = &[
    measure("p50", "p50 of completion time", "ms", 3),
    measure("p99", "p99 of completion time", "ms", 2),
    measure("slowdown_p95", "p95 of slowdown", "×", 2),
    measure("slowdown_p99", "p99 of slowdown", "×", 2),
    measure("again", "payload sent again", "%", 2),
    measure("unfinished", "flows not done", "", 0),
    measure("drops", "packets dropped", "", 0),
    measure("pauses", "pause frames", "", 0),
];

fn of(input: &Resolved, outcome: &Outcome) -> Metrics {
    let done = |status| status == FlowStatus::Completed;
    let flows = outcome.flows.iter().filter(|flow| done(flow.status));
    let mut times: Vec<f64> = flows.clone().map(|flow| flow.fct.as_ps() as f64 / 1e9).collect();
    let alone = IdealFct::of(&input.run);
    let mut slowdowns: Vec<f64> = flows
        .map(|flow| alone.slowdown(flow.fct.as_ps(), flow.ideal.as_ps()))
        .collect();
    times.sort_by(f64::total_cmp);
    slowdowns.sort_by(f64::total_cmp);
    let payload: u64 = input.run.flows.iter().map(|flow| flow.size.get()).sum();
    let again = 100.0 * outcome.counters.retransmitted_bytes as f64 / payload.max(1) as f64;
    Metrics::of([
        ("p50", element(&times, 50)),
        ("p99", element(&times, 99)),
        ("slowdown_p95", element(&slowdowns, 95)),
        ("slowdown_p99", element(&slowdowns, 99)),
        ("again", Some(again)),
        ("unfinished", Some((outcome.flows.len() - times.len()) as f64)),
        ("drops", Some(outcome.counters.buffer_drops as f64)),
        ("pauses", Some(outcome.counters.pause_frames as f64)),
    ])
}
