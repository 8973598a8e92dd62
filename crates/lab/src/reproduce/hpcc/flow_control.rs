//! PFC, go-back-N and IRN on the paper's network.

use super::figure;
use super::grid::{Case, Claim, Grid, Value};
use crate::reproduce::Reproduction;
use crate::reproduce::criterion::{Criterion, Source, Tolerance};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "hpcc-figure12",
    title: "HPCC and DCQCN with PFC, go-back-N and IRN, 320 hosts",
    source: figure!("figure 12"),
    setting: "The paper's 320 hosts with buffers of 32 MB: Hadoop flows at 50 % load and incasts of 60 flows of 500 KB at 2 % of \
              the capacity, arriving during 2 ms; lossless with PFC, or without it and with go-back-N or IRN. Slowdowns \
              are of the Hadoop flows. One seed of some ten thousand flows. About two minutes of processor time.",
    notes: &[
        "The figure prints no numbers. What it shows: under HPCC the choice of flow control hardly matters.",
        "`hpcc-recovery` has the same in buffers so small that HPCC drops packets, too.",
    ],
    choices: &[],
    steps: &[],
    needs: || [HPCC.needs(), DCQCN.needs()].concat(),
    panels: |done| [HPCC.panels(done, "under HPCC"), DCQCN.panels(done, "under DCQCN")].concat(),
};

const PFC: &[&str] = &["network.flow_control=pfc"];
const GO_BACK_N: &[&str] = &[
    "network.flow_control=none",
    "network.recovery=go-back-n",
    "network.rto=320us",
];
const IRN: &[&str] = &[
    "network.flow_control=none",
    "network.recovery=irn",
    "network.rto=320us",
];

const fn case(
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

const fn grid(key: &'static str, cases: &'static [Case], claims: &'static [Claim]) -> Grid {
    Grid {
        scenario: "fat320-hadoop50-incast",
        key,
        settings: &[],
        cases,
        seeds: 1,
        rows: &[
            ("p95", "p95 of slowdown", "×", 3),
            ("p99", "p99 of slowdown", "×", 2),
            ("long_p95", "p95 of slowdown from 1 MB", "×", 2),
            ("drops", "packets dropped", "", 0),
            ("pauses", "pauses", "", 0),
            ("again", "payload sent again", "%", 3),
        ],
        claims,
    }
}

const HPCC: Grid = grid(
    "control",
    &[
        case("PFC", "pfc", "hpcc", PFC),
        case("go-back-N", "gbn", "hpcc", GO_BACK_N),
        case("IRN", "irn", "hpcc", IRN),
    ],
    &[
        Claim {
            what: "p95 of slowdown, go-back-N over PFC",
            of: |value| over_pfc(value, 1),
            criterion: HARDLY,
        },
        Claim {
            what: "p95 of slowdown, IRN over PFC",
            of: |value| over_pfc(value, 2),
            criterion: HARDLY,
        },
    ],
);

const DCQCN: Grid = grid(
    "control",
    &[
        case("PFC", "pfc", "dcqcn", PFC),
        case("go-back-N", "gbn", "dcqcn", GO_BACK_N),
        case("IRN", "irn", "dcqcn", IRN),
    ],
    &[
        Claim {
            what: "p95 of slowdown, go-back-N over PFC",
            of: |value| over_pfc(value, 1),
            criterion: Criterion::SHOWN,
        },
        Claim {
            what: "p95 of slowdown, IRN over PFC",
            of: |value| over_pfc(value, 2),
            criterion: Criterion::SHOWN,
        },
    ],
);

/// The figure shows lines on each other: a tenth is what an eye would see.
const HARDLY: Criterion = Criterion::property(
    Tolerance::Between(0.9, 1.1),
    Source::Paper,
    "the figure's lines lie on each other and have no numbers: a tenth could be seen",
);

fn over_pfc(value: &Value<'_>, case: usize) -> Option<f64> {
    Some(value(case, "p95")? / value(0, "p95")?)
}
