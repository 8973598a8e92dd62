//! What losses do to RDMA's throughput: a thesis's figure 3.

use crate::Reproduction;
use crate::choice::Choice;
use crate::citation::Citation;
use crate::criterion::{Criterion, Source, Tolerance};
use crate::grid::{BY_SIZE, Case, Claim, Grid, Value};
use crate::panel::Panel;
use paceline_congestion::papers;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-figure3",
    data: None,
    title: "RDMA's throughput by rate of loss",
    source: Citation::of(papers::PIDNN_THESIS, "figure 3 and its text"),
    setting: "One flow of 40 MB over two links of 100 Gbit/s, each of which loses that share of all packets; no congestion \
              control. Go-back-0 starts a message of 1 MB anew after a loss, go-back-N at what was lost, both with a \
              timeout of 1 ms; IRN sends what was lost alone. What is delivered in 20 ms, or until the flow is \
              done. Means over five seeds. About 7 s of processor time.",
    notes: &[
        "The figure's values are lost; its text: throughput is very sensitive to losses; at 1 % it falls nearly to zero, and \
         only at very low rates of loss is it whole. It does not say which NIC that is. A NIC that starts a \
         message anew has it so: no message of 1 MB arrives whole.",
        "Go-back-N keeps 14 of 95 Gbit/s at 1 %: the receiver repeats a NACK after 0.5 ms at the earliest, and where that or \
         what is sent again is lost, too, nothing counts until then. With 10 µs instead 46 are left (seed 1, where \
         0.5 ms leaves 16).",
    ],
    choices: &[
        Choice {
            what: "what the text says of 1 % is asked of go-back-0, of go-back-N that half is lost",
            tried: "go-back-N alone",
            changed: "with it 14 of 95 Gbit/s are left at 1 %, which is not nearly zero",
        },
        Choice {
            what: "\"very low\" is one packet in a hundred thousand",
            tried: "one in a million",
            changed: "then none of five seeds loses a packet, and there is nothing to judge",
        },
    ],
    steps: &[],
    needs: || RATES.iter().flat_map(|(_, grid)| grid.needs()).collect(),
    panels: |done| {
        RATES
            .iter()
            .flat_map(|(name, grid)| -> Vec<Panel> { grid.panels(done, name) })
            .collect()
    },
};

const CASES: &[Case] = &[
    Case {
        column: "go-back-0",
        key: "zero",
        scheme: "none",
        settings: &["network.recovery=go-back-n", "network.back-to-chunk=1MB"],
    },
    Case {
        column: "go-back-N",
        key: "n",
        scheme: "none",
        settings: &["network.recovery=go-back-n"],
    },
    Case {
        column: "IRN",
        key: "irn",
        scheme: "none",
        settings: &["network.recovery=irn"],
    },
];

/// Payload's share of a link of 100 Gbit/s with packets of 1000 bytes in 1048.
const WHOLE: f64 = 100.0 / 1.048;

const NEARLY_NOTHING: Criterion = Criterion::property(
    Tolerance::AtMost(0.05),
    Source::Paper,
    "nearly zero: a twentieth could be seen",
);
const HALF: Criterion = Criterion::property(
    Tolerance::AtMost(0.5),
    Source::Us,
    "very sensitive: one packet in a hundred",
);
const NEARLY_WHOLE: Criterion = Criterion::property(
    Tolerance::AtLeast(0.95),
    Source::Paper,
    "whole: a twentieth could be seen",
);

fn share(value: &Value<'_>, case: usize) -> Option<f64> {
    Some(value(case, "goodput")? / WHOLE)
}

const fn claims(zero: Criterion, n: Criterion, irn: Criterion) -> [Claim; 3] {
    [
        Claim {
            what: "share of the lossless throughput, go-back-0",
            of: |value| share(value, 0),
            criterion: zero,
        },
        Claim {
            what: "share of the lossless throughput, go-back-N",
            of: |value| share(value, 1),
            criterion: n,
        },
        Claim {
            what: "share of the lossless throughput, IRN",
            of: |value| share(value, 2),
            criterion: irn,
        },
    ]
}

const S: Criterion = Criterion::SHOWN;
const AT_LEAST: [Claim; 3] = claims(NEARLY_WHOLE, NEARLY_WHOLE, NEARLY_WHOLE);
const BETWEEN: [Claim; 3] = claims(S, S, S);
const AT_PERCENT: [Claim; 3] = claims(NEARLY_NOTHING, HALF, S);

macro_rules! at {
    ($name:literal, $key:literal, $rate:literal, $claims:expr) => {
        (
            $name,
            Grid {
                scenario: "incast-16",
                key: concat!("loss-", $key),
                digest: BY_SIZE,
                settings: &[
                    "workload.0.incast.fan-in=1",
                    "workload.0.incast.size=40MB",
                    "network.rto=1ms",
                    concat!("network.error-rate=", $rate),
                ],
                cases: CASES,
                seeds: 5,
                rows: &[
                    ("goodput", "throughput", "Gbit/s", 2),
                    ("again", "payload sent again", "%", 2),
                ],
                claims: $claims,
            },
        )
    };
}

const RATES: [(&str, Grid); 4] = [
    at!("0.001 % lost", "a", "0.00001", &AT_LEAST),
    at!("0.01 % lost", "b", "0.0001", &BETWEEN),
    at!("0.1 % lost", "c", "0.001", &BETWEEN),
    at!("1 % lost", "d", "0.01", &AT_PERCENT),
];
