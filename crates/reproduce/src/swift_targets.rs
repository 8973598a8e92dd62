//! Swift's target delay as it grows with the number of flows.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::Reproduction;
use super::bolt::step_mean;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::need::{Done, Input, Measure, Metrics, RunRequest};
use super::panel::{Column, Panel, Row};
use paceline_lab::stats::jain;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "swift-target-scaling",
    data: None,
    title: "Swift's target delay by number of flows",
    source: Citation::of(papers::SWIFT, "section 3.5 on scaling the target"),
    setting: "2 to 64 long flows to one host over 100 Gbit/s at one switch. Round trips and goodput in the second half of \
              12 ms. As paper stands where the round trip settles by the paper's formulas: the delay at which each flow's \
              share of what is in flight has just that delay for its target.",
    notes: &[
        "The paper's figures print no numbers: its formula is what is compared with. A sender that adds a packet per \
         round trip and takes off up to half at a time stays around its target, not on it: 10 %.",
        "Without flow scaling the target is the same for any number of flows, and what they add per round trip together \
         makes the queue.",
    ],
    choices: &[],
    steps: &[],
    needs: || {
        FLOWS
            .iter()
            .flat_map(|&flows| [need(flows, true), need(flows, false)])
            .collect()
    },
    panels,
};

const DIGEST: Measure = Measure {
    name: "targets",
    of: digest,
};

const FLOWS: [u32; 5] = [2, 4, 16, 32, 64];

fn need(flows: u32, scaling: bool) -> RunRequest {
    RunRequest {
        variant: format!("{flows}-{}", if scaling { "scaled" } else { "flat" }),
        settings: vec![
            format!("workload.0.incast.fan-in={flows}"),
            format!("cc.swift.flow-scaling={scaling}"),
        ],
        digest: Some(DIGEST),
        folder: false,
        ..RunRequest::of(Input::Shipped("swift-long-flows", 1), "swift")
    }
}

fn digest(_: &Resolved, outcome: &Outcome) -> Metrics {
    let end = outcome.end.as_ps() as f64;
    let late = |series: &paceline_fabric::outcome::FlowSeries| {
        let steps: Vec<(f64, f64)> = (series.rtt.bins())
            .map(|bin| (bin.at.as_ps() as f64, bin.mean / 1e6))
            .collect();
        step_mean(&steps, end / 2.0, end)
    };
    let rtts: Vec<f64> = outcome.flow_series.iter().map(late).collect();
    let share = |record: &paceline_fabric::outcome::RateRecord| {
        let half = record.bytes.len() / 2;
        record.bytes[half..].iter().sum::<u64>() as f64
    };
    let shares: Vec<f64> = outcome.rates.iter().map(share).collect();
    let values = [("rtt", paceline_lab::stats::mean(&rtts)), ("jain", jain(&shares))];
    Metrics {
        values: values
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect(),
        ..Metrics::default()
    }
}

/// Where the round trip settles, in µs: the parameters are Swift's defaults, two links of a star, packets
/// of 1000 bytes in 1056 on the wire.
pub(super) fn settled(flows: u32) -> f64 {
    const BASE: f64 = 10.0 + 2.0;
    const RANGE: f64 = 100.0;
    const PACKETS_PER_US: f64 = 100e3 / 8.0 / 1056.0;
    let root = |packets: f64| 1.0 / packets.sqrt();
    let alpha = RANGE / (root(0.1) - root(256.0));
    let target = |rtt: f64| {
        let window = rtt * PACKETS_PER_US / f64::from(flows);
        BASE + (alpha * (root(window) - root(256.0))).clamp(0.0, RANGE)
    };
    // The target falls as the round trip grows: they meet once.
    let (mut low, mut high) = (BASE, BASE + RANGE);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if target(middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

const AROUND: Criterion = Criterion::property(
    Tolerance::Within(0.1),
    Source::Paper,
    "its formula; a sender that adds a packet per round trip and takes off up to half stays around it, not on it",
);
const FAIR: Criterion = Criterion::property(
    Tolerance::AtLeast(0.95),
    Source::Us,
    "equal flows with one target",
);

fn panels(done: &Done) -> Vec<Panel> {
    let value = |flows, scaling, name: &str| done.numbers(&need(flows, scaling))?.values.get(name).copied();
    let columns = ["scaled", "not scaled"].map(|name| Column {
        name,
        scheme: if name == "scaled" { "swift" } else { "timely" },
        published: "formula",
    });
    let row = |metric: &'static str, unit, decimals| {
        FLOWS.map(|flows| Row {
            label: format!("{flows} flows: {metric}"),
            metric,
            unit,
            decimals,
            x: None,
        })
    };
    let rtts = row("mean round trip", "µs", 2);
    let shares = row("Jain's index of goodput", "", 4);
    let rows = [rtts.to_vec(), shares.to_vec()].concat();
    let panel = Panel::of("", "", columns.to_vec(), rows, |row, column| {
        let flows = FLOWS[row % FLOWS.len()];
        let scaled = column == 0;
        let of_rtt = row < FLOWS.len();
        Cell {
            paper: (of_rtt && scaled).then(|| settled(flows)),
            ours: value(flows, scaled, if of_rtt { "rtt" } else { "jain" }),
            criterion: match (of_rtt, scaled) {
                (true, true) => AROUND,
                (false, true) => FAIR,
                _ => Criterion::SHOWN,
            },
        }
    });
    vec![panel]
}
