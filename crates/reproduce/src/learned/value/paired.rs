//! The thesis's gains and target, paired over orders of events and seeds of training.

use crate::{Done, Numbers, Panel, Step, StepError, Work};
use paceline_lab::stats::mean;

use super::super::watched::in_chunks;
use super::{
    FINISH, From, Line, ORDERS, P99, QUANTITIES, SEEDS, TEST, Trial, changes, columns, label, panel, points,
    value,
};

pub(super) const STEP: Step = Step {
    name: "prediction value",
    title: "one controller under several predictors",
    work,
};

/// A column: what it is called, in whose colour, and with which seeds it runs.
struct Entry {
    name: &'static str,
    scheme: &'static str,
    seeds: Seeds,
}

#[derive(Clone, Copy)]
enum Seeds {
    /// One predictor in every order.
    Of(From),
    /// Each order with each seed.
    Each(usize),
}

/// The first is what the others are compared with.
const ENTRIES: [Entry; 8] = [
    entry("none", "none", Seeds::Of(From::None)),
    entry("LSTM", "lstm-pid", Seeds::Each(0)),
    entry("GRU", "hpcc", Seeds::Of(From::Model(1, Some(0)))),
    entry("simple RNN", "dctcp", Seeds::Of(From::Model(2, Some(0)))),
    entry("AR(3)", "timely", Seeds::Each(3)),
    entry("oracle", "swift", Seeds::Of(From::Oracle)),
    entry("LSTM, off-policy", "pidnn", Seeds::Of(From::Model(0, None))),
    entry("AR(3), off-policy", "dcqcn", Seeds::Of(From::Model(3, None))),
];

/// Places of the two that are compared with one another.
const LSTM: usize = 1;
const AR3: usize = 4;

const fn entry(name: &'static str, scheme: &'static str, seeds: Seeds) -> Entry {
    Entry { name, scheme, seeds }
}

impl Entry {
    /// Its runs in an order.
    fn runs(&self) -> Vec<From> {
        match self.seeds {
            Seeds::Of(from) => vec![from],
            Seeds::Each(kind) => (0..SEEDS).map(|seed| From::Model(kind, Some(seed))).collect(),
        }
    }
}

fn work(work: &mut Work<'_>) -> Result<Numbers, StepError> {
    let done = work.done;
    let trials: Vec<(usize, Trial)> = ENTRIES
        .iter()
        .enumerate()
        .flat_map(|(place, entry)| {
            TEST.flat_map(move |order| {
                let runs = entry.runs().into_iter();
                runs.map(move |from| (place, Trial::incast(from, order, &[])))
            })
        })
        .collect();
    let seen = in_chunks(&trials, work, (0.0..1.0, "run"), &|(_, trial)| trial.run(done))?;
    let mut numbers = Numbers::default();
    let mut seen = seen.into_iter();
    for (place, entry) in ENTRIES.iter().enumerate() {
        let count = trials.iter().filter(|(of, _)| *of == place).count();
        let runs: Vec<_> = seen.by_ref().take(count).collect();
        numbers.series.insert(entry.name, points(&runs));
    }
    Ok(numbers)
}

/// A quantity of a column in each order, as the mean over its seeds.
fn in_orders(done: &Done, place: usize, quantity: usize) -> Option<Vec<f64>> {
    let entry = &ENTRIES[place];
    let seeds = entry.runs().len();
    let order = |order: usize| {
        let values: Option<Vec<f64>> = (0..seeds)
            .map(|seed| value(done, STEP.name, entry.name, order * seeds + seed, quantity))
            .collect();
        mean(&values?)
    };
    (0..ORDERS).map(order).collect()
}

/// A quantity of a column with each seed, as the mean over the orders.
fn in_seeds(done: &Done, place: usize, quantity: usize) -> Option<Vec<f64>> {
    let seed = |seed: usize| {
        let values: Option<Vec<f64>> = (0..ORDERS)
            .map(|order| {
                value(
                    done,
                    STEP.name,
                    ENTRIES[place].name,
                    order * SEEDS + seed,
                    quantity,
                )
            })
            .collect();
        mean(&values?)
    };
    (0..SEEDS).map(seed).collect()
}

pub(super) fn panels(done: &Done) -> Vec<Panel> {
    let names = ENTRIES.map(|entry| (entry.name, entry.scheme));
    let means = QUANTITIES.iter().enumerate().map(|(k, &quantity)| {
        let ours = (0..ENTRIES.len()).map(|place| mean(&in_orders(done, place, k)?));
        Line::shown(label(quantity), quantity, ours)
    });
    let against_none = QUANTITIES.iter().enumerate().flat_map(|(k, &(metric, ..))| {
        changes(metric, metric, ENTRIES.len() - 1, &|column| {
            Some((in_orders(done, column + 1, k)?, in_orders(done, 0, k)?))
        })
    });
    let against_ar3 = QUANTITIES.iter().enumerate().flat_map(|(k, &(metric, ..))| {
        let orders = changes(&format!("{metric}, over orders"), metric, 1, &|_| {
            Some((in_orders(done, LSTM, k)?, in_orders(done, AR3, k)?))
        });
        let seeds = changes(&format!("{metric}, over seeds"), metric, 1, &|_| {
            Some((in_seeds(done, LSTM, k)?, in_seeds(done, AR3, k)?))
        });
        orders.into_iter().chain(seeds)
    });
    let by_seed = [P99, FINISH].into_iter().flat_map(|k| {
        (0..SEEDS).map(move |seed| {
            let ours = [LSTM, AR3].map(|place| Some(in_seeds(done, place, k)?[seed]));
            Line::shown(
                format!("{}, seed {}", label(QUANTITIES[k]), seed + 1),
                QUANTITIES[k],
                ours,
            )
        })
    });
    let both = [names[LSTM], names[AR3]];
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
            &against_none.collect::<Vec<_>>(),
        ),
        panel(
            "The thesis's gains: the LSTM against AR(3)",
            "",
            columns(&[names[LSTM]]),
            &against_ar3.collect::<Vec<_>>(),
        ),
        panel(
            "The thesis's gains: each seed, mean over orders",
            "",
            columns(&both),
            &by_seed.collect::<Vec<_>>(),
        ),
    ]
}
