//! ADPG distilled into boosted trees: what the trees deliver alongside the network that taught them.

use paceline_lab::stats::{CONFIDENCE, Interval, Paired, interval, paired};

use super::adpg::{BEYOND, CASES, Case, EVALUATION, QUANTITIES, Quantity};
use super::{Line, OWN, column, panel};
use crate::{Choice, Column, Criterion, Done, Panel, Reproduction, RunRequest, Source, Tolerance};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "adpg-distilled",
    data: None,
    title: "ADPG distilled into 100, 300 and 1000 boosted trees, compared with its network",
    source: OWN,
    setting: "RL-CC's test bed, as adpg-grid. The network is `adpg`; the trees were distilled from it in its own five \
              training scenarios (4, 8 and 32 flows to one host, 36 and 60 among four), with other seeds than these. Ten \
              seeds of each scenario, the same for all; differences are seed by seed, and ± is half of their 95 % \
              interval.",
    notes: &[
        "Judged is the end of the difference's 95 % interval that is farther from nothing: 0.2 points of what is delivered, \
         1 % of the mean round-trip time. (The paper on DECC prints its trees within 0.1 points and 1 % of their network.) \
         Where seeds differ by more than that, a cross says that nothing was shown, not that trees are worse.",
        "From 128 flows on a run is mostly its beginning, in which every flow has the line's rate and all policies brake as \
         hard as they can; among four hosts 1020 flows and more do nothing else in 5 ms, and are left out.",
        "The last tables give decisions the times that the paper on DECC prints for its own network and its own trees, 458 \
         and 1.53 µs; they are not those of ADPG's network of 204 weights. Nothing is judged there.",
    ],
    choices: &[
        Choice {
            what: "Judged is the end of an interval.",
            tried: "the mean difference against the same bounds",
            changed: "35 of 54 passed, some of them with intervals ten times as wide as the bounds: noise. The bounds are as \
                      they were, and fewer pass.",
        },
        Choice {
            what: "1020 flows among four hosts are left out.",
            tried: "with them",
            changed: "Trees and network did the same to the byte in all seeds: nothing that could fail.",
        },
    ],
    steps: &[],
    needs,
    panels,
};

/// The trees, by their number.
const TREES: [&str; 3] = ["adpg-tree-100", "adpg-tree-300", "adpg-tree-1000"];
const NETWORK: &str = "adpg";

/// What is held against the network.
const DELIVERED: Criterion = Criterion::property(
    Tolerance::AtMost(0.2),
    Source::Us,
    "the paper on DECC prints its trees within 0.1 points of their network",
);
const LATENCY: Criterion = Criterion::property(
    Tolerance::AtMost(1.0),
    Source::Us,
    "the paper on DECC prints its trees within 1 % of their network",
);

/// Who decides, and how long that takes.
const SLOW: [(&str, &str, &str); 4] = [
    ("network, at once", NETWORK, "0ns"),
    ("network, 458 µs", NETWORK, "458us"),
    ("300 trees, at once", "adpg-tree-300", "0ns"),
    ("300 trees, 1.53 µs", "adpg-tree-300", "1530ns"),
];

const _: () = assert!(
    EVALUATION[0] + BEYOND >= paceline_learn::distill::Use::Judging.seeds().start,
    "no seed that trees learned from, or were chosen by"
);

fn models() -> impl Iterator<Item = &'static str> {
    std::iter::once(NETWORK).chain(TREES)
}

/// The runs of a model whose decisions take so long.
fn slow(case: &Case, model: &str, latency: &str) -> Vec<RunRequest> {
    if latency == "0ns" {
        return case.policy(model);
    }
    let set = [
        format!("cc.adpg.model={model}"),
        format!("cc.adpg.decision-latency={latency}"),
    ];
    let of = |&seed: &u64| case.need(seed, "adpg", &format!("-{model}-{latency}"), &set);
    EVALUATION.iter().map(of).collect()
}

fn needs() -> Vec<RunRequest> {
    let at_once = cases().flat_map(|case| models().flat_map(|model| case.policy(model)));
    let slowly = cases().filter(|case| is_slow(case)).flat_map(|case| {
        let of = |(_, model, latency): &(&str, &str, &str)| slow(case, model, latency);
        SLOW.iter().flat_map(of).collect::<Vec<RunRequest>>()
    });
    at_once.chain(slowly).collect()
}

/// Where decisions take time, too: few flows and many, and flows that come and go.
fn is_slow(case: &Case) -> bool {
    [2, 128, 260].contains(&case.flows)
}

fn values(done: &Done, needs: &[RunRequest], of: fn(&Done, &RunRequest) -> Option<f64>) -> Option<Vec<f64>> {
    needs.iter().map(|need| of(done, need)).collect()
}

/// Trees less network, seed by seed.
fn difference(
    done: &Done,
    case: &Case,
    model: &str,
    of: fn(&Done, &RunRequest) -> Option<f64>,
) -> Option<Paired> {
    let network = values(done, &case.policy(NETWORK), of)?;
    let trees = values(done, &case.policy(model), of)?;
    paired(&network, &trees, CONFIDENCE)
}

