//! Runs of one scenario in several cases, each with the same seeds, and what a figure claims of them.

use crate::criterion::{Cell, Criterion};
use crate::need::{Done, Input, Measure, RunRequest};
use crate::panel::{Column, Panel, Row};
use paceline_lab::stats::mean;

/// A case: a column of the table.
pub(crate) struct Case {
    /// What the column is called.
    pub(crate) column: &'static str,
    /// What tells its runs from those of other cases: letters.
    pub(crate) key: &'static str,
    pub(crate) scheme: &'static str,
    pub(crate) settings: &'static [&'static str],
}

/// A case by its column, its key, its scheme and what is set.
pub(crate) const fn case(
    column: &'static str,
    key: &'static str,
    scheme: &'static str,
    settings: &'static [&'static str],
) -> Case {
    Case {
        column,
        key,
        scheme,
        settings,
    }
}

/// Name among the numbers of a run, what it is, its unit, its digits.
pub(crate) type Quantity = (&'static str, &'static str, &'static str, usize);

/// A number of a case, the mean over its seeds.
pub(crate) type Value<'a> = dyn Fn(usize, &str) -> Option<f64> + 'a;

/// Something that a figure shows, as a number of ours with a bound.
pub(crate) struct Claim {
    pub(crate) what: &'static str,
    pub(crate) of: fn(&Value<'_>) -> Option<f64>,
    pub(crate) criterion: Criterion,
}

/// The runs behind a figure.
pub(crate) struct Grid {
    pub(crate) scenario: &'static str,
    /// What tells its runs from those of other figures with that scenario.
    pub(crate) key: &'static str,
    /// What is taken of each run.
    pub(crate) digest: Measure,
    /// Of every case.
    pub(crate) settings: &'static [&'static str],
    pub(crate) cases: &'static [Case],
    /// Seeds from 1.
    pub(crate) seeds: u64,
    pub(crate) rows: &'static [Quantity],
    pub(crate) claims: &'static [Claim],
}

impl Grid {
    pub(crate) fn need(&self, case: usize, seed: u64) -> RunRequest {
        let case = &self.cases[case];
        let settings = self.settings.iter().chain(case.settings);
        RunRequest {
            variant: format!("{}-{}", self.key, case.key),
            settings: settings.map(ToString::to_string).collect(),
            digest: Some(self.digest),
            folder: false,
            ..RunRequest::of(Input::Shipped(self.scenario, seed), case.scheme)
        }
    }

    pub(crate) fn needs(&self) -> Vec<RunRequest> {
        let seeds = |case| (1..=self.seeds).map(move |seed| (case, seed));
        let all = (0..self.cases.len()).flat_map(seeds);
        all.map(|(case, seed)| self.need(case, seed)).collect()
    }

    /// The mean over all seeds; nothing if one is lacking.
    fn value(&self, done: &Done, case: usize, name: &str) -> Option<f64> {
        let of = |seed| done.numbers(&self.need(case, seed))?.values.get(name).copied();
        let values: Option<Vec<f64>> = (1..=self.seeds).map(of).collect();
        mean(&values?)
    }

    /// The table of its cases, and what the figure claims, titled `of` where there are several grids.
    pub(crate) fn panels(&self, done: &Done, of: &str) -> Vec<Panel> {
        let columns = self.cases.iter().map(|case| Column {
            name: case.column,
            ..Column::scheme(case.scheme)
        });
        let row = |&(_, metric, unit, decimals): &Quantity| Row::quantity(metric, unit, decimals);
        let rows = self.rows.iter().map(row).collect();
        let table = Panel::of(of, "", columns.collect(), rows, |row, case| Cell {
            paper: None,
            ours: self.value(done, case, self.rows[row].0),
            criterion: Criterion::SHOWN,
        });
        let rows = self.claims.iter().map(|claim| Row::quantity(claim.what, "", 3));
        let column = Column {
            name: "ours",
            ..Column::scheme(self.cases[0].scheme)
        };
        let title = format!(
            "What the figure shows{}{of}",
            if of.is_empty() { "" } else { ": " }
        );
        let claims = Panel::of(title, "", vec![column], rows.collect(), |row, _| Cell {
            paper: None,
            ours: (self.claims[row].of)(&|case, name| self.value(done, case, name)),
            criterion: self.claims[row].criterion,
        });
        let claims = (!self.claims.is_empty()).then(|| claims.told_by_title());
        [table.told_by_title()].into_iter().chain(claims).collect()
    }
}

/// What most figures need.
pub(crate) const BY_SIZE: Measure = Measure {
    name: "by-size",
    of: |input, outcome| (paceline_lab::measures::SETS[0].of)(input, outcome),
};
