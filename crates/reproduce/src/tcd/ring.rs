//! Ternary detection where nothing moves any more: a ring of pauses.

use crate::citation::Citation;
use paceline_congestion::detect::PortState;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::StateRecord;
use paceline_scenario::Resolved;

use crate::Reproduction;
use crate::criterion::{Criterion, Source, Tolerance};
use crate::grid::{Case, Claim, Grid};
use crate::need::{Measure, Metrics};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "tcd-deadlock-ring",
    data: None,
    title: "A deadlock under TCD: proved as without it",
    source: Citation::of(papers::TCD_THESIS, "section 1.1, on what flow control costs"),
    setting: "Scenario `pfc-deadlock`: four switches in a ring, each waits for room in the next. With the curves alone, and with ternary \
              detection; what is proved is compared. Below a second of processor time.",
    notes: &[
        "The thesis names deadlocks among the costs of flow control and has no experiment of them: nothing is printed.",
        "That all ports of the ring are undetermined is not so, a cross: each is stopped once and never let go, no packet leaves that \
         could be marked, and the machine, which begins to count when a pause ends, has each as it was when it was \
         stopped.",
    ],
    choices: &[],
    steps: &[],
    needs: || RUNS.needs(),
    panels: |done| RUNS.panels(done, ""),
};

const fn case(column: &'static str, key: &'static str, settings: &'static [&'static str]) -> Case {
    Case {
        column,
        key,
        scheme: "none",
        settings,
    }
}

const RUNS: Grid = Grid {
    scenario: "pfc-deadlock",
    key: "ring",
    digest: Measure {
        name: "ring",
        of: digest,
    },
    // Before the run would end by itself: what stands still is not told from what is interrupted.
    settings: &["duration=5ms"],
    cases: &[
        case("curves alone", "red", &[]),
        case("TCD", "tcd", &["network.detection.kind=tcd"]),
    ],
    seeds: 1,
    rows: &[
        ("circle", "ports of the circle", "", 0),
        ("since", "nothing has moved since", "µs", 3),
        ("found", "proved at", "ms", 3),
        ("endless", "pauses without end", "", 0),
        ("stuck", "flows stuck", "", 0),
        ("marked", "packets marked", "", 0),
        (
            "undetermined",
            "ports between switches that end undetermined",
            "",
            0,
        ),
        ("congested", "ports between switches that end congested", "", 0),
        ("free", "ports between switches that end not congested", "", 0),
    ],
    claims: &[
        Claim {
            what: "ports of the circle, TCD over curves alone",
            of: |value| Some(value(1, "circle")? / value(0, "circle")?),
            criterion: SAME,
        },
        Claim {
            what: "the instant since which nothing moves, TCD over curves alone",
            of: |value| Some(value(1, "since")? / value(0, "since")?),
            criterion: SAME,
        },
        Claim {
            what: "pauses without end, TCD over curves alone",
            of: |value| Some(value(1, "endless")? / value(0, "endless")?),
            criterion: SAME,
        },
        Claim {
            what: "ports between switches that end undetermined",
            of: |value| value(1, "undetermined"),
            criterion: Criterion::property(
                Tolerance::AtLeast(4.0),
                Source::Us,
                "a port of the circle that is stopped for ever is neither free nor the root by what the states mean",
            ),
        },
    ],
};

const SAME: Criterion = Criterion::property(
    Tolerance::Between(1.0, 1.0),
    Source::Us,
    "detection looks at pauses and makes none",
);

fn digest(_: &Resolved, outcome: &Outcome) -> Metrics {
    let counters = &outcome.counters;
    let ends_as = |state: PortState| {
        let is_so = |record: &&StateRecord| {
            // A series has no bins before its first change.
            let last = record.series.bins().last().map_or(0, |bin| bin.last);
            record.port.peer.0 < 4 && last == state as u64
        };
        outcome.states.iter().filter(is_so).count() as f64
    };
    let mut numbers = Metrics {
        values: [
            ("marked", (counters.marked + counters.undetermined) as f64),
            ("undetermined", ends_as(PortState::Undetermined)),
            ("congested", ends_as(PortState::Congested)),
            ("free", ends_as(PortState::NotCongested)),
        ]
        .into(),
        ..Metrics::default()
    };
    let Some(proof) = &outcome.deadlock else {
        return numbers;
    };
    let circle = proof.cycles.first().map_or(&[][..], Vec::as_slice);
    numbers.values.extend([
        ("circle", circle.len() as f64),
        ("since", proof.since(circle).as_ps() as f64 / 1e6),
        ("found", proof.found.as_ps() as f64 / 1e9),
        ("endless", proof.pauses.len() as f64),
        ("stuck", proof.flows.len() as f64),
    ]);
    numbers
}
