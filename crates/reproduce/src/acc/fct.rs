//! A6 and A7: completion times and pauses in a network of 250 hosts.

use super::{Criterion, RECONSTRUCTED, Reproduction, SOURCE, Tolerance, WINDOW, bar};
use crate::grid::{BY_SIZE, Case, Claim, Grid, Value, case};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "acc-fct",
    data: None,
    title: "ACC: completion times and pauses compared with seven schemes, 250 hosts",
    source: SOURCE,
    setting: "A fat tree of 250 hosts at 40 Gbit/s with links of 4 us; Hadoop or web search flows at 60 % load, arriving during \
              600 us, and 60 hosts that send 500 KB each to one after 200 us. Slowdowns of the flows beside that incast, short \
              up to 100 KB, long from 1 MB. Means over ten seeds, the same ones for every scheme: some 38,000 Hadoop and 2,600 \
              web search flows. About five minutes of processor time.",
    notes: &[
        RECONSTRUCTED,
        "The thesis says that the 99th percentiles of short and long flows are up to 40 % below HPCC's, in words that break \
         off. Not its numbers are judged but the direction: at most HPCC's.",
        "Every scheme has its defaults and the marking that it is published with, but Swift, whose default target is below \
         this network's round trip of 49 us: 50 us and 1 us per link. DCQCN is the public code's with its launcher's \
         parameters; `+TCD` is the paper's DCQCN and TIMELY with ternary detection.",
    ],
    choices: &[WINDOW],
    steps: &[],
    needs: || [HADOOP.needs(), WEB_SEARCH.needs()].concat(),
    panels: |done| {
        [
            HADOOP.panels(done, "Hadoop"),
            WEB_SEARCH.panels(done, "web search"),
        ]
        .concat()
    },
};

/// ACC first, HPCC second, DCQCN third: claims name them so.
const CASES: &[Case] = &[
    case("ACC", "acc", "acc", &[]),
    case("HPCC", "hpcc", "hpcc", &[]),
    case("DCQCN", "dcqcn", "dcqcn", &[]),
    case("TIMELY", "timely", "timely", &[]),
    case("PCN", "pcn", "pcn", &[]),
    case("Swift", "swift", "swift", &["cc.swift.base-delay=50us"]),
    case("DCQCN+TCD", "tcd", "dcqcn-tcd", &["network.detection.kind=tcd"]),
    case(
        "TIMELY+TCD",
        "tcd",
        "timely",
        &["network.detection.kind=tcd", "cc.timely.tcd=true"],
    ),
];

const fn grid(scenario: &'static str) -> Grid {
    Grid {
        scenario,
        key: "fct",
        digest: BY_SIZE,
        settings: &[],
        cases: CASES,
        seeds: 10,
        rows: &[
            ("short_p50", "median of short flows' slowdown", "×", 3),
            ("short_p99", "p99 of short flows' slowdown", "×", 2),
            ("mean", "mean slowdown", "×", 3),
            ("long_mean", "mean of long flows' slowdown", "×", 2),
            ("long_p99", "p99 of long flows' slowdown", "×", 2),
            ("pauses", "pause frames", "", 0),
            ("paused", "time paused, all ports", "us", 0),
            ("unfinished", "flows not done", "", 0),
        ],
        claims: CLAIMS,
    }
}

const HADOOP: Grid = grid("acc-fat250-hadoop60");
const WEB_SEARCH: Grid = grid("acc-fat250-websearch60");

const AT_MOST_HPCC: Criterion = bar(
    Tolerance::AtMost(1.0),
    "the direction of the thesis's claim: without telemetry in headers and without room left on the link",
);

fn over(value: &Value<'_>, case: usize, name: &str) -> Option<f64> {
    Some(value(0, name)? / value(case, name)?)
}

const CLAIMS: &[Claim] = &[
    Claim {
        what: "p99 of short flows, over HPCC's",
        of: |value| over(value, 1, "short_p99"),
        criterion: AT_MOST_HPCC,
    },
    Claim {
        what: "p99 of long flows, over HPCC's",
        of: |value| over(value, 1, "long_p99"),
        criterion: AT_MOST_HPCC,
    },
    Claim {
        what: "mean of long flows, over HPCC's",
        of: |value| over(value, 1, "long_mean"),
        criterion: Criterion::SHOWN,
    },
    Claim {
        what: "time paused, over DCQCN's",
        of: |value| over(value, 2, "paused"),
        criterion: bar(
            Tolerance::AtMost(0.1),
            "a good neighbour of pauses hardly needs them",
        ),
    },
];
