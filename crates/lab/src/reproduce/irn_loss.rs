//! Selective repeat against go-back-N on links that lose packets.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_scenario::Resolved;

use super::Reproduction;
use super::need::{Digest, Done, Input, Need, Numbers};
use super::panel::{Cell, Column, Panel, Row, Tolerance};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "irn-loss",
    title: "IRN against go-back-N where one packet in a thousand is lost",
    source: "Revisiting Network Support for RDMA (IRN: Mittal et al., SIGCOMM 2018): that selective repeat with a \
             bound on what is in flight makes losses cheap",
    setting: "Web search flows at 50 % load during 10 ms between 16 hosts of a fat tree at 100 Gbit/s; every link loses \
              one packet in a thousand; go-back-N has IRN's timeout, so that it is not that. Beside both, PFC without losses. Completion times of all \
              flows.",
    notes: &[
        "The paper prints ratios for its own networks and loads; what has to hold here is that IRN's 99th percentile \
         is at most half of go-back-N's under DCQCN, the scheme that both are run with there.",
        "Under HPCC go-back-N loses less: its windows leave less in flight to be sent again. It is shown, not judged.",
    ],
    steps: &[],
    needs: || {
        let under = |scheme| CASES.map(|case| need(scheme, case));
        SCHEMES.into_iter().flat_map(under).collect()
    },
    panels,
};

const SCHEMES: [&str; 2] = ["dcqcn", "hpcc"];

const DIGEST: Digest = Digest {
    name: "completion",
    of: digest,
};

/// Name and settings.
type Case = (&'static str, &'static [&'static str]);

const CASES: [Case; 3] = [
    ("go-back-n", &["network.recovery=go-back-n"]),
    ("irn", &["network.recovery=irn"]),
    ("pfc", &["network.flow_control=pfc", "network.error-rate=0"]),
];

fn need(scheme: &'static str, (name, settings): Case) -> Need {
    Need {
        variant: name.to_string(),
        settings: settings.iter().map(ToString::to_string).collect(),
        digest: Some(DIGEST),
        ..Need::of(Input::Shipped("recovery-loss", 1), scheme)
    }
}

/// Percentiles of completion time in ms, and what was sent again.
pub(super) fn digest(input: &Resolved, outcome: &Outcome) -> Numbers {
    let done = |status| status == FlowStatus::Completed;
    let flows = outcome.flows.iter().filter(|flow| done(flow.status));
    let mut times: Vec<f64> = flows.clone().map(|flow| flow.fct.as_ps() as f64 / 1e9).collect();
    let mut slowdowns: Vec<f64> = flows
        .map(|flow| f64::max(1.0, flow.fct.as_ps() as f64 / flow.ideal.as_ps().max(1) as f64))
        .collect();
    times.sort_by(f64::total_cmp);
    slowdowns.sort_by(f64::total_cmp);
    let percentile = |values: &[f64], percent| super::slowdown::element(values, percent).unwrap_or(f64::NAN);
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
        ("pauses", outcome.counters.pauses as f64),
    ];
    Numbers {
        values: values.into_iter().collect(),
        ..Numbers::default()
    }
}

/// Quantity, its unit, its digits.
const ROWS: [(&str, &str, &str, usize); 6] = [
    ("p50", "p50 of completion time", "ms", 3),
    ("p99", "p99 of completion time", "ms", 2),
    ("slowdown_p95", "p95 of slowdown", "×", 2),
    ("slowdown_p99", "p99 of slowdown", "×", 2),
    ("again", "payload sent again", "%", 2),
    ("unfinished", "flows not done", "", 0),
];

fn panels(done: &Done) -> Vec<Panel> {
    SCHEMES.iter().map(|scheme| under(done, scheme)).collect()
}

fn under(done: &Done, scheme: &'static str) -> Panel {
    let value = |case: Case, name: &str| done.numbers(&need(scheme, case))?.values.get(name).copied();
    let column = |name| Column {
        name,
        ..Column::scheme(scheme)
    };
    let columns = ["go-back-N", "IRN", "PFC, no losses"].map(column).to_vec();
    let mut rows: Vec<Row> = ROWS
        .iter()
        .map(|&(_, metric, unit, decimals)| Row::quantity(metric, unit, decimals))
        .collect();
    rows.push(Row::quantity(
        "p99 of completion time, go-back-N's over this",
        "×",
        2,
    ));
    let ratio = |case| Some(value(CASES[0], "p99")? / value(case, "p99")?);
    let panel = Panel::of(format!("Under {scheme}"), "", columns, rows, |row, column| {
        let ours = match ROWS.get(row) {
            Some(row) => value(CASES[column], row.0),
            None => ratio(CASES[column]),
        };
        let judged = row == ROWS.len() && column == 1 && scheme == "dcqcn";
        Cell {
            paper: None,
            ours,
            tolerance: match (judged, row) {
                (true, _) => Tolerance::AtLeast(2.0),
                (_, 5) => Tolerance::AtMost(0.0),
                _ => Tolerance::Shown,
            },
        }
    });
    Panel {
        told_by_title: true,
        ..panel
    }
}
