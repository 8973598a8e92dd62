//! Figure 11: slowdown by size under six schemes.

use super::figure;
use super::grid::{Case, Claim, Grid, Quantity};
use crate::reproduce::Reproduction;
use crate::reproduce::criterion::{Criterion, Source, Tolerance};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "hpcc-figure11",
    title: "Slowdown of short and long flows, 320 hosts, two traces and loads",
    source: figure!("figure 11 and section 5.3"),
    setting: "The paper's 320 hosts: Hadoop and web search flows, at 30 % load with incasts of 60 flows of 500 KB at 2 % of the \
              capacity, and at 50 % load without; arriving during 2 ms. Slowdowns of the background's flows, up to 100 KB \
              and from 1 MB. One seed of some thousand flows. About six minutes of processor time.",
    notes: &[
        "The figure prints no numbers. What it shows: HPCC has the lowest tail of short flows of all schemes; it pays for that \
         with long flows, which take somewhat longer than under the best for them, since it leaves 5 % of the \
         bandwidth and its telemetry takes room; windows (DCQCN+win, TIMELY+win) improve both schemes much.",
        "`hpcc-fct` compares the first of these experiments with the authors' simulator, value by value.",
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

/// A scheme has to have a longer tail of short flows than HPCC.
const LONGER: Criterion = Criterion::property(
    Tolerance::AtLeast(1.0),
    Source::Paper,
    "an order: which is larger",
);

const CLAIMS: &[Claim] = &[
    Claim {
        what: "p95 of short flows, DCQCN over HPCC",
        of: |value| Some(value(1, "short_p95")? / value(0, "short_p95")?),
        criterion: LONGER,
    },
    Claim {
        what: "p95 of short flows, TIMELY over HPCC",
        of: |value| Some(value(2, "short_p95")? / value(0, "short_p95")?),
        criterion: LONGER,
    },
    Claim {
        what: "p95 of short flows, DCQCN+win over HPCC",
        of: |value| Some(value(3, "short_p95")? / value(0, "short_p95")?),
        criterion: LONGER,
    },
    Claim {
        what: "p95 of short flows, TIMELY+win over HPCC",
        of: |value| Some(value(4, "short_p95")? / value(0, "short_p95")?),
        criterion: LONGER,
    },
    Claim {
        what: "p95 of short flows, DCTCP over HPCC",
        of: |value| Some(value(5, "short_p95")? / value(0, "short_p95")?),
        criterion: LONGER,
    },
    Claim {
        what: "p95 of short flows, DCQCN over DCQCN+win",
        of: |value| Some(value(1, "short_p95")? / value(3, "short_p95")?),
        criterion: LONGER,
    },
    Claim {
        what: "p95 of short flows, TIMELY over TIMELY+win",
        of: |value| Some(value(2, "short_p95")? / value(4, "short_p95")?),
        criterion: LONGER,
    },
];

const fn grid(scenario: &'static str) -> Grid {
    Grid {
        scenario,
        key: "figure",
        settings: &[],
        cases: SCHEMES,
        seeds: 1,
        rows: ROWS,
        claims: CLAIMS,
    }
}

const GRIDS: [(&str, Grid); 4] = [
    ("Hadoop, 30 % and incasts", grid("fat320-hadoop30-2ms")),
    ("Hadoop, 50 %", grid("fat320-hadoop50")),
    ("web search, 30 % and incasts", grid("fat320-websearch30-incast")),
    ("web search, 50 %", grid("fat320-websearch50")),
];
