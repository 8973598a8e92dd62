//! Figure 3.20: four flows over a port that is undetermined first and congested then.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_kernel::Time;
use paceline_scenario::Resolved;

use crate::Reproduction;
use crate::choice::Choice;
use crate::criterion::{Criterion, Source, Tolerance};
use crate::grid::{Case, Claim, Grid, Quantity};
use crate::need::{Measure, Metrics};
use paceline_lab::stats::jain;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "tcd-fairness",
    data: None,
    title: "Fairness of flows that an undetermined port holds, and after it has turned into a root",
    source: Citation::of(papers::TCD_THESIS, "figure 3.20 and the text to it"),
    setting: "Scenario `tcd-fairness`: B0 to B3 begin to send over P2 as the bursts begin that pause it; F1 goes on to the congested port. \
              Goodput and Jain's index of B0 to B3 in three phases: from P2's first pause to its last, the 10 ms after that, and \
              the run's last 20 ms. Late: B0 begins 2 ms after the others. Means over three seeds. Some seconds of processor time.",
    notes: &[
        "The thesis says that the rates of the four are held while P2 is undetermined, that their throughput dips since the link is \
         paused, and that they are controlled when P2 has become a root; its figure is lost, so there are no numbers, and no run of the \
         authors' simulator is known. Judged is that a rate \
         stays as it is; the rest is shown.",
        "The four begin at line rate, 160 Gbit/s into 40: P2 has a queue of its own before the first pause reaches it, and \
         marks by it. A rate that is held is the one to which that cut it.",
    ],
    choices: &[Choice {
        what: "Rates that are held are looked at from 1 ms after P2's first pause.",
        tried: "nothing else; the criterion was written when the values were known",
        changed: "Before, packets that P2 marked by its own queue are still on their way.",
    }],
    steps: &[],
    needs: || RUNS.needs(),
    panels: |done| RUNS.panels(done, ""),
};

const RUNS: Grid = Grid {
    scenario: "tcd-fairness",
    key: "fair",
    digest: Measure {
        name: "fairness",
        of: digest,
    },
    settings: &["record.flows=100us"],
    cases: &[
        case("TCD", "tcd", &[]),
        case("DCQCN", "red", &[RED]),
        case("TCD, B0 late", "tcd-late", &[LATE]),
        case("DCQCN, B0 late", "red-late", &[RED, LATE]),
    ],
    seeds: 3,
    rows: &ROWS,
    claims: &[
        Claim {
            what: "B1's rate at P2's last pause over that 1 ms after the first",
            of: |value| Some(value(0, "rate_last")? / value(0, "rate_first")?),
            criterion: HELD,
        },
        Claim {
            what: "B1's rate at P2's last pause over that 1 ms after the first, B0 late",
            of: |value| Some(value(2, "rate_last")? / value(2, "rate_first")?),
            criterion: HELD,
        },
    ],
};

const HELD: Criterion = Criterion::property(
    Tolerance::Between(1.0, 1.0),
    Source::Paper,
    "the rates of the four stay as they are while P2 is undetermined",
);

const RED: &str = "network.detection.kind=red";
/// Workloads are the culprit, the bursts, B0 to B3.
const LATE: &str = "workload.2.flows.0.start=22ms";

const fn case(column: &'static str, key: &'static str, settings: &'static [&'static str]) -> Case {
    Case {
        column,
        key,
        scheme: "dcqcn-tcd",
        settings,
    }
}

/// Goodput of F1 and B0 to B3 in each phase.
const GOODPUTS: [[&str; 5]; 3] = [
    ["f1_held", "b0_held", "b1_held", "b2_held", "b3_held"],
    ["f1_root", "b0_root", "b1_root", "b2_root", "b3_root"],
    ["f1_end", "b0_end", "b1_end", "b2_end", "b3_end"],
];
const JAINS: [&str; 3] = ["jain_held", "jain_root", "jain_end"];
const LABELS: [&str; 5] = ["culprit", "b0", "b1", "b2", "b3"];

const ROWS: [Quantity; 23] = [
    ("first", "first pause of P2", "ms", 3),
    ("last", "last pause of P2", "ms", 3),
    ("f1_held", "F1 while P2 is paused", "Gbit/s", 3),
    ("b0_held", "B0 while P2 is paused", "Gbit/s", 3),
    ("b1_held", "B1 while P2 is paused", "Gbit/s", 3),
    ("b2_held", "B2 while P2 is paused", "Gbit/s", 3),
    ("b3_held", "B3 while P2 is paused", "Gbit/s", 3),
    ("jain_held", "Jain's index of B0 to B3 while P2 is paused", "", 4),
    (
        "rate_first",
        "rate of B1's sender 1 ms after P2's first pause",
        "Gbit/s",
        3,
    ),
    ("rate_last", "rate of B1's sender at P2's last pause", "Gbit/s", 3),
    ("f1_root", "F1 in the 10 ms after", "Gbit/s", 3),
    ("b0_root", "B0 in the 10 ms after", "Gbit/s", 3),
    ("b1_root", "B1 in the 10 ms after", "Gbit/s", 3),
    ("b2_root", "B2 in the 10 ms after", "Gbit/s", 3),
    ("b3_root", "B3 in the 10 ms after", "Gbit/s", 3),
    ("jain_root", "Jain's index of B0 to B3 in the 10 ms after", "", 4),
    ("f1_end", "F1 in the last 20 ms", "Gbit/s", 3),
    ("b0_end", "B0 in the last 20 ms", "Gbit/s", 3),
    ("b1_end", "B1 in the last 20 ms", "Gbit/s", 3),
    ("b2_end", "B2 in the last 20 ms", "Gbit/s", 3),
    ("b3_end", "B3 in the last 20 ms", "Gbit/s", 3),
    ("jain_end", "Jain's index of B0 to B3 in the last 20 ms", "", 4),
    ("ue", "packets marked undetermined", "", 0),
];

/// The bursts begin.
const BEGIN: Time = Time::from_ns(20_000_000);
const MS: u64 = 1_000_000_000;

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let frames = outcome.pfc.iter();
    let of_p2 = frames.filter(|frame| (frame.node.0, frame.interface) == (2, 3) && frame.at >= BEGIN);
    let times: Vec<u64> = of_p2.map(|frame| frame.at.as_ps()).collect();
    let mut numbers = Metrics::default();
    numbers.values.insert("ue", outcome.counters.undetermined as f64);
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
        numbers.values.extend(GOODPUTS[phase].into_iter().zip(goodputs));
        if let Some(jain) = jain(&goodputs[1..]) {
            numbers.values.insert(JAINS[phase], jain);
        }
    }
    for (name, at) in [("rate_first", first + MS), ("rate_last", last)] {
        if let Some(rate) = flows[2].and_then(|flow| rate(outcome, flow, at)) {
            numbers.values.insert(name, rate);
        }
    }
    numbers
        .values
        .extend([("first", first as f64 / 1e9), ("last", last as f64 / 1e9)]);
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
