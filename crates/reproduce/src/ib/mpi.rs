//! Figure 3.17: MPI among files on 1024 servers, under IBCC by marks of its own and by ternary detection.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowRecord, FlowStatus};
use paceline_fabric::spec::FlowSpec;
use paceline_lab::stats::{mean, percentile};
use paceline_scenario::Resolved;

use super::{Criterion, Measure, Metrics, Quantity, Reproduction, Source, Tolerance};
use crate::choice::Choice;
use crate::grid::{Claim, Grid, Value, case};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "ib-mpi-io",
    data: None,
    title: "MPI among files on 1024 servers: IBCC by its own marks and by ternary detection",
    source: Citation::of(
        papers::TCD_THESIS,
        "figure 3.17: mean completion time by size under IBCC and IBCC+TCD, which raises the index by \
                 2 at a congested mark and not at an undetermined one",
    ),
    setting: "Scenario `infiniband-mpi-io`: in a fat tree of 1024 servers 256 write files of 512 KB to 4 MB to 512 others, four under way at a \
              time, while 256 exchange messages of 2 to 32 KB. Means over three seeds.",
    notes: &[
        "The figure's numbers are lost. Judged is what it is said to show: with ternary detection nothing is slower, and MPI is faster.",
        "MPI is faster, and detection is not why: the same reaction to marks by queue alone gives the same times. There is little to detect,          since files meet at most a few at a time and ports hardly ever wait for credits; what helps is that every packet above the          threshold is marked where IBCC's own rule marks one in eleven. The same makes files slower by a tenth.",
    ],
    choices: &[Choice {
        what: "The last property, of TCD over marks by queue alone, was put in after seeing that both give the same.",
        tried: "the three before it, set before any run",
        changed: "Without it MPI's gain over IBCC looks like detection's.",
    }],
    steps: &[],
    needs: || GRID.needs(),
    panels: |done| GRID.panels(done, ""),
};

/// Places of cases in [`GRID`].
const IBCC: usize = 1;
const RED: usize = 3;
const TCD: usize = 4;

const GRID: Grid = Grid {
    scenario: "infiniband-mpi-io",
    key: "mpi",
    digest: Measure {
        name: "ib mpi",
        of: digest,
    },
    settings: &[],
    cases: &[
        case("credits alone", "none", "none", &["network.detection.kind=red"]),
        case("IBCC", "ibcc", "ibcc", &["network.detection.kind=red"]),
        case(
            "IBCC, steps of 2",
            "two",
            "ibcc",
            &["network.detection.kind=red", "cc.ibcc.ccti-increase=2"],
        ),
        case("queue alone", "red", "ibcc-tcd", &["network.detection.kind=red"]),
        case("IBCC+TCD, 5 Tc", "five", "ibcc-tcd", &[]),
        case(
            "formula",
            "formula",
            "ibcc-tcd",
            &["network.detection.exit=formula"],
        ),
        case("20 Tc", "twenty", "ibcc-tcd", &["network.detection.periods=20"]),
    ],
    seeds: 3,
    rows: &ROWS,
    claims: &[
        Claim {
            what: "files' mean completion time, IBCC+TCD over IBCC, the size with the largest",
            of: |value| worst(value, &FILES),
            criterion: NOT_WORSE,
        },
        Claim {
            what: "MPI messages' mean completion time, IBCC+TCD over IBCC, the size with the largest",
            of: |value| worst(value, &MESSAGES),
            criterion: NOT_WORSE,
        },
        Claim {
            what: "MPI messages' mean completion time, IBCC+TCD over IBCC, all sizes",
            of: |value| Some(value(TCD, "mpi")? / value(IBCC, "mpi")?),
            criterion: Criterion::property(
                Tolerance::AtMost(0.98),
                Source::Paper,
                "MPI is better off: by more than seeds differ by",
            ),
        },
        Claim {
            what: "the same over the same reaction to marks by queue alone",
            of: |value| Some(value(TCD, "mpi")? / value(RED, "mpi")?),
            criterion: Criterion::property(
                Tolerance::AtMost(0.98),
                Source::Us,
                "it is detection that helps, not more marks",
            ),
        },
    ],
};

