//! DCQCN's trade-offs: rate against stability by its timers, rate against delay by the marking threshold.

use super::MORE;
use crate::Reproduction;
use crate::citation::Citation;
use crate::grid::{BY_SIZE, Case, Claim, Grid};
use paceline_congestion::papers;

const NOTES: &str = "The figure prints no numbers; what it shows is told here from our notes, not from the paper's text. The \
                     network is a small one in place of the paper's; no other was tried.";

pub(super) const TIMERS: Reproduction = Reproduction {
    id: "hpcc-figure2",
    data: None,
    title: "DCQCN's timers: throughput against stability",
    source: Citation::of(papers::HPCC, "figure 2"),
    setting: "Web search flows at 30 % load during 4 ms in a fat tree of 16 hosts, and incasts of 15 flows of 500 KB at 2 % of \
              the capacity, buffers of 4 MB, PFC. DCQCN increases a rate every Ti and cuts it at most once in Td. \
              Slowdowns are of the web search flows; means over five seeds. About 15 s of processor time.",
    notes: &[
        NOTES,
        "With a smaller Ti and a larger Td senders take free bandwidth sooner, so flows are done sooner; and there are more and \
         longer pauses when incasts come.",
        "Ours shows the first for long flows. The mean of all flows is smaller with Ti 300 than with 55 µs, a cross: with \
         the boldest timers short flows wait behind the queues and pauses that these make.",
    ],
    choices: &[],
    steps: &[],
    needs: || TIMER_GRID.needs(),
    panels: |done| TIMER_GRID.panels(done, ""),
};

const TIMER_GRID: Grid = Grid {
    scenario: "hpcc-recovery",
    key: "timers",
    digest: BY_SIZE,
    settings: &[
        "workload.0.poisson.sizes=websearch",
        "workload.0.poisson.load=0.3",
        "workload.0.poisson.to=4ms",
        "workload.1.incast-poisson.load=0.02",
        "workload.1.incast-poisson.to=4ms",
        "network.flow-control=pfc",
        "network.recovery=go-back-n",
        "network.rto=4ms",
        "network.buffer=4MB",
    ],
    cases: &[
        Case {
            column: "Ti 55, Td 50 µs",
            key: "bold",
            scheme: "dcqcn",
            settings: &["cc.dcqcn.increase-timer=55us", "cc.dcqcn.cut-interval=50us"],
        },
        Case {
            column: "Ti 300, Td 4 µs",
            key: "vendor",
            scheme: "dcqcn",
            settings: &["cc.dcqcn.increase-timer=300us", "cc.dcqcn.cut-interval=4us"],
        },
        Case {
            column: "Ti 900, Td 4 µs",
            key: "careful",
            scheme: "dcqcn",
            settings: &["cc.dcqcn.increase-timer=900us", "cc.dcqcn.cut-interval=4us"],
        },
    ],
    seeds: 5,
    rows: &[
        ("long_mean", "mean slowdown from 1 MB", "×", 2),
        ("short_p95", "p95 of slowdown to 100 KB", "×", 2),
        ("mean", "mean slowdown of all", "×", 2),
        ("pauses", "pauses", "", 0),
        ("paused", "time that ports were paused", "µs", 0),
    ],
    claims: &[
        Claim {
            what: "mean slowdown from 1 MB, Ti 300 over 55 µs",
            of: |value| Some(value(1, "long_mean")? / value(0, "long_mean")?),
            criterion: MORE,
        },
        Claim {
            what: "mean slowdown from 1 MB, Ti 900 over 300 µs",
            of: |value| Some(value(2, "long_mean")? / value(1, "long_mean")?),
            criterion: MORE,
        },
        Claim {
            what: "mean slowdown of all, Ti 300 over 55 µs",
            of: |value| Some(value(1, "mean")? / value(0, "mean")?),
            criterion: MORE,
        },
        Claim {
            what: "mean slowdown of all, Ti 900 over 300 µs",
            of: |value| Some(value(2, "mean")? / value(1, "mean")?),
            criterion: MORE,
        },
        Claim {
            what: "time paused, Ti 55 over 300 µs",
            of: |value| Some(value(0, "paused")? / value(1, "paused")?),
            criterion: MORE,
        },
        Claim {
            what: "time paused, Ti 55 over 900 µs",
            of: |value| Some(value(0, "paused")? / value(2, "paused")?),
            criterion: MORE,
        },
    ],
};

