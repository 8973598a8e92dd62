//! Ternary detection where nothing moves any more: a ring of pauses.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::thesis;
use crate::Reproduction;
use crate::criterion::{Criterion, Source, Tolerance};
use crate::grid::{Case, Claim, Grid};
use crate::need::{Digest, Numbers};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "tcd-deadlock-ring",
    title: "A deadlock under TCD: proved as without it, and undetermined everywhere",
    source: thesis!("section 1.1, on what flow control costs"),
    setting: "Scenario `pfc-deadlock`: four switches in a ring, each waits for room in the next. With the curves alone, and with ternary \
              detection; what is proved is compared. Below a second of processor time.",
    notes: &[
        "The thesis names deadlocks among the costs of flow control and has no experiment of them: nothing is printed.",
        "On the ring every port is paused once and never let go: no packet leaves that could be marked, and the machine, \
         which goes by packets that leave, would have each port as its last packet left it. A port that is stopped \
         is undetermined by definition, and that is what it says when it is asked.",
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
    digest: Digest {
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
    ],
};

const SAME: Criterion = Criterion::property(
    Tolerance::Between(1.0, 1.0),
    Source::Us,
    "detection looks at pauses and makes none",
);

fn digest(_: &Resolved, outcome: &Outcome) -> Numbers {
    let counters = &outcome.counters;
    let mut numbers = Numbers {
        values: [("marked", (counters.marked + counters.undetermined) as f64)].into(),
        ..Numbers::default()
    };
    let Some(proof) = &outcome.standstill else {
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
