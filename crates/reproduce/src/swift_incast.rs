//! Swift under incasts of more flows than packets fit into a bandwidth-delay product.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::Reproduction;
use super::choice::Choice;
use super::criterion::{Cell, Criterion, Source, Tolerance};
use super::irn_loss::{Quantity, rows};
use super::need::{Done, Input, Measure, Metrics, RunRequest};
use super::panel::{Column, Panel, Row};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "swift-incast",
    data: None,
    title: "Incasts under Swift, with windows below one packet and without",
    source: Citation::of(papers::SWIFT, "section 3.5 and the incast of its evaluation"),
    setting: "500 to 5000 flows, 200 MB together, from 50 hosts to one at 100 Gbit/s, one packet each to begin with. Goodput: \
              payload over the time to the last acknowledgement. `one packet`: the window never falls below it.",
    notes: &[
        "The paper measured 5000 flows on real hosts at 50 Gbit/s: without windows below one packet most of the link is \
         lost and round trips take milliseconds. A simulation with a buffer that holds a packet of every flow has \
         the round trips and not the losses.",
        "Judged: windows below one packet cost at most a tenth of the goodput, nothing is dropped, and the median round \
         trip of 5000 flows is at most half of that without.",
    ],
    choices: &[Choice {
        what: "Judged is the median round trip.",
        tried: "goodput, of which the paper says that most is lost without windows below a packet",
        changed: "At one switch whose buffer holds a packet of every flow nothing is lost, and goodput is the same.",
    }],
    steps: &[],
    needs: || {
        let of = |flows| WINDOWS.map(|window| need(flows, window));
        FLOWS.into_iter().flat_map(of).collect()
    },
    panels,
};

const DIGEST: Measure = Measure {
    name: "incast",
    of: digest,
};

const FLOWS: [u32; 3] = [500, 2000, 5000];

/// The smallest window, what tables call it.
const WINDOWS: [(&str, &str); 2] = [("0.01", "below one packet"), ("1", "one packet")];

fn need(flows: u32, (window, _): (&str, &str)) -> RunRequest {
    RunRequest {
        variant: format!("{flows}-{window}"),
        settings: vec![
            format!("workload.0.incast.rounds={}", flows / 50),
            format!("workload.0.incast.size={}B", 200_000_000 / flows),
            format!("cc.swift.min-window={window}"),
        ],
        digest: Some(DIGEST),
        folder: false,
        ..RunRequest::of(Input::Shipped("swift-many-flows", 1), "swift")
    }
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let flows = input.run.flows.iter().zip(&outcome.flows);
    let ends = flows.map(|(spec, flow)| (spec.start + flow.fct).as_ps());
    let last = ends.max().unwrap_or(0).max(1) as f64;
    let payload: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
    let rtt = |share: f64| outcome.rtt_per_ack.histogram_ns.value_at_quantile(share) as f64 / 1e3;
    let values = [
        ("goodput", payload as f64 * 8e3 / last),
        ("rtt_p50", rtt(0.5)),
        ("rtt_p99", rtt(0.99)),
        ("queue", outcome.queue_max.get() as f64 / 1e3),
        ("drops", outcome.counters.buffer_drops as f64),
    ];
    Metrics {
        values: values.into_iter().collect(),
        ..Metrics::default()
    }
}

const ROWS: [Quantity; 5] = [
    ("goodput", "goodput", "Gbit/s", 2),
    ("rtt_p50", "median round trip", "µs", 1),
    ("rtt_p99", "p99 of round trips", "µs", 1),
    ("queue", "largest queue", "KB", 0),
    ("drops", "packets dropped", "", 0),
];

const NOTHING_DROPPED: Criterion = Criterion::property(
    Tolerance::AtMost(0.0),
    Source::Us,
    "the buffer holds a packet of every flow",
);
const A_TENTH: Criterion = Criterion::property(
    Tolerance::AtLeast(0.9),
    Source::Us,
    "what pacing may cost where nothing is lost",
);
const HALF: Criterion = Criterion::property(
    Tolerance::AtMost(0.5),
    Source::Us,
    "the paper measured milliseconds without, on real hosts",
);

fn panels(done: &Done) -> Vec<Panel> {
    FLOWS.map(|flows| of(done, flows)).to_vec()
}

fn of(done: &Done, flows: u32) -> Panel {
    let value = |window, name: &str| done.numbers(&need(flows, window))?.values.get(name).copied();
    let columns = WINDOWS.map(|(_, name)| Column {
        name,
        ..Column::scheme("swift")
    });
    let mut rows = rows(&ROWS, []);
    rows.push(Row::quantity("goodput over that with one packet", "", 3));
    rows.push(Row::quantity(
        "median round trip over that with one packet",
        "",
        3,
    ));
    let panel = Panel::of(
        format!("{flows} flows"),
        "",
        columns.to_vec(),
        rows,
        |row, column| {
            let ours = match ROWS.get(row) {
                Some(row) => value(WINDOWS[column], row.0),
                None => {
                    let name = if row == ROWS.len() { "goodput" } else { "rtt_p50" };
                    let of = |window| value(window, name);
                    of(WINDOWS[column])
                        .zip(of(WINDOWS[1]))
                        .map(|(this, one)| this / one)
                }
            };
            Cell {
                paper: None,
                ours,
                criterion: match (column, row) {
                    (0, 4) => NOTHING_DROPPED,
                    (0, 5) => A_TENTH,
                    (0, 6) if flows == 5000 => HALF,
                    _ => Criterion::SHOWN,
                },
            }
        },
    );
    Panel {
        told_by_title: true,
        heat_map: false,
        ..panel
    }
}
