//! Messages under credits: alone, all to all, among files, past a port that bursts fill.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowRecord, FlowStatus};
use paceline_fabric::spec::{Binding, FlowSpec};
use paceline_kernel::Bytes;
use paceline_scenario::Resolved;

use super::super::{MeasureSet, Metrics, measure};
use crate::stats::{mean, percentile};

pub(in crate::measures) const MESSAGE: MeasureSet = MeasureSet {
    name: "ib-message",
    about: "One message over six links under credits: its time, and that less the sum of the stages.",
    values: &[
        measure("latency", "latency", "µs", 4),
        measure("bandwidth", "bandwidth", "Gbit/s", 3),
        measure("off", "latency less the closed form", "ns", 4),
        measure("credits", "credits sent before packets, of one for each", "", 4),
    ],
    series: &[],
    of: message,
};

pub(in crate::measures) const ALL_TO_ALL: MeasureSet = MeasureSet {
    name: "ib-all-to-all",
    about: "An all-to-all of sixteen hosts under credits: its time less that of its exchanges, each a message alone with its \
            acknowledgement, 30 acknowledgements of 7.5 ns and four flow-control packets of 2 ns.",
    values: &[measure("off", "time less the closed form", "ns", 4)],
    series: &[],
    of: all_to_all,
};

pub(in crate::measures) const MPI: MeasureSet = MeasureSet {
    name: "ib-mpi",
    about: "Flows labelled `mpi` and `io`: mean completion times by size, and their packets' marks; nothing unless all completed.",
    values: &[
        measure("mpi_2k", "MPI, mean completion time, 2 KB", "µs", 2),
        measure("mpi_4k", "4 KB", "µs", 2),
        measure("mpi_8k", "8 KB", "µs", 2),
        measure("mpi_16k", "16 KB", "µs", 2),
        measure("mpi_32k", "32 KB", "µs", 2),
        measure("mpi", "MPI, all sizes", "µs", 2),
        measure("mpi_p99", "MPI, all sizes, p99", "µs", 1),
        measure("io_512k", "files, mean completion time, 512 KB", "µs", 0),
        measure("io_1m", "1 MB", "µs", 0),
        measure("io_2m", "2 MB", "µs", 0),
        measure("io_4m", "4 MB", "µs", 0),
        measure("end", "last file", "ms", 2),
        measure("mpi_ce", "MPI, packets marked congested", "", 0),
        measure("io_ce", "files, packets marked congested", "", 0),
        measure("ue", "packets marked undetermined", "", 0),
    ],
    series: &[],
    of: mpi,
};

pub(in crate::measures) const VICTIMS: MeasureSet = MeasureSet {
    name: "victims",
    about: "Flows labelled `victims` and `bursts`: their packets' marks, and victims' mean completion times by size.",
    values: &[
        measure("ce", "victims' packets marked congested", "", 0),
        measure("ue", "victims' packets marked undetermined", "", 0),
        measure("packets", "victims' packets", "", 0),
        measure("flows", "victims with a congested mark", "", 1),
        measure("root", "share of the bursts' packets marked congested", "", 3),
        measure("fct_10k", "victims' mean completion time, up to 10 KB", "µs", 1),
        measure("fct_100k", "10 to 100 KB", "µs", 1),
        measure("fct_1m", "0.1 to 1 MB", "µs", 1),
        measure("fct_more", "from 1 MB", "µs", 0),
    ],
    series: &[],
    of: victims,
};

/// Links from host 0 to host 15.
const LINKS: u64 = 6;

fn message(input: &Resolved, outcome: &Outcome) -> Metrics {
    let run = &input.run;
    let first = run.flows.first().zip(outcome.flows.first());
    let (Some(link), Some((spec, flow))) = (run.links.first(), first) else {
        return Metrics::default();
    };
    let Some((lanes, received)) = run.lanes.as_ref().zip(flow.received) else {
        return Metrics::default();
    };
    let ps = |bytes: u64| link.rate.time_to_send(Bytes::new(bytes)).as_ps();
    let took = (received - flow.start).as_ps();
    let (size, mtu) = (spec.size.get(), run.packet.mtu.get());
    let (header, first) = (run.packet.data_header.get(), u64::from(run.first_header()));
    let packets = size.div_ceil(mtu);
    let wires = ps(size + packets * header + first);
    let update = ps(lanes.update.get());
    let stages = LINKS * link.delay.as_ps()
        + match lanes.binding {
            // LRH and BTH.
            Binding::Ib { period, .. } => {
                wires + (LINKS - 1) * ps(20) + update * line(took, period.as_ps(), packets)
            }
            Binding::Cbfc { .. } => wires + (LINKS - 1) * ps(size.min(mtu) + header + first),
        };
    let off = took as f64 - stages as f64;
    Metrics::finite([
        ("latency", Some(took as f64 / 1e6)),
        ("bandwidth", Some(size as f64 * 8e3 / took as f64)),
        ("off", Some(off / 1e3)),
        ("credits", Some(off / (packets * update) as f64)),
    ])
}

/// Periods that end before the last packet of a message has left, none of a message that is over before.
fn line(took: u64, period: u64, packets: u64) -> u64 {
    if packets > 1 { took / period } else { 0 }
}

fn all_to_all(input: &Resolved, outcome: &Outcome) -> Metrics {
    let ends = outcome.flows.iter().map(|flow| (flow.start + flow.fct).as_ps());
    let steps = input.run.flows.len() as f64 / 16.0;
    let alone = outcome.flows.first().map(|flow| flow.ideal.as_ps() as f64);
    // Acknowledgements of 7.5 ns and flow-control packets of 2.
    let exchange = alone.map(|alone| alone + 30.0 * 7500.0 + 4.0 * 2000.0);
    let off = ends
        .max()
        .zip(exchange)
        .map(|(end, exchange)| (end as f64 - steps * exchange) / 1e3);
    Metrics::finite([("off", off)])
}

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

fn mpi(input: &Resolved, outcome: &Outcome) -> Metrics {
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
    let mut numbers = Metrics::finite([
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
    numbers.extend(by_size(&mpi, &MESSAGES));
    numbers.extend(by_size(&io, &FILES));
    numbers
}

/// Classes of sizes: their names, and where they end.
const SIZES: [(&str, u64); 4] = [
    ("fct_10k", 10_000),
    ("fct_100k", 100_000),
    ("fct_1m", 1_000_000),
    ("fct_more", u64::MAX),
];

fn victims(input: &Resolved, outcome: &Outcome) -> Metrics {
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
    let mut numbers = Metrics::finite([
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
        numbers.extend(mean(&times).map(|mean| (name, mean)));
        from = to;
    }
    numbers
}
