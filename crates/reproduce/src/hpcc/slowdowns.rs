//! Figure 11: slowdowns of short and long flows under six schemes.

use super::MORE;
use crate::Reproduction;
use crate::citation::Citation;
use crate::grid::{BY_SIZE, Case, Claim, Grid, Quantity};
use paceline_congestion::papers;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "hpcc-figure11",
    data: None,
    title: "Slowdown of short and long Hadoop flows, 320 hosts, two loads, six schemes",
    source: Citation::of(papers::HPCC, "figure 11 and section 5.3"),
    setting: "The paper's 320 hosts: Hadoop flows at 30 % load with incasts of 60 flows of 500 KB at 2 % of the capacity, \
              arriving during 1 ms, and at 50 % load without, during 0.5 ms. Slowdowns of the Hadoop flows, up to \
              100 KB and from 1 MB. Means over three seeds of 8,000 to 10,000 flows each; the incasts are none, two and \
              one. About two and a half minutes of processor time.",
    notes: &[
        "The figure prints no numbers. What it shows, from our notes, not from the paper's text: HPCC has the lowest tail of \
         short flows of all schemes; it pays for that with long flows, which take somewhat longer than under the \
         best for them, since it leaves 5 % of the bandwidth and its telemetry takes room; windows (DCQCN+win, \
         TIMELY+win) improve both schemes much.",
        "Judged are orders of short flows' 95th percentiles; ours has them in each seed. Long flows are shown: longer under HPCC \
         than under DCTCP and schemes with windows, shorter than under DCQCN and TIMELY without.",
        "`hpcc-fct` compares an experiment like the first with the authors' simulator, value by value.",
    ],
    choices: &[],
    steps: &[],
    needs: || GRIDS.iter().flat_map(|(_, grid)| grid.needs()).collect(),
    panels: |done| {
        GRIDS
            .iter()
            .flat_map(|(name, grid)| grid.panels(done, name))
            .collect()
    },
};

const fn scheme(column: &'static str, scheme: &'static str) -> Case {
    Case {
        column,
        key: "fct",
        scheme,
        settings: &[],
    }
}

const SCHEMES: &[Case] = &[
    scheme("HPCC", "hpcc"),
    scheme("DCQCN", "dcqcn"),
    scheme("TIMELY", "timely"),
    scheme("DCQCN+win", "dcqcn-win"),
    scheme("TIMELY+win", "timely-win"),
    scheme("DCTCP", "dctcp"),
];

const ROWS: &[Quantity] = &[
    ("short_p50", "median slowdown to 100 KB", "×", 3),
    ("short_p95", "p95 of slowdown to 100 KB", "×", 2),
    ("short_p99", "p99 of slowdown to 100 KB", "×", 2),
    ("long_mean", "mean slowdown from 1 MB", "×", 2),
    ("long_p95", "p95 of slowdown from 1 MB", "×", 2),
    ("pauses", "pauses", "", 0),
];

const CLAIMS: &[Claim] = &[
    Claim {
        what: "p95 of short flows, DCQCN over HPCC",
        of: |value| Some(value(1, "short_p95")? / value(0, "short_p95")?),
        criterion: MORE,
    },
    Claim {
        what: "p95 of short flows, TIMELY over HPCC",
        of: |value| Some(value(2, "short_p95")? / value(0, "short_p95")?),
        criterion: MORE,
    },
    Claim {
        what: "p95 of short flows, DCQCN+win over HPCC",
        of: |value| Some(value(3, "short_p95")? / value(0, "short_p95")?),
        criterion: MORE,
    },
    Claim {
        what: "p95 of short flows, TIMELY+win over HPCC",
        of: |value| Some(value(4, "short_p95")? / value(0, "short_p95")?),
        criterion: MORE,
    },
    Claim {
        what: "p95 of short flows, DCTCP over HPCC",
        of: |value| Some(value(5, "short_p95")? / value(0, "short_p95")?),
        criterion: MORE,
    },
    Claim {
        what: "p95 of short flows, DCQCN over DCQCN+win",
        of: |value| Some(value(1, "short_p95")? / value(3, "short_p95")?),
        criterion: MORE,
    },
    Claim {
        what: "p95 of short flows, TIMELY over TIMELY+win",
        of: |value| Some(value(2, "short_p95")? / value(4, "short_p95")?),
        criterion: MORE,
    },
];

const fn grid(scenario: &'static str, key: &'static str, settings: &'static [&'static str]) -> Grid {
    Grid {
        scenario,
        key,
        digest: BY_SIZE,
        settings,
        cases: SCHEMES,
        seeds: 3,
        rows: ROWS,
        claims: CLAIMS,
    }
}

const GRIDS: [(&str, Grid); 2] = [
    (
        "30 % and incasts",
        grid(
            "fat320-hadoop30-2ms",
            "incasts",
            &["workload.0.poisson.to=1ms", "workload.1.incast-poisson.to=1ms"],
        ),
    ),
    (
        "50 %",
        grid("fat320-hadoop50", "alone", &["workload.0.poisson.to=500us"]),
    ),
];
