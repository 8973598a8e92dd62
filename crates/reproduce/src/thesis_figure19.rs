//! What prediction is worth to the controller, as the thesis measured it.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_scenario::Fidelity;

use super::Reproduction;
use super::criterion::{Cell, Criterion};
use super::need::{Done, RunRequest};
use super::panel::{Column, Panel, Row};
use super::thesis::{
    self, FINISH, LSTM_PID, LSTM_PID_100, MAX_RTT, MEAN_RTT, P99_RTT, PIDNN, PIDNN_100, Quantity, RATE,
    SLOWDOWN, Variant,
};
use super::thesis_table4::ties;
use paceline_lab::stats::{CONFIDENCE, Interval, interval};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-figure19",
    data: None,
    title: "The controller with and without prediction, 20-to-1 incast",
    source: Citation::of(papers::PIDNN_THESIS, "sections 4.2.3 and 4.3.2, figure 19"),
    setting: "The incast of table 6 with a target of 5 µs, under the controller alone and with the LSTM before it; \
              round-trip times are the scheme's own samples. Besides, the same in exact fidelity with simultaneous \
              events in ten orders, drawn at random.",
    notes: &[
        "Judged is what the thesis prints of its two runs, within what other orders of simultaneous events change: the 95 % \
         interval for one more run, of the ten without prediction here, and of six with it as in table 4, up to the next whole \
         percent. These tolerances were set when the values were known.",
        "Changes are shown. The thesis says 18.9 % and 16.12 % for the falls of its 99th percentile and largest round trip, \
         having divided by the new values; by its own numbers they are 15.9 % and 13.9 %.",
        "Which flow meets a full queue first decides about some microseconds: the interval over the ten orders says \
         how much of a difference is chance.",
    ],
    choices: &[thesis::ON_POLICY],
    steps: &[],
    needs,
    panels,
};

