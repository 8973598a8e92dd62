//! Networks and loads in which nothing was trained.

use crate::{Done, Metrics, Panel, Step, StepError, Work};
use paceline_scenario::Fidelity;

use super::runs::{AR3, ENTRIES, Entry, LSTM, NONE, Over, Runs, changes, label, points};
use super::{FINISH, From, Line, P99, QUANTITIES, TEST, Trial, columns, panel};
use crate::steps::watched::in_chunks;
use paceline_learn::dataset::Source;

pub(super) const STEP: Step = Step {
    name: "elsewhere",
    title: "other networks and loads",
    work,
};

/// A network and a load: what it is called, the series of each predictor's runs, its scenario, and what is set in it.
struct Case {
    name: &'static str,
    series: [&'static str; ENTRIES.len()],
    scenario: &'static str,
    settings: &'static [&'static str],
}

const INCAST: &str = "incast-16";

macro_rules! series {
    ($case:literal) => {
        [
            concat!($case, ", none"),
            concat!($case, ", LSTM"),
            concat!($case, ", AR(3)"),
        ]
    };
}

/// All but the last: flows of 160 MB together into one port.
const CASES: [Case; 6] = [
    Case {
        name: "8 senders",
        series: series!("8 senders"),
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
        series: series!("40 senders"),
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
        series: series!("25 Gbit/s"),
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
        series: series!("400 Gbit/s"),
        scenario: INCAST,
        settings: &["topology.star.rate=400Gbps", "workload.0.incast.size=10MB"],
    },
    Case {
        name: "round trip 20 µs",
        series: series!("round trip 20 µs"),
        scenario: INCAST,
        settings: &["topology.star.delay=4950ns", "workload.0.incast.size=10MB"],
    },
    Case {
        name: "leaf-spine, cross traffic",
        series: series!("leaf-spine, cross traffic"),
        scenario: "lstm-pid-leaf-spine",
        settings: &[],
    },
];

fn trial(case: &Case, from: From, order: u64) -> Trial {
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
    Trial::of(source, from, order, &settings)
}

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let done = work.done;
    let mut numbers = Metrics::default();
    let count = CASES.len() as f64;
    for (place, case) in CASES.iter().enumerate() {
        let share = place as f64 / count..(place + 1) as f64 / count;
        let trials_of = |entry: &Entry| -> Vec<Trial> {
            let runs = entry.runs();
            let in_order = |order| runs.iter().map(move |&from| trial(case, from, order));
            TEST.flat_map(in_order).collect()
        };
        let trials = ENTRIES.each_ref().map(trials_of);
        let all: Vec<Trial> = trials.iter().flatten().cloned().collect();
        let seen = in_chunks(&all, work, (share, case.name), &|trial| trial.run(done))?;
        let mut rest = &seen[..];
        for (series, trials) in case.series.into_iter().zip(&trials) {
            let (runs, others) = rest.split_at(trials.len());
            numbers.series.insert(series, points(runs, &[P99, FINISH]));
            rest = others;
        }
    }
    Ok(numbers)
}

fn runs(case: &Case, place: usize) -> Runs {
    ENTRIES[place].in_series(STEP.name, case.series[place])
}

pub(super) fn panels(done: &Done) -> Vec<Panel> {
    let names = ENTRIES.map(|entry| (entry.name, entry.scheme));
    let table = |quantity: usize| {
        let lines = CASES.iter().map(|case| {
            let ours = (0..ENTRIES.len()).map(|place| runs(case, place).mean(done, quantity));
            Line::shown(case.name, QUANTITIES[quantity], ours)
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
    let of = |k: usize, case: &Case| {
        let name = format!("{}, {}", case.name, QUANTITIES[k].0);
        let pairs: Vec<_> = pairs
            .iter()
            .map(|&(with, without)| (runs(case, with), runs(case, without)))
            .collect();
        Over::BOTH.map(|over| changes(done, &name, (&pairs, over), k))
    };
    let all = [P99, FINISH]
        .into_iter()
        .flat_map(|k| CASES.iter().flat_map(move |case| of(k, case)));
    all.flatten().collect()
}
