//! Messages in a large network: the tail of their slowdowns, and how often they come and go.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowRecord, FlowStatus};
use paceline_scenario::Resolved;

use super::super::port::element_at;
use super::super::{MeasureSet, Metrics, measure};
use crate::results::IdealFct;

pub(in crate::measures) const TAIL: MeasureSet = MeasureSet {
    name: "tail",
    about: "99th percentiles of slowdown over the time alone in the network, of messages up to 1 KB and of all.",
    values: &[
        measure("short", "p99 of slowdown, up to 1 KB", "×", 2),
        measure("all", "p99 of slowdown, all", "×", 2),
        measure("messages", "messages up to 1 KB", "", 0),
        measure("missing", "not done", "", 0),
    ],
    series: &[],
    of: tail,
};

pub(in crate::measures) const EVENTS: MeasureSet = MeasureSet {
    name: "come-or-go",
    about: "Starts and ends of messages on each of 256 hosts' links, in round trips of 5 µs from 0.2 to 1 ms.",
    values: &[
        measure("mean", "starts and ends per round trip", "", 2),
        measure("some", "round trips with any", "%", 1),
    ],
    series: &[],
    of: events,
};

/// A message is short up to this size.
const SHORT: u64 = 1_000;

fn tail(input: &Resolved, outcome: &Outcome) -> Metrics {
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let done = flows.filter(|(_, flow)| flow.status == FlowStatus::Completed);
    let alone = IdealFct::of(&input.run);
    let slowdown = |flow: &FlowRecord| alone.slowdown(flow.fct.as_ps(), flow.ideal.as_ps());
    let of = done.map(|(spec, flow)| (spec.size.get(), slowdown(flow)));
    let all: Vec<(u64, f64)> = of.collect();
    let p99 = |most: u64| {
        let within = all.iter().filter(|(size, _)| *size <= most);
        let mut values: Vec<f64> = within.map(|&(_, slowdown)| slowdown).collect();
        values.sort_by(f64::total_cmp);
        element_at(&values, 0.99)
    };
    let short = all.iter().filter(|(size, _)| *size <= SHORT).count();
    Metrics::of([
        ("short", p99(SHORT)),
        ("all", p99(u64::MAX)),
        ("messages", Some(short as f64)),
        ("missing", Some((outcome.flows.len() - all.len()) as f64)),
    ])
}

/// The round trip, in s.
const RTT: f64 = 5e-6;

/// Of every link and round trip of a stretch of time (in s), how many messages to the link's host (its
/// number first) start or end there: the mean, and the share of those with any.
pub(super) fn events_per_trip(events: &[(usize, f64)], links: usize, (from, to): (f64, f64)) -> (f64, f64) {
    let trips = ((to - from) / RTT).round() as usize;
    let mut counts = vec![0_u32; links * trips];
    for &(link, at) in events {
        let trip = ((at - from) / RTT).floor();
        if (0.0..trips as f64).contains(&trip) {
            counts[link * trips + trip as usize] += 1;
        }
    }
    let all = counts.len().max(1) as f64;
    let sum: u32 = counts.iter().sum();
    let some = counts.iter().filter(|count| **count > 0).count();
    (f64::from(sum) / all, some as f64 / all)
}

fn events(input: &Resolved, outcome: &Outcome) -> Metrics {
    const LINKS: usize = 256;
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let to_known = flows.filter(|(spec, _)| (spec.dst.0 as usize) < LINKS);
    let events: Vec<(usize, f64)> = to_known
        .flat_map(|(spec, flow)| {
            let at = |ps: u64| (spec.dst.0 as usize, ps as f64 / 1e12);
            let ended = flow.status == FlowStatus::Completed;
            let end = ended.then(|| at((spec.start + flow.fct).as_ps()));
            std::iter::once(at(spec.start.as_ps())).chain(end)
        })
        .collect();
    let (mean, some) = events_per_trip(&events, LINKS, (0.2e-3, 1e-3));
    Metrics::of([("mean", Some(mean)), ("some", Some(100.0 * some))])
}
