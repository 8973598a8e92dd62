//! Predictors of a table, and their runs: in every order of events with every seed of training.

use crate::Done;
use paceline_lab::stats::{CONFIDENCE, interval, mean};

use super::{From, Line, ORDERS, QUANTITIES, Quantity, SEEDS, Values, values};
use crate::steps::watched::Seen;

/// A column of a table: what it is called, in whose colour, and where its predictions are from.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) scheme: &'static str,
    predictor: Predictor,
}

#[derive(Clone, Copy)]
enum Predictor {
    One(From),
    /// A kind that learns, trained with each seed.
    Seeded(usize),
}

impl Entry {
    pub(super) const fn one(name: &'static str, scheme: &'static str, from: From) -> Self {
        Self {
            name,
            scheme,
            predictor: Predictor::One(from),
        }
    }

    pub(super) const fn seeded(name: &'static str, scheme: &'static str, kind: usize) -> Self {
        Self {
            name,
            scheme,
            predictor: Predictor::Seeded(kind),
        }
    }

    /// Its predictions in an order: one run each.
    pub(super) fn runs(&self) -> Vec<From> {
        match self.predictor {
            Predictor::One(from) => vec![from],
            Predictor::Seeded(kind) => (0..SEEDS).map(|seed| From::Model(kind, Some(seed))).collect(),
        }
    }

    /// Its runs in a series of a step.
    pub(super) fn in_series(&self, step: &'static str, series: &'static str) -> Runs {
        Runs {
            step,
            series,
            seeds: self.runs().len(),
        }
    }
}

/// Those that are tried alongside the main trial: the first is what the others are compared with.
pub(super) const ENTRIES: [Entry; 3] = [
    Entry::one("none", "none", From::None),
    Entry::seeded("LSTM", "lstm-pid", 0),
    Entry::seeded("AR(3)", "timely", 3),
];

pub(super) const NONE: usize = 0;
pub(super) const LSTM: usize = 1;
pub(super) const AR3: usize = 2;

/// Runs in a series: order by order, in each seed by seed.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    step: &'static str,
    series: &'static str,
    seeds: usize,
}

impl Runs {
    fn value(&self, done: &Done, run: usize, quantity: usize) -> Option<f64> {
        let series = done.step(self.step)?.series.get(self.series)?;
        let wanted = place(run, quantity);
        let found = series.iter().find(|&&(place, _)| place == wanted);
        found.map(|&(_, value)| value)
    }

    fn mean_of(&self, done: &Done, quantity: usize, runs: impl Iterator<Item = usize>) -> Option<f64> {
        let values: Option<Vec<f64>> = runs.map(|run| self.value(done, run, quantity)).collect();
        mean(&values?)
    }

    /// A quantity in each order, as the mean over the seeds.
    pub(super) fn in_orders(&self, done: &Done, quantity: usize) -> Option<Vec<f64>> {
        let of = |order: usize| {
            let first = order * self.seeds;
            self.mean_of(done, quantity, first..first + self.seeds)
        };
        (0..ORDERS).map(of).collect()
    }

    /// A quantity with each seed, as the mean over the orders; what has no seeds is the same with each.
    pub(super) fn in_seeds(&self, done: &Done, quantity: usize) -> Option<Vec<f64>> {
        let of = |seed: usize| {
            let first = seed % self.seeds;
            self.mean_of(done, quantity, (first..ORDERS * self.seeds).step_by(self.seeds))
        };
        (0..SEEDS).map(of).collect()
    }

    /// A quantity over all.
    pub(super) fn mean(&self, done: &Done, quantity: usize) -> Option<f64> {
        mean(&self.in_orders(done, quantity)?)
    }
}

/// Some quantities of runs as a series.
pub(super) fn points(runs: &[Seen], quantities: &[usize]) -> Vec<(f64, f64)> {
    let of_run = |(run, seen): (usize, &Seen)| {
        let values: Values = values(seen);
        let kept = quantities
            .iter()
            .filter_map(move |&k| Some((place(run, k), values[k]?)));
        kept.collect::<Vec<_>>()
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

fn place(run: usize, quantity: usize) -> f64 {
    (run * QUANTITIES.len() + quantity) as f64
}

/// Over what changes are paired.
#[derive(Clone, Copy)]
pub(super) enum Over {
    Orders,
    Seeds,
}

impl Over {
    pub(super) const BOTH: [Self; 2] = [Self::Orders, Self::Seeds];

    const fn name(self) -> &'static str {
        match self {
            Self::Orders => "over orders",
            Self::Seeds => "over seeds",
        }
    }

    fn values(self, runs: &Runs, done: &Done, quantity: usize) -> Option<Vec<f64>> {
        match self {
            Self::Orders => runs.in_orders(done, quantity),
            Self::Seeds => runs.in_seeds(done, quantity),
        }
    }
}

/// Rows of how much the first of each pair changes a quantity against the second, pair by pair of runs, in percent:
/// the mean, and half of its 95 % interval.
pub(super) fn changes(
    done: &Done,
    name: &str,
    (pairs, over): (&[(Runs, Runs)], Over),
    quantity: usize,
) -> [Line; 2] {
    let found: Vec<_> = pairs
        .iter()
        .map(|(with, without)| {
            let with = over.values(with, done, quantity)?;
            let without = over.values(without, done, quantity)?;
            let changes = with.iter().zip(&without).map(|(a, b)| 100.0 * (a / b - 1.0));
            interval(&changes.collect::<Vec<_>>(), CONFIDENCE)
        })
        .collect();
    let row = |what: &str, of: fn(&paceline_lab::stats::Interval) -> f64| {
        let (metric, ..) = QUANTITIES[quantity];
        let values = found.iter().map(|found| found.as_ref().map(of));
        Line::shown(
            format!("{name}, {}: {what}", over.name()),
            (metric, "%", 1),
            values,
        )
    };
    [
        row("change, %", |found| found.mean),
        row("half of the 95 % interval", |found| found.half_width()),
    ]
}

/// `mean RTT, µs`.
pub(super) fn label((metric, unit, _): Quantity) -> String {
    match unit {
        "" => metric.to_string(),
        unit => format!("{metric}, {unit}"),
    }
}
