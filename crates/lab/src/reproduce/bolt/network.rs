//! B7: 256 hosts.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{FlowRecord, FlowStatus};
use paceline_scenario::Resolved;

use super::port::element;
use super::{
    BOLT, Digest, Done, HPCC, Mode, Need, Numbers, PACE_GAIN, Panel, Reproduction, SWIFT10, Tolerance,
    Variant, asked, need, numbers,
};
use crate::reproduce::criterion::{Cell, Criterion};
use crate::reproduce::panel::{Column, Row};
use crate::results::IdealFct;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "bolt-b7",
    title: "256 hosts at 100 and 400 Gbit/s: the tail of completion times",
    source: "Bolt: Sub-RTT Congestion Control for Ultra-Low Latency (Arslan et al., NSDI 2023), section 6.4",
    setting: "32 racks of eight hosts, nothing oversubscribed, links of 315 ns, packets of 5000 bytes; Poisson arrivals \
              during 0.5 ms (100 Gbit/s) or 0.2 ms (400 Gbit/s), then until all are done. 99th percentiles of \
              slowdown against the time alone in the network: how many times Bolt's the other scheme's is.",
    notes: &[
        "The paper's network of 32 racks of eight hosts is known, its inner links and its flows are not; its claim is \
         up to 3 times lower 99th percentiles of completion times than under Swift and HPCC, of all sizes.",
        "Judged are messages up to 1 KB against Swift, where there are at least 100 of them: at least twice as good. \
         Web search has hardly any; the other ratios are shown beside the paper's 3.",
        "Google's RPCs are drawn between the ten deciles that are known.",
    ],
    choices: &[PACE_GAIN],
    steps: &[],
    needs: run_needs,
    panels,
};

const DIGEST: Digest = Digest {
    name: "tail",
    of: digest,
};

/// Scenario, what tables call it, how long messages arrive.
const RATES: [(&str, &str, &str); 2] = [
    ("bolt-fat256-100", "100 Gbit/s", "500us"),
    ("bolt-fat256-400", "400 Gbit/s", "200us"),
];

const SIZES: [(&str, &str); 3] = [
    ("google-rpc-read", "Google RPC"),
    ("fb-hadoop", "Hadoop"),
    ("websearch", "web search"),
];

const LOADS: [(&str, &str); 3] = [("0.4", "40 %"), ("0.6", "60 %"), ("0.8", "80 %")];

const VARIANTS: [Variant; 3] = [BOLT, SWIFT10, HPCC];

/// A message is small up to this size.
const SMALL: u64 = 1_000;

/// So many small messages at least for their 99th percentile to be judged.
const ENOUGH: f64 = 100.0;

fn of_case(rate: usize, size: usize, load: usize, variant: Variant) -> Need {
    let (scenario, _, to) = RATES[rate];
    let mut need = need(scenario, variant, Mode::Paper, DIGEST);
    need.variant = format!("{}-{}-{}", variant.name, SIZES[size].0, LOADS[load].0);
    need.settings.extend([
        format!("workload.0.poisson.sizes={}", SIZES[size].0),
        format!("workload.0.poisson.load={}", LOADS[load].0),
        format!("workload.0.poisson.to={to}"),
    ]);
    need.folder = false;
    need
}

/// Rate, sizes, load of every case, in the order of the tables.
fn cases() -> impl Iterator<Item = (usize, usize, usize)> {
    let sizes = |rate| (0..SIZES.len()).map(move |size| (rate, size));
    let all = (0..RATES.len()).flat_map(sizes);
    all.flat_map(|(rate, size)| (0..LOADS.len()).map(move |load| (rate, size, load)))
}

fn run_needs() -> Vec<Need> {
    cases()
        .flat_map(|(rate, size, load)| VARIANTS.map(|variant| of_case(rate, size, load, variant)))
        .collect()
}

fn digest(input: &Resolved, outcome: &Outcome) -> Numbers {
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let done = flows.filter(|(_, flow)| flow.status == FlowStatus::Completed);
    let alone = IdealFct::of(&input.run.quirks);
    let slowdown = |flow: &FlowRecord| alone.slowdown(flow.fct.as_ps(), flow.ideal.as_ps());
    let of = done.map(|(spec, flow)| (spec.size.get(), slowdown(flow)));
    let all: Vec<(u64, f64)> = of.collect();
    let p99 = |most: u64| {
        let mut values: Vec<f64> = all
            .iter()
            .filter(|(size, _)| *size <= most)
            .map(|&(_, slowdown)| slowdown)
            .collect();
        values.sort_by(f64::total_cmp);
        element(&values, 0.99)
    };
    let small = all.iter().filter(|(size, _)| *size <= SMALL).count();
    numbers([
        ("small", p99(SMALL)),
        ("all", p99(u64::MAX)),
        ("messages", Some(small as f64)),
        ("missing", Some((outcome.flows.len() - all.len()) as f64)),
    ])
}

fn panels(done: &Done) -> Vec<Panel> {
    (0..RATES.len()).map(|rate| of_rate(done, rate)).collect()
}

/// A table: of each sizes and load the ratios, of small messages and of all.
fn of_rate(done: &Done, rate: usize) -> Panel {
    let cases: Vec<(usize, usize, usize)> = cases().filter(|case| case.0 == rate).collect();
    let value = |(rate, size, load): (usize, usize, usize), variant, name: &str| {
        let numbers = done.numbers(&of_case(rate, size, load, variant))?;
        numbers.values.get(name).copied()
    };
    let ratio = |case, variant, name: &str| Some(value(case, variant, name)? / value(case, BOLT, name)?);
    let columns = [
        ("Swift, up to 1 KB", "swift"),
        ("Swift, all", "swift"),
        ("HPCC, up to 1 KB", "hpcc"),
        ("HPCC, all", "hpcc"),
    ];
    let columns = columns.map(|(name, scheme)| Column {
        name,
        scheme,
        published: "paper",
    });
    let row = |&(_, size, load): &(usize, usize, usize)| Row {
        label: format!("{}, {}", SIZES[size].1, LOADS[load].1),
        metric: "p99 over Bolt's",
        unit: "×",
        decimals: 2,
        x: None,
    };
    let rows = cases.iter().map(row).collect();
    let title = format!(
        "99th percentile of slowdown over Bolt's, hosts at {}",
        RATES[rate].1
    );
    let panel = Panel::of(title, "messages, load", columns.to_vec(), rows, |row, column| {
        let (variant, name) = match column {
            0 => (SWIFT10, "small"),
            1 => (SWIFT10, "all"),
            2 => (HPCC, "small"),
            _ => (HPCC, "all"),
        };
        let enough = value(cases[row], BOLT, "messages").is_some_and(|count| count >= ENOUGH);
        Cell {
            paper: (name == "all").then_some(3.0),
            ours: ratio(cases[row], variant, name),
            criterion: match column {
                0 if enough => asked(Tolerance::AtLeast(2.0), "the paper's is up to three"),
                _ => Criterion::SHOWN,
            },
        }
    });
    Panel {
        told_by_title: true,
        ..panel
    }
}
