//! Slowdowns of short and of long flows, pauses, queues, losses.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::FlowSpec;
use paceline_scenario::Resolved;

use super::{Measure, MeasureSet, Metrics, element, measure};
use crate::results::{IdealFct, queue_bytes};
use crate::stats::{jain, mean};

pub(super) const SET: MeasureSet = MeasureSet {
    name: "by-size",
    about: "Slowdowns of short flows (up to 100 KB) and long ones (from 1 MB), without those labelled `incast`; pauses, queues, \
            losses. Percentiles are element floor(n p) of the values in order.",
    values: VALUES,
    series: &[],
    of,
};

const VALUES: &[Measure] = &[
    measure("mean", "mean slowdown", "×", 3),
    measure("p95", "p95 of slowdown", "×", 2),
    measure("p99", "p99 of slowdown", "×", 2),
    measure("short_p50", "median slowdown to 100 KB", "×", 3),
    measure("short_p95", "p95 of slowdown to 100 KB", "×", 2),
    measure("short_p99", "p99 of slowdown to 100 KB", "×", 2),
    measure("long_mean", "mean slowdown from 1 MB", "×", 2),
    measure("long_p95", "p95 of slowdown from 1 MB", "×", 2),
    measure("long_p99", "p99 of slowdown from 1 MB", "×", 2),
    measure("pauses", "pause frames", "", 0),
    measure("paused", "time that ports were paused", "µs", 0),
    measure("drops", "packets dropped", "", 0),
    measure("again", "payload sent again", "%", 2),
    measure("queue_mean", "mean queue of all ports", "KB", 2),
    measure("queue_p99", "p99 of the queue", "KB", 0),
    measure("jain", "Jain's index of goodput", "", 4),
    measure("end", "all flows done after", "µs", 1),
    measure("goodput", "throughput", "Gbit/s", 2),
    measure("unfinished", "flows not done", "", 0),
];

/// Largest size of short flows, in bytes; long flows have at least [`LONG`].
const SHORT: u64 = 100_000;
const LONG: u64 = 1_000_000;

/// Computes slowdowns of short, long and all flows, and measures of pauses, queues and losses.
fn of(input: &Resolved, outcome: &Outcome) -> Metrics {
    let alone = IdealFct::of(&input.run);
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let done: Vec<(&FlowSpec, f64, f64)> = flows
        .filter(|(_, flow)| flow.status == FlowStatus::Completed)
        .map(|(spec, flow)| {
            let slowdown = alone.slowdown(flow.fct.as_ps(), flow.ideal.as_ps());
            let goodput = spec.size.get() as f64 * 8e3 / flow.fct.as_ps() as f64;
            (spec, slowdown, goodput)
        })
        .collect();
    // Incasts are many small flows with large slowdowns, which would dominate the distribution of the background.
    let background = |label: u16| input.run.labels[usize::from(label)] != "incast";
    let sizes = |from: u64, to: u64| {
        let within = done
            .iter()
            .filter(|(spec, ..)| background(spec.label) && (from..=to).contains(&spec.size.get()));
        let mut slowdowns: Vec<f64> = within.map(|&(_, slowdown, _)| slowdown).collect();
        slowdowns.sort_by(f64::total_cmp);
        slowdowns
    };
    let (short, long, all) = (sizes(0, SHORT), sizes(LONG, u64::MAX), sizes(0, u64::MAX));
    let goodputs: Vec<f64> = done.iter().map(|&(.., goodput)| goodput).collect();
    let queue = queue_bytes(outcome);
    let counters = &outcome.counters;
    let payload: u64 = input.run.flows.iter().map(|flow| flow.size.get()).sum();
    let unfinished = outcome.flows.len() - done.len();
    let ends = outcome.flows.iter().map(|flow| (flow.start + flow.fct).as_ps());
    // The end of the last flow is meaningful only if all flows ended.
    let last = ends.max().filter(|_| unfinished == 0);
    let values = [
        ("mean", mean(&all)),
        ("p95", element(&all, 95)),
        ("p99", element(&all, 99)),
        ("short_p50", element(&short, 50)),
        ("short_p95", element(&short, 95)),
        ("short_p99", element(&short, 99)),
        ("long_mean", mean(&long)),
        ("long_p95", element(&long, 95)),
        ("long_p99", element(&long, 99)),
        ("pauses", Some(counters.pause_frames as f64)),
        ("paused", Some(counters.paused_ps as f64 / 1e6)),
        ("drops", Some(counters.buffer_drops as f64)),
        (
            "again",
            Some(100.0 * counters.retransmitted_bytes as f64 / payload.max(1) as f64),
        ),
        ("queue_mean", queue.mean.map(|bytes| bytes / 1e3)),
        ("queue_p99", queue.p99.map(|bytes| bytes as f64 / 1e3)),
        ("jain", jain(&goodputs)),
        ("end", last.map(|ps| ps as f64 / 1e6)),
        // For a single unfinished flow this is the payload that arrived before the end.
        ("goodput", Some(delivered(outcome))),
        ("unfinished", Some(unfinished as f64)),
    ];
    Metrics::of(values)
}

/// Returns the delivered payload over the time until the last flow completed, or the run ended, in Gbit/s.
fn delivered(outcome: &Outcome) -> f64 {
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
    let ends = outcome.flows.iter().map(|flow| match flow.status {
        FlowStatus::Completed => (flow.start + flow.fct).as_ps(),
        _ => outcome.end.as_ps(),
    });
    bytes as f64 * 8e3 / ends.max().unwrap_or(1).max(1) as f64
}