fn columns() -> Vec<Column> {
    let trees = [
        ("100 trees", "swift"),
        ("300 trees", "hpcc"),
        ("1000 trees", "dcqcn"),
    ];
    let trees = trees.map(|(name, colour)| column(name, colour));
    std::iter::once(column("network", NETWORK)).chain(trees).collect()
}

fn panels(done: &Done) -> Vec<Panel> {
    let beside = QUANTITIES.iter().map(|quantity| beside(done, quantity));
    let slowly = QUANTITIES.iter().map(|quantity| slowly(done, quantity));
    judged(done).into_iter().chain(beside).chain(slowly).collect()
}

/// The differences that are judged, in points and in per cent of the network's.
fn judged(done: &Done) -> [Panel; 2] {
    [
        differences(
            done,
            "Trees less network: delivered, points of what the links carry",
            ("delivered, off the network's by at most", "points", 3),
            ("delivered, of what the links carry", DELIVERED),
            |paired| Some(paired.difference),
        ),
        differences(
            done,
            "Trees less network: mean round-trip time, %",
            ("mean RTT, off the network's by at most", "%", 3),
            ("mean RTT", LATENCY),
            |paired| {
                let ratio = paired.ratio?;
                let per_cent = |ratio: f64| 100.0 * (ratio - 1.0);
                Some(Interval {
                    mean: per_cent(ratio.mean),
                    lo: per_cent(ratio.lo),
                    hi: per_cent(ratio.hi),
                    n: ratio.n,
                })
            },
        ),
    ]
}

fn differences(
    done: &Done,
    title: &str,
    quantity: (&'static str, &'static str, usize),
    (metric, criterion): (&str, Criterion),
    of: fn(&Paired) -> Option<Interval>,
) -> Panel {
    let found = QUANTITIES.iter().find(|((name, ..), _)| *name == metric);
    let mut lines = Vec::new();
    for case in cases() {
        let all = TREES.map(|model| of(&difference(done, case, model, found?.1)?));
        let row = |what: &str, value: fn(&Interval) -> f64| {
            let label = format!("{}{what}", case.label());
            Line::shown(label, quantity, all.map(|one| one.as_ref().map(value)))
        };
        let farther = row("", |interval| interval.lo.abs().max(interval.hi.abs()));
        lines.push((0..TREES.len()).fold(farther, |line, column| line.wanted(column, criterion)));
        lines.push(row(", mean", |interval| interval.mean));
        lines.push(row(", ±", Interval::half_width));
    }
    panel(title, "flows", columns().split_off(1), &lines)
}

/// All but those in which nothing can differ.
fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(|case| ![1020, 8196].contains(&case.flows))
}

/// Cases in which a quantity is measured.
fn measured((metric, ..): (&'static str, &'static str, usize)) -> impl Iterator<Item = &'static Case> {
    cases().filter(move |case| case.flows == 260 || !metric.contains("short"))
}

/// Mean, and half of the interval, of each column.
fn rows(case: &Case, all: Vec<Option<Vec<f64>>>, quantity: (&'static str, &'static str, usize)) -> [Line; 2] {
    let estimate = |values: &Option<Vec<f64>>| interval(values.as_ref()?, CONFIDENCE);
    let all: Vec<_> = all.iter().map(estimate).collect();
    let means = all.iter().map(|one| one.map(|interval| interval.mean));
    let halves = all.iter().map(|one| one.map(|interval| interval.half_width()));
    [
        Line::shown(case.label(), quantity, means),
        Line::shown(format!("{}, ±", case.label()), quantity, halves),
    ]
}

fn beside(done: &Done, &(quantity, of): &Quantity) -> Panel {
    let lines: Vec<Line> = measured(quantity)
        .flat_map(|case| {
            rows(
                case,
                models()
                    .map(|model| values(done, &case.policy(model), of))
                    .collect(),
                quantity,
            )
        })
        .collect();
    let (metric, unit, _) = quantity;
    panel(&format!("{metric}, {unit}"), "flows", columns(), &lines)
}

fn slowly(done: &Done, &(quantity, of): &Quantity) -> Panel {
    let of_case = |case: &'static Case| {
        let all = SLOW
            .iter()
            .map(|(_, model, latency)| values(done, &slow(case, model, latency), of));
        rows(case, all.collect(), quantity)
    };
    let lines: Vec<Line> = measured(quantity)
        .filter(|case| is_slow(case))
        .flat_map(of_case)
        .collect();
    let colours = [NETWORK, "dcqcn", "hpcc", "swift"];
    let columns = SLOW
        .iter()
        .zip(colours)
        .map(|((name, ..), colour)| column(name, colour));
    let (metric, unit, _) = quantity;
    panel(
        &format!("decisions that take time: {metric}, {unit}"),
        "flows",
        columns.collect(),
        &lines,
    )
}
