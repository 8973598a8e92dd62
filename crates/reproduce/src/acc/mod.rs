//! ACC, of which a principle is known and no number: what follows from the principle, as properties with bars that were
//! set before anything was run, and what became of them.

mod deadlock;
mod drain;
mod excess;
mod fct;
mod join;
mod lot;
mod shared;
mod victims;

use super::Reproduction;
use super::choice::Choice;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::need::{Done, Input, Measure, Metrics, RunRequest};
use super::panel::{Column, Panel, Row};
use crate::citation::Citation;
use paceline_congestion::papers;

/// What is known.
const SOURCE: Citation = Citation::of(
    papers::TCD_THESIS,
    "section 1.3 and the first page of chapter 4; neither its numbers nor those of the paper \
                 (Zhang et al., NSDI 2024) are known to us",
);

/// The scheme is ours as far as numbers go.
const RECONSTRUCTED: &str = "The scheme is a reconstruction: no algorithm and no parameter of it has been published where we \
                             could read it. The bars are ours, and were set before the scheme was run.";

pub(super) const REPRODUCTIONS: [Reproduction; 7] = [
    drain::REPRODUCTION,
    join::REPRODUCTION,
    lot::REPRODUCTION,
    victims::REPRODUCTION,
    shared::REPRODUCTION,
    fct::REPRODUCTION,
    deadlock::REPRODUCTION,
];

/// What was chosen with results of other seeds and of the incast before our eyes.
const WINDOW: Choice = Choice {
    what: "What is in flight is bounded by the bandwidth-delay product (`cc.window`), and a stop waits for the whole excess.",
    tried: "no bound; a stop that waits for all but one packet; a target of twice the new rate after a long stop; a round trip \
            between increases; all with seed 1001, which is not among those here, and incasts of 60 at 2 % of the capacity",
    changed: "Without the bound seed 1001 had 172 pauses under Hadoop and 250 under web search flows instead of 0 and 3, and \
              a p99 of short flows of 3.51 and 2.93 instead of 3.02 and 2.32. Waiting for all but a packet left two packets \
              per flow in the queue instead of one at most. The others changed little, for better and worse.",
};

/// A column: a scheme, and what is different.
struct Case {
    name: &'static str,
    /// What tells its runs from those of others.
    key: String,
    scheme: &'static str,
    settings: Vec<String>,
    /// Whether bars are for it.
    judged: bool,
}

impl Case {
    fn new(name: &'static str, key: impl Into<String>, scheme: &'static str, settings: &[&str]) -> Self {
        Self {
            name,
            key: key.into(),
            scheme,
            settings: settings.iter().map(ToString::to_string).collect(),
            judged: scheme == "acc",
        }
    }
}

/// A row: a number of each run.
struct Line {
    of: &'static str,
    what: &'static str,
    unit: &'static str,
    decimals: usize,
    bar: Criterion,
}

const fn line(
    of: &'static str,
    what: &'static str,
    unit: &'static str,
    decimals: usize,
    bar: Criterion,
) -> Line {
    Line {
        of,
        what,
        unit,
        decimals,
        bar,
    }
}

/// A bar of ours.
const fn bar(tolerance: Tolerance, because: &'static str) -> Criterion {
    Criterion::property(tolerance, Source::Us, because)
}

/// A scenario in several cases, one run each.
struct Table {
    title: String,
    scenario: &'static str,
    digest: Measure,
    cases: Vec<Case>,
    lines: &'static [Line],
}

impl Table {
    fn need(&self, case: &Case) -> RunRequest {
        RunRequest {
            variant: case.key.clone(),
            settings: case.settings.clone(),
            digest: Some(self.digest),
            folder: false,
            ..RunRequest::of(Input::Shipped(self.scenario, 1), case.scheme)
        }
    }

    fn needs(&self) -> Vec<RunRequest> {
        self.cases.iter().map(|case| self.need(case)).collect()
    }

    fn value(&self, done: &Done, case: usize, name: &str) -> Option<f64> {
        let numbers = done.numbers(&self.need(&self.cases[case]))?;
        numbers.values.get(name).copied()
    }

    fn panel(&self, done: &Done) -> Panel {
        let columns = self.cases.iter().map(|case| Column {
            name: case.name,
            ..Column::scheme(case.scheme)
        });
        let rows = self
            .lines
            .iter()
            .map(|line| Row::quantity(line.what, line.unit, line.decimals));
        let panel = Panel::of(
            self.title.clone(),
            "",
            columns.collect(),
            rows.collect(),
            |row, case| Cell {
                paper: None,
                ours: self.value(done, case, self.lines[row].of),
                criterion: match self.cases[case].judged {
                    true => self.lines[row].bar,
                    false => Criterion::shown(Source::Us),
                },
            },
        );
        panel.told_by_title()
    }
}

/// Those that are numbers at all.
fn numbers<const N: usize>(values: [(&'static str, Option<f64>); N]) -> Metrics {
    let known = values
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    Metrics {
        values: known.filter(|(_, value)| value.is_finite()).collect(),
        ..Metrics::default()
    }
}

/// Gbit/s that a flow got between two times in us, of recorded rates.
fn goodput(outcome: &paceline_fabric::Outcome, flow: u32, from: f64, to: f64) -> f64 {
    let width = outcome.rate_bin.as_us_f64();
    let Some(record) = outcome.rates.iter().find(|record| record.flow == flow) else {
        return 0.0;
    };
    let bins = (record.first_bin..).zip(&record.bytes);
    let within = bins.filter(|&(bin, _)| (from..to).contains(&(bin as f64 * width)));
    let bytes: u64 = within.map(|(_, &bytes)| bytes).sum();
    bytes as f64 * 8e-3 / (to - from)
}
