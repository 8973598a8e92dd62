//! Incasts as a whole, and long flows once they have settled.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowSeries, RateRecord};
use paceline_scenario::Resolved;

use super::port::step_mean;
use super::{Measure, MeasureSet, Metrics, measure};
use crate::stats::{jain, mean};

pub(super) const INCAST: MeasureSet = MeasureSet {
    name: "whole-incast",
    about: "An incast as a whole: payload over the time to the last acknowledgement, round trips, queue, losses.",
    values: INCAST_VALUES,
    series: &[],
    of: incast,
};

const INCAST_VALUES: &[Measure] = &[
    measure("goodput", "goodput", "Gbit/s", 2),
    measure("rtt_p50", "median round trip", "µs", 1),
    measure("rtt_p99", "p99 of round trips", "µs", 1),
    measure("queue", "largest queue", "KB", 0),
    measure("drops", "packets dropped", "", 0),
];

pub(super) const SETTLED: MeasureSet = MeasureSet {
    name: "settled",
    about: "Flows in the second half of a run; `record.flows` and `record.rate` have to be on.",
    values: SETTLED_VALUES,
    series: &[],
    of: settled,
};

const SETTLED_VALUES: &[Measure] = &[
    measure("rtt", "mean round trip", "µs", 2),
    measure("jain", "Jain's index of goodput", "", 4),
];

fn incast(input: &Resolved, outcome: &Outcome) -> Metrics {
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let ends = flows.map(|(spec, flow)| (spec.start + flow.fct).as_ps());
    let last = ends.max().unwrap_or(0).max(1) as f64;
    let payload: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
    let rtt = |share: f64| outcome.rtt_per_ack.histogram_ns.value_at_quantile(share) as f64 / 1e3;
    Metrics::of([
        ("goodput", Some(payload as f64 * 8e3 / last)),
        ("rtt_p50", Some(rtt(0.5))),
        ("rtt_p99", Some(rtt(0.99))),
        ("queue", Some(outcome.queue_max.get() as f64 / 1e3)),
        ("drops", Some(outcome.counters.buffer_drops as f64)),
    ])
}

fn settled(_: &Resolved, outcome: &Outcome) -> Metrics {
    let end = outcome.end.as_ps() as f64;
    let late = |series: &FlowSeries| {
        let steps: Vec<(f64, f64)> = (series.rtt.bins())
            .map(|bin| (bin.at.as_ps() as f64, bin.mean / 1e6))
            .collect();
        step_mean(&steps, end / 2.0, end)
    };
    let rtts: Vec<f64> = outcome.flow_series.iter().map(late).collect();
    let share = |record: &RateRecord| {
        let half = record.bytes.len() / 2;
        record.bytes[half..].iter().sum::<u64>() as f64
    };
    let shares: Vec<f64> = outcome.rates.iter().map(share).collect();
    Metrics::of([("rtt", mean(&rtts)), ("jain", jain(&shares))])
}