const NOT_WORSE: Criterion = Criterion::property(
    Tolerance::AtMost(1.0),
    Source::Paper,
    "IBCC+TCD is not worse at any size",
);

/// By how much the mean of a size is longer with ternary detection, of the size where that is most.
fn worst(value: &Value<'_>, sizes: &[(&'static str, u64)]) -> Option<f64> {
    let ratios: Option<Vec<f64>> = (sizes.iter())
        .map(|&(name, _)| Some(value(TCD, name)? / value(IBCC, name)?))
        .collect();
    ratios?.into_iter().max_by(f64::total_cmp)
}

const ROWS: [Quantity; 15] = [
    ("mpi_2k", "MPI, mean completion time, 2 KB", "µs", 2),
    ("mpi_4k", "4 KB", "µs", 2),
    ("mpi_8k", "8 KB", "µs", 2),
    ("mpi_16k", "16 KB", "µs", 2),
    ("mpi_32k", "32 KB", "µs", 2),
    ("mpi", "MPI, all sizes", "µs", 2),
    ("mpi_p99", "MPI, all sizes, p99", "µs", 1),
    ("io_512k", "files, mean completion time, 512 KB", "µs", 0),
    ("io_1m", "1 MB", "µs", 0),
    ("io_2m", "2 MB", "µs", 0),
    ("io_4m", "4 MB", "µs", 0),
    ("end", "last file", "ms", 2),
    ("mpi_ce", "MPI, packets marked congested", "", 0),
    ("io_ce", "files, packets marked congested", "", 0),
    ("ue", "packets marked undetermined", "", 0),
];

/// Sizes by the names of their means.
const MESSAGES: [(&str, u64); 5] = [
    ("mpi_2k", 2_000),
    ("mpi_4k", 4_000),
    ("mpi_8k", 8_000),
    ("mpi_16k", 16_000),
    ("mpi_32k", 32_000),
];
const FILES: [(&str, u64); 4] = [
    ("io_512k", 512_000),
    ("io_1m", 1_000_000),
    ("io_2m", 2_000_000),
    ("io_4m", 4_000_000),
];

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let run = &input.run;
    let of = |name: &str| -> Vec<(&FlowSpec, &FlowRecord)> {
        let flows = run.flows.iter().zip(&outcome.flows);
        flows
            .filter(|(spec, _)| run.labels[usize::from(spec.label)] == name)
            .collect()
    };
    let (mpi, io) = (of("mpi"), of("io"));
    if (mpi.iter().chain(&io)).any(|(_, flow)| flow.status != FlowStatus::Completed) {
        return Metrics::default();
    }
    let times = |flows: &[(&FlowSpec, &FlowRecord)], size: Option<u64>| -> Vec<f64> {
        let own = flows
            .iter()
            .filter(|(spec, _)| size.is_none_or(|size| spec.size.get() == size));
        own.map(|(_, flow)| flow.fct.as_us_f64()).collect()
    };
    let congested = |flows: &[(&FlowSpec, &FlowRecord)]| -> f64 {
        flows.iter().map(|(_, flow)| f64::from(flow.congested)).sum()
    };
    let undetermined: f64 = (mpi.iter().chain(&io))
        .map(|(_, flow)| f64::from(flow.undetermined))
        .sum();
    let mut all = times(&mpi, None);
    all.sort_by(f64::total_cmp);
    let end = io.iter().map(|(_, flow)| (flow.start + flow.fct).as_ps()).max();
    let mut numbers = super::numbers([
        ("mpi", mean(&all)),
        ("mpi_p99", percentile(&all, 0.99)),
        ("end", end.map(|end| end as f64 / 1e9)),
        ("mpi_ce", Some(congested(&mpi))),
        ("io_ce", Some(congested(&io))),
        ("ue", Some(undetermined)),
    ]);
    let by_size = |flows, sizes: &[(&'static str, u64)]| -> Vec<(&'static str, f64)> {
        let means = sizes
            .iter()
            .map(|&(name, size)| Some((name, mean(&times(flows, Some(size)))?)));
        means.flatten().collect()
    };
    numbers.values.extend(by_size(&mpi, &MESSAGES));
    numbers.values.extend(by_size(&io, &FILES));
    numbers
}
