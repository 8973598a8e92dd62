//! Round-trip times and rates of single nodes of the thesis's incast over time.

use crate::citation::Citation;
use paceline_congestion::papers;
use paceline_scenario::Fidelity;

use super::Reproduction;
use super::criterion::{Cell, Criterion};
use super::need::{Done, RunRequest};
use super::panel::{Column, Curve, Drawing, Panel, Row};
use super::thesis::{NODE1_RTT, NODE2_RATE, NODE2_RTT, PIDNN, SERIES, Variant, other};

const SOURCE: Citation = Citation::of(papers::PIDNN_THESIS, "section 4.2");

/// The thesis prints no numbers with these figures.
const NOTES: &[&str] = &[
    "The thesis's figure has no numbers: what is drawn, and the numbers beside it, are ours.",
    "The chart has every sample: of as many as a screen cannot show the smallest, the largest and the mean of each stretch \
     of time, and one by one where it is looked at closely.",
];

pub(super) const FIGURE_15: Reproduction = Reproduction {
    id: "thesis-figure15",
    data: None,
    title: "Round-trip times of node 1 under DCTCP, 20-to-1 incast",
    source: SOURCE,
    setting: "The incast of table 6: what the first node collects, one sample per round trip.",
    notes: NOTES,
    choices: &[],
    steps: &[],
    needs: || vec![need(other("dctcp"), "")],
    panels: |done| drawn(done, other("dctcp"), "", &[NODE1_RTT]),
};

pub(super) const FIGURE_16: Reproduction = Reproduction {
    id: "thesis-figure16",
    data: None,
    title: "Round-trip times of node 1 under TIMELY, 20-to-1 incast",
    needs: || vec![need(other("timely"), "")],
    panels: |done| drawn(done, other("timely"), "", &[NODE1_RTT]),
    ..FIGURE_15
};

pub(super) const FIGURE_18: Reproduction = Reproduction {
    id: "thesis-figure18",
    data: None,
    title: "Round-trip time and rate of node 2 under the controller alone, 20-to-1 incast",
    setting: "The incast of table 6 under the trained controller, the last round trip standing for the next: the second \
              node's first 3 ms.",
    notes: &[
        NOTES[0],
        "The thesis says of it: both swing, the round trip down to some 4 µs, the empty network's, and the rate to \
         1 Gbit/s, the least that is allowed.",
    ],
    needs: || vec![need(PIDNN, "3ms")],
    panels: |done| drawn(done, PIDNN, "3ms", &[NODE2_RTT, NODE2_RATE]),
    ..FIGURE_15
};

/// The run, or the beginning of it.
fn need(variant: Variant, duration: &str) -> RunRequest {
    let mut settings = vec![
        "record.rtt-samples=true".to_string(),
        "record.flows=2us".to_string(),
    ];
    if !duration.is_empty() {
        // A reference run starts at two seconds.
        settings.push(format!("duration=200{duration}"));
    }
    RunRequest {
        variant: format!("nodes{duration}"),
        settings,
        digest: Some(SERIES),
        folder: false,
        ..variant.need(Fidelity::Ns3Hpcc)
    }
}

/// A chart of each series, and numbers of it.
fn drawn(done: &Done, variant: Variant, duration: &str, names: &[&'static str]) -> Vec<Panel> {
    let numbers = done.numbers(&need(variant, duration));
    let one = |&name: &&'static str| {
        let points = numbers
            .and_then(|numbers| numbers.series.get(name))
            .cloned()
            .unwrap_or_default();
        let values: Vec<f64> = points.iter().map(|&(_, y)| y).collect();
        panel(variant, name, points, &values)
    };
    names.iter().map(one).collect()
}

fn panel(variant: Variant, name: &'static str, points: Vec<(f64, f64)>, values: &[f64]) -> Panel {
    let is_rate = name == NODE2_RATE;
    let (metric, unit) = if is_rate {
        ("rate", "Gbit/s")
    } else {
        ("RTT", "µs")
    };
    let rows = ["least", "largest"].map(|what| Row {
        label: format!("{what}, {unit}"),
        metric,
        unit,
        decimals: 2,
        x: None,
    });
    let least = values.iter().copied().reduce(f64::min);
    let largest = values.iter().copied().reduce(f64::max);
    let found = [least, largest];
    let columns: Vec<Column> = vec![variant.column()];
    let panel = Panel::of(name, "", columns, rows.to_vec(), |row, _| Cell {
        paper: None,
        ours: found[row],
        criterion: Criterion::SHOWN,
    });
    Panel {
        drawing: Some(Drawing {
            stepped: is_rate,
            x: ("time", "ms"),
            y: (metric, unit),
            curves: vec![Curve {
                name: format!("{}: {name}", variant.title),
                scheme: variant.scheme,
                published: false,
                points,
            }],
        }),
        ..panel.told_by_title()
    }
}
