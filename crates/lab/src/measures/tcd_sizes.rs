//! Completion times by size with and without ternary detection.

use paceline_congestion::Mark;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowStatus, PacketKind, TraceKind};
use paceline_scenario::Resolved;

use super::{MeasureSet, Metrics, element, label, measure};
use crate::results::IdealFct;
use crate::stats::mean;

pub(super) const VICTIMS: MeasureSet = MeasureSet {
    name: "victims-by-size",
    about: "Completion times and marks of the flows labelled `victims`; needs `record.trace` of their host.",
    values: &[
        measure("ce", "victims' packets marked congested", "%", 2),
        measure("ue", "victims' packets marked undetermined", "%", 2),
        measure("hit", "victims with a packet marked congested", "", 0),
        measure("all", "mean completion time", "µs", 1),
        measure("a", "mean completion time below 10 KB", "µs", 1),
        measure("b", "mean completion time, 10 to 100 KB", "µs", 1),
        measure("c", "mean completion time, 100 KB to 1 MB", "µs", 1),
        measure("d", "mean completion time from 1 MB", "µs", 1),
    ],
    series: &[],
    of: victims,
};

/// What a set has of each group of sizes, and of all flows.
macro_rules! values {
    ($($group:literal)+) => {
        &[
            $(
                measure(concat!("p50_", $group), "median slowdown", "×", 2),
                measure(concat!("p95_", $group), "95th percentile of slowdown", "×", 2),
                measure(concat!("p99_", $group), "99th percentile of slowdown", "×", 2),
            )+
            measure("ce", "packets marked congested", "%", 1),
            measure("ue", "packets marked undetermined", "%", 1),
            measure("pauses", "pause frames", "", 1),
            measure("paused", "ports paused, together", "ms", 1),
            measure("end", "all flows done after", "ms", 1),
            measure("unfinished", "flows not done", "", 1),
        ]
    };
}

pub(super) const HADOOP: MeasureSet = MeasureSet {
    name: "hadoop-sizes",
    about: "Slowdowns in groups of sizes from FbHdp (`p50_a` up to 300 B, then 800 B, 26 KB, 4.8 MB, more), marks, pauses. With flows missing there are no percentiles.",
    values: values!("a" "b" "c" "d" "e" "all"),
    series: &[],
    of: |input, outcome| by_size(input, outcome, &HADOOP_SIZES),
};

pub(super) const WEBSEARCH: MeasureSet = MeasureSet {
    name: "websearch-sizes",
    about: "The same in groups of sizes from web search (`p50_a` up to 23 KB, then 500 KB, 3.2 MB, more).",
    values: values!("a" "b" "c" "d" "all"),
    series: &[],
    of: |input, outcome| by_size(input, outcome, &WEBSEARCH_SIZES),
};

/// Mean completion times of the victims by size, in µs, and their marks.
fn victims(input: &Resolved, outcome: &Outcome) -> Metrics {
    let is_victim = |flow: u32| label(&input.run, flow) == "victims";
    let data = outcome.trace.iter().filter(|event| {
        (event.event, event.kind) == (TraceKind::Receive, PacketKind::Data) && is_victim(event.flow)
    });
    let marks: Vec<(u32, Mark)> = data.map(|event| (event.flow, event.mark)).collect();
    let marked = |mark| marks.iter().filter(move |one| one.1 == mark);
    let share = |mark| 100.0 * marked(mark).count() as f64 / marks.len().max(1) as f64;
    let mut hit: Vec<u32> = marked(Mark::Congested).map(|one| one.0).collect();
    hit.sort_unstable();
    hit.dedup();
    let flows = (0..).zip(input.run.flows.iter().zip(&outcome.flows));
    let victims =
        flows.filter(|(flow, (_, record))| is_victim(*flow) && record.status == FlowStatus::Completed);
    let times: Vec<(u64, f64)> = victims
        .map(|(_, (spec, record))| (spec.size.get(), record.fct.as_ps() as f64 / 1e6))
        .collect();
    let of = |from: u64, below: u64| {
        let within = times.iter().filter(|(size, _)| (from..below).contains(size));
        mean(&within.map(|&(_, time)| time).collect::<Vec<f64>>())
    };
    let values = [
        ("ce", Some(share(Mark::Congested))),
        ("ue", Some(share(Mark::Undetermined))),
        ("hit", Some(hit.len() as f64)),
        ("all", of(0, u64::MAX)),
        ("a", of(0, 10_000)),
        ("b", of(10_000, 100_000)),
        ("c", of(100_000, 1_000_000)),
        ("d", of(1_000_000, u64::MAX)),
    ];
    Metrics::of(values)
}

/// The smallest and the largest size of a group; the names of its percentiles.
type Group = (u64, u64, [(&'static str, usize); 3]);

macro_rules! group {
    ($name:literal, $from:expr, $to:expr) => {
        (
            $from,
            $to,
            [
                (concat!("p50_", $name), 50),
                (concat!("p95_", $name), 95),
                (concat!("p99_", $name), 99),
            ],
        )
    };
}

/// Of the ticks of the thesis's axis, every second or so.
const HADOOP_SIZES: [Group; 6] = [
    group!("a", 0, 300),
    group!("b", 301, 800),
    group!("c", 801, 26_000),
    group!("d", 26_001, 4_800_000),
    group!("e", 4_800_001, u64::MAX),
    group!("all", 0, u64::MAX),
];

const WEBSEARCH_SIZES: [Group; 5] = [
    group!("a", 0, 23_000),
    group!("b", 23_001, 500_000),
    group!("c", 500_001, 3_200_000),
    group!("d", 3_200_001, u64::MAX),
    group!("all", 0, u64::MAX),
];

/// Computes percentiles of slowdown by size, marks and pause frames. With flows missing there are no percentiles.
fn by_size(input: &Resolved, outcome: &Outcome, groups: &[Group]) -> Metrics {
    let alone = IdealFct::of(&input.run);
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let mut slowdowns: Vec<(u64, f64)> = flows
        .filter(|(_, flow)| flow.status == FlowStatus::Completed)
        .map(|(spec, flow)| {
            let slowdown = alone.slowdown(flow.fct.as_ps(), flow.ideal.as_ps());
            (spec.size.get(), slowdown)
        })
        .collect();
    slowdowns.sort_by(|a, b| a.1.total_cmp(&b.1));
    let unfinished = outcome.flows.len() - slowdowns.len();
    let mut numbers = Metrics::default();
    for &(from, to, percentiles) in groups.iter().filter(|_| unfinished == 0) {
        let within = slowdowns.iter().filter(|(size, _)| (from..=to).contains(size));
        let values: Vec<f64> = within.map(|&(_, slowdown)| slowdown).collect();
        for (name, percent) in percentiles {
            if let Some(value) = element(&values, percent) {
                numbers.set(name, value);
            }
        }
    }
    let counters = &outcome.counters;
    let share = |count: u64| 100.0 * count as f64 / counters.data_received.max(1) as f64;
    numbers.extend([
        ("ce", share(counters.marked)),
        ("ue", share(counters.undetermined)),
        ("pauses", counters.pause_frames as f64),
        ("paused", counters.paused_ps as f64 / 1e9),
        ("end", outcome.end.as_ps() as f64 / 1e9),
        ("unfinished", unfinished as f64),
    ]);
    numbers
}
