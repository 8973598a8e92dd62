//! Credits on 400 Gbit/s Ethernet: what a lane's buffer has to hold, by the length of the cable.

use crate::citation::Citation;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::{
    Cell, Criterion, Measure, Metrics, Panel, Reproduction, Row, RunRequest, Source, Tolerance, of, own,
};
use crate::need::{Done, Input};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "ib-cables",
    data: None,
    title: "Credits on 400 Gbit/s Ethernet: buffer and rate over cables of 1 to 100 m",
    source: Citation::ours("the bound of every window, B >= C (RTT + return delay): ours"),
    setting: "Scenario `credits-cable`: 10 MB through a switch, packets of 1048 bytes (17 cells of 64), 5 ns a metre. A credit is back \
              after two packet times, two cables and the message of 8 bytes. One acknowledgement, at the end, so that credits have the wire back to \
              themselves; then one for each packet.",
    notes: &[
        "A packet takes whole cells, 1088 bytes of buffer: with k packets' worth the line is full if k packets take as long as a credit \
         needs. One cell less is a packet less, and a rate of k - 1 packets in that time.",
        "With an acknowledgement for each packet the rates are the same but for what completion times add.",
    ],
    choices: &[],
    steps: &[],
    needs: || {
        let of_acks = |acks| {
            CABLES
                .iter()
                .flat_map(move |&cable| BUFFERS.map(|buffer| run(cable, buffer, acks)))
        };
        ACKS.into_iter().flat_map(of_acks).collect()
    },
    panels: |done| {
        ACKS.into_iter()
            .map(|acks| rates(done, acks))
            .chain([judged(done)])
            .collect()
    },
};

/// Lengths in metres, and the packets that the bound is.
const CABLES: [(u64, u64); 5] = [(1, 3), (3, 4), (10, 7), (30, 17), (100, 50)];
/// Columns, and their buffers: times the bound, less so many bytes.
const BUFFERS: [(&str, u64, u64); 3] = [("a cell less", 1, 64), ("the bound", 1, 0), ("four times", 4, 0)];
/// Packets for one acknowledgement.
const ACKS: [u64; 2] = [1_000_000, 1];

/// Bytes of a packet's cells.
const CELLS: u64 = 17 * 64;

fn run((metres, packets): (u64, u64), (_, times, less): (&str, u64, u64), acks: u64) -> RunRequest {
    let buffer = times * packets * CELLS - less;
    RunRequest {
        variant: format!(
            "{}-{metres}-{buffer}-{acks}",
            ["less", "bound", "four"][place(times, less)]
        ),
        settings: vec![
            format!("topology.star.delay={}ns", 5 * metres),
            format!("network.credit.buffer={buffer}B"),
            format!("network.ack.every-packets={acks}"),
        ],
        digest: Some(DIGEST),
        folder: false,
        ..RunRequest::of(Input::Shipped("credits-cable", 1), "none")
    }
}

fn place(times: u64, less: u64) -> usize {
    BUFFERS
        .iter()
        .position(|&(_, a, b)| (a, b) == (times, less))
        .unwrap_or(0)
}

fn rates(done: &Done, acks: u64) -> Panel {
    let row = |(metres, packets): (u64, u64)| Row {
        label: format!("{metres} m, {} bytes", packets * CELLS),
        ..Row::quantity("rate", "Gbit/s", 2)
    };
    let columns = BUFFERS.map(|(name, ..)| own(name)).to_vec();
    let title = match acks {
        1 => "An acknowledgement for each packet",
        _ => "One acknowledgement",
    };
    let panel = Panel::of(
        title,
        "cable and bound",
        columns,
        CABLES.map(row).to_vec(),
        |row, buffer| Cell {
            paper: None,
            ours: of(done, &run(CABLES[row], BUFFERS[buffer], acks), "rate"),
            criterion: Criterion::shown(Source::Us),
        },
    );
    panel.told_by_title()
}

/// The whole rate at the bound, and what follows of a cell less.
fn judged(done: &Done) -> Panel {
    const FULL: Criterion = Criterion::property(
        Tolerance::Between(0.9999, 1.0001),
        Source::Us,
        "at the bound the line is full: more changes nothing",
    );
    const LESS: Criterion = Criterion::property(
        Tolerance::Between(0.999, 1.001),
        Source::Us,
        "a cell less is a packet less in each round trip; the first packets have no credit to wait for",
    );
    let rate = |cable, buffer: usize| of(done, &run(cable, BUFFERS[buffer], ACKS[0]), "rate");
    let rows = CABLES.map(|(metres, _)| Row {
        label: format!("{metres} m"),
        ..Row::quantity("ratio", "", 4)
    });
    let columns = [
        "the bound over four times",
        "a cell less over k - 1 packets in a round",
    ]
    .map(own);
    Panel::of(
        "The bound",
        "cable",
        columns.to_vec(),
        rows.to_vec(),
        |row, what| {
            let cable = CABLES[row];
            let full = || Some(rate(cable, 1)? / rate(cable, 2)?);
            let less = || Some(rate(cable, 0)? / rate(cable, 2)? / expected(cable));
            Cell {
                paper: None,
                ours: if what == 0 { full() } else { less() },
                criterion: if what == 0 { FULL } else { LESS },
            }
        },
    )
}

/// The share of the line that k - 1 packets in a round are; times in ns at 400 Gbit/s.
fn expected((metres, packets): (u64, u64)) -> f64 {
    let packet = 1048.0 * 8.0 / 400.0;
    let round = 2.0 * packet + 8.0 * 8.0 / 400.0 + 2.0 * 5.0 * metres as f64;
    (packets - 1) as f64 * packet / round
}

const DIGEST: Measure = Measure {
    name: "ib cable",
    of: digest,
};

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (spec, flow) = (&input.run.flows[0], &outcome.flows[0]);
    super::numbers([(
        "rate",
        Some(spec.size.get() as f64 * 8e3 / flow.fct.as_ps() as f64),
    )])
}
