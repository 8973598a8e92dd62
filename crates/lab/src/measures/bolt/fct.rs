//! Completion times over the authors' ideal.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowRecord, FlowStatus};
use paceline_fabric::spec::{FlowSpec, NodeId};
use paceline_scenario::Resolved;

use super::super::port::element_at;
use super::super::{Measure, MeasureSet, Metrics, measure};

pub(in crate::measures) const SLOWDOWNS: MeasureSet = MeasureSet {
    name: "bolt-slowdowns",
    about: "Slowdowns by size in the star and the fat tree of Bolt's authors: time to the last acknowledgement over their ideal, \
            at least 1; of n in order, element floor(n p).",
    values: VALUES,
    series: &[measure("p99", "99th percentile of slowdown by size", "×", 3)],
    of: slowdowns,
};

pub(in crate::measures) const TIMES: MeasureSet = MeasureSet {
    name: "times",
    about: "Completion times in the order of the flows.",
    values: &[],
    series: &[measure("fct", "completion time by flow", "ns", 3)],
    of: times,
};

const MEDIAN: &str = "median of slowdown";
const TAIL: &str = "99th percentile of slowdown";

const VALUES: &[Measure] = &[
    measure("p50_1k", MEDIAN, "", 3),
    measure("p99_1k", TAIL, "", 3),
    measure("p50_10k", MEDIAN, "", 3),
    measure("p99_10k", TAIL, "", 3),
    measure("p50_62k", MEDIAN, "", 3),
    measure("p99_62k", TAIL, "", 3),
    measure("p50_300k", MEDIAN, "", 3),
    measure("p99_300k", TAIL, "", 3),
    measure("p50_2m", MEDIAN, "", 3),
    measure("p99_2m", TAIL, "", 3),
    measure("p50_20m", MEDIAN, "", 3),
    measure("p99_20m", TAIL, "", 3),
    measure("p50_all", MEDIAN, "", 3),
    measure("p99_all", TAIL, "", 3),
    measure("completed", "messages done", "", 0),
];

/// A group of sizes: above, up to, and the names of its median and 99th percentile.
type Group = (u64, u64, &'static str, &'static str);

const GROUPS: [Group; 7] = [
    (0, 1_000, "p50_1k", "p99_1k"),
    (1_000, 10_000, "p50_10k", "p99_10k"),
    (10_000, 62_420, "p50_62k", "p99_62k"),
    (62_420, 300_000, "p50_300k", "p99_300k"),
    (300_000, 2_000_000, "p50_2m", "p99_2m"),
    (2_000_000, 20_000_000, "p50_20m", "p99_20m"),
    (0, u64::MAX, "p50_all", "p99_all"),
];

/// What the authors divide by, in ns: a full packet in and out at the hosts' links (`links` of
/// them are on the way, `delay` each), one at each inner link, and the whole message once.
pub(super) fn ideal(size: u64, links: u32, delay: f64) -> f64 {
    const FULL: f64 = 5041.0 * 8.0;
    let (edge, inner) = (100.0, 400.0);
    let packets = size.div_ceil(4959);
    let between = f64::from(links - 2);
    2.0 * f64::from(links) * delay
        + 2.0 * FULL / edge
        + between * FULL / inner
        + (size + 41 * packets) as f64 * 8.0 / edge
}

/// Links between two hosts: of a star (without a rack), or of racks of eight in pairs.
fn links(star: bool, src: NodeId, dst: NodeId) -> u32 {
    let rack = |node: NodeId| node.0 / 8;
    match (rack(src), rack(dst)) {
        _ if star => 2,
        (a, b) if a == b => 2,
        (a, b) if a / 2 == b / 2 => 4,
        _ => 6,
    }
}

/// Medians and 99th percentiles by size of slowdowns.
pub(super) fn by_size(slowdowns: &[(u64, f64)]) -> Vec<(&'static str, Option<f64>)> {
    let of = |&(above, to, p50, p99): &Group| {
        let within = slowdowns.iter().filter(|&&(size, _)| above < size && size <= to);
        let mut values: Vec<f64> = within.map(|&(_, slowdown)| slowdown).collect();
        values.sort_by(f64::total_cmp);
        [(p50, element_at(&values, 0.5)), (p99, element_at(&values, 0.99))]
    };
    GROUPS.iter().flat_map(of).collect()
}

fn slowdowns(input: &Resolved, outcome: &Outcome) -> Metrics {
    let run = &input.run;
    let star = run.links.iter().all(|link| link.rate == run.links[0].rate);
    let delay = run.links[0].delay.as_ps() as f64 / 1e3;
    let flows = run.flows.iter().zip(&outcome.flows);
    let done = flows.filter(|(_, flow)| flow.status == FlowStatus::Completed);
    let slowdown = |(spec, flow): (&FlowSpec, &FlowRecord)| {
        let size = spec.size.get();
        let ideal = ideal(size, links(star, spec.src, spec.dst), delay);
        (size, f64::max(1.0, flow.fct.as_ps() as f64 / 1e3 / ideal))
    };
    let slowdowns: Vec<(u64, f64)> = done.map(slowdown).collect();
    let mut taken = Metrics::of(by_size(&slowdowns));
    taken.set("completed", slowdowns.len() as f64);
    let point = |&(_, to, _, p99): &Group| Some((to.min(20_000_000) as f64 / 1e3, *taken.values.get(p99)?));
    let points: Vec<(f64, f64)> = GROUPS[..6].iter().filter_map(point).collect();
    taken.draw("p99", points);
    taken
}

fn times(_: &Resolved, outcome: &Outcome) -> Metrics {
    let times = outcome.flows.iter().map(|flow| flow.fct.as_ps() as f64 / 1e3);
    let points = times.enumerate().map(|(flow, ns)| (flow as f64, ns));
    let mut taken = Metrics::default();
    taken.draw("fct", points);
    taken
}
