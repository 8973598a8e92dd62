//! A ring of switches whose pauses may wait for each other.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_scenario::Resolved;

use super::{
    Case, Criterion, Line, Measure, Metrics, RECONSTRUCTED, Reproduction, SOURCE, Table, Tolerance, WINDOW,
    bar, line, numbers,
};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "acc-deadlock",
    data: None,
    title: "ACC: a ring of switches that may pause each other for ever",
    source: SOURCE,
    setting: "Four switches in a ring, a flow of 3 MB from each to the one three on, pauses from 100 KB on: what stands still \
              for ever without control (`pfc-deadlock`). A run that stands still has no numbers.",
    notes: &[
        RECONSTRUCTED,
        "That the ring can stand still is a property of its routes: a scheme that keeps queues short makes it unlikely, not \
         impossible.",
    ],
    choices: &[WINDOW],
    steps: &[],
    needs: || table().needs(),
    panels: |done| vec![table().panel(done)],
};

const DIGEST: Measure = Measure {
    name: "by-size",
    of: digest,
};

const LINES: &[Line] = &[
    line(
        "unfinished",
        "flows that are not done",
        "",
        0,
        bar(Tolerance::AtMost(0.0), "nothing waits for ever"),
    ),
    line(
        "pauses",
        "pauses",
        "",
        0,
        bar(
            Tolerance::AtMost(0.0),
            "without pauses there is nothing to wait for",
        ),
    ),
    line("end", "last completion", "us", 0, Criterion::SHOWN),
];

fn table() -> Table {
    let of = |name, scheme| Case::new(name, "", scheme, &[]);
    Table {
        title: "The ring".into(),
        scenario: "pfc-deadlock",
        digest: DIGEST,
        cases: vec![
            of("ACC", "acc"),
            of("HPCC", "hpcc"),
            of("DCQCN", "dcqcn"),
            of("PCN", "pcn"),
        ],
        lines: LINES,
    }
}

fn digest(_: &Resolved, outcome: &Outcome) -> Metrics {
    let left = outcome
        .flows
        .iter()
        .filter(|flow| flow.status != FlowStatus::Completed);
    let ends = outcome.flows.iter().map(|flow| (flow.start + flow.fct).as_ps());
    let last = ends.max().map(|ps| ps as f64 / 1e6);
    let left = left.count() as f64;
    numbers([
        ("unfinished", Some(left)),
        ("pauses", Some(outcome.counters.pause_frames as f64)),
        ("end", last.filter(|_| left == 0.0)),
    ])
}
