//! Which of four ports in a row mark packets, and how.

use std::collections::BTreeMap;

use paceline_congestion::Mark;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_scenario::Resolved;

use super::super::{MeasureSet, Metrics, label, measure};

pub(in crate::measures) const POINTS: MeasureSet = MeasureSet {
    name: "ib-points",
    about: "Marks that ports P0 to P3 of `tcd-credits` put, with nodes 0 to 3 in `record.trace`.",
    values: &[
        measure("victims_ce", "victims' packets marked congested", "", 0),
        measure("victims_ue", "victims' packets marked undetermined", "", 0),
        measure("culprit_ce", "the culprit's packets marked congested", "", 0),
        measure("p0_ue", "packets that P0 marked undetermined", "", 0),
        measure("p2_ue", "packets that P2 marked undetermined", "", 0),
        measure("p2_ce", "packets that P2 marked congested", "", 0),
        measure("others_ce", "packets that P0, P1 and P2 marked congested", "", 0),
        measure("p3_ce", "packets that P3 marked congested", "", 0),
        measure("p3_ue", "packets that P3 marked undetermined", "", 0),
        measure(
            "delay",
            "from the bursts' last packet to P2's first congested mark",
            "µs",
            1,
        ),
    ],
    series: &[
        measure("p2_undetermined", "packets marked in 0.1 ms", "", 0),
        measure("p2_congested", "packets marked in 0.1 ms", "", 0),
        measure("p3_congested", "packets marked in 0.1 ms", "", 0),
    ],
    of,
};

/// Ports, by switch and interface.
const PORTS: [(u32, u32); 4] = [(0, 1), (1, 1), (2, 3), (3, 3)];

/// A mark that a port put.
struct Put {
    at: u64,
    port: usize,
    mark: Mark,
    flow: u32,
}

fn of(input: &Resolved, outcome: &Outcome) -> Metrics {
    let label = |flow: u32| label(&input.run, flow);
    let marks = marks(&outcome.trace);
    let count = |is: &dyn Fn(&Put) -> bool| marks.iter().filter(|put| is(put)).count() as f64;
    let by = |port: usize, mark: Mark| count(&|put| put.port == port && put.mark == mark);
    let of = |name: &str, mark: Mark| count(&|put| label(put.flow).starts_with(name) && put.mark == mark);
    let (ce, ue) = (Mark::Congested, Mark::Undetermined);
    let last = (outcome.trace.iter())
        .filter(|event| is_sent(event) && port_of(event) == Some(3) && label(event.flow) == "bursts")
        .map(|event| event.at.as_ps())
        .max();
    let root = last.and_then(|last| {
        let first = marks
            .iter()
            .find(|put| put.port == 2 && put.mark == ce && put.at > last);
        first.map(|put| (put.at - last) as f64 / 1e6)
    });
    let mut numbers = Metrics::finite([
        ("victims_ce", Some(of("victim", ce))),
        ("victims_ue", Some(of("victim", ue))),
        ("culprit_ce", Some(of("culprit", ce))),
        ("p0_ue", Some(by(0, ue))),
        ("p2_ue", Some(by(2, ue))),
        ("p2_ce", Some(by(2, ce))),
        ("others_ce", Some(by(0, ce) + by(1, ce) + by(2, ce))),
        ("p3_ce", Some(by(3, ce))),
        ("p3_ue", Some(by(3, ue))),
        ("delay", root),
    ]);
    let lines = [
        ("p2_undetermined", 2, ue),
        ("p2_congested", 2, ce),
        ("p3_congested", 3, ce),
    ];
    for (name, port, mark) in lines {
        let mut bins = vec![0.0; (outcome.end.as_ps() / BIN + 1) as usize];
        let own = marks.iter().filter(|put| put.port == port && put.mark == mark);
        own.for_each(|put| bins[(put.at / BIN) as usize] += 1.0);
        let points = bins.into_iter().enumerate();
        let points = points.map(|(bin, count)| (bin as f64 * BIN as f64 / 1e9, count));
        numbers.draw(name, points);
    }
    numbers
}

/// Picoseconds of a bin of the chart.
const BIN: u64 = 100_000_000;

fn port_of(event: &TraceEvent) -> Option<usize> {
    PORTS
        .iter()
        .position(|&port| port == (event.node.0, event.interface))
}

fn is_sent(event: &TraceEvent) -> bool {
    event.event == TraceKind::Dequeue && event.kind == PacketKind::Data
}

/// The marks that ports put on data packets: what left with another mark than it came with.
fn marks(trace: &[TraceEvent]) -> Vec<Put> {
    let mut came = BTreeMap::new();
    let mut marks = Vec::new();
    for event in trace.iter().filter(|event| event.kind == PacketKind::Data) {
        let Some(port) = port_of(event) else { continue };
        let packet = (port, event.flow, event.seq);
        match event.event {
            TraceKind::Enqueue => {
                came.insert(packet, event.mark);
            }
            TraceKind::Dequeue => {
                let before = came.remove(&packet);
                if before.is_some_and(|before| before != event.mark) {
                    marks.push(Put {
                        at: event.at.as_ps(),
                        port,
                        mark: event.mark,
                        flow: event.flow,
                    });
                }
            }
            TraceKind::Receive | TraceKind::Drop => {}
        }
    }
    marks
}
