//! What is taken of a run in the manner of the simulator of TCD's authors: marks of its long flows, states of the ports of
//! the authors' topology, victims.

use paceline_congestion::detect::PortState::{Checking, Congested, Undetermined};
use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::RunSpec;
use paceline_kernel::{Bytes, Time};
use paceline_parity::tcd_ns3::{Change, Marks, TcdNs3Record};
use paceline_scenario::Resolved;

use super::{MeasureSet, Metrics, measure};

pub(super) const SET: MeasureSet = MeasureSet {
    name: "tcd",
    about: "Packets and marks of the long flows F0 to F2 since the bursts began, states of P0 to P3 in ns since then, flows of host 20 (victims); needs fidelity `tcd-ns3` and `parity.tcd-ns3.log`.",
    values: &[
        measure("f0_packets", "F0: packets", "", 0),
        measure("f0_ce", "F0: congested", "", 0),
        measure("f0_ue", "F0: undetermined", "", 0),
        measure("f0_packets_10ms", "F0: packets in the first 10 ms", "", 0),
        measure("f0_ce_10ms", "F0: congested in the first 10 ms", "", 0),
        measure("f0_ue_10ms", "F0: undetermined in the first 10 ms", "", 0),
        measure("f1_packets", "F1: packets", "", 0),
        measure("f1_ce", "F1: congested", "", 0),
        measure("f1_ue", "F1: undetermined", "", 0),
        measure("f1_packets_10ms", "F1: packets in the first 10 ms", "", 0),
        measure("f1_ce_10ms", "F1: congested in the first 10 ms", "", 0),
        measure("f1_ue_10ms", "F1: undetermined in the first 10 ms", "", 0),
        measure("f2_packets", "F2: packets", "", 0),
        measure("f2_ce", "F2: congested", "", 0),
        measure("f2_ue", "F2: undetermined", "", 0),
        measure("f2_packets_10ms", "F2: packets in the first 10 ms", "", 0),
        measure("f2_ce_10ms", "F2: congested in the first 10 ms", "", 0),
        measure("f2_ue_10ms", "F2: undetermined in the first 10 ms", "", 0),
        measure("p0_enters", "P0: first undetermined", "ns", 0),
        measure("p0_leaves", "P0: last undetermined", "ns", 0),
        measure("p0_congested", "P0: again congested", "ns", 0),
        measure("p0_clears", "P0: last congested", "ns", 0),
        measure("p0_confirmed", "P0: undetermined, then congested", "", 0),
        measure("p1_enters", "P1: first undetermined", "ns", 0),
        measure("p1_leaves", "P1: last undetermined", "ns", 0),
        measure("p1_congested", "P1: again congested", "ns", 0),
        measure("p1_clears", "P1: last congested", "ns", 0),
        measure("p1_confirmed", "P1: undetermined, then congested", "", 0),
        measure("p2_enters", "P2: first undetermined", "ns", 0),
        measure("p2_leaves", "P2: last undetermined", "ns", 0),
        measure("p2_congested", "P2: again congested", "ns", 0),
        measure("p2_clears", "P2: last congested", "ns", 0),
        measure("p2_confirmed", "P2: undetermined, then congested", "", 0),
        measure("p3_enters", "P3: first undetermined", "ns", 0),
        measure("p3_leaves", "P3: last undetermined", "ns", 0),
        measure("p3_congested", "P3: again congested", "ns", 0),
        measure("p3_clears", "P3: last congested", "ns", 0),
        measure("p3_confirmed", "P3: undetermined, then congested", "", 0),
        measure("packets", "packets", "", 0),
        measure("ce", "congested", "", 0),
        measure("ce_flows", "flows with congested packets", "", 0),
        measure("ue", "undetermined", "", 0),
        measure("ue_flows", "flows with undetermined packets", "", 0),
        measure("fct_10k", "mean FCT below 10 KB", "us", 2),
        measure("fct_100k", "mean FCT 10 to 100 KB", "us", 2),
        measure("fct_1m", "mean FCT 0.1 to 1 MB", "us", 2),
        measure("fct_more", "mean FCT from 1 MB", "us", 2),
        measure("fct_all", "mean FCT of all", "us", 2),
    ],
    series: &[],
    of: digest,
};

