//! A5: acknowledgements in the class of the data.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::{
    Case, Criterion, Line, Measure, Metrics, RECONSTRUCTED, Reproduction, SOURCE, Table, Tolerance, bar,
    goodput, line, numbers,
};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "acc-shared-class",
    data: None,
    title: "ACC: acknowledgements in the class of the data",
    source: SOURCE,
    setting: "Four flows each way over a link of 40 Gbit/s and 4 us, from one instant; ACKs in a class of their own, before \
              data, or in the data's. The first rate to which each flow falls, over its share of the link less the margin; \
              goodput from 2 to 10 ms.",
    notes: &[
        RECONSTRUCTED,
        "The bar for the error is missed in the shared class: while the queue grows that ACKs wait in, they arrive as much \
         further apart as more comes into it than leaves, here four times. Senders take that for their share, a quarter \
         of what it is, and climb back.",
    ],
    choices: &[],
    steps: &[],
    needs: || table().needs(),
    panels: |done| vec![table().panel(done)],
};

const DIGEST: Measure = Measure {
    name: "shared-class",
    of: digest,
};

const LINES: &[Line] = &[
    line(
        "error",
        "error of the arrival rate, median",
        "%",
        2,
        bar(
            Tolerance::AtMost(10.0),
            "clumps are discarded, and a window is a round trip",
        ),
    ),
    line("worst", "the largest", "%", 2, Criterion::SHOWN),
    line(
        "right",
        "goodput to the right, of what the link carries",
        "%",
        2,
        bar(Tolerance::AtLeast(85.0), "no collapse"),
    ),
    line(
        "left",
        "goodput to the left",
        "%",
        2,
        bar(Tolerance::AtLeast(85.0), "no collapse"),
    ),
    line("queue", "largest queue", "KB", 0, Criterion::SHOWN),
];

fn table() -> Table {
    let of = |name, key, settings: &[&str]| Case::new(name, key, "acc", settings);
    Table {
        title: "ACKs of flows both ways".into(),
        scenario: "acc-shared-class",
        digest: DIGEST,
        cases: vec![
            of("own class", "own", &["network.ack-class=0"]),
            of("the data's", "shared", &[]),
        ],
        lines: LINES,
    }
}

/// The scheme's default, by which a flow goes below the arrival rate.
const MARGIN: f64 = 0.02;

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let packet = &input.run.packet;
    let data = (packet.mtu + packet.data_header).get() as f64;
    let ack = packet.ack_header.max(packet.ack_min).get() as f64;
    let line = input.run.links[0].rate.as_bps() as f64;
    // A packet of each flow, and an acknowledgement of one that came the other way.
    let share = line / 4.0 * data / (data + ack);
    let mut errors: Vec<f64> = outcome
        .flow_series
        .iter()
        .filter_map(|flow| {
            let first = flow.rate.bins().find(|bin| (bin.last as f64) < line)?;
            Some(100.0 * (first.last as f64 / (1.0 - MARGIN) / share - 1.0).abs())
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    let carried = |flows: std::ops::Range<u32>| {
        let gbps: f64 = flows.map(|flow| goodput(outcome, flow, 2000.0, 10_000.0)).sum();
        100.0 * gbps * 1e9 / (4.0 * share * packet.mtu.get() as f64 / data)
    };
    numbers([
        ("error", errors.get(errors.len() / 2).copied()),
        ("worst", errors.last().copied()),
        ("right", Some(carried(0..4))),
        ("left", Some(carried(4..8))),
        ("queue", Some(outcome.queue_max.get() as f64 / 1e3)),
    ])
}
