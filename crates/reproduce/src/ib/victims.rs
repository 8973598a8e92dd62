//! Victims by size under credits: by how long ports stay undetermined, and by how credits are told.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_lab::stats::mean;
use paceline_scenario::Resolved;

use super::{Criterion, Measure, Metrics, NO_VICTIM, Quantity, Reproduction, SOME_VICTIM, Source, Tolerance};
use crate::choice::Choice;
use crate::grid::{Case, Claim, Grid, case};

/// The links between switches.
macro_rules! cable {
    ($delay:literal) => {
        &[
            concat!("topology.graph.links.0.delay=", $delay),
            concat!("topology.graph.links.1.delay=", $delay),
            concat!("topology.graph.links.2.delay=", $delay),
        ]
    };
}

const CHOICE: Choice = Choice {
    what: "The two senders' links have 10 Gbit/s each.",
    tried: "16 and 14 Gbit/s",
    changed: "With those P0's queue takes longer to go and more victims are marked: 1967 instead of 861 packets at 5 Tc, seed 1.",
};

pub(super) const BY_EXIT: Reproduction = Reproduction {
    id: "ib-tcd-victims",
    data: None,
    title: "TCD over credits: victims by size, and how long ports stay undetermined",
    source: Citation::of(
        papers::TCD_THESIS,
        "table 3.3 and figures 3.14 and 3.15: under TCD no victim is marked congested",
    ),
    setting: "Scenario `tcd-credits-victims`: 400 Hadoop messages past a port that bursts fill; nothing that they pass can be \
              congested by what it is sent. Exit timers in periods of 4.096 us. Means over three seeds.",
    notes: &[
        "The table's numbers are lost. Wrong marks are P2's, after a burst: what P0 has held back comes at the line's rate, so that P2's \
         queue stands still, and a queue that does not shrink is taken for congested, until the buffers before it are empty. Neither \
         a period nor the formula knows of them: with 5 Tc, longer than any port here waits for credits, victims are still marked.",
        "At 10 Tc 27 packets of one seed are marked, at 20 none.",
    ],
    choices: &[CHOICE],
    steps: &[],
    needs: || EXITS.needs(),
    panels: |done| EXITS.panels(done, ""),
};

pub(super) const BY_EVENT: Reproduction = Reproduction {
    id: "ib-tcd-cbfc",
    data: None,
    title: "Ternary detection with event-driven credits",
    source: Citation::ours("nobody has published it; the experiment is that of `ib-tcd-victims`"),
    setting: "Scenario `tcd-credits-victims` with credits told once in 4.096 us (`ib`) and when room has become free (`cbfc`), both with \
              the same max(Ton): 20.48 us by buffer, then 81.92 us by buffer, then by the length of the cables between switches, of which a lane's buffer of 67,584 \
              bytes holds what goes in 17 us. Means over three seeds.",
    notes: &[
        "It survives: with 68 KB a quarter of the marks that queues alone put on victims (`ib-tcd-victims`) at 20.48 us, none at 81.92, and \
         roots are found. At the same max(Ton) it errs no less often than by period: with 68 KB 1.38 times as often, which misses our bound, \
         with 131 KB alike.",
        "Below what a link needs for its rate every port waits for credit after each buffer's worth, roots too: all is undetermined and \
         nobody is slowed down. By period that is so with 17 KB, C Tc and no more; by event 4 KB are enough for nine marks in ten.",
    ],
    choices: &[
        CHOICE,
        Choice {
            what: "max(Ton) of 20.48 and of 81.92 us, in place of each binding's default.",
            tried: "the defaults: 20.48 us (`ib`) and 72 us (`cbfc`, by the slowest link); 4.096, 8.192 and 40.96 us for both",
            changed: "With the defaults `cbfc` looks better by far, which is its longer time's doing.",
        },
    ],
    steps: &[],
    needs: || [SHORT.needs(), LONG.needs(), CABLES.needs()].concat(),
    panels: |done| {
        [
            SHORT.panels(done, "max(Ton) 20.48 us"),
            LONG.panels(done, "max(Ton) 81.92 us"),
            CABLES.panels(done, "cables, 81.92 us"),
        ]
        .concat()
    },
};

const DIGEST: Measure = Measure {
    name: "ib victims",
    of: digest,
};

