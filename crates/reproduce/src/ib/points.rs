//! Figures 3.3, 3.4, 3.12 and 3.13 on InfiniBand: one point of congestion under credits, and several.

use crate::citation::Citation;
use paceline_congestion::papers;
use std::collections::BTreeMap;

use paceline_congestion::Mark;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_scenario::Resolved;

use super::{
    Criterion, Measure, Metrics, NO_VICTIM, Panel, Quantity, Reproduction, SOME_VICTIM, Source, Tolerance,
};
use crate::choice::Choice;
use crate::grid::{Claim, Grid, case};
use crate::need::Done;
use crate::panel::{Curve, Drawing};

pub(super) const SINGLE: Reproduction = Reproduction {
    id: "ib-tcd-single-point",
    data: None,
    title: "TCD over credits: one point of congestion, and victims behind it",
    source: Citation::of(
        papers::TCD_THESIS,
        "figures 3.3b, 3.4b and 3.12: only P3 is a root; P2, P1 and P0 are undetermined, then free",
    ),
    setting: "Scenario `tcd-credits`: bursts fill P3 from 2 to 6 ms; two victims and the culprit bring 24 Gbit/s to P2 and 20 to P0, \
              which carry 32. IBCC slows down those that are marked. Under `tcd` ports leave the undetermined state 5 periods of \
              4.096 us after they last waited for credit; `formula` is 4.77 us. Everything is counted from the beginning.",
    notes: &[
        "The figures are lost; judged is what the thesis says of them. The rates of senders are ours, so that the truth is known: no port \
         but P3 can be congested by what it is sent.",
        "The formula is shorter than the 7.7 and 19 us for which victims' ports sent in one go in runs of RRCC's author's model. It does no \
         harm in this scenario, where half a period does; in `ib-tcd-victims` it does.",
    ],
    choices: &[Choice {
        what: "The culprit's link has 16 Gbit/s and the curve marks from two packets on.",
        tried: "a culprit's link of 32 Gbit/s, by which P0 is congested before and after the bursts; the default curve from 128 KB on, \
                which no queue here reaches",
        changed: "With the first, victims were marked 110 times, rightly, outside the bursts; with the second never, by any detector.",
    }],
    steps: &[],
    needs: || GRID.needs(),
    panels: |done| with_marks(&GRID, done, TCD),
};

pub(super) const MULTI: Reproduction = Reproduction {
    id: "ib-tcd-multi-point",
    data: None,
    title: "TCD over credits: several points of congestion",
    source: Citation::of(
        papers::TCD_THESIS,
        "figures 3.3d, 3.4d and 3.13: P2 is undetermined while P3 is a root, then a root itself",
    ),
    setting: "Scenario `tcd-credits` without control, each victim with 14 Gbit/s: with the culprit 44 for P2, which carries 32, so that P2 is a \
              root but while P3 holds it back. Delay: from the last packet of the bursts that P3 sent to the first that P2 marks \
              congested.",
    notes: &[
        "The figures are lost; judged is that P2 is undetermined during the bursts, and is found to be a root after them, the later the \
         longer ports stay undetermined.",
    ],
    choices: &[],
    steps: &[],
    needs: || SEVERAL.needs(),
    panels: |done| with_marks(&SEVERAL, done, 3),
};

const DIGEST: Measure = Measure {
    name: "ib points",
    of: digest,
};

/// The case of 5 periods in [`GRID`].
const TCD: usize = 6;
/// And others.
const RED: usize = 0;
const FECN: usize = 1;
const HALF: usize = 2;
const FORMULA: usize = 9;

const GRID: Grid = Grid {
    scenario: "tcd-credits",
    key: "one",
    digest: DIGEST,
    settings: &["record.trace=[0,1,2,3]"],
    cases: &[
        case("queue alone", "red", "ibcc-tcd", &["network.detection.kind=red"]),
        case("IBCC's FECN", "fecn", "ibcc", &["network.detection.kind=red"]),
        case("0.5 Tc", "half", "ibcc-tcd", &["network.detection.periods=0.5"]),
        case("1 Tc", "one", "ibcc-tcd", &["network.detection.periods=1"]),
        case("1.16 Tc", "more", "ibcc-tcd", &["network.detection.periods=1.16"]),
        case("2 Tc", "two", "ibcc-tcd", &["network.detection.periods=2"]),
        case("5 Tc", "five", "ibcc-tcd", &[]),
        case("10 Tc", "ten", "ibcc-tcd", &["network.detection.periods=10"]),
        case("np-ecn", "np", "ibcc-tcd", &["network.detection.kind=np-ecn"]),
        case(
            "formula",
            "formula",
            "ibcc-tcd",
            &["network.detection.exit=formula"],
        ),
    ],
    seeds: 1,
    rows: &ROWS,
    claims: &[
        Claim {
            what: "5 Tc: victims' packets marked congested",
            of: |value| value(TCD, "victims_ce"),
            criterion: NO_VICTIM,
        },
        Claim {
            what: "formula: victims' packets marked congested",
            of: |value| value(FORMULA, "victims_ce"),
            criterion: NO_VICTIM,
        },
        Claim {
            what: "5 Tc: packets that P0, P1 and P2 marked congested",
            of: |value| value(TCD, "others_ce"),
            criterion: Criterion::property(Tolerance::AtMost(0.0), Source::Paper, "only P3 is a root"),
        },
        Claim {
            what: "5 Tc: packets that P2 marked undetermined",
            of: |value| value(TCD, "p2_ue"),
            criterion: Criterion::property(
                Tolerance::AtLeast(1.0),
                Source::Paper,
                "P2 is stopped and started",
            ),
        },
        Claim {
            what: "5 Tc: packets that P3 marked congested",
            of: |value| value(TCD, "p3_ce"),
            criterion: Criterion::property(Tolerance::AtLeast(1.0), Source::Paper, "P3 is a root"),
        },
        Claim {
            what: "queue alone: victims' packets marked congested",
            of: |value| value(RED, "victims_ce"),
            criterion: SOME_VICTIM,
        },
        Claim {
            what: "IBCC's FECN: victims' packets marked congested",
            of: |value| value(FECN, "victims_ce"),
            criterion: SOME_VICTIM,
        },
        Claim {
            what: "0.5 Tc: victims' packets marked congested",
            of: |value| value(HALF, "victims_ce"),
            criterion: Criterion::property(
                Tolerance::AtLeast(1.0),
                Source::Us,
                "ports that wait once in a period must be undetermined for more than half of it",
            ),
        },
    ],
};

