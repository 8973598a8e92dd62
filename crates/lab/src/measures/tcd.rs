//! What ternary detection marks, finds late and leaves alone, at single ports.

use std::collections::BTreeMap;

use paceline_congestion::Mark;
use paceline_congestion::detect::PortState;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, PfcEvent, StateRecord, TraceEvent, TraceKind};
use paceline_kernel::Time;
use paceline_scenario::Resolved;

use super::{MeasureSet, Metrics, label, measure};
use crate::stats::jain;

pub(super) const EPSILON: MeasureSet = MeasureSet {
    name: "epsilon",
    about: "Marks of flows labelled `victim..` that arrive at host 7, and how late P2 (from switch 2, by its third link) marks after its last pause; needs `record.trace`, and for the delay `record.trace-ports`.",
    values: &[
        measure("ce", "victims' packets marked congested", "", 0),
        measure("ue", "victims' packets marked undetermined", "", 0),
        measure("packets", "victims' packets", "", 0),
        measure(
            "delay",
            "from P2's last pause to its first congested mark",
            "µs",
            1,
        ),
        measure("pauses", "pauses of P2", "", 0),
    ],
    series: &[],
    of: epsilon,
};

pub(super) const TESTBED: MeasureSet = MeasureSet {
    name: "testbed",
    about: "Packets of flow 0 that leave P0 (from switch 0, by its first link) from its first pause to its last, and their marks; needs `record.trace-ports`.",
    values: &[
        measure("missed", "victim's packets not marked undetermined", "", 1),
        measure("wrong", "victim's packets marked congested", "", 1),
        measure("packets", "victim's packets", "", 0),
        measure(
            "longest",
            "longest time between frames for which P0 may send",
            "µs",
            1,
        ),
        measure("pauses", "pauses of P0", "", 0),
    ],
    series: &[],
    of: testbed,
};

pub(super) const FAIRNESS: MeasureSet = MeasureSet {
    name: "fairness",
    about: "Goodput of the flows labelled `culprit` and `b0` to `b3`, and the rate of the sender of `b1`, in three phases by the pauses of P2 (from switch 2, by its third link); needs `record.flows`.",
    values: &[
        measure("first", "first pause of P2", "ms", 3),
        measure("last", "last pause of P2", "ms", 3),
        measure("f1_held", "F1 while P2 is paused", "Gbit/s", 3),
        measure("b0_held", "B0 while P2 is paused", "Gbit/s", 3),
        measure("b1_held", "B1 while P2 is paused", "Gbit/s", 3),
        measure("b2_held", "B2 while P2 is paused", "Gbit/s", 3),
        measure("b3_held", "B3 while P2 is paused", "Gbit/s", 3),
        measure("jain_held", "Jain's index of B0 to B3 while P2 is paused", "", 4),
        measure("f1_root", "F1 in the 10 ms after", "Gbit/s", 3),
        measure("b0_root", "B0 in the 10 ms after", "Gbit/s", 3),
        measure("b1_root", "B1 in the 10 ms after", "Gbit/s", 3),
        measure("b2_root", "B2 in the 10 ms after", "Gbit/s", 3),
        measure("b3_root", "B3 in the 10 ms after", "Gbit/s", 3),
        measure("jain_root", "Jain's index of B0 to B3 in the 10 ms after", "", 4),
        measure("f1_end", "F1 in the last 20 ms", "Gbit/s", 3),
        measure("b0_end", "B0 in the last 20 ms", "Gbit/s", 3),
        measure("b1_end", "B1 in the last 20 ms", "Gbit/s", 3),
        measure("b2_end", "B2 in the last 20 ms", "Gbit/s", 3),
        measure("b3_end", "B3 in the last 20 ms", "Gbit/s", 3),
        measure("jain_end", "Jain's index of B0 to B3 in the last 20 ms", "", 4),
        measure(
            "rate_first",
            "rate of B1's sender 1 ms after P2's first pause",
            "Gbit/s",
            3,
        ),
        measure("rate_last", "rate of B1's sender at P2's last pause", "Gbit/s", 3),
        measure("ue", "packets marked undetermined", "", 0),
    ],
    series: &[],
    of: fairness,
};

pub(super) const RING: MeasureSet = MeasureSet {
    name: "ring",
    about: "The proof of a deadlock, and how the ports between the first four switches end.",
    values: &[
        measure("circle", "ports of the circle", "", 0),
        measure("since", "nothing has moved since", "µs", 3),
        measure("found", "proved at", "ms", 3),
        measure("endless", "pauses without end", "", 0),
        measure("stuck", "flows stuck", "", 0),
        measure("marked", "packets marked", "", 0),
        measure(
            "undetermined",
            "ports between switches that end undetermined",
            "",
            0,
        ),
        measure("congested", "ports between switches that end congested", "", 0),
        measure("free", "ports between switches that end not congested", "", 0),
    ],
    series: &[],
    of: ring,
};