const EXITS: Grid = Grid {
    scenario: "tcd-credits-victims",
    key: "exit",
    digest: DIGEST,
    settings: &[],
    cases: &[
        case("queue alone", "red", "ibcc-tcd", &["network.detection.kind=red"]),
        case("IBCC's FECN", "fecn", "ibcc", &["network.detection.kind=red"]),
        case("1 Tc", "one", "ibcc-tcd", &["network.detection.periods=1"]),
        case(
            "formula",
            "formula",
            "ibcc-tcd",
            &["network.detection.exit=formula"],
        ),
        case("1.16 Tc", "more", "ibcc-tcd", &["network.detection.periods=1.16"]),
        case("2 Tc", "two", "ibcc-tcd", &["network.detection.periods=2"]),
        case("5 Tc", "five", "ibcc-tcd", &[]),
        case("10 Tc", "ten", "ibcc-tcd", &["network.detection.periods=10"]),
        case("20 Tc", "twenty", "ibcc-tcd", &["network.detection.periods=20"]),
    ],
    seeds: 3,
    rows: &ROWS,
    claims: &[
        Claim {
            what: "victims' packets marked congested, formula",
            of: |value| value(3, "ce"),
            criterion: NO_VICTIM,
        },
        Claim {
            what: "victims' packets marked congested, 5 Tc",
            of: |value| value(6, "ce"),
            criterion: NO_VICTIM,
        },
        Claim {
            what: "victims' packets marked congested, 20 Tc",
            of: |value| value(8, "ce"),
            criterion: NO_VICTIM,
        },
        Claim {
            what: "victims' packets marked congested, 5 Tc over queue alone",
            of: |value| Some(value(6, "ce")? / value(0, "ce")?),
            criterion: Criterion::property(
                Tolerance::AtMost(0.5),
                Source::Us,
                "detection is worth having if it spares half of them",
            ),
        },
        Claim {
            what: "victims' packets marked congested, IBCC's FECN",
            of: |value| value(1, "ce"),
            criterion: SOME_VICTIM,
        },
    ],
};

/// Buffers of 2, 8, 32 and 62 packets of 2112 bytes in credits, under either binding.
const BUFFERS: [Case; 8] = [
    case("ib, 4 KB", "ib-two", "ibcc-tcd", &["network.credit.buffer=4224B"]),
    case(
        "ib, 17 KB",
        "ib-eight",
        "ibcc-tcd",
        &["network.credit.buffer=16896B"],
    ),
    case(
        "ib, 68 KB",
        "ib-more",
        "ibcc-tcd",
        &["network.credit.buffer=67584B"],
    ),
    case(
        "ib, 131 KB",
        "ib-most",
        "ibcc-tcd",
        &["network.credit.buffer=130944B"],
    ),
    case(
        "cbfc, 4 KB",
        "cbfc-two",
        "ibcc-tcd",
        &["network.credit.binding=cbfc", "network.credit.buffer=4224B"],
    ),
    case(
        "cbfc, 17 KB",
        "cbfc-eight",
        "ibcc-tcd",
        &["network.credit.binding=cbfc", "network.credit.buffer=16896B"],
    ),
    case(
        "cbfc, 68 KB",
        "cbfc-more",
        "ibcc-tcd",
        &["network.credit.binding=cbfc", "network.credit.buffer=67584B"],
    ),
    case(
        "cbfc, 131 KB",
        "cbfc-most",
        "ibcc-tcd",
        &["network.credit.binding=cbfc", "network.credit.buffer=130944B"],
    ),
];

const SHORT: Grid = Grid {
    scenario: "tcd-credits-victims",
    key: "short",
    digest: DIGEST,
    settings: &["network.detection.max-ton=20.48us"],
    cases: &BUFFERS,
    seeds: 3,
    rows: &ROWS,
    claims: &[
        Claim {
            what: "68 KB: victims' packets marked congested, cbfc over ib",
            of: |value| Some(value(6, "ce")? / value(2, "ce")?),
            criterion: ALIKE,
        },
        Claim {
            what: "131 KB: victims' packets marked congested, cbfc over ib",
            of: |value| Some(value(7, "ce")? / value(3, "ce")?),
            criterion: ALIKE,
        },
    ],
};

const ALIKE: Criterion = Criterion::property(
    Tolerance::Between(0.75, 1.33),
    Source::Us,
    "how credits are told does not matter if it survives: a quarter is what seeds differ by",
);

