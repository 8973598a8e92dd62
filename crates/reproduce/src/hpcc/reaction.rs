//! To which acknowledgements HPCC reacts, and the size of its additive step.

use super::MORE;
use crate::Reproduction;
use crate::citation::Citation;
use crate::grid::{BY_SIZE, Case, Claim, Grid, Quantity};
use paceline_congestion::papers;

const ROWS: &[Quantity] = &[
    ("queue_mean", "mean queue of all ports", "KB", 2),
    ("queue_p99", "p99 of the queue", "KB", 0),
    ("end", "all flows done after", "µs", 1),
    ("jain", "Jain's index of goodput", "", 4),
];

pub(super) const REACTION: Reproduction = Reproduction {
    id: "hpcc-reaction",
    data: None,
    title: "HPCC's reaction: per ACK, per round trip, and both",
    source: Citation::of(papers::HPCC, "figure 13, with section 3.2"),
    setting: "Sixteen hosts send 500 KB each to one at 100 Gbit/s, all at once. Per ACK: every acknowledgement moves the rate \
              and its reference; per round trip: one acknowledgement in each moves both; HPCC: every acknowledgement moves \
              the rate, one per round trip the reference. Queues of all switch ports, sampled every µs. Nothing is random. \
              Below a second of processor time.",
    notes: &[
        "The figure prints no numbers. What it shows, from our notes, not from the paper's text: reacting per round trip drains the queue later than HPCC; reacting per \
         acknowledgement reacts to the same packets many times, and throughput falls.",
    ],
    choices: &[],
    steps: &[],
    needs: || REACTIONS.needs(),
    panels: |done| REACTIONS.panels(done, ""),
};

const REACTIONS: Grid = Grid {
    scenario: "incast-16",
    key: "reaction",
    digest: BY_SIZE,
    settings: &[],
    cases: &[
        Case {
            column: "HPCC",
            key: "both",
            scheme: "hpcc",
            settings: &[],
        },
        Case {
            column: "per round trip",
            key: "slow",
            scheme: "hpcc",
            settings: &["cc.hpcc.fast-react=false"],
        },
        Case {
            column: "per ACK",
            key: "over",
            scheme: "hpcc",
            settings: &["cc.hpcc.over-react=true"],
        },
    ],
    seeds: 1,
    rows: ROWS,
    claims: &[
        Claim {
            what: "mean queue, per round trip over HPCC",
            of: |value| Some(value(1, "queue_mean")? / value(0, "queue_mean")?),
            criterion: MORE,
        },
        Claim {
            what: "time until all are done, per ACK over HPCC",
            of: |value| Some(value(2, "end")? / value(0, "end")?),
            criterion: MORE,
        },
    ],
};

pub(super) const STEP: Reproduction = Reproduction {
    id: "hpcc-step",
    data: None,
    title: "HPCC's additive step: fairness against queues",
    source: Citation::of(papers::HPCC, "figure 14, with section 3.3"),
    setting: "The same incast under HPCC with additive steps of 10 Mbit/s to 0.8 Gbit/s per round trip: W_AI, the paper's step of \
              the window, is that times the base round trip of 4.2 µs (5 to 420 bytes). Its rule for N flows at most, \
              W (1 - η) / N, gives 160 bytes for 16. Below a second of processor time.",
    notes: &[
        "The figure prints no numbers. What it shows, from our notes, not from the paper's text: a larger step makes shares equal sooner, and queues longer; up to the \
         rule's value queues stay near zero.",
        "Shares are less equal with 50 than with 10 Mbit/s, a cross: one run of each step says little where they are this \
         close, and nothing is random that could be drawn again. Queues stay near zero up to 200 Mbit/s, below the \
         rule's value, and do not with 800, above it.",
    ],
    choices: &[],
    steps: &[],
    needs: || STEPS.needs(),
    panels: |done| STEPS.panels(done, ""),
};

const fn step(column: &'static str, key: &'static str, settings: &'static [&'static str]) -> Case {
    Case {
        column,
        key,
        scheme: "hpcc",
        settings,
    }
}

const STEPS: Grid = Grid {
    scenario: "incast-16",
    key: "step",
    digest: BY_SIZE,
    settings: &[],
    cases: &[
        step("10 Mbit/s", "least", &["cc.hpcc.rate-ai=10Mbps"]),
        step("50 Mbit/s", "small", &["cc.hpcc.rate-ai=50Mbps"]),
        step("200 Mbit/s", "large", &["cc.hpcc.rate-ai=200Mbps"]),
        step("800 Mbit/s", "most", &["cc.hpcc.rate-ai=800Mbps"]),
    ],
    seeds: 1,
    rows: ROWS,
    claims: &[
        Claim {
            what: "mean queue, 50 over 10 Mbit/s",
            of: |value| Some(value(1, "queue_mean")? / value(0, "queue_mean")?),
            criterion: MORE,
        },
        Claim {
            what: "mean queue, 200 over 50 Mbit/s",
            of: |value| Some(value(2, "queue_mean")? / value(1, "queue_mean")?),
            criterion: MORE,
        },
        Claim {
            what: "mean queue, 800 over 200 Mbit/s",
            of: |value| Some(value(3, "queue_mean")? / value(2, "queue_mean")?),
            criterion: MORE,
        },
        Claim {
            what: "distance from equal shares, 10 over 50 Mbit/s",
            of: |value| Some((1.0 - value(0, "jain")?) / (1.0 - value(1, "jain")?)),
            criterion: MORE,
        },
        Claim {
            what: "distance from equal shares, 50 over 200 Mbit/s",
            of: |value| Some((1.0 - value(1, "jain")?) / (1.0 - value(2, "jain")?)),
            criterion: MORE,
        },
        Claim {
            what: "distance from equal shares, 200 over 800 Mbit/s",
            of: |value| Some((1.0 - value(2, "jain")?) / (1.0 - value(3, "jain")?)),
            criterion: MORE,
        },
    ],
};
