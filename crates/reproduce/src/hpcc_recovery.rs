//! HPCC and DCQCN over PFC, go-back-N and IRN.

use super::Reproduction;
use super::criterion::{Criterion, Source, Tolerance};
use super::irn_loss::{RATIO, Recoveries, Value};
use super::need::Done;
use super::panel::Panel;
use crate::citation::Citation;
use paceline_congestion::papers;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "hpcc-recovery",
    data: None,
    title: "HPCC and DCQCN with PFC, go-back-N and IRN",
    source: Citation::of(papers::HPCC, "figure 12"),
    setting: "The experiment in small: 16 hosts of a fat tree, Hadoop flows at 50 % load and incasts of 15 flows, arriving \
              during 2 ms, into buffers of 250 KB; lossless with PFC, or without it and with go-back-N or IRN for \
              what switches drop.",
    notes: &[
        "The figure prints no numbers. What it shows: HPCC keeps queues so short that the choice hardly matters, \
         since nothing is dropped and nobody pauses; under DCQCN it does.",
        "Judged: HPCC's 95th percentile of slowdown without PFC is within 10 % of that with it. In buffers as small as \
         these it is better without: some thousand packets are dropped, and nobody waits for pauses.",
    ],
    choices: &[],
    steps: &[],
    needs: || RECOVERIES.needs(),
    panels,
};

/// PFC stands first: the last row compares with it.
const RECOVERIES: Recoveries = Recoveries {
    scenario: "hpcc-recovery",
    folder: false,
    digest: "recovery",
    schemes: ["hpcc", "dcqcn"],
    cases: [
        ("pfc", "PFC", &["network.flow-control=pfc"]),
        (
            "go-back-n",
            "go-back-N",
            &["network.flow-control=none", "network.recovery=go-back-n"],
        ),
        (
            "irn",
            "IRN",
            &["network.flow-control=none", "network.recovery=irn"],
        ),
    ],
    rows: &[
        ("slowdown_p95", "p95 of slowdown", "×", 3),
        ("slowdown_p99", "p99 of slowdown", "×", 3),
        ("drops", "packets dropped", "", 0),
        ("pauses", "pause frames", "", 0),
        ("again", "payload sent again", "%", 3),
    ],
    ratio: ("p95 of slowdown, over that with PFC", 3),
};

/// The figure shows bars of one height: a tenth is what an eye would see.
const HARDLY: Criterion = Criterion::property(
    Tolerance::Between(0.9, 1.1),
    Source::Paper,
    "the figure has bars of one height and no numbers: a tenth could be seen",
);

fn panels(done: &Done) -> Vec<Panel> {
    let ratio = |value: &Value<'_>, case| Some(value(case, "slowdown_p95")? / value(0, "slowdown_p95")?);
    RECOVERIES.panels(done, &ratio, &|scheme, name, case| match name {
        RATIO if case > 0 && scheme == "hpcc" => (None, HARDLY),
        _ => (None, Criterion::SHOWN),
    })
}