/// Flows of more bytes are long ones, which bursts meet.
const LONG: Bytes = Bytes::new(100_000_000);
/// Width of the bins of what arrives, in ps, and of the first part of the bursts in bins.
const BIN: u64 = 100_000_000;
const FIRST: u32 = 100;
/// Since when states are told.
const BURSTS: Time = Time::from_ns(2_020_000_000);
/// The host of victims.
const VICTIM: u32 = 20;
/// Classes of the sizes of victims: their names, and where they end.
const SIZES: [(&str, u64); 4] = [
    ("fct_10k", 10_000),
    ("fct_100k", 100_000),
    ("fct_1m", 1_000_000),
    ("fct_more", u64::MAX),
];

/// Names of the numbers of a long flow.
const FLOWS: [[&str; 6]; 3] = [
    [
        "f0_packets",
        "f0_ce",
        "f0_ue",
        "f0_packets_10ms",
        "f0_ce_10ms",
        "f0_ue_10ms",
    ],
    [
        "f1_packets",
        "f1_ce",
        "f1_ue",
        "f1_packets_10ms",
        "f1_ce_10ms",
        "f1_ue_10ms",
    ],
    [
        "f2_packets",
        "f2_ce",
        "f2_ue",
        "f2_packets_10ms",
        "f2_ce_10ms",
        "f2_ue_10ms",
    ],
];

/// Ports of the authors' topology: names of their numbers, node and peer.
const PORTS: [([&str; 5], u32, u32); 4] = [
    (
        [
            "p0_enters",
            "p0_leaves",
            "p0_congested",
            "p0_clears",
            "p0_confirmed",
        ],
        2,
        3,
    ),
    (
        [
            "p1_enters",
            "p1_leaves",
            "p1_congested",
            "p1_clears",
            "p1_confirmed",
        ],
        62,
        3,
    ),
    (
        [
            "p2_enters",
            "p2_leaves",
            "p2_congested",
            "p2_clears",
            "p2_confirmed",
        ],
        3,
        4,
    ),
    (
        [
            "p3_enters",
            "p3_leaves",
            "p3_congested",
            "p3_clears",
            "p3_confirmed",
        ],
        4,
        8,
    ),
];

/// All of it.
fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let mut numbers = Metrics::default();
    if let Some(record) = TcdNs3Record::of(outcome) {
        long_flows(&mut numbers, &input.run, record);
        ports(&mut numbers, record);
        victims(&mut numbers, &input.run, outcome, record);
    }
    numbers
}

/// Marks of the long flows since the bursts began; of all time where there are none.
fn long_flows(numbers: &mut Metrics, run: &RunSpec, record: &TcdNs3Record) {
    let short = run.flows.iter().filter(|flow| flow.size < LONG);
    // An instant of the flow file may be a nanosecond earlier in ns-3.
    let begin = short
        .map(|flow| (flow.start.as_ps() + 1000) / BIN)
        .min()
        .unwrap_or(0) as u32;
    let longs = run.flows.iter().zip(&record.flows);
    let mut longs: Vec<_> = longs.filter(|(spec, _)| spec.size >= LONG).collect();
    longs.sort_by_key(|(spec, _)| (spec.dst, spec.src));
    // F0 and F2 go to one host, F1 to another.
    let (to_first, others): (Vec<_>, Vec<_>) = longs
        .iter()
        .partition(|(spec, _)| Some(spec.dst) == longs.first().map(|(first, _)| first.dst));
    let known = [to_first.first(), others.first(), to_first.get(1)];
    for (names, flow) in FLOWS.into_iter().zip(known) {
        let Some((_, flow)) = flow else { continue };
        let sum = |from: u32, to: u32| {
            let bins = flow.bins.iter().filter(|(bin, _)| (from..to).contains(bin));
            bins.fold(Marks::default(), |sum, (_, marks)| Marks {
                packets: sum.packets + marks.packets,
                congested: sum.congested + marks.congested,
                undetermined: sum.undetermined + marks.undetermined,
            })
        };
        let (all, first) = (sum(begin, u32::MAX), sum(begin, begin + FIRST));
        let values = [
            all.packets,
            all.congested,
            all.undetermined,
            first.packets,
            first.congested,
            first.undetermined,
        ];
        numbers.extend(names.into_iter().zip(values.map(f64::from)));
    }
}