/// P2: from switch 2, by its third link.
const P2: (u32, u32) = (2, 3);

fn epsilon(input: &Resolved, outcome: &Outcome) -> Metrics {
    let is_victim = |flow: u32| label(&input.run, flow).starts_with("victim");
    let of_victims = |event: &&TraceEvent| event.kind == PacketKind::Data && is_victim(event.flow);
    let came = outcome.trace.iter().filter(of_victims);
    let came: Vec<Mark> = came
        .filter(|event| event.event == TraceKind::Receive && event.node.0 == 7)
        .map(|event| event.mark)
        .collect();
    let marked = |mark| came.iter().filter(|&&one| one == mark).count() as f64;
    let frames = outcome.pfc.iter();
    let of_p2 = frames.filter(|frame| (frame.node.0, frame.interface) == P2);
    let (pauses, ends): (Vec<&PfcEvent>, Vec<&PfcEvent>) = of_p2.partition(|frame| frame.pause);
    let last = ends.last().map(|end| end.at);
    let first = last.and_then(|last| first_mark(&outcome.trace, last));
    let values = [
        ("ce", Some(marked(Mark::Congested))),
        ("ue", Some(marked(Mark::Undetermined))),
        ("packets", Some(came.len() as f64)),
        ("pauses", Some(pauses.len() as f64)),
        (
            "delay",
            last.zip(first)
                .map(|(last, first)| (first - last).as_ps() as f64 / 1e6),
        ),
    ];
    Metrics::of(values)
}

/// When P2 first marked a packet congested that had come without, after `last`.
fn first_mark(trace: &[TraceEvent], last: Time) -> Option<Time> {
    let at_p2 = |event: &&TraceEvent| (event.node.0, event.interface) == P2 && event.kind == PacketKind::Data;
    let mut came = BTreeMap::new();
    for event in trace.iter().filter(at_p2) {
        let packet = (event.flow, event.seq);
        match event.event {
            TraceKind::Enqueue => {
                came.insert(packet, event.mark);
            }
            TraceKind::Dequeue => {
                let before = came.remove(&packet);
                let is_new = before != Some(Mark::Congested) && event.mark == Mark::Congested;
                if is_new && event.at >= last {
                    return Some(event.at);
                }
            }
            TraceKind::Receive | TraceKind::Drop => {}
        }
    }
    None
}

/// P0: from switch 0, by its first link.
const P0: (u32, u32) = (0, 1);

fn testbed(_: &Resolved, outcome: &Outcome) -> Metrics {
    let frames: Vec<(u64, bool)> = outcome
        .pfc
        .iter()
        .filter(|frame| (frame.node.0, frame.interface) == P0)
        .map(|frame| (frame.at.as_ps(), frame.pause))
        .collect();
    let pauses: Vec<u64> = frames
        .iter()
        .filter(|frame| frame.1)
        .map(|frame| frame.0)
        .collect();
    let mut numbers = Metrics::of([("pauses", Some(pauses.len() as f64))]);
    let ends = frames.iter().filter(|frame| !frame.1).map(|frame| frame.0);
    // From the first end of a pause: before, P0 sent on as it heeded the first.
    let (Some(first), Some(&last)) = (ends.clone().min(), pauses.last()) else {
        return numbers;
    };
    let next = |end: u64| pauses.iter().copied().find(|&pause| pause > end);
    let longest = ends.filter_map(|end| Some(next(end)? - end)).max();
    let left = outcome.trace.iter().filter(|event| {
        (event.node.0, event.interface) == P0
            && (event.event, event.kind) == (TraceKind::Dequeue, PacketKind::Data)
            && (event.flow, event.at.as_ps().clamp(first + AFTER, last)) == (0, event.at.as_ps())
    });
    let marks: Vec<Mark> = left.map(|event| event.mark).collect();
    let count = |is: &dyn Fn(Mark) -> bool| marks.iter().filter(|&&mark| is(mark)).count() as f64;
    numbers.extend([
        ("missed", count(&|mark| mark != Mark::Undetermined)),
        ("wrong", count(&|mark| mark == Mark::Congested)),
        ("packets", marks.len() as f64),
        ("longest", longest.unwrap_or_default() as f64 / 1e6),
    ]);
    numbers
}

/// The end of a pause is heeded by then, in ps.
const AFTER: u64 = 41_000_000;

