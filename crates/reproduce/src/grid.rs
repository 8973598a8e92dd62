//! Runs of one scenario in several cases, each with the same seeds, and what a figure claims of them.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::FlowSpec;
use paceline_scenario::Resolved;

use crate::criterion::{Cell, Criterion};
use crate::need::{Done, Input, Measure, Metrics, RunRequest};
use crate::panel::{Column, Panel, Row};
use paceline_lab::results::{IdealFct, queue_bytes};
use paceline_lab::stats::{jain, mean};

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
    name: "by size",
    of: digest,
};

/// Flows up to this are short, from [`LONG`] on long.
const SHORT: u64 = 100_000;
const LONG: u64 = 1_000_000;

/// Slowdowns of short and of long flows and of all, pauses, queues, losses.
fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let alone = IdealFct::of(&input.run);
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let done: Vec<(&FlowSpec, f64, f64)> = flows
        .filter(|(_, flow)| flow.status == FlowStatus::Completed)
        .map(|(spec, flow)| {
            let slowdown = alone.slowdown(flow.fct.as_ps(), flow.ideal.as_ps());
            let goodput = spec.size.get() as f64 * 8e3 / flow.fct.as_ps() as f64;
            (spec, slowdown, goodput)
        })
        .collect();
    let background = |label: u16| input.run.labels[usize::from(label)] != "incast";
    let of = |from: u64, to: u64| {
        let within = done
            .iter()
            .filter(|(spec, ..)| background(spec.label) && (from..=to).contains(&spec.size.get()));
        let mut slowdowns: Vec<f64> = within.map(|&(_, slowdown, _)| slowdown).collect();
        slowdowns.sort_by(f64::total_cmp);
        slowdowns
    };
    let (short, long, all) = (of(0, SHORT), of(LONG, u64::MAX), of(0, u64::MAX));
    let element = crate::slowdown::element;
    let goodputs: Vec<f64> = done.iter().map(|&(.., goodput)| goodput).collect();
    let queue = queue_bytes(outcome);
    let counters = &outcome.counters;
    let payload: u64 = input.run.flows.iter().map(|flow| flow.size.get()).sum();
    let unfinished = outcome.flows.len() - done.len();
    let ends = outcome.flows.iter().map(|flow| (flow.start + flow.fct).as_ps());
    let last = ends.max().filter(|_| unfinished == 0);
    let values = [
        ("mean", mean(&all)),
        ("p95", element(&all, 95)),
        ("p99", element(&all, 99)),
        ("short_p50", element(&short, 50)),
        ("short_p95", element(&short, 95)),
        ("short_p99", element(&short, 99)),
        ("long_mean", mean(&long)),
        ("long_p95", element(&long, 95)),
        ("long_p99", element(&long, 99)),
        ("pauses", Some(counters.pause_frames as f64)),
        ("paused", Some(counters.paused_ps as f64 / 1e6)),
        ("drops", Some(counters.buffer_drops as f64)),
        (
            "again",
            Some(100.0 * counters.retransmitted_bytes as f64 / payload.max(1) as f64),
        ),
        ("queue_mean", queue.mean.map(|bytes| bytes / 1e3)),
        ("queue_p99", queue.p99.map(|bytes| bytes as f64 / 1e3)),
        ("jain", jain(&goodputs)),
        ("end", last.map(|ps| ps as f64 / 1e6)),
        // Of a single flow that has not finished: what arrived until the end.
        ("goodput", Some(delivered(outcome))),
        ("unfinished", Some(unfinished as f64)),
    ];
    Metrics {
        values: values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        ..Metrics::default()
    }
}

/// Payload that was delivered over the time that it took, or until the end, in Gbit/s.
fn delivered(outcome: &Outcome) -> f64 {
    let bytes: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
    let ends = outcome.flows.iter().map(|flow| match flow.status {
        FlowStatus::Completed => (flow.start + flow.fct).as_ps(),
        _ => outcome.end.as_ps(),
    });
    bytes as f64 * 8e3 / ends.max().unwrap_or(1).max(1) as f64
}