/// When ports became undetermined first, and were so last; when they were congested last; in ns since the bursts. How often
/// one that had been undetermined turned out to be congested.
fn ports(numbers: &mut Metrics, record: &TcdNs3Record) {
    for (names, node, peer) in PORTS {
        let here = record.changes.iter().filter(|change| {
            change.port.node.0 == node
                && change.port.peer.0 == peer
                && change.class == 3
                && change.at >= BURSTS
        });
        let states: Vec<_> = here
            .filter_map(|change| match change.what {
                Change::State(old, new) => {
                    Some((change.at.saturating_since(BURSTS).as_ns() as f64, old, new))
                }
                _ => None,
            })
            .collect();
        let enters = states.iter().find(|(_, _, new)| *new == Undetermined);
        let last =
            |of: &dyn Fn(&(f64, _, _)) -> bool| states.iter().rfind(|state| of(state)).map(|state| state.0);
        let confirmed = states
            .iter()
            .filter(|(_, old, new)| [Undetermined, Checking].contains(old) && *new == Congested);
        let values = [
            enters.map(|(at, ..)| *at),
            last(&|(_, old, _)| *old == Undetermined),
            last(&|(_, _, new)| *new == Congested),
            last(&|(_, old, _)| *old == Congested),
            Some(confirmed.count() as f64),
        ];
        let known = names.into_iter().zip(values);
        numbers.extend(known.filter_map(|(name, value)| Some((name, value?))));
    }
}

/// Flows of the host whose port nobody else uses: packets and marks, flows with marks, mean completion times by size in us.
fn victims(numbers: &mut Metrics, run: &RunSpec, outcome: &Outcome, record: &TcdNs3Record) {
    let all = run.flows.iter().zip(&record.flows).zip(&outcome.flows);
    let own: Vec<_> = all
        .filter(|((spec, _), _)| spec.src.0 == VICTIM && spec.size < LONG)
        .collect();
    if own.is_empty() {
        return;
    }
    let sum = |of: fn(&Marks) -> u32| {
        own.iter()
            .map(|((_, flow), _)| f64::from(of(&flow.received)))
            .sum()
    };
    let count =
        |of: fn(&Marks) -> u32| own.iter().filter(|((_, flow), _)| of(&flow.received) > 0).count() as f64;
    numbers.extend([
        ("packets", sum(|marks| marks.packets)),
        ("ce", sum(|marks| marks.congested)),
        ("ue", sum(|marks| marks.undetermined)),
        ("ce_flows", count(|marks| marks.congested)),
        ("ue_flows", count(|marks| marks.undetermined)),
    ]);
    let mean = |from: u64, to: u64| {
        let within = own.iter().filter(|((spec, _), record)| {
            (from..to).contains(&spec.size.get()) && record.status == FlowStatus::Completed
        });
        let times: Vec<f64> = within
            .map(|(_, record)| record.fct.as_ps() as f64 / 1e6)
            .collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    };
    let mut from = 0;
    for (name, to) in SIZES {
        numbers.extend(mean(from, to).map(|value| (name, value)));
        from = to;
    }
    numbers.extend(mean(0, u64::MAX).map(|value| ("fct_all", value)));
}