/// Goodput of F1 and B0 to B3 in each phase.
const GOODPUTS: [[&str; 5]; 3] = [
    ["f1_held", "b0_held", "b1_held", "b2_held", "b3_held"],
    ["f1_root", "b0_root", "b1_root", "b2_root", "b3_root"],
    ["f1_end", "b0_end", "b1_end", "b2_end", "b3_end"],
];
const JAINS: [&str; 3] = ["jain_held", "jain_root", "jain_end"];
const LABELS: [&str; 5] = ["culprit", "b0", "b1", "b2", "b3"];

/// The bursts begin.
const BEGIN: Time = Time::from_ns(20_000_000);
const MS: u64 = 1_000_000_000;

fn fairness(input: &Resolved, outcome: &Outcome) -> Metrics {
    let frames = outcome.pfc.iter();
    let of_p2 = frames.filter(|frame| (frame.node.0, frame.interface) == (2, 3) && frame.at >= BEGIN);
    let times: Vec<u64> = of_p2.map(|frame| frame.at.as_ps()).collect();
    let mut numbers = Metrics::default();
    numbers.set("ue", outcome.counters.undetermined as f64);
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
        return numbers;
    };
    let end = outcome.end.as_ps();
    let phases = [(first, last), (last, last + 10 * MS), (end - 20 * MS, end)];
    let flows = LABELS.map(|label| {
        let is = |number: u16| input.run.labels[usize::from(number)] == label;
        input.run.flows.iter().position(|flow| is(flow.label))
    });
    for (phase, (from, to)) in phases.into_iter().enumerate() {
        let goodputs = flows.map(|flow| flow.map_or(0.0, |flow| goodput(outcome, flow, from, to)));
        numbers.extend(GOODPUTS[phase].into_iter().zip(goodputs));
        if let Some(jain) = jain(&goodputs[1..]) {
            numbers.set(JAINS[phase], jain);
        }
    }
    for (name, at) in [("rate_first", first + MS), ("rate_last", last)] {
        if let Some(rate) = flows[2].and_then(|flow| rate(outcome, flow, at)) {
            numbers.set(name, rate);
        }
    }
    numbers.extend([("first", first as f64 / 1e9), ("last", last as f64 / 1e9)]);
    numbers
}

/// What was acknowledged of a flow in the bins that lie within, in Gbit/s.
fn goodput(outcome: &Outcome, flow: usize, from: u64, to: u64) -> f64 {
    let width = outcome.rate_bin.as_ps();
    let (first, end) = (from.div_ceil(width), to / width);
    let Some(record) = outcome.rates.iter().find(|record| record.flow as usize == flow) else {
        return 0.0;
    };
    let bins = (record.first_bin..).zip(&record.bytes);
    let within = bins.filter(|(bin, _)| (first..end).contains(bin));
    let bytes: u64 = within.map(|(_, bytes)| bytes).sum();
    bytes as f64 * 8e3 / ((end - first).max(1) * width) as f64
}

/// What a sender's scheme allowed then, in Gbit/s.
fn rate(outcome: &Outcome, flow: usize, at: u64) -> Option<f64> {
    let series = outcome
        .flow_series
        .iter()
        .find(|series| series.flow as usize == flow)?;
    let before = series.rate.bins().take_while(|bin| bin.at.as_ps() <= at);
    Some(before.last()?.last as f64 / 1e9)
}

fn ring(_: &Resolved, outcome: &Outcome) -> Metrics {
    let counters = &outcome.counters;
    let ends_as = |state: PortState| {
        let is_so = |record: &&StateRecord| {
            // A series has no bins before its first change.
            let last = record.series.bins().last().map_or(0, |bin| bin.last);
            record.port.peer.0 < 4 && last == state as u64
        };
        outcome.states.iter().filter(is_so).count() as f64
    };
    let mut numbers = Metrics::default();
    numbers.extend([
        ("marked", (counters.marked + counters.undetermined) as f64),
        ("undetermined", ends_as(PortState::Undetermined)),
        ("congested", ends_as(PortState::Congested)),
        ("free", ends_as(PortState::NotCongested)),
    ]);
    let Some(proof) = &outcome.deadlock else {
        return numbers;
    };
    let circle = proof.cycles.first().map_or(&[][..], Vec::as_slice);
    numbers.extend([
        ("circle", circle.len() as f64),
        ("since", proof.since(circle).as_ps() as f64 / 1e6),
        ("found", proof.found.as_ps() as f64 / 1e9),
        ("endless", proof.pauses.len() as f64),
        ("stuck", proof.flows.len() as f64),
    ]);
    numbers
}