const LONG: Grid = Grid {
    key: "long",
    settings: &["network.detection.max-ton=81.92us"],
    claims: &[
        Claim {
            what: "ib, 68 KB: victims' packets marked congested",
            of: |value| value(2, "ce"),
            criterion: SPARED_TOO,
        },
        Claim {
            what: "cbfc, 68 KB: victims' packets marked congested",
            of: |value| value(6, "ce"),
            criterion: SPARED_TOO,
        },
        Claim {
            what: "cbfc, 17 KB: victims' packets marked congested",
            of: |value| value(5, "ce"),
            criterion: SPARED_TOO,
        },
        Claim {
            what: "cbfc, 68 KB: share of the bursts' packets marked congested",
            of: |value| value(6, "root"),
            criterion: ROOT,
        },
        Claim {
            what: "cbfc, 17 KB: share of the bursts' packets marked congested",
            of: |value| value(5, "root"),
            criterion: ROOT,
        },
        Claim {
            what: "ib, 4 KB (less than C Tc): share of the bursts' packets marked congested",
            of: |value| value(0, "root"),
            criterion: Criterion::property(
                Tolerance::AtMost(0.1),
                Source::Us,
                "a root that waits for credit in every period is undetermined",
            ),
        },
    ],
    ..SHORT
};

const SPARED_TOO: Criterion = Criterion::property(
    Tolerance::AtMost(0.0),
    Source::Us,
    "no victim is taken for a culprit, however credits are told",
);
const ROOT: Criterion = Criterion::property(Tolerance::AtLeast(0.9), Source::Us, "roots are found");

const CABLES: Grid = Grid {
    scenario: "tcd-credits-victims",
    key: "cables",
    digest: DIGEST,
    settings: &["network.detection.max-ton=81.92us", "network.credit.binding=cbfc"],
    cases: &[
        case("1 m", "near", "ibcc-tcd", cable!("5ns")),
        case("100 m", "far", "ibcc-tcd", cable!("500ns")),
        case("1 km", "farther", "ibcc-tcd", cable!("5us")),
        case("2 km", "farthest", "ibcc-tcd", cable!("10us")),
    ],
    seeds: 3,
    rows: &ROWS,
    claims: &[
        Claim {
            what: "100 m: victims' packets marked congested",
            of: |value| value(1, "ce"),
            criterion: SPARED_TOO,
        },
        Claim {
            what: "1 km: victims' packets marked congested",
            of: |value| value(2, "ce"),
            criterion: SPARED_TOO,
        },
        Claim {
            what: "1 km: share of the bursts' packets marked congested",
            of: |value| value(2, "root"),
            criterion: ROOT,
        },
    ],
};

const ROWS: [Quantity; 9] = [
    ("ce", "victims' packets marked congested", "", 0),
    ("ue", "victims' packets marked undetermined", "", 0),
    ("packets", "victims' packets", "", 0),
    ("flows", "victims with a congested mark", "", 1),
    ("root", "share of the bursts' packets marked congested", "", 3),
    ("fct_10k", "victims' mean completion time, up to 10 KB", "µs", 1),
    ("fct_100k", "10 to 100 KB", "µs", 1),
    ("fct_1m", "0.1 to 1 MB", "µs", 1),
    ("fct_more", "from 1 MB", "µs", 0),
];

/// Classes of sizes: their names, and where they end.
const SIZES: [(&str, u64); 4] = [
    ("fct_10k", 10_000),
    ("fct_100k", 100_000),
    ("fct_1m", 1_000_000),
    ("fct_more", u64::MAX),
];

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let run = &input.run;
    let of = |name: &'static str| {
        let flows = run.flows.iter().zip(&outcome.flows);
        flows.filter(move |(spec, _)| run.labels[usize::from(spec.label)] == name)
    };
    let packets = |name| -> u64 {
        of(name)
            .map(|(spec, _)| spec.size.get().div_ceil(run.packet.mtu.get()))
            .sum()
    };
    let congested = |name| -> u64 { of(name).map(|(_, flow)| u64::from(flow.congested)).sum() };
    let undetermined: u64 = of("victims").map(|(_, flow)| u64::from(flow.undetermined)).sum();
    let marked = of("victims").filter(|(_, flow)| flow.congested > 0).count();
    let mut numbers = super::numbers([
        ("ce", Some(congested("victims") as f64)),
        ("ue", Some(undetermined as f64)),
        ("packets", Some(packets("victims") as f64)),
        ("flows", Some(marked as f64)),
        (
            "root",
            Some(congested("bursts") as f64 / packets("bursts").max(1) as f64),
        ),
    ]);
    let mut from = 0;
    for (name, to) in SIZES {
        let own = of("victims").filter(|(spec, flow)| {
            (from..to).contains(&spec.size.get()) && flow.status == FlowStatus::Completed
        });
        let times: Vec<f64> = own.map(|(_, flow)| flow.fct.as_us_f64()).collect();
        numbers.values.extend(mean(&times).map(|mean| (name, mean)));
        from = to;
    }
    numbers
}
