//! Who gets how much of one receiver: figure 1.1 of the thesis, and a flow that joins two others.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_parity::ib_omnet::{CreditOutcome, CreditSpec, CreditStep};
use paceline_scenario::Resolved;

use super::{
    CONTROLS, Cell, Claim, Criterion, Done, Measure, Metrics, Panel, Quantity, Reproduction, Row, RunRequest,
    Source, Tolerance, claims, controls, need, of,
};
use paceline_lab::stats::jain;

pub(super) const UNFAIRNESS: Reproduction = Reproduction {
    id: "ib-unfairness",
    data: None,
    title: "Four flows to one host, two of them over a shared uplink: what credits give each",
    source: Citation::of(papers::TCD_THESIS, "figure 1.1: ideal are C/4 each"),
    setting: "Scenario `infiniband-unfairness`: A and B share an uplink, C and D are next to the receiver. All send from the beginning, 30 ms, \
              links of 32 Gbit/s. Shares of what came from 5 to 30 ms.",
    notes: &[
        "The figure has a drawing and no numbers of each flow. Turns of inputs give 1/6 and 1/3.",
        "Under IBCC and RRCC shares are shown: neither says that it is fair, and no run of the model of this network is known to us.",
    ],
    choices: &[],
    steps: &[],
    needs: || needs("infiniband-unfairness"),
    panels: |done| {
        let part = |name| of(done, &run("infiniband-unfairness", 0), name);
        let near = |share: f64| {
            Criterion::property(
                Tolerance::Between(0.999 * share, 1.001 * share),
                Source::Us,
                "three inputs have their turns alike, and two flows share one of them",
            )
        };
        let said: [Claim; 4] = [
            ("A's share under credits", part("share_a"), near(1.0 / 6.0)),
            ("B's share under credits", part("share_b"), near(1.0 / 6.0)),
            ("C's share under credits", part("share_c"), near(1.0 / 3.0)),
            ("D's share under credits", part("share_d"), near(1.0 / 3.0)),
        ];
        let rows = [
            ("share_a", "A's share", "", 4),
            ("share_b", "B's share", "", 4),
            ("share_c", "C's share", "", 4),
            ("share_d", "D's share", "", 4),
            ("jain", "Jain's index", "", 4),
            ("all", "all", "Gbit/s", 3),
        ];
        vec![
            claims("What turns give", &said),
            table(done, "infiniband-unfairness", &rows),
        ]
    },
};

pub(super) const JOIN: Reproduction = Reproduction {
    id: "ib-join",
    data: None,
    title: "A third flow joins two that share an uplink",
    source: Citation::of(
        papers::RRCC_MODEL,
        "its fairness scenario, of which no stored run belongs to the published model",
    ),
    setting: "Scenario `infiniband-join`: A and B share an uplink to one host; C, next to that, sends to it from 10 ms on. IBCC's timer is 25 us. \
              Means of 5 to 10, 10 to 15 and 25 to 30 ms.",
    notes: &[
        "What the author stored of it is of a binary in which C heeds no notification, and cannot be compared. So nothing stands beside \
         ours but what turns give under credits.",
    ],
    choices: &[],
    steps: &[],
    needs: || needs("infiniband-join"),
    panels: |done| {
        let share = |name| {
            Some(
                of(done, &run("infiniband-join", 0), name)?
                    / of(done, &run("infiniband-join", 0), "sum_last")?,
            )
        };
        let near = |share: f64| {
            Criterion::property(
                Tolerance::Between(0.999 * share, 1.001 * share),
                Source::Us,
                "two inputs have their turns alike, and two flows share one of them",
            )
        };
        let said: [Claim; 2] = [
            (
                "A's share under credits, 25 to 30 ms",
                share("a_last"),
                near(0.25),
            ),
            ("C's share under credits, 25 to 30 ms", share("c_last"), near(0.5)),
        ];
        let rows = [
            ("a_first", "A, 5 to 10 ms", "Gbit/s", 3),
            ("b_first", "B, 5 to 10 ms", "Gbit/s", 3),
            ("a_join", "A, 10 to 15 ms", "Gbit/s", 3),
            ("b_join", "B, 10 to 15 ms", "Gbit/s", 3),
            ("c_join", "C, 10 to 15 ms", "Gbit/s", 3),
            ("a_last", "A, 25 to 30 ms", "Gbit/s", 3),
            ("b_last", "B, 25 to 30 ms", "Gbit/s", 3),
            ("c_last", "C, 25 to 30 ms", "Gbit/s", 3),
            ("jain_last", "Jain's index, 25 to 30 ms", "", 4),
            ("sum_last", "all, 25 to 30 ms", "Gbit/s", 3),
        ];
        vec![
            claims("What turns give", &said),
            table(done, "infiniband-join", &rows),
        ]
    },
};

