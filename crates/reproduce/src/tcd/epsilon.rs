//! Section 3.5.1, sensitivity: what ε does to wrong marks and to right ones.

use crate::citation::Citation;
use paceline_congestion::papers;
use std::collections::BTreeMap;

use paceline_congestion::Mark;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, PfcEvent, TraceEvent, TraceKind};
use paceline_kernel::Time;
use paceline_scenario::Resolved;

use crate::Reproduction;
use crate::criterion::{Criterion, Source, Tolerance};
use crate::grid::{Case, Claim, Grid, Quantity, Value, case};
use crate::need::{Measure, Metrics};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "tcd-epsilon",
    data: None,
    title: "Epsilon of TCD: victims taken for culprits, and culprits found late",
    source: Citation::of(
        papers::TCD_THESIS,
        "section 3.5.1, on the sensitivity to epsilon, and equation 3.3",
    ),
    setting: "Scenario `tcd-single-point` with max(Ton) by epsilon. Victims: two flows of 5 Gbit/s that share a link with one that is \
              congested further on; nothing that they pass is. Culprits: the same flows at 25 Gbit/s, more together than that link \
              (P2) carries, behind bursts every 150 us for 3 ms, all without control; delay from the end of P2's last \
              pause to the first packet that P2 marks congested. Means over three seeds. Some seconds of processor time.",
    notes: &[
        "The thesis says that too small a max(Ton) takes undetermined ports for congested or free ones, and that too large a one \
         delays congested ones; the figure and its numbers are lost. Judged are both directions, step by step, that \
         victims are spared at the thesis's 0.05, and that they are not at 0.2.",
        "The delay is some two max(Ton), not one: as P2 leaves ON-OFF mode its queue is shorter than at the end of the pause, so that it is \
         checked for another period.",
        "A large epsilon is a short max(Ton): (3.3) on this link, with pauses that take 8.4 us to come back.",
    ],
    choices: &[],
    steps: &[],
    needs: || [VICTIMS.needs(), CULPRITS.needs()].concat(),
    panels: |done| [VICTIMS.panels(done, "victims"), CULPRITS.panels(done, "culprits")].concat(),
};

/// Five values of epsilon under a scheme.
const fn cases(scheme: &'static str) -> [Case; 5] {
    [
        case(
            "0.01 (471 us)",
            "least",
            scheme,
            &["network.detection.epsilon=0.01"],
        ),
        case(
            "0.02 (240 us)",
            "less",
            scheme,
            &["network.detection.epsilon=0.02"],
        ),
        case(
            "0.05 (101 us)",
            "thesis",
            scheme,
            &["network.detection.epsilon=0.05"],
        ),
        case("0.1 (55 us)", "more", scheme, &["network.detection.epsilon=0.1"]),
        case("0.2 (31 us)", "most", scheme, &["network.detection.epsilon=0.2"]),
    ]
}

const CONTROLLED: [Case; 5] = cases("dcqcn-tcd");
const UNCONTROLLED: [Case; 5] = cases("none");

const DIGEST: Measure = Measure {
    name: "epsilon",
    of: digest,
};

const VICTIMS: Grid = Grid {
    scenario: "tcd-single-point",
    key: "victims",
    digest: DIGEST,
    settings: &["record.trace=[7]", "record.trace-from=20ms"],
    cases: &CONTROLLED,
    seeds: 3,
    rows: &MARKS,
    claims: &[
        Claim {
            what: "victims' packets marked congested, 0.02 less 0.01",
            of: |value| more(value, "ce", 1),
            criterion: MORE_WRONG,
        },
        Claim {
            what: "victims' packets marked congested, 0.05 less 0.02",
            of: |value| more(value, "ce", 2),
            criterion: MORE_WRONG,
        },
        Claim {
            what: "victims' packets marked congested, 0.1 less 0.05",
            of: |value| more(value, "ce", 3),
            criterion: MORE_WRONG,
        },
        Claim {
            what: "victims' packets marked congested, 0.2 less 0.1",
            of: |value| more(value, "ce", 4),
            criterion: MORE_WRONG,
        },
        Claim {
            what: "victims' packets marked congested, 0.05",
            of: |value| value(2, "ce"),
            criterion: Criterion::property(
                Tolerance::AtMost(0.0),
                Source::Paper,
                "no victim is taken for a culprit",
            ),
        },
        Claim {
            what: "victims' packets marked congested, 0.2",
            of: |value| value(4, "ce"),
            criterion: Criterion::property(
                Tolerance::AtLeast(1.0),
                Source::Paper,
                "too small a max(Ton) errs",
            ),
        },
    ],
};

const CULPRITS: Grid = Grid {
    scenario: "tcd-single-point",
    key: "culprits",
    digest: DIGEST,
    settings: &[
        "cc.fixed.rate=25Gbps",
        "workload.3.incast.period=150us",
        "workload.3.incast.rounds=20",
        "duration=27ms",
        "record.trace=[7]",
        "record.trace-ports=[[2, 3]]",
        "record.trace-from=20ms",
    ],
    cases: &UNCONTROLLED,
    seeds: 3,
    rows: &DELAYS,
    claims: &[
        Claim {
            what: "delay, 0.01 over 0.02",
            of: |value| later(value, 1),
            criterion: LATER,
        },
        Claim {
            what: "delay, 0.02 over 0.05",
            of: |value| later(value, 2),
            criterion: LATER,
        },
        Claim {
            what: "delay, 0.05 over 0.1",
            of: |value| later(value, 3),
            criterion: LATER,
        },
        Claim {
            what: "delay, 0.1 over 0.2",
            of: |value| later(value, 4),
            criterion: LATER,
        },
    ],
};

const MARKS: [Quantity; 3] = [
    ("ce", "victims' packets marked congested", "", 0),
    ("ue", "victims' packets marked undetermined", "", 0),
    ("packets", "victims' packets", "", 0),
];

const DELAYS: [Quantity; 2] = [
    (
        "delay",
        "from P2's last pause to its first congested mark",
        "µs",
        1,
    ),
    ("pauses", "pauses of P2", "", 0),
];

const MORE_WRONG: Criterion = Criterion::property(
    Tolerance::AtLeast(0.0),
    Source::Paper,
    "a shorter max(Ton) errs as often or more",
);
const LATER: Criterion =
    Criterion::property(Tolerance::AtLeast(1.0), Source::Paper, "a longer max(Ton) delays");

fn more(value: &Value<'_>, name: &str, case: usize) -> Option<f64> {
    Some(value(case, name)? - value(case - 1, name)?)
}

fn later(value: &Value<'_>, case: usize) -> Option<f64> {
    Some(value(case - 1, "delay")? / value(case, "delay")?)
}

/// P2: from switch 2, by its third link.
const P2: (u32, u32) = (2, 3);

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let is_victim = |flow: u32| {
        let label = input.run.flows[flow as usize].label;
        input.run.labels[usize::from(label)].starts_with("victim")
    };
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
    Metrics {
        values: values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        ..Metrics::default()
    }
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
