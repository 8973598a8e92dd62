//! Round-trip times and rates of the thesis's scheme, by its target.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_scenario::Fidelity;

use super::Reproduction;
use super::criterion::{Cell, Criterion, Tolerance};
use super::need::{Done, RunRequest};
use super::panel::{Column, Panel, Row};
use super::thesis::{self, LSTM_PID, MAX_RTT, MEAN_RTT, P99_RTT, Quantity, RATE, SLOWDOWN, Variant};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-table4",
    data: None,
    title: "Round-trip times and rates by target, 20-to-1 incast",
    source: Citation::of(papers::PIDNN_THESIS, "section 4.3.2, table 4"),
    setting: "The incast of table 6 under the thesis's scheme with targets of 5, 6 and 7 µs, each flow from 10 Gbit/s. \
              Round-trip times are the scheme's own samples, one per round trip of a flow, as in the thesis.",
    notes: &[
        "Judged is what the thesis prints, within what other orders of simultaneous events change: the 95 % interval for one \
         more run, of six orders with a target of 5 µs and five with 6 and 7 µs. Nothing else is random in this experiment. \
         With 6 and 7 µs the mean rate moves by 79 and 46 % between orders: there it is shown only.",
        "The mean rate is the payload over the sum of the completion times, and rewards unfairness: equal shares would \
         give 17.3 Gbit/s, more is had by letting the small flows pass. The mean slowdown says how fair \
         it was; the thesis does not print it.",
    ],
    needs: || {
        FIDELITIES
            .iter()
            .flat_map(|&(_, fidelity)| needs(fidelity))
            .collect()
    },
    choices: &[thesis::ON_POLICY],
    steps: &[],
    panels,
};

/// What tables call the two, the thesis's first.
pub(super) const FIDELITIES: [(&str, Fidelity); 2] = [
    (
        "In the manner of HPCC's simulator, as the thesis",
        Fidelity::Ns3Hpcc,
    ),
    ("Exact fidelity", Fidelity::Exact),
];

const TARGETS: [Variant; 3] = [
    Variant {
        title: "target 5 µs",
        ..LSTM_PID
    },
    Variant {
        name: "6us",
        title: "target 6 µs",
        settings: &["cc.lstm-pid.target=6us"],
        ..LSTM_PID
    },
    Variant {
        name: "7us",
        title: "target 7 µs",
        settings: &["cc.lstm-pid.target=7us"],
        ..LSTM_PID
    },
];

/// A quantity, as it was printed for the three targets, and what ours has to be with each.
pub(super) type Line = (Quantity, [Option<f64>; 3], [Criterion; 3]);

/// As close as two orders of simultaneous events are: 95 % of them, in percent.
pub(super) const fn ties(percent: f64) -> Criterion {
    Criterion::published(
        Tolerance::Within(percent / 100.0),
        "95 % of orders of simultaneous events",
    )
}

/// Nothing is asked for with any target.
pub(super) const SHOWN: [Criterion; 3] = [Criterion::SHOWN; 3];

const LINES: [Line; 5] = [
    (
        MEAN_RTT,
        [Some(5.0302), Some(6.0611), Some(7.1478)],
        [ties(1.0), ties(4.0), ties(6.0)],
    ),
    (
        RATE,
        [Some(21.1789), Some(15.7269), Some(11.2404)],
        [ties(18.0), Criterion::SHOWN, Criterion::SHOWN],
    ),
    (
        P99_RTT,
        [Some(6.276), Some(10.253), Some(12.906)],
        [ties(1.0), ties(4.0), ties(3.0)],
    ),
    (
        MAX_RTT,
        [Some(21.144), Some(23.986), Some(48.699)],
        [ties(1.0), ties(2.0), ties(1.0)],
    ),
    (SLOWDOWN, [None; 3], SHOWN),
];

pub(super) fn needs(fidelity: Fidelity) -> Vec<RunRequest> {
    TARGETS.iter().map(|target| target.need(fidelity)).collect()
}

fn panels(done: &Done) -> Vec<Panel> {
    by_target(done, &LINES)
}

/// Tables of `lines` by target, in both fidelities; ours is judged in the thesis's.
pub(super) fn by_target(done: &Done, lines: &[Line]) -> Vec<Panel> {
    let table = |&(title, fidelity): &(&'static str, Fidelity)| {
        let columns: Vec<Column> = TARGETS.iter().map(Variant::column).collect();
        let rows = lines
            .iter()
            .map(|&((metric, unit, decimals, _), ..)| Row::quantity(metric, unit, decimals));
        let thesis = fidelity == Fidelity::Ns3Hpcc;
        let panel = Panel::of(title, "", columns, rows.collect(), |row, column| {
            let ((.., value), printed, criteria) = lines[row];
            Cell {
                paper: printed[column],
                ours: done.summary_of(&TARGETS[column].need(fidelity)).and_then(value),
                criterion: if thesis {
                    criteria[column]
                } else {
                    Criterion::SHOWN
                },
            }
        });
        panel.told_by_title()
    };
    FIDELITIES.iter().map(table).collect()
}
