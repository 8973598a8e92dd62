//! PFC, go-back-N and IRN on the paper's network.

use super::from_notes;
use crate::Reproduction;
use crate::citation::Citation;
use crate::criterion::{Criterion, Source, Tolerance};
use crate::grid::{BY_SIZE, Case, Claim, Grid, Value, case};
use paceline_congestion::papers;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "hpcc-figure12",
    data: None,
    title: "HPCC and DCQCN with PFC, go-back-N and IRN, 320 hosts",
    source: Citation::of(papers::HPCC, "figure 12"),
    setting: "The paper's 320 hosts with buffers of 32 MB: Hadoop flows at 50 % load and incasts of 60 flows of 500 KB at 2 % of \
              the capacity, arriving during 1 ms; lossless with PFC, or without it and with go-back-N or IRN. Slowdowns \
              are of the Hadoop flows. Means over three seeds of some 17,000 flows; the incasts are none, two and one. About \
              three minutes of processor time.",
    notes: &[
        "The figure prints no numbers. What it shows, from our notes, not from the paper's text: under HPCC the choice of flow \
         control hardly matters.",
        "No packet is dropped in buffers of this size, under DCQCN neither: recovery has nothing to do. What differs under \
         DCQCN is pauses with PFC, and with IRN its bound on what is in flight: without it (`network.irn.bdp-cap=false`, \
         seed 3) the 95th percentile is 3.92, go-back-N's 3.96, with it 3.00.",
        "`hpcc-recovery` has the same in buffers so small that HPCC drops packets, too.",
    ],
    choices: &[],
    steps: &[],
    needs: || [HPCC.needs(), DCQCN.needs()].concat(),
    panels: |done| [HPCC.panels(done, "under HPCC"), DCQCN.panels(done, "under DCQCN")].concat(),
};

const PFC: &[&str] = &["network.flow-control=pfc"];
const GO_BACK_N: &[&str] = &["network.flow-control=none", "network.recovery=go-back-n"];
const IRN: &[&str] = &["network.flow-control=none", "network.recovery=irn"];

const fn grid(key: &'static str, cases: &'static [Case], claims: &'static [Claim]) -> Grid {
    Grid {
        scenario: "fat320-hadoop50-incast",
        key,
        digest: BY_SIZE,
        settings: &["workload.0.poisson.to=1ms", "workload.1.incast-poisson.to=1ms"],
        cases,
        seeds: 3,
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
    from_notes!("its lines lie on each other and have no numbers: a tenth could be seen"),
);

fn over_pfc(value: &Value<'_>, case: usize) -> Option<f64> {
    Some(value(case, "p95")? / value(0, "p95")?)
}