fn run(scenario: &'static str, control: usize) -> RunRequest {
    let (control, scheme, _) = CONTROLS[control];
    let settings = [
        format!("network.ib-omnet.control={control}"),
        "network.ib-omnet.log=true".to_string(),
    ];
    need(scenario, scheme.to_string(), settings.to_vec(), DIGEST)
}

fn needs(scenario: &'static str) -> Vec<RunRequest> {
    (0..CONTROLS.len())
        .map(|control| run(scenario, control))
        .collect()
}

/// What each flow got, shown.
fn table(done: &Done, scenario: &'static str, rows: &[Quantity]) -> Panel {
    let names = rows
        .iter()
        .map(|&(_, metric, unit, decimals)| Row::quantity(metric, unit, decimals));
    let panel = Panel::of(
        "What each got",
        "",
        controls(),
        names.collect(),
        |row, control| Cell {
            paper: None,
            ours: of(done, &run(scenario, control), rows[row].0),
            criterion: Criterion::shown(Source::Us),
        },
    );
    panel.told_by_title()
}

const DIGEST: Measure = Measure {
    name: "ib shares",
    of: digest,
};

/// Times in ms, and the numbers of them.
const PHASES: [(u64, u64, [&str; 4], &str, &str); 4] = [
    (5, 30, ["share_a", "share_b", "share_c", "share_d"], "jain", "all"),
    (
        5,
        10,
        ["a_first", "b_first", "c_first", "d_first"],
        "jain_first",
        "sum_first",
    ),
    (
        10,
        15,
        ["a_join", "b_join", "c_join", "d_join"],
        "jain_join",
        "sum_join",
    ),
    (
        25,
        30,
        ["a_last", "b_last", "c_last", "d_last"],
        "jain_last",
        "sum_last",
    ),
];

/// What came of each sender in each phase, in Gbit/s; in the first as shares.
fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let trace = CreditOutcome::of(outcome).map_or(&[][..], |credits| &credits.trace);
    let senders = CreditSpec::of(&input.run).map_or(0, |credits| credits.sources.len());
    let mut numbers = Metrics::default();
    for (phase, (from, until, names, fairness, sum)) in PHASES.into_iter().enumerate() {
        let mut rates = vec![0.0; senders.min(4)];
        for event in trace {
            let within = (from..until).contains(&(event.at.as_ps() / 1_000_000_000));
            if let (true, CreditStep::Received { flow, .. }) = (within, event.what)
                && let Some(rate) = rates.get_mut(input.run.flows[flow as usize].src.0 as usize)
            {
                *rate += 16_384.0 / ((until - from) as f64 * 1e6);
            }
        }
        let all: f64 = rates.iter().sum();
        let unit = if phase == 0 { all } else { 1.0 };
        numbers
            .values
            .extend(names.into_iter().zip(rates.iter().map(|rate| rate / unit)));
        numbers.values.extend(jain(&rates).map(|index| (fairness, index)));
        numbers.values.insert(sum, all);
    }
    numbers
}
