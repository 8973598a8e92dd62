//! The thesis's gains and target, paired over orders of events and seeds of training.

use crate::{Done, Metrics, Panel, Step, StepError, Work};

use super::runs::{Entry, Over, Runs, changes, label, points};
use super::{ALL, FINISH, From, Line, P99, QUANTITIES, SEEDS, TEST, Trial, columns, panel};
use crate::steps::watched::in_chunks;

pub(super) const STEP: Step = Step {
    name: "prediction value",
    title: "one controller under several predictors",
    work,
};

/// The first is what the others are compared with.
const ENTRIES: [Entry; 8] = [
    Entry::one("none", "none", From::None),
    Entry::seeded("LSTM", "lstm-pid", 0),
    Entry::seeded("GRU", "hpcc", 1),
    Entry::seeded("simple RNN", "dctcp", 2),
    Entry::seeded("AR(3)", "timely", 3),
    Entry::one("oracle", "swift", From::Oracle),
    Entry::one("LSTM, off-policy", "pidnn", From::Model(0, None)),
    Entry::one("AR(3), off-policy", "dcqcn", From::Model(3, None)),
];

/// Places of those that learn in the loop: the networks, and what they are compared with besides.
const NETWORKS: [usize; 3] = [1, 2, 3];
const AR3: usize = 4;

fn runs(place: usize) -> Runs {
    ENTRIES[place].in_series(STEP.name, ENTRIES[place].name)
}

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let done = work.done;
    let trials_of = |entry: &Entry| -> Vec<Trial> {
        let runs = entry.runs();
        let in_order = |order| runs.iter().map(move |&from| Trial::incast(from, order, &[]));
        TEST.flat_map(in_order).collect()
    };
    let trials = ENTRIES.each_ref().map(trials_of);
    let all: Vec<Trial> = trials.iter().flatten().cloned().collect();
    let seen = in_chunks(&all, work, (0.0..1.0, "run"), &|trial| trial.run(done))?;
    let mut numbers = Metrics::default();
    let mut rest = &seen[..];
    for (entry, trials) in ENTRIES.iter().zip(&trials) {
        let (runs, others) = rest.split_at(trials.len());
        numbers.series.insert(entry.name, points(runs, &ALL));
        rest = others;
    }
    Ok(numbers)
}

pub(super) fn panels(done: &Done) -> Vec<Panel> {
    let names = ENTRIES.map(|entry| (entry.name, entry.scheme));
    let means = QUANTITIES.iter().enumerate().map(|(k, &quantity)| {
        let ours = (0..ENTRIES.len()).map(|place| runs(place).mean(done, k));
        Line::shown(label(quantity), quantity, ours)
    });
    let against_none: Vec<_> = (1..ENTRIES.len()).map(|place| (runs(place), runs(0))).collect();
    let against_none = ALL.map(|k| changes(done, QUANTITIES[k].0, (&against_none, Over::Orders), k));
    let against_ar3 = NETWORKS.map(|place| (runs(place), runs(AR3)));
    let against_ar3 =
        ALL.map(|k| Over::BOTH.map(|over| changes(done, QUANTITIES[k].0, (&against_ar3, over), k)));
    let learned = [&NETWORKS[..], &[AR3]].concat();
    let by_seed = [P99, FINISH].into_iter().flat_map(|k| {
        let learned = &learned;
        (0..SEEDS).map(move |seed| {
            let ours = learned
                .iter()
                .map(|&place| Some(runs(place).in_seeds(done, k)?[seed]));
            let name = format!("{}, seed {}", label(QUANTITIES[k]), seed + 1);
            Line::shown(name, QUANTITIES[k], ours)
        })
    });
    let of = |places: &[usize]| columns(&places.iter().map(|&place| names[place]).collect::<Vec<_>>());
    vec![
        panel(
            "The thesis's gains, target 5 µs: means over orders and seeds",
            "",
            columns(&names),
            &means.collect::<Vec<_>>(),
        ),
        panel(
            "The thesis's gains: change against no prediction",
            "",
            columns(&names[1..]),
            against_none.as_flattened(),
        ),
        panel(
            "The thesis's gains: the networks against AR(3)",
            "",
            of(&NETWORKS),
            against_ar3.as_flattened().as_flattened(),
        ),
        panel(
            "The thesis's gains: each seed, mean over orders",
            "",
            of(&learned),
            &by_seed.collect::<Vec<_>>(),
        ),
    ]
}
