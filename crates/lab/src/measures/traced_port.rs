//! The queue of a traced port, and what its network did as a whole.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::port::{Place, PortEvents};
use super::{Measure, MeasureSet, Metrics, measure};

pub(super) const SET: MeasureSet = MeasureSet {
    name: "traced-port",
    about: "The first port of `record.trace-ports`: percentiles of its queue over events (each arrival and departure one), in \
            the time that the link needs for it; and goodput, round trips and notifications of the network.",
    values: VALUES,
    series: &[],
    of,
};

const VALUES: &[Measure] = &[
    measure("p50", "queueing, p50", "µs", 2),
    measure("p90", "queueing, p90", "µs", 2),
    measure("p99", "queueing, p99", "µs", 2),
    measure("p999", "queueing, p99.9", "µs", 2),
    measure("time_p99", "queueing over time, p99", "µs", 2),
    measure("mean", "queueing over time, mean", "µs", 2),
    measure("utilisation", "utilisation", "%", 2),
    measure("src_per_packet", "SRCs per packet", "", 3),
    measure("src", "SRCs", "Gbit/s", 3),
    measure("goodput", "goodput", "Gbit/s", 3),
    measure("last", "last acknowledgement", "ms", 3),
    measure("rtt_p50", "round trip, p50", "µs", 2),
    measure("rtt_p99", "round trip, p99", "µs", 2),
    measure("completed", "messages done", "", 0),
    measure("drops", "packets dropped", "", 0),
];

/// What a switch's notification of 41 bytes counts for.
const SRC_BITS: f64 = 41.0 * 8.0;

fn of(input: &Resolved, outcome: &Outcome) -> Metrics {
    let Some(place) = Place::traced(&input.run) else {
        return Metrics::default();
    };
    let (events, passages) = PortEvents::of(&input.run, outcome, place);
    let us = |bytes: f64| bytes * 8.0 / place.gbps / 1e3;
    let [p50, p90, p99, p999] = events.event_percentiles([0.5, 0.9, 0.99, 0.999]);
    let end = outcome.end.as_ps() as f64 / 1e3;
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let ends = flows.clone().map(|(spec, flow)| (spec.start + flow.fct).as_ps());
    let last = ends.max().unwrap_or(0) as f64 / 1e3;
    let payload: u64 = flows.map(|(_, flow)| flow.delivered.get()).sum();
    let rtt = |share: f64| outcome.rtt_per_ack.histogram_ns.value_at_quantile(share) as f64 / 1e3;
    let notices = outcome.counters.notices as f64;
    Metrics::of([
        ("p50", p50.map(us)),
        ("p90", p90.map(us)),
        ("p99", p99.map(us)),
        ("p999", p999.map(us)),
        (
            "time_p99",
            Some(us(events.time_percentile(0.0, end, 0.99).unwrap_or(0.0))),
        ),
        ("mean", Some(us(events.mean(0.0, end)))),
        ("utilisation", Some(100.0 * events.utilisation(0.0, end))),
        ("src_per_packet", Some(notices / passages.len().max(1) as f64)),
        // Those that crossed a link: in the simulator of Bolt's authors hosts' own ports tell their senders, too.
        (
            "src",
            Some(outcome.counters.control_hops as f64 * SRC_BITS / last),
        ),
        ("goodput", Some(payload as f64 * 8.0 / last)),
        ("last", Some(last / 1e6)),
        ("rtt_p50", Some(rtt(0.5))),
        ("rtt_p99", Some(rtt(0.99))),
        ("completed", Some(outcome.completions.len() as f64)),
        ("drops", Some(outcome.counters.buffer_drops as f64)),
    ])
}
