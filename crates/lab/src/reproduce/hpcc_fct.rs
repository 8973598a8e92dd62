//! Slowdown by size in the evaluation of HPCC.

use super::Reproduction;
use super::need::{Done, Input, Need};
use super::panel::{Cell, Column, Panel, Row, Tolerance};
use super::reference::FAT_2MS;
use super::slowdown::{SizeGroup, equal_groups, size_name};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "hpcc-fct",
    title: "Slowdown by size, 320 hosts at 30 % load with incasts",
    source: "HPCC: High Precision Congestion Control (Li et al., SIGCOMM 2019), figure 11: the experiment, run by its \
             authors' ns-3 simulator (alibaba-edu/High-Precision-Congestion-Control, commit 9f4be2a)",
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
    needs: || Need::each(INPUT, &SCHEMES),
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
const BACKGROUND: &str = include_str!("hpcc_fct_background.tsv");
/// The same of the flows of the incasts, which have one size.
const INCAST: &str = include_str!("hpcc_fct_incast.tsv");

/// A row of the tables: largest size, and scheme by scheme the percentiles.
struct Printed {
    size: u64,
    values: Vec<f64>,
}

fn printed(table: &str) -> Vec<Printed> {
    let row = |line: &str| {
        let mut fields = line.split('\t').skip(1);
        let size = fields.next()?.parse().ok()?;
        let values = fields.skip(1).map(|field| field.parse().ok());
        Some(Printed {
            size,
            values: values.collect::<Option<_>>()?,
        })
    };
    table.lines().skip(1).filter_map(row).collect()
}

fn panels(done: &Done) -> Vec<Panel> {
    let mut panels: Vec<Panel> = (0..PERCENTS.len())
        .map(|k| panel(done, BACKGROUND, "normal", k))
        .collect();
    panels.push(incasts(done));
    panels
}

/// The groups of flows of a label, scheme by scheme.
fn groups(done: &Done, label: &str, count: usize) -> Vec<Vec<SizeGroup>> {
    let of = |scheme: &&str| {
        let run = done.outcome(INPUT, scheme);
        run.map_or_else(Vec::new, |run| equal_groups(run, |name| name == label, count))
    };
    SCHEMES.iter().map(of).collect()
}

/// One percentile of the background.
fn panel(done: &Done, table: &str, label: &str, k: usize) -> Panel {
    let printed = printed(table);
    let groups = groups(done, label, printed.len());
    let (percent, title, metric) = PERCENTS[k];
    let row = |printed: &Printed| Row {
        label: size_name(printed.size),
        metric,
        unit: "×",
        decimals: 3,
        x: Some(printed.size as f64),
    };
    let rows = printed.iter().map(row).collect();
    let columns = SCHEMES.map(Column::scheme).to_vec();
    Panel::of(title, "size", columns, rows, |row, column| Cell {
        paper: printed[row].values.get(PERCENTS.len() * column + k).copied(),
        ours: groups[column].get(row).and_then(|group| group.element(percent)),
        tolerance: Tolerance::Exact,
    })
}

/// The flows of the incasts, which have one size: a row per percentile.
fn incasts(done: &Done) -> Panel {
    let printed = printed(INCAST);
    let groups = groups(done, "incast", 1);
    let row = |&(percent, _, metric): &(usize, &str, &'static str)| Row {
        label: format!("incast, p{percent}"),
        metric,
        unit: "×",
        decimals: 3,
        x: None,
    };
    let rows = PERCENTS.iter().map(row).collect();
    let columns = SCHEMES.map(Column::scheme).to_vec();
    Panel::of("Slowdown of the flows of the incasts, 500 KB each", "", columns, rows, |row, column| Cell {
        paper: printed.first().and_then(|row| row.values.get(PERCENTS.len() * column + row).copied()),
        ours: groups[column].first().and_then(|group| group.element(PERCENTS[row].0)),
        tolerance: Tolerance::Exact,
    })
}
