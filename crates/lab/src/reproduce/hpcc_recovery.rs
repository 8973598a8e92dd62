//! HPCC and DCQCN over PFC, go-back-N and IRN.

use super::Reproduction;
use super::irn_loss::digest;
use super::need::{Digest, Done, Input, Need};
use super::panel::{Cell, Column, Panel, Row, Tolerance};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "hpcc-recovery",
    title: "HPCC and DCQCN with PFC, go-back-N and IRN",
    source: "HPCC: High Precision Congestion Control (Li et al., SIGCOMM 2019), figure 12",
    setting: "The experiment in small: 16 hosts of a fat tree, Hadoop flows at 50 % load and incasts of 15 flows, arriving \
              during 2 ms, into buffers of 250 KB; lossless with PFC, or without it and with go-back-N or IRN for \
              what switches drop.",
    notes: &[
        "The figure prints no numbers. What it shows: HPCC keeps queues so short that the choice hardly matters, \
         since nothing is dropped and nobody pauses; under DCQCN it does.",
        "Judged: HPCC's 95th percentile of slowdown without PFC is within 10 % of that with it. In buffers as small as \
         these it is better without: some thousand packets are dropped, and nobody waits for pauses.",
    ],
    steps: &[],
    needs: || {
        let under = |scheme| CASES.map(|case| need(scheme, case));
        SCHEMES.into_iter().flat_map(under).collect()
    },
    panels,
};

const SCHEMES: [&str; 2] = ["hpcc", "dcqcn"];

const DIGEST: Digest = Digest {
    name: "recovery",
    of: digest,
};

/// Name and settings.
type Case = (&'static str, &'static [&'static str]);

const CASES: [Case; 3] = [
    ("pfc", &["network.flow_control=pfc"]),
    (
        "go-back-n",
        &["network.flow_control=none", "network.recovery=go-back-n"],
    ),
    ("irn", &["network.flow_control=none", "network.recovery=irn"]),
];

fn need(scheme: &'static str, (name, settings): Case) -> Need {
    Need {
        variant: name.to_string(),
        settings: settings.iter().map(ToString::to_string).collect(),
        digest: Some(DIGEST),
        folder: false,
        ..Need::of(Input::Shipped("hpcc-recovery", 1), scheme)
    }
}

/// Name, quantity, its unit, its digits.
const ROWS: [(&str, &str, &str, usize); 5] = [
    ("slowdown_p95", "p95 of slowdown", "×", 3),
    ("slowdown_p99", "p99 of slowdown", "×", 3),
    ("drops", "packets dropped", "", 0),
    ("pauses", "pauses", "", 0),
    ("again", "payload sent again", "%", 3),
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
    let columns = ["PFC", "go-back-N", "IRN"].map(column).to_vec();
    let mut rows: Vec<Row> = ROWS
        .iter()
        .map(|&(_, metric, unit, decimals)| Row::quantity(metric, unit, decimals))
        .collect();
    rows.push(Row::quantity("p95 of slowdown, over that with PFC", "×", 3));
    let panel = Panel::of(format!("Under {scheme}"), "", columns, rows, |row, column| {
        let ours = match ROWS.get(row) {
            Some(row) => value(CASES[column], row.0),
            None => value(CASES[column], "slowdown_p95")
                .zip(value(CASES[0], "slowdown_p95"))
                .map(|(this, pfc)| this / pfc),
        };
        let judged = row == ROWS.len() && column > 0 && scheme == "hpcc";
        Cell {
            paper: judged.then_some(1.0),
            ours,
            tolerance: if judged {
                Tolerance::Near(0.1)
            } else {
                Tolerance::Shown
            },
        }
    });
    Panel {
        told_by_title: true,
        ..panel
    }
}
