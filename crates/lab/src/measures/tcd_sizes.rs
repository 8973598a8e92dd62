//! Completion times by size with and without ternary detection.

use paceline_congestion::Mark;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowStatus, PacketKind, TraceKind};
use paceline_scenario::Resolved;

use super::{MeasureSet, Metrics, element, measure};
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

pub(super) const HADOOP: MeasureSet = MeasureSet {
    name: "hadoop-sizes",
    about: "Slowdowns in groups of sizes from FbHdp (`p50_a` up to 300 B, then 800 B, 26 KB, 4.8 MB, more), marks, pauses. With flows missing there are no percentiles.",
    values: &[
        measure("p50_a", "median slowdown", "×", 2),
        measure("p99_a", "99th percentile of slowdown", "×", 2),
        measure("p50_b", "median slowdown", "×", 2),
        measure("p99_b", "99th percentile of slowdown", "×", 2),
        measure("p50_c", "median slowdown", "×", 2),
        measure("p99_c", "99th percentile of slowdown", "×", 2),
        measure("p50_d", "median slowdown", "×", 2),
        measure("p99_d", "99th percentile of slowdown", "×", 2),
        measure("p50_e", "median slowdown", "×", 2),
        measure("p99_e", "99th percentile of slowdown", "×", 2),
        measure("p50_all", "median slowdown", "×", 2),
        measure("p99_all", "99th percentile of slowdown", "×", 2),
        measure("ce", "packets marked congested", "%", 1),
        measure("ue", "packets marked undetermined", "%", 1),
        measure("pauses", "pause frames", "", 1),
        measure("paused", "ports paused, together", "ms", 1),
        measure("end", "all flows done after", "ms", 1),
        measure("unfinished", "flows not done", "", 1),
    ],
    series: &[],
    of: |input, outcome| by_size(input, outcome, &HADOOP_SIZES),
};

pub(super) const WEBSEARCH: MeasureSet = MeasureSet {
    name: "websearch-sizes",
    about: "The same in groups of sizes from web search (`p50_a` up to 23 KB, then 500 KB, 3.2 MB, more).",
    values: &[
        measure("p50_a", "median slowdown", "×", 2),
        measure("p99_a", "99th percentile of slowdown", "×", 2),
        measure("p50_b", "median slowdown", "×", 2),
        measure("p99_b", "99th percentile of slowdown", "×", 2),
        measure("p50_c", "median slowdown", "×", 2),
        measure("p99_c", "99th percentile of slowdown", "×", 2),
        measure("p50_d", "median slowdown", "×", 2),
        measure("p99_d", "99th percentile of slowdown", "×", 2),
        measure("p50_all", "median slowdown", "×", 2),
        measure("p99_all", "99th percentile of slowdown", "×", 2),
        measure("ce", "packets marked congested", "%", 1),
        measure("ue", "packets marked undetermined", "%", 1),
        measure("pauses", "pause frames", "", 1),
        measure("paused", "ports paused, together", "ms", 1),
        measure("end", "all flows done after", "ms", 1),
        measure("unfinished", "flows not done", "", 1),
    ],
    series: &[],
    of: |input, outcome| by_size(input, outcome, &WEBSEARCH_SIZES),
};

/// Mean completion times of the victims by size, in µs, and their marks.
fn victims(input: &Resolved, outcome: &Outcome) -> Metrics {
    let is_victim = |flow: u32| {
        let label = input.run.flows[flow as usize].label;
        input.run.labels[usize::from(label)] == "victims"
    };
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

/// The largest size of a group; the names of its median and 99th percentile.
type Group = (u64, &'static str, &'static str);

/// Of the ticks of the thesis's axis, every second or so.
const HADOOP_SIZES: [Group; 6] = [
    (300, "p50_a", "p99_a"),
    (800, "p50_b", "p99_b"),
    (26_000, "p50_c", "p99_c"),
    (4_800_000, "p50_d", "p99_d"),
    (u64::MAX, "p50_e", "p99_e"),
    ALL,
];

const WEBSEARCH_SIZES: [Group; 5] = [
    (23_000, "p50_a", "p99_a"),
    (500_000, "p50_b", "p99_b"),
    (3_200_000, "p50_c", "p99_c"),
    (u64::MAX, "p50_d", "p99_d"),
    ALL,
];

const ALL: Group = (u64::MAX, "p50_all", "p99_all");

/// Medians and 99th percentiles by size, marks and pause frames. With flows missing there are no percentiles.
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
    let mut above = 0;
    for &(to, p50, p99) in groups.iter().filter(|_| unfinished == 0) {
        let from = if p50 == ALL.1 { 0 } else { above };
        let within = slowdowns.iter().filter(|(size, _)| (from..=to).contains(size));
        let values: Vec<f64> = within.map(|&(_, slowdown)| slowdown).collect();
        above = to.saturating_add(1);
        for (name, percent) in [(p50, 50), (p99, 99)] {
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
