//! Slowdown by size in the evaluation of HPCC.

use super::Reproduction;
use super::criterion::{Cell, Criterion, Tolerance};
use super::need::{Done, Input, RunRequest};
use super::panel::{Column, Panel, Row};
use super::reference::FAT_2MS;
use super::slowdown::{self, background, incasts, size_name};
use crate::citation::Citation;
use paceline_congestion::papers;

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "hpcc-fct",
    data: None,
    title: "Slowdown by size, 320 hosts at 30 % load with incasts",
    source: Citation::of(
        papers::HPCC,
        "figure 11: the experiment, run by its authors' ns-3 simulator \
                 (alibaba-edu/High-Precision-Congestion-Control, commit 9f4be2a)",
    ),
    setting: "The simulator's own fat tree; 19965 Hadoop flows at 30 % load and 5 incasts of 60 flows of 500 KB, \
              arriving during 2 ms; every scheme with the parameters of the simulator's launcher. Flows in groups \
              of equally many by size; of each, element floor(n p) of the n slowdowns in order, as the \
              simulator's script for the figure takes it.",
    notes: &[
        "The figure prints no numbers, and its flows were not published: what stands beside ours is what the \
         authors' simulator computes for the same flow file, to be met in every printed digit. The lines of the \
         charts lie on each other.",
        "Against the paper, users of the same simulator report: HPCC and DCTCP match figure 11, DCQCN and TIMELY \
         come out far worse than printed, DCQCN up to twice (issues 30 and 36 of its repository). The authors' \
         settings for those two are not known.",
    ],
    choices: &[],
    steps: &[],
    needs: || slowdown::needs(INPUT, &SCHEMES),
    panels,
};

const INPUT: Input = Input::Reference(&FAT_2MS);

/// In the order of the columns of the tables.
const SCHEMES: [&str; 4] = ["hpcc", "dcqcn", "timely", "dctcp"];

const PERCENTS: [(usize, &str, &str); 3] = [
    (50, "Median of slowdown", "p50 of slowdown"),
    (95, "95th percentile of slowdown", "p95 of slowdown"),
    (99, "99th percentile of slowdown", "p99 of slowdown"),
];

/// Share of the flows, largest size, number of flows; then the three percentiles of each scheme.
const BACKGROUND: &str = include_str!("../../../validation/hpcc-ns3/e_fat_2ms/fct_table.tsv");

/// The percentiles of the flows of the incasts, scheme by scheme.
const INCAST: [[f64; 3]; 4] = [
    [53.653, 63.296, 70.177],
    [42.610, 61.689, 69.831],
    [41.203, 49.850, 54.349],
    [50.714, 55.752, 59.645],
];

/// A row of the table: largest size, and scheme by scheme the percentiles.
struct Printed {
    size: u64,
    values: Vec<f64>,
}

fn printed() -> Vec<Printed> {
    let row = |line: &str| {
        let mut fields = line.split('\t').skip(1);
        let size = fields.next()?.parse().ok()?;
        let values = fields.skip(1).map(|field| field.parse().ok());
        Some(Printed {
            size,
            values: values.collect::<Option<_>>()?,
        })
    };
    BACKGROUND.lines().skip(1).filter_map(row).collect()
}

fn panels(done: &Done) -> Vec<Panel> {
    let needs = slowdown::needs(INPUT, &SCHEMES);
    let mut panels: Vec<Panel> = (0..PERCENTS.len()).map(|k| percentile(done, &needs, k)).collect();
    panels.push(of_incasts(done, &needs));
    panels
}

/// A scheme, alongside what the authors' simulator gives.
const fn column(scheme: &'static str) -> Column {
    Column {
        published: "simulator",
        ..Column::scheme(scheme)
    }
}

/// One percentile of the background.
fn percentile(done: &Done, needs: &[RunRequest], k: usize) -> Panel {
    let printed = printed();
    let (percent, title, metric) = PERCENTS[k];
    let rows = printed.iter().map(|printed| Row {
        label: size_name(printed.size),
        metric,
        unit: "×",
        decimals: 3,
        x: Some(printed.size as f64),
    });
    let columns = SCHEMES.map(column).to_vec();
    Panel::of(title, "size", columns, rows.collect(), |row, column| Cell {
        paper: printed[row].values.get(PERCENTS.len() * column + k).copied(),
        ours: background(done, &needs[column], percent, row),
        criterion: Criterion::simulator(Tolerance::Exact, ""),
    })
}

/// The flows of the incasts, which have one size: a row per percentile.
fn of_incasts(done: &Done, needs: &[RunRequest]) -> Panel {
    let rows = PERCENTS.iter().map(|&(percent, _, metric)| Row {
        label: format!("incast, p{percent}"),
        metric,
        unit: "×",
        decimals: 3,
        x: None,
    });
    let columns = SCHEMES.map(column).to_vec();
    let title = "Slowdown of the flows of the incasts, 500 KB each";
    Panel::of(title, "", columns, rows.collect(), |row, column| Cell {
        paper: Some(INCAST[column][row]),
        ours: incasts(done, &needs[column], PERCENTS[row].0),
        criterion: Criterion::simulator(Tolerance::Exact, ""),
    })
}
