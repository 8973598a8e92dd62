//! Figures 3.18 and 3.19: TIMELY with ternary detection.

use crate::citation::Citation;
use paceline_congestion::Mark;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowStatus, PacketKind, TraceKind};
use paceline_scenario::Resolved;

use crate::Reproduction;
use crate::criterion::{Criterion, Source, Tolerance};
use crate::grid::{BY_SIZE, Case, Claim, Grid, Quantity, Value, case};
use crate::need::{Measure, Metrics};
use paceline_lab::stats::mean;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "tcd-timely",
    data: None,
    title: "TIMELY with and without TCD, and DCQCN: victims, and a fat tree",
    source: Citation::of(papers::TCD_THESIS, "section 3.5.2, figures 3.18 and 3.19"),
    setting: "Scenario `tcd-victims`: Hadoop messages that share links with others, which bursts hold back; completion times of the \
              victims by size, as the thesis groups them, and their marks. Scenario `tcd-fat-tree` with 1 ms of arrivals. Means \
              over three seeds. Some two minutes of processor time.",
    notes: &[
        "The thesis says that TIMELY gains, since it leaves the rate of an undetermined flow as it is; its figures have no numbers \
         in the copy that we have. Judged are signs: no victim is marked congested, and mean and median are no worse with TCD.",
        "Victims are marked, two crosses: where both senders are at work they bring 20 Gbit/s each, together just what P0 carries, so \
         that the queue which a pause has left there stands still. `Not shrinking` is congested by the thesis's words. Its public code \
         lets a queue grow by 900 bytes in max(Ton) and calls that shrinking: with `network.detection.variant=as-coded` (seed 1) no victim \
         is marked under DCQCN+TCD, 12 with `thesis`; 5 under TIMELY+TCD, 24 with `thesis`.",
        "Long victims gain and short ones lose, under both schemes: long ones that are not cut keep more bytes in the paused queues, in \
         which short ones wait. The authors' simulator has the same in a scenario like this.",
        "TIMELY does not look at marks: without TCD the columns' congested marks are those that the curve would put.",
        "The fat tree is `tcd-fat-tree` in small, with a salted hash: that entry has all its flows, under DCQCN.",
    ],
    choices: &[],
    steps: &[],
    needs: || [VICTIMS.needs(), FAT_TREE.needs()].concat(),
    panels: |done| [VICTIMS.panels(done, "victims"), FAT_TREE.panels(done, "fat tree")].concat(),
};

const RED: &str = "network.detection.kind=red";

const CASES: [Case; 4] = [
    case("TIMELY", "red", "timely", &[RED]),
    case("TIMELY+TCD", "tcd", "timely", &["cc.timely.tcd=true"]),
    case("DCQCN", "red", "dcqcn-tcd", &[RED]),
    case("DCQCN+TCD", "tcd", "dcqcn-tcd", &[]),
];

const VICTIMS: Grid = Grid {
    scenario: "tcd-victims",
    key: "victims",
    digest: Measure {
        name: "victims-by-size",
        of: digest,
    },
    settings: &["record.trace=[7]"],
    cases: &CASES,
    seeds: 3,
    rows: &[
        ("ce", "victims' packets marked congested", "%", 2),
        ("ue", "victims' packets marked undetermined", "%", 2),
        ("hit", "victims with a packet marked congested", "", 0),
        ("all", "mean completion time", "µs", 1),
        ("a", "mean completion time below 10 KB", "µs", 1),
        ("b", "mean completion time, 10 to 100 KB", "µs", 1),
        ("c", "mean completion time, 100 KB to 1 MB", "µs", 1),
        ("d", "mean completion time from 1 MB", "µs", 1),
    ],
    claims: &[
        Claim {
            what: "victims marked congested, TIMELY+TCD",
            of: |value| value(1, "hit"),
            criterion: SPARED,
        },
        Claim {
            what: "victims marked congested, DCQCN+TCD",
            of: |value| value(3, "hit"),
            criterion: SPARED,
        },
        Claim {
            what: "victims' mean completion time, TIMELY over TIMELY+TCD",
            of: |value| over(value, "all"),
            criterion: NO_WORSE,
        },
    ],
};

