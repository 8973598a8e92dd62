//! Completion times in the authors' star and fat tree.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::NodeId;
use paceline_scenario::Resolved;

use super::port::element;
use super::reference::derived;
use super::{
    BOLT, Criterion, Done, Extract, HPCC, Line, Measure, Metrics, Mode, Panel, Reproduction, RunRequest,
    SHIPPED, SWIFT10, TOLERANCES, Tolerance, Variant, need, needs, numbers, panel,
};
use Tolerance::{Exact, Near, Shown, Within};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "bolt-fct",
    data: None,
    title: "Completion times by size, in the star and the fat tree of the authors' simulator",
    source: Citation::of(
        papers::BOLT,
        "the authors' simulator (serhatarslan-hub/bolt_cc_ns3, commit 0cf98cc), run for this \
                 comparison",
    ),
    setting: "Hadoop messages at 60 % load between 16 hosts at one switch and between 32 hosts in a network of three \
              tiers, packets of 5000 bytes; and messages that are alone in these networks. Slowdown: time to the \
              last acknowledgement over the authors' ideal, at least 1; of n slowdowns in order, element floor(n p).",
    notes: &[
        "Messages alone have to take the same time to the nanosecond. The star is the \
         reference's to its digits. The fat tree is not, packet by packet: how far two right simulations may be apart was \
         estimated by moving starts.",
        "The authors' ideal counts two full packets' times for messages of any size: it is too large for small ones.",
    ],
    choices: &[SHIPPED, TOLERANCES],
    steps: &[],
    needs: run_needs,
    panels,
};

const SLOWDOWN: Measure = Measure {
    name: "slowdown",
    of: digest,
};

const ALONE: Measure = Measure {
    name: "alone",
    of: alone,
};

/// A network: scenario, its messages alone, the reference's name for it, what tables call it.
struct Network {
    scenario: &'static str,
    solo: &'static str,
    run: &'static str,
    title: &'static str,
    /// Source, destination, size, completion time in ns.
    expected: &'static str,
}

const NETWORKS: [Network; 2] = [
    Network {
        scenario: "bolt-star16-fb",
        solo: "bolt-solo-star16",
        run: "star16_fb",
        title: "star of 16 hosts",
        expected: include_str!("../../../../validation/bolt-ns3/solo-star16.tsv"),
    },
    Network {
        scenario: "bolt-fat32-fb",
        solo: "bolt-solo-fat32",
        run: "fat32_fb",
        title: "fat tree of 32 hosts",
        expected: include_str!("../../../../validation/bolt-ns3/solo-fat32.tsv"),
    },
];

/// A group of sizes: above, up to, the reference's name, what tables call it; then the names of its
/// median and 99th percentile here.
type Group = (u64, u64, &'static str, &'static str, &'static str, &'static str);

const GROUPS: [Group; 7] = [
    (0, 1_000, "0-1000", "up to 1 KB", "p50_1k", "p99_1k"),
    (1_000, 10_000, "1000-10000", "1 to 10 KB", "p50_10k", "p99_10k"),
    (10_000, 62_420, "10000-62420", "10 to 62 KB", "p50_62k", "p99_62k"),
    (
        62_420,
        300_000,
        "62420-300000",
        "62 to 300 KB",
        "p50_300k",
        "p99_300k",
    ),
    (
        300_000,
        2_000_000,
        "300000-2000000",
        "0.3 to 2 MB",
        "p50_2m",
        "p99_2m",
    ),
    (
        2_000_000,
        20_000_000,
        "2000000-20000000",
        "above 2 MB",
        "p50_20m",
        "p99_20m",
    ),
    (0, u64::MAX, "all", "all", "p50_all", "p99_all"),
];

