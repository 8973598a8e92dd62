//! The 20-to-1 incast of the thesis under several schemes.

use super::Reproduction;
use super::need::Need;
use super::panel::{Cell, Column, Panel, Row, Tolerance};
use super::thesis::{INCAST, INCAST_SCHEMES, SOURCE};
use crate::results::Summary;
use crate::table::{self, Published};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "thesis-table6",
    title: "Round-trip times and rates, 20-to-1 incast",
    source: "a thesis on congestion control by neural networks, section 4.4.1, table 6",
    setting: "HPCC's ns-3 simulator with its launcher's parameters, flows of 200, 200, 150 MB and seventeen \
              of 5 MB. Round-trip times of every acknowledgement; the rate is the payload over the sum of the \
              completion times.",
    notes: &[
        TIMELY_NOTE,
        "HPCC's rate: the last digits hang on the order of simultaneous events, which no simulator gets from \
         nature. Shuffled, ours is 16.31 to 16.79 Gbit/s.",
        "The column of the thesis's own scheme (LSTM and PID) is in table 4.",
    ],
    steps: &[],
    needs: || Need::each(INCAST, &INCAST_SCHEMES),
    panels: |done| vec![panel(|scheme| done.summary(INCAST, scheme))],
};

/// Scheme; mean RTT in µs over all ACKs, mean rate in Gbit/s, 99th percentile and largest RTT in µs.
pub const PRINTED: [(&str, [f64; 4]); 3] = [
    ("hpcc", [4.3223, 16.3949, 4.56, 90.48]),
    ("timely", [11.9797, 15.6302, 102.673, 165.244]),
    ("dctcp", [14.6578, 17.4700, 28.054, 86.32]),
];

/// Measured with the public simulator, to tell a fault of ours from a setting of theirs.
const TIMELY_NOTE: &str = "\
TIMELY: HPCC's public simulator with its own parameters gives a mean of 72.68 µs and a maximum of \
1879.1 µs, as we do in ns3-hpcc fidelity; the published run must have had other settings.";

/// A quantity of the table: name, unit, digits after the point, and where a summary has it.
type Quantity = (&'static str, &'static str, usize, fn(&Summary) -> Option<f64>);

const QUANTITIES: [Quantity; 4] = [
    ("mean RTT", "µs", 4, |s| s.rtt_all_us.mean),
    ("mean rate", "Gbit/s", 4, |s| s.rate_mean_gbps),
    ("p99 RTT", "µs", 3, |s| s.rtt_all_us.p99),
    ("max RTT", "µs", 3, |s| s.rtt_all_us.max),
];

/// The quantities as rows.
pub(super) fn quantities() -> impl Iterator<Item = Row> {
    QUANTITIES
        .iter()
        .map(|&(metric, unit, decimals, _)| Row::quantity(metric, unit, decimals))
}

/// The value of a quantity.
pub(super) fn value(quantity: usize, summary: &Summary) -> Option<f64> {
    (QUANTITIES[quantity].3)(summary)
}

/// The rate of HPCC and TIMELY moves by this much when simultaneous events are shuffled.
const TIES: f64 = 0.03;

fn tolerance(scheme: &str, metric: &str) -> Tolerance {
    match (scheme, metric) {
        ("hpcc" | "timely", "mean rate") => Tolerance::Within(TIES),
        ("timely", _) => Tolerance::Within(0.25),
        _ => Tolerance::Exact,
    }
}

fn panel<'a>(summary: impl Fn(&str) -> Option<&'a Summary>) -> Panel {
    let columns = PRINTED.map(|(scheme, _)| Column::scheme(scheme)).to_vec();
    let rows: Vec<Row> = quantities().collect();
    Panel::of("", "", columns, rows, |row, column| {
        let (scheme, printed) = PRINTED[column];
        Cell {
            paper: Some(printed[row]),
            ours: summary(scheme).and_then(|summary| value(row, summary)),
            tolerance: tolerance(scheme, QUANTITIES[row].0),
        }
    })
    .ordered()
}

/// Whether a scenario of this name is the one that the table is about.
pub fn covers(scenario: &str) -> bool {
    matches!(scenario, "incast-20" | "b_incast20")
}

/// Our values beside the published ones, for those of `runs` that have some; empty if none has.
pub fn beside(runs: &[&Summary]) -> String {
    let (mut published, mut ours) = (Vec::new(), Vec::new());
    for run in runs {
        let Some((_, values)) = PRINTED.iter().find(|(scheme, _)| *scheme == run.scheme) else {
            continue;
        };
        for ((row, quantity), &printed) in quantities().zip(0..).zip(values) {
            published.push(Published {
                case: run.scheme.clone(),
                metric: row.name(),
                value: printed,
            });
            ours.push(value(quantity, run));
        }
    }
    if published.is_empty() {
        return String::new();
    }
    let timely = runs.iter().any(|run| run.scheme == "timely");
    format!(
        "\npublished ({SOURCE}, table 6: the 20-to-1 incast in HPCC's ns-3 simulator):\n{}{}",
        table::beside(&published, &ours),
        if timely {
            format!("{TIMELY_NOTE}\n")
        } else {
            String::new()
        }
    )
}
