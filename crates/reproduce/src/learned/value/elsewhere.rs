//! Networks and loads in which nothing was trained.

use crate::{Done, Numbers, Panel, Step, StepError, Work};
use paceline_lab::stats::mean;
use paceline_scenario::Fidelity;

use super::super::watched::in_chunks;
use super::{
    FINISH, From, Line, ORDERS, P99, QUANTITIES, TEST, Trial, changes, columns, label, panel, points, value,
};
use paceline_learn::dataset::Source;

pub(super) const STEP: Step = Step {
    name: "elsewhere",
    title: "other networks and loads",
    work,
};

/// A network and a load: what it is called, its scenario, and what is set in it.
struct Case {
    name: &'static str,
    scenario: &'static str,
    settings: &'static [&'static str],
}

const INCAST: &str = "incast-16";

/// All but the last: flows of 160 MB together into one port.
const CASES: [Case; 6] = [
    Case {
        name: "8 senders",
        scenario: INCAST,
        settings: &[
            "topology.star.hosts=9",
            "workload.0.incast.fan-in=8",
            "workload.0.incast.receiver=9",
            "workload.0.incast.size=20MB",
        ],
    },
    Case {
        name: "40 senders",
        scenario: INCAST,
        settings: &[
            "topology.star.hosts=41",
            "workload.0.incast.fan-in=40",
            "workload.0.incast.receiver=41",
            "workload.0.incast.size=4MB",
        ],
    },
    Case {
        name: "25 Gbit/s",
        scenario: INCAST,
        settings: &[
            "topology.star.rate=25Gbps",
            "workload.0.incast.size=10MB",
            "cc.lstm-pid.initial-rate=2500Mbps",
            "cc.lstm-pid.min-rate=250Mbps",
        ],
    },
    Case {
        name: "400 Gbit/s",
        scenario: INCAST,
        settings: &["topology.star.rate=400Gbps", "workload.0.incast.size=10MB"],
    },
    Case {
        name: "round trip 20 µs",
        scenario: INCAST,
        settings: &["topology.star.delay=4950ns", "workload.0.incast.size=10MB"],
    },
    Case {
        name: "leaf-spine, cross traffic",
        scenario: "lstm-pid-leaf-spine",
        settings: &[],
    },
];

const ENTRIES: [(&str, &str, From); 3] = [
    ("none", "none", From::None),
    ("LSTM", "lstm-pid", From::Model(0, Some(0))),
    ("AR(3)", "timely", From::Model(3, Some(0))),
];

const NONE: usize = 0;
const LSTM: usize = 1;
const AR3: usize = 2;

/// Runs of a case: one in each order that judges.
const RUNS: usize = ORDERS;

fn trial(case: &Case, from: From, run: usize) -> Trial {
    let mut settings: Vec<String> = case.settings.iter().map(ToString::to_string).collect();
    settings.extend(["record.queue=off", "record.rates=off", "record.flows=off"].map(String::from));
    if case.scenario == INCAST {
        settings.push("duration=200ms".into());
        settings.push("cc.lstm-pid.target-rtts=1.2".into());
    }
    let source = Source {
        scenario: case.scenario.into(),
        fidelity: Some(Fidelity::Exact),
        ..Source::tuned()
    };
    Trial::of(source, from, TEST.start + run as u64, &settings)
}

fn work(work: &mut Work<'_>) -> Result<Numbers, StepError> {
    let done = work.done;
    let trials: Vec<Trial> = ENTRIES
        .iter()
        .flat_map(|&(.., from)| {
            let cases = CASES.iter();
            cases.flat_map(move |case| (0..RUNS).map(move |run| trial(case, from, run)))
        })
        .collect();
    let seen = in_chunks(&trials, work, (0.0..1.0, "run"), &|trial| trial.run(done))?;
    let mut numbers = Numbers::default();
    for ((name, ..), runs) in ENTRIES.iter().zip(seen.chunks(CASES.len() * RUNS)) {
        numbers.series.insert(name, points(runs));
    }
    Ok(numbers)
}

fn in_runs(done: &Done, entry: usize, case: usize, quantity: usize) -> Option<Vec<f64>> {
    (0..RUNS)
        .map(|run| value(done, STEP.name, ENTRIES[entry].0, case * RUNS + run, quantity))
        .collect()
}

pub(super) fn panels(done: &Done) -> Vec<Panel> {
    let names = ENTRIES.map(|(name, scheme, _)| (name, scheme));
    let table = |quantity: usize| {
        let lines = CASES.iter().enumerate().map(|(case, one)| {
            let ours = (0..ENTRIES.len()).map(|entry| mean(&in_runs(done, entry, case, quantity)?));
            Line::shown(one.name, QUANTITIES[quantity], ours)
        });
        let title = format!("Elsewhere: {}", label(QUANTITIES[quantity]));
        panel(&title, "", columns(&names), &lines.collect::<Vec<_>>())
    };
    vec![
        table(P99),
        table(FINISH),
        panel(
            "Elsewhere: change against no prediction",
            "",
            columns(&names[1..]),
            &against(done, &[(LSTM, NONE), (AR3, NONE)]),
        ),
        panel(
            "Elsewhere: the LSTM against AR(3)",
            "",
            columns(&[names[LSTM]]),
            &against(done, &[(LSTM, AR3)]),
        ),
    ]
}

/// Changes of tail and last completion in every case, of the first of each pair against the second.
fn against(done: &Done, pairs: &[(usize, usize)]) -> Vec<Line> {
    let of = |k: usize| {
        let metric = QUANTITIES[k].0;
        CASES.iter().enumerate().flat_map(move |(case, one)| {
            changes(
                &format!("{}, {metric}", one.name),
                metric,
                pairs.len(),
                &|column| {
                    let (with, without) = pairs[column];
                    Some((in_runs(done, with, case, k)?, in_runs(done, without, case, k)?))
                },
            )
        })
    };
    [P99, FINISH].into_iter().flat_map(of).collect()
}