/// The controller alone, with prediction, and how the pair is run.
type Pair = (&'static str, Variant, Variant, Fidelity);

const PAIRS: [Pair; 3] = [
    ("from 10 Gbit/s", PIDNN, LSTM_PID, Fidelity::Ns3Hpcc),
    ("from 100 Gbit/s", PIDNN_100, LSTM_PID_100, Fidelity::Ns3Hpcc),
    ("exact fidelity", PIDNN, LSTM_PID, Fidelity::Exact),
];

/// Orders of simultaneous events.
const ORDERS: u64 = 10;

const LINES: [Quantity; 6] = [MEAN_RTT, P99_RTT, MAX_RTT, RATE, SLOWDOWN, FINISH];

/// The controller alone, with prediction, and by how many percent that differs.
const PRINTED: [Option<(f64, f64)>; 6] = [
    Some((4.9616, 5.0302)),
    Some((7.462, 6.276)),
    Some((24.552, 21.144)),
    Some((14.7977, 21.1789)),
    None,
    None,
];

/// What the two have to be.
const WANTED: [[Criterion; 2]; 6] = [
    [ties(1.0), ties(1.0)],
    [ties(3.0), ties(1.0)],
    [ties(2.0), ties(1.0)],
    [ties(18.0), ties(18.0)],
    [Criterion::SHOWN; 2],
    [Criterion::SHOWN; 2],
];

fn shuffled(variant: Variant, order: u64) -> RunRequest {
    let need = variant.need(Fidelity::Exact);
    RunRequest {
        variant: format!("{}-shuffled-{order}", need.variant),
        settings: vec![format!("shuffle-ties={order}")],
        folder: false,
        ..need
    }
}

fn needs() -> Vec<RunRequest> {
    let pairs = PAIRS
        .iter()
        .flat_map(|&(_, alone, with, fidelity)| [alone.need(fidelity), with.need(fidelity)]);
    let orders = (1..=ORDERS).flat_map(|order| [shuffled(PIDNN, order), shuffled(LSTM_PID, order)]);
    pairs.chain(orders).collect()
}

/// By how many percent `new` differs from `old`.
fn change(old: f64, new: f64) -> f64 {
    100.0 * (new / old - 1.0)
}

/// A quantity of the controller alone and with prediction.
fn pair(done: &Done, quantity: Quantity, alone: &RunRequest, with: &RunRequest) -> Option<(f64, f64)> {
    let value = |need: &RunRequest| done.summary_of(need).and_then(quantity.3);
    Some((value(alone)?, value(with)?))
}

/// The change by prediction over all orders of simultaneous events.
fn over_orders(done: &Done, quantity: Quantity) -> Option<Interval> {
    let one = |order| {
        pair(
            done,
            quantity,
            &shuffled(PIDNN, order),
            &shuffled(LSTM_PID, order),
        )
    };
    let changes: Option<Vec<f64>> = (1..=ORDERS)
        .map(|order| one(order).map(|(a, b)| change(a, b)))
        .collect();
    interval(&changes?, CONFIDENCE)
}

fn panels(done: &Done) -> Vec<Panel> {
    vec![values(done), changes(done)]
}

fn rows(suffix: &str, percent: bool) -> Vec<Row> {
    let row = |&(metric, unit, decimals, _): &Quantity| Row {
        label: match (suffix, percent) {
            ("", false) if unit.is_empty() => metric.to_string(),
            ("", false) => format!("{metric}, {unit}"),
            _ => format!("{metric}{suffix}"),
        },
        metric,
        unit: if percent { "%" } else { unit },
        decimals: if percent { 1 } else { decimals },
        x: None,
    };
    LINES.iter().map(row).collect()
}

fn values(done: &Done) -> Panel {
    let column = |name, variant: Variant| Column {
        name,
        ..variant.column()
    };
    let columns = vec![
        column("without", PIDNN),
        column("with", LSTM_PID),
        column("without, from 100 Gbit/s", PIDNN),
        column("with, from 100 Gbit/s", LSTM_PID),
        column("without, exact", PIDNN),
        column("with, exact", LSTM_PID),
    ];
    let panel = Panel::of("Both", "", columns, rows("", false), |row, column| {
        let (_, alone, with, fidelity) = PAIRS[column / 2];
        let printed = PRINTED[row].filter(|_| column < 2);
        let ours = pair(done, LINES[row], &alone.need(fidelity), &with.need(fidelity));
        let of = |(alone, with): (f64, f64)| if column % 2 == 0 { alone } else { with };
        Cell {
            paper: printed.map(of),
            ours: ours.map(of),
            criterion: WANTED[row].get(column).copied().unwrap_or(Criterion::SHOWN),
        }
    });
    panel.told_by_title()
}

fn changes(done: &Done) -> Panel {
    let column = |name| Column {
        name,
        ..LSTM_PID.column()
    };
    let columns = vec![
        column(PAIRS[0].0),
        column(PAIRS[1].0),
        column(PAIRS[2].0),
        column("exact, mean of ten orders"),
        column("exact, half of its 95 % interval"),
    ];
    let title = "What prediction changes, in percent";
    let panel = Panel::of(title, "", columns, rows(": change, %", true), |row, column| {
        let of_pair = |&(_, alone, with, fidelity): &Pair| {
            pair(done, LINES[row], &alone.need(fidelity), &with.need(fidelity)).map(|(a, b)| change(a, b))
        };
        let spread = || over_orders(done, LINES[row]);
        Cell {
            paper: PRINTED[row].filter(|_| column == 0).map(|(a, b)| change(a, b)),
            ours: match PAIRS.get(column) {
                Some(pair) => of_pair(pair),
                None if column == PAIRS.len() => spread().map(|found| found.mean),
                None => spread().map(|found| found.half_width()),
            },
            criterion: Criterion::SHOWN,
        }
    });
    panel.told_by_title()
}