fn run_needs() -> Vec<RunRequest> {
    NETWORKS
        .iter()
        .flat_map(|network| {
            let solo = need(network.solo, BOLT, Mode::Code, ALONE);
            let runs = needs(network.scenario, &[BOLT, SWIFT10, HPCC], SLOWDOWN);
            std::iter::once(solo).chain(runs)
        })
        .collect()
}

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
    GROUPS
        .iter()
        .flat_map(|&(above, to, _, _, p50, p99)| {
            let within = slowdowns.iter().filter(|&&(size, _)| above < size && size <= to);
            let mut values: Vec<f64> = within.map(|&(_, slowdown)| slowdown).collect();
            values.sort_by(f64::total_cmp);
            [(p50, element(&values, 0.5)), (p99, element(&values, 0.99))]
        })
        .collect()
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let star = input
        .run
        .links
        .iter()
        .all(|link| link.rate == input.run.links[0].rate);
    let delay = input.run.links[0].delay.as_ps() as f64 / 1e3;
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let done = flows.filter(|(_, flow)| flow.status == FlowStatus::Completed);
    let slowdown = |(spec, flow): (
        &paceline_fabric::spec::FlowSpec,
        &paceline_fabric::outcome::FlowRecord,
    )| {
        let size = spec.size.get();
        let ideal = ideal(size, links(star, spec.src, spec.dst), delay);
        (size, f64::max(1.0, flow.fct.as_ps() as f64 / 1e3 / ideal))
    };
    let slowdowns: Vec<(u64, f64)> = done.map(slowdown).collect();
    let mut taken = numbers(by_size(&slowdowns));
    taken.values.insert("completed", slowdowns.len() as f64);
    let point = |group: &Group| Some((group.1.min(20_000_000) as f64 / 1e3, *taken.values.get(group.5)?));
    let points = GROUPS[..6].iter().filter_map(point).collect();
    taken.series.insert("p99", points);
    taken
}

/// Completion times in the order of the messages, in ns.
fn alone(_: &Resolved, outcome: &Outcome) -> Metrics {
    let times = outcome.flows.iter().map(|flow| flow.fct.as_ps() as f64 / 1e3);
    let points = times.enumerate().map(|(flow, ns)| (flow as f64, ns)).collect();
    let mut taken = Metrics::default();
    taken.series.insert("fct", points);
    taken
}

fn panels(done: &Done) -> Vec<Panel> {
    let solo = NETWORKS.iter().map(|network| {
        let expected: Vec<f64> = network
            .expected
            .lines()
            .skip(1)
            .filter_map(|line| line.split('\t').nth(3)?.parse().ok())
            .collect();
        let taken = done.numbers(&need(network.solo, BOLT, Mode::Code, ALONE));
        let ours = taken.and_then(|taken| taken.series.get("fct")).map(|fcts| {
            let same = expected
                .iter()
                .zip(fcts)
                .filter(|(expected, (_, ours))| *expected == ours);
            same.count() as f64
        });
        let label = format!("{}: messages alone, the same to the nanosecond", network.title);
        Line::new(label, "messages of the same completion time", "", 0)
            .ours([None, None, ours])
            .reference(Some(expected.len() as f64), Exact)
    });
    let mut panels = vec![panel("Messages alone", &solo.collect::<Vec<Line>>())];
    for network in &NETWORKS {
        let taken = Extract {
            done,
            scenario: network.scenario,
            digest: SLOWDOWN,
        };
        for variant in [BOLT, SWIFT10, HPCC] {
            panels.push(of_network(&taken, network, variant));
        }
        panels.push(chart(&taken, network));
    }
    panels
}

fn of_network(taken: &Extract<'_>, network: &Network, variant: Variant) -> Panel {
    let run = format!("{}_{}", network.run, variant.name);
    let (p50, p99) = match variant.scheme {
        "hpcc" => (Shown, Shown),
        _ if network.run == "star16_fb" => (Near(5e-4), Near(5e-4)),
        _ => (Within(0.03), Within(0.15)),
    };
    let line = |group: &Group, name: &str, metric: &'static str, percentile: &str, tolerance| {
        let label = format!("{}: {metric}", group.3);
        let reference = derived(&run, &format!("slowdown[{}]_{percentile}", group.2));
        let mut line = Line::new(label, metric, "", 3)
            .ours(taken.all(variant, name))
            .reference(reference, tolerance);
        if let Near(_) = tolerance {
            line.reference.1 = Criterion::simulator(tolerance, "the reference has six digits");
        }
        line
    };
    let lines: Vec<Line> = GROUPS
        .iter()
        .flat_map(|group| {
            [
                line(group, group.4, "median of slowdown", "p50", p50),
                line(group, group.5, "99th percentile of slowdown", "p99", p99),
            ]
        })
        .collect();
    panel(&format!("{}, {}", network.title, variant.title), &lines)
}

fn chart(taken: &Extract<'_>, network: &Network) -> Panel {
    let axes = [
        ("largest size of the group", "KB"),
        ("99th percentile of slowdown", "×"),
    ];
    let title = format!("Slowdown by size, {}, exact fidelity", network.title);
    taken.chart(title, "p99", axes, &[BOLT, SWIFT10, HPCC], None)
}