const FAT_TREE: Grid = Grid {
    scenario: "tcd-fat-tree",
    key: "fat",
    digest: BY_SIZE,
    settings: &[
        "workload.0.poisson.to=1ms",
        "record.accounts=off",
        "record.pfc=false",
    ],
    cases: &CASES,
    seeds: 3,
    rows: &ROWS,
    claims: &[
        Claim {
            what: "median slowdown to 100 KB, TIMELY over TIMELY+TCD",
            of: |value| over(value, "short_p50"),
            criterion: NO_WORSE,
        },
        Claim {
            what: "99th percentile of slowdown, TIMELY over TIMELY+TCD",
            of: |value| over(value, "p99"),
            criterion: NO_WORSE,
        },
    ],
};

const ROWS: [Quantity; 6] = [
    ("short_p50", "median slowdown to 100 KB", "×", 3),
    ("short_p99", "p99 of slowdown to 100 KB", "×", 2),
    ("p99", "p99 of slowdown", "×", 2),
    ("long_mean", "mean slowdown from 1 MB", "×", 2),
    ("pauses", "pause frames", "", 0),
    ("unfinished", "flows not done", "", 0),
];

const SPARED: Criterion = Criterion::property(
    Tolerance::AtMost(0.0),
    Source::Paper,
    "no victim is taken for a culprit",
);
const NO_WORSE: Criterion = Criterion::property(
    Tolerance::AtLeast(1.0),
    Source::Paper,
    "a sign: the figures show a gain, the numbers are lost",
);

fn over(value: &Value<'_>, name: &str) -> Option<f64> {
    Some(value(0, name)? / value(1, name)?)
}

/// Mean completion times of the victims by size, in µs, and their marks.
fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let is_victim = |flow: u32| {
        let label = input.run.flows[flow as usize].label;
        input.run.labels[usize::from(label)] == "victims"
    };
    let data = outcome.trace.iter().filter(|event| {
        (event.event, event.kind) == (TraceKind::Receive, PacketKind::Data) && is_victim(event.flow)
    });
    let marks: Vec<(u32, Mark)> = data.map(|event| (event.flow, event.mark)).collect();
    let marked = |mark| marks.iter().filter(move |one| one.1 == mark);
    let share = |mark| 100.0 * marked(mark).count() as f64 / marks.len().max(1) as f64;
    let mut hit: Vec<u32> = marked(Mark::Congested).map(|one| one.0).collect();
    hit.sort_unstable();
    hit.dedup();
    let flows = (0..).zip(input.run.flows.iter().zip(&outcome.flows));
    let victims =
        flows.filter(|(flow, (_, record))| is_victim(*flow) && record.status == FlowStatus::Completed);
    let times: Vec<(u64, f64)> = victims
        .map(|(_, (spec, record))| (spec.size.get(), record.fct.as_ps() as f64 / 1e6))
        .collect();
    let of = |from: u64, below: u64| {
        let within = times.iter().filter(|(size, _)| (from..below).contains(size));
        mean(&within.map(|&(_, time)| time).collect::<Vec<f64>>())
    };
    let values = [
        ("ce", Some(share(Mark::Congested))),
        ("ue", Some(share(Mark::Undetermined))),
        ("hit", Some(hit.len() as f64)),
        ("all", of(0, u64::MAX)),
        ("a", of(0, 10_000)),
        ("b", of(10_000, 100_000)),
        ("c", of(100_000, 1_000_000)),
        ("d", of(1_000_000, u64::MAX)),
    ];
    Metrics {
        values: values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        ..Metrics::default()
    }
}