const SEVERAL: Grid = Grid {
    scenario: "tcd-credits",
    key: "several",
    digest: DIGEST,
    settings: &["record.trace=[0,1,2,3]", "cc.fixed.rate=14Gbps"],
    cases: &[
        case("1 Tc", "one", "none", &["network.detection.periods=1"]),
        case("1.16 Tc", "more", "none", &["network.detection.periods=1.16"]),
        case("2 Tc", "two", "none", &["network.detection.periods=2"]),
        case("5 Tc", "five", "none", &[]),
        case("10 Tc", "ten", "none", &["network.detection.periods=10"]),
        case("formula", "formula", "none", &["network.detection.exit=formula"]),
    ],
    seeds: 1,
    rows: &[
        ("p2_ue", "packets that P2 marked undetermined", "", 0),
        ("p2_ce", "packets that P2 marked congested", "", 0),
        ("p3_ce", "packets that P3 marked congested", "", 0),
        (
            "delay",
            "from the bursts' last packet to P2's first congested mark",
            "µs",
            1,
        ),
    ],
    claims: &[
        Claim {
            what: "5 Tc: packets that P2 marked undetermined",
            of: |value| value(3, "p2_ue"),
            criterion: Criterion::property(
                Tolerance::AtLeast(1.0),
                Source::Paper,
                "P2 is stopped and started",
            ),
        },
        Claim {
            what: "5 Tc: packets that P2 marked congested",
            of: |value| value(3, "p2_ce"),
            criterion: Criterion::property(Tolerance::AtLeast(1.0), Source::Paper, "P2 turns into a root"),
        },
        Claim {
            what: "delay, 5 Tc over 1 Tc",
            of: |value| Some(value(3, "delay")? / value(0, "delay")?),
            criterion: LATER,
        },
        Claim {
            what: "delay, 10 Tc over 5 Tc",
            of: |value| Some(value(4, "delay")? / value(3, "delay")?),
            criterion: LATER,
        },
    ],
};

const LATER: Criterion =
    Criterion::property(Tolerance::AtLeast(1.0), Source::Paper, "a longer max(Ton) delays");

const ROWS: [Quantity; 8] = [
    ("victims_ce", "victims' packets marked congested", "", 0),
    ("victims_ue", "victims' packets marked undetermined", "", 0),
    ("p0_ue", "packets that P0 marked undetermined", "", 0),
    ("p2_ue", "packets that P2 marked undetermined", "", 0),
    ("others_ce", "packets that P0, P1 and P2 marked congested", "", 0),
    ("p3_ce", "packets that P3 marked congested", "", 0),
    ("p3_ue", "packets that P3 marked undetermined", "", 0),
    ("culprit_ce", "the culprit's packets marked congested", "", 0),
];

/// A grid's tables, and marks over time in one of its cases.
fn with_marks(grid: &Grid, done: &Done, of: usize) -> Vec<Panel> {
    let numbers = done.numbers(&grid.need(of, 1));
    let names = [
        ("P2 undetermined", "dcqcn"),
        ("P2 congested", "hpcc"),
        ("P3 congested", "timely"),
    ];
    let curve = |(name, scheme): (&'static str, &'static str)| Curve {
        name: name.into(),
        scheme,
        published: false,
        points: numbers
            .and_then(|numbers| numbers.series.get(name))
            .cloned()
            .unwrap_or_default(),
    };
    let drawing = Drawing {
        x: ("time", "ms"),
        y: ("packets marked in 0.1 ms", ""),
        curves: names.map(curve).into(),
        stepped: true,
    };
    let mut panels = grid.panels(done, "");
    panels.push(Panel::drawn("Marks by kind over time, 5 Tc", drawing));
    panels
}

/// Ports, by switch and interface.
const PORTS: [(u32, u32); 4] = [(0, 1), (1, 1), (2, 3), (3, 3)];

/// A mark that a port put.
struct Put {
    at: u64,
    port: usize,
    mark: Mark,
    flow: u32,
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let label = |flow: u32| input.run.labels[usize::from(input.run.flows[flow as usize].label)].as_str();
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
    let mut numbers = super::numbers([
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
        ("P2 undetermined", 2, ue),
        ("P2 congested", 2, ce),
        ("P3 congested", 3, ce),
    ];
    for (name, port, mark) in lines {
        let mut bins = vec![0.0; (outcome.end.as_ps() / BIN + 1) as usize];
        let own = marks.iter().filter(|put| put.port == port && put.mark == mark);
        own.for_each(|put| bins[(put.at / BIN) as usize] += 1.0);
        let points = bins.into_iter().enumerate();
        let points = points.map(|(bin, count)| (bin as f64 * BIN as f64 / 1e9, count));
        numbers.series.insert(name, points.collect());
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