pub(super) const THRESHOLDS: Reproduction = Reproduction {
    id: "hpcc-figure3",
    data: None,
    title: "DCQCN's marking thresholds: bandwidth against delay",
    source: Citation::of(papers::HPCC, "figure 3"),
    setting: "Web search flows at 30 and at 50 % load during 4 ms in a fat tree of 16 hosts at 100 Gbit/s, PFC. Marks from Kmin \
              on, all packets from Kmax on. Means over five seeds. About 35 s of processor time.",
    notes: &[
        NOTES,
        "Low thresholds keep queues short, so that short flows are done \
         sooner, and hold long flows back; high ones the other way round.",
    ],
    choices: &[],
    steps: &[],
    needs: || [AT_30.needs(), AT_50.needs()].concat(),
    panels: |done| [AT_30.panels(done, "30 % load"), AT_50.panels(done, "50 % load")].concat(),
};

const MARKS: [Case; 3] = [
    Case {
        column: "400 KB, 1600 KB",
        key: "high",
        scheme: "dcqcn",
        settings: &["network.ecn.kmin=400KB", "network.ecn.kmax=1600KB"],
    },
    Case {
        column: "100 KB, 400 KB",
        key: "middle",
        scheme: "dcqcn",
        settings: &["network.ecn.kmin=100KB", "network.ecn.kmax=400KB"],
    },
    Case {
        column: "12 KB, 50 KB",
        key: "low",
        scheme: "dcqcn",
        settings: &["network.ecn.kmin=12KB", "network.ecn.kmax=50KB"],
    },
];

const MARK_CLAIMS: &[Claim] = &[
    Claim {
        what: "p95 of slowdown to 100 KB, Kmin 400 over 12 KB",
        of: |value| Some(value(0, "short_p95")? / value(2, "short_p95")?),
        criterion: MORE,
    },
    Claim {
        what: "p95 of slowdown to 100 KB, Kmin 400 over 100 KB",
        of: |value| Some(value(0, "short_p95")? / value(1, "short_p95")?),
        criterion: MORE,
    },
    Claim {
        what: "mean slowdown from 1 MB, Kmin 12 over 400 KB",
        of: |value| Some(value(2, "long_mean")? / value(0, "long_mean")?),
        criterion: MORE,
    },
    Claim {
        what: "mean slowdown from 1 MB, Kmin 12 over 100 KB",
        of: |value| Some(value(2, "long_mean")? / value(1, "long_mean")?),
        criterion: MORE,
    },
];

const fn marks(key: &'static str, settings: &'static [&'static str]) -> Grid {
    Grid {
        scenario: "recovery-loss",
        key,
        digest: BY_SIZE,
        settings,
        cases: &MARKS,
        seeds: 5,
        rows: &[
            ("short_p50", "median slowdown to 100 KB", "×", 3),
            ("short_p95", "p95 of slowdown to 100 KB", "×", 2),
            ("long_mean", "mean slowdown from 1 MB", "×", 2),
            ("long_p95", "p95 of slowdown from 1 MB", "×", 2),
        ],
        claims: MARK_CLAIMS,
    }
}

/// The network and its traffic at a load.
const fn at(load: &'static str) -> [&'static str; 7] {
    [
        load,
        "workload.0.poisson.to=4ms",
        "network.flow-control=pfc",
        "network.recovery=go-back-n",
        "network.rto=4ms",
        "network.error-rate=0",
        "network.ecn.reference-rate=100Gbps",
    ]
}

const AT_30: Grid = marks("marks-light", &at("workload.0.poisson.load=0.3"));
const AT_50: Grid = marks("marks-heavy", &at("workload.0.poisson.load=0.5"));
