//! Tables for a terminal. Pure functions from numbers to text.

mod sizes;

pub use sizes::slowdown_by_size;

use crate::results::{CollectiveTime, FlowCount, Summary};
use crate::stats;

/// Columns that a terminal has when nobody knows.
pub const DEFAULT_WIDTH: usize = 100;

/// A column of a comparison.
pub(crate) struct Metric {
    /// Which group of columns it is in.
    pub(crate) group: &'static str,
    /// What it is called.
    pub(crate) name: &'static str,
    /// Its value in a summary, as text.
    pub(crate) text: fn(&Summary) -> String,
    /// Its value, the smaller the better; `None` also where small is not good.
    pub(crate) cost: fn(&Summary) -> Option<f64>,
}

macro_rules! metrics {
    ($($group:literal $name:literal: $text:expr, $cost:expr;)*) => {
        /// The columns of every comparison.
        pub(crate) const METRICS: &[Metric] =
            &[$(Metric { group: $group, name: $name, text: $text, cost: $cost },)*];
    };
}
metrics! {
    "flows" "done": |s| done(s.flows), |_| None;
    "FCT slowdown" "mean": |s| number(s.fct_slowdown.mean), |s| s.fct_slowdown.mean;
    "FCT slowdown" "p50": |s| number(s.fct_slowdown.p50), |s| s.fct_slowdown.p50;
    "FCT slowdown" "p95": |s| number(s.fct_slowdown.p95), |s| s.fct_slowdown.p95;
    "FCT slowdown" "p99": |s| number(s.fct_slowdown.p99), |s| s.fct_slowdown.p99;
    "FCT" "mean": |s| duration_us(s.fct_us.mean), |s| s.fct_us.mean;
    "FCT" "last end": |s| duration_us(s.finish_us), |s| s.finish_us;
    "RTT" "mean": |s| duration_us(s.rtt_us.mean), |s| s.rtt_us.mean;
    "RTT" "p99": |s| duration_us(s.rtt_us.p99), |s| s.rtt_us.p99;
    "RTT" "max": |s| duration_us(s.rtt_us.max), |s| s.rtt_us.max;
    "RTT" "all ACKs": |s| duration_us(s.rtt_all_us.mean), |s| s.rtt_all_us.mean;
    "Gbit/s" "mean rate": |s| number(s.rate_mean_gbps), |s| s.rate_mean_gbps.map(|rate| -rate);
    "queue" "max": |s| bytes(s.queue_bytes.max), |s| Some(s.queue_bytes.max as f64);
    "PFC" "pauses": |s| s.pfc.pauses.to_string(), |s| Some(s.pfc.pauses as f64);
    "packets" "drops": |s| s.drops.to_string(), |s| Some(s.drops as f64);
}

/// What is shown besides where a run has collectives.
const COLLECTIVES: &[Metric] = &[
    Metric {
        group: "collectives",
        name: "mean time",
        text: |s| duration_us(mean_of(s, |time| time.time_us)),
        cost: |s| mean_of(s, |time| time.time_us),
    },
    Metric {
        group: "collectives",
        name: "bus Gbit/s",
        text: |s| number(mean_of(s, |time| time.busbw_gbps)),
        cost: |s| mean_of(s, |time| time.busbw_gbps).map(|rate| -rate),
    },
];

/// The mean over iterations that came to their end.
fn mean_of(summary: &Summary, value: fn(&CollectiveTime) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = summary.collectives.iter().filter_map(value).collect();
    stats::mean(&values)
}

/// A comparison of runs: a row per run, or, where that is wider than `width`, a column per run.
///
/// RTT is sampled once per flow and round trip, and for "all ACKs" at every acknowledgement; the
/// mean rate is the payload of the completed flows over the sum of their completion times. Collectives
/// are shown where there are any.
pub fn comparison(runs: &[&Summary], width: usize) -> String {
    let names = row_names(runs);
    let collectives = runs.iter().any(|run| !run.collectives.is_empty());
    let more = if collectives { COLLECTIVES } else { &[] };
    let metrics: Vec<&Metric> = METRICS.iter().chain(more).collect();
    let values: Vec<Vec<String>> = metrics
        .iter()
        .map(|m| runs.iter().map(|run| (m.text)(run)).collect())
        .collect();
    let wide = by_run(&metrics, &names, &values);
    if wide.lines().all(|line| line.chars().count() <= width) {
        wide
    } else {
        by_metric(&metrics, &names, &values)
    }
}

/// How many flows finished, of how many.
fn done(flows: FlowCount) -> String {
    if flows.completed == flows.total {
        format!("all {}", flows.total)
    } else {
        format!("{}/{}", flows.completed, flows.total)
    }
}

/// Schemes; with the seed or the scenario where schemes alone are not different.
pub fn row_names(runs: &[&Summary]) -> Vec<String> {
    let differs = |get: fn(&Summary) -> String| runs.iter().any(|run| get(run) != get(runs[0]));
    let scenarios = differs(|s| s.scenario.clone());
    let seeds = differs(|s| s.seed.to_string());
    let name = |run: &&Summary| {
        let mut name = run.scheme.clone();
        if scenarios {
            name = format!("{} {name}", run.scenario);
        }
        if seeds {
            name = format!("{name} #{}", run.seed);
        }
        name
    };
    runs.iter().map(name).collect()
}

fn by_run(metrics: &[&Metric], names: &[String], values: &[Vec<String>]) -> String {
    let mut columns = vec![Column::left("", "scheme", names.to_vec())];
    for (metric, cells) in metrics.iter().zip(values) {
        columns.push(Column::right(metric.group, metric.name, cells.clone()));
    }
    render(&columns)
}

fn by_metric(metrics: &[&Metric], names: &[String], values: &[Vec<String>]) -> String {
    let mut last = "";
    let label = |metric: &&Metric| {
        let shown = if metric.group == last { "" } else { metric.group };
        last = metric.group;
        shown.to_string()
    };
    let groups = metrics.iter().map(label).collect();
    let metrics = metrics.iter().map(|metric| metric.name.to_string()).collect();
    let mut columns = vec![Column::left("", "", groups), Column::left("", "", metrics)];
    for (i, name) in names.iter().enumerate() {
        columns.push(Column::right(
            "",
            name,
            values.iter().map(|cells| cells[i].clone()).collect(),
        ));
    }
    render(&columns)
}

/// A published value, to be put beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Which case: a scheme, usually.
    pub case: String,
    /// Which quantity, with its unit.
    pub metric: String,
    /// As printed in the paper.
    pub value: f64,
}

/// Our values (`ours[i]` belongs to `published[i]`) beside published ones, with the relative
/// difference.
pub fn beside(published: &[Published], ours: &[Option<f64>]) -> String {
    let pairs = || published.iter().zip(ours);
    let difference = |(paper, ours): (&Published, &Option<f64>)| match ours {
        Some(value) if paper.value != 0.0 => format!("{:+.1}%", (value / paper.value - 1.0) * 100.0),
        _ => "–".to_string(),
    };
    render(&[
        Column::left("", "case", published.iter().map(|p| p.case.clone()).collect()),
        Column::left("", "metric", published.iter().map(|p| p.metric.clone()).collect()),
        Column::right(
            "",
            "published",
            published.iter().map(|p| number(Some(p.value))).collect(),
        ),
        Column::right("", "ours", ours.iter().map(|&value| number(value)).collect()),
        Column::right("", "difference", pairs().map(difference).collect()),
    ])
}

/// A column of a table: its head, and a cell for each row.
pub(crate) struct Column {
    group: String,
    name: String,
    cells: Vec<String>,
    right: bool,
}

impl Column {
    /// Of texts.
    pub(crate) fn left(group: &str, name: &str, cells: Vec<String>) -> Self {
        Self {
            group: group.to_string(),
            name: name.to_string(),
            cells,
            right: false,
        }
    }
    /// Of numbers.
    pub(crate) fn right(group: &str, name: &str, cells: Vec<String>) -> Self {
        Self {
            right: true,
            ..Self::left(group, name, cells)
        }
    }
    fn pad(&self, text: &str, width: usize) -> String {
        let gap = " ".repeat(width.saturating_sub(width_of(text)));
        if self.right {
            gap + text
        } else {
            text.to_string() + &gap
        }
    }
}

pub(crate) fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// Columns two spaces apart, with a line of groups above where there are any.
pub(crate) fn render(columns: &[Column]) -> String {
    let mut widths: Vec<usize> = columns
        .iter()
        .map(|c| {
            c.cells
                .iter()
                .chain([&c.name])
                .map(|text| width_of(text))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let groups = widen_for_groups(columns, &mut widths);
    let mut text = String::new();
    let mut push = |line: String| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    if groups.iter().any(|(name, ..)| !name.is_empty()) {
        let cell = |&(name, first, last): &(&str, usize, usize)| {
            let width = widths[first..=last].iter().sum::<usize>() + 2 * (last - first);
            let gap = width - width_of(name);
            // Over a single column like its cells, over several in the middle.
            let before = if first == last && columns[first].right {
                gap
            } else {
                gap / 2
            };
            format!("{}{name}{}", " ".repeat(before), " ".repeat(gap - before))
        };
        push(groups.iter().map(cell).collect::<Vec<_>>().join("  "));
    }
    let line = |get: &dyn Fn(&Column) -> String| {
        let cells = columns
            .iter()
            .zip(&widths)
            .map(|(c, &width)| c.pad(&get(c), width));
        cells.collect::<Vec<_>>().join("  ")
    };
    push(line(&|column| column.name.clone()));
    push("─".repeat(widths.iter().sum::<usize>() + 2 * columns.len().saturating_sub(1)));
    for row in 0..columns.first().map_or(0, |column| column.cells.len()) {
        push(line(&|column| column.cells[row].clone()));
    }
    text
}

/// Runs of columns of the same group as (group, first, last); the last column of a group that is
/// narrower than its name gets wider.
fn widen_for_groups<'a>(columns: &'a [Column], widths: &mut [usize]) -> Vec<(&'a str, usize, usize)> {
    let mut groups: Vec<(&str, usize, usize)> = Vec::new();
    for (i, column) in columns.iter().enumerate() {
        match groups.last_mut() {
            Some((name, _, last)) if *name == column.group && !name.is_empty() => *last = i,
            _ => groups.push((&column.group, i, i)),
        }
    }
    for &(name, first, last) in &groups {
        let width = widths[first..=last].iter().sum::<usize>() + 2 * (last - first);
        widths[last] += width_of(name).saturating_sub(width);
    }
    groups
}

/// A number with at most four digits that count; a dash for none.
pub fn number(value: Option<f64>) -> String {
    let Some(value) = value else {
        return "–".to_string();
    };
    match value.abs() {
        0.0 => "0".to_string(),
        small if small < 0.001 => format!("{value:.1e}"),
        small if small < 1.0 => format!("{value:.3}"),
        small if small < 100.0 => format!("{value:.2}"),
        small if small < 10_000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A duration given in microseconds, in the unit that reads best.
pub fn duration_us(value: Option<f64>) -> String {
    match value {
        Some(us) if us >= 1e6 => format!("{} s", number(Some(us / 1e6))),
        Some(us) if us >= 1e3 => format!("{} ms", number(Some(us / 1e3))),
        Some(us) => format!("{} µs", number(Some(us))),
        None => number(None),
    }
}

/// A size, in powers of 1000, without zeros after the point.
pub(crate) fn short_bytes(value: u64) -> String {
    let text = bytes(value);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A size, in powers of 1000.
pub fn bytes(value: u64) -> String {
    match value {
        0..1_000 => format!("{value} B"),
        1_000..1_000_000 => format!("{} KB", number(Some(value as f64 / 1e3))),
        1_000_000..1_000_000_000 => format!("{} MB", number(Some(value as f64 / 1e6))),
        _ => format!("{} GB", number(Some(value as f64 / 1e9))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Machine, RunStatus, summarise};
    use crate::sample;

    fn summaries() -> [Summary; 2] {
        let (mut input, mut outcome) = sample::incast();
        let a = summarise(&input, &outcome, RunStatus::Completed, Machine::default());
        input.scheme = "dcqcn-win".into();
        outcome.counters.pauses = 12_345;
        outcome.rtt = sample::rtt(&[4_100, 2_000_000]);
        [
            a,
            summarise(&input, &outcome, RunStatus::Completed, Machine::default()),
        ]
    }

    #[test]
    fn comparisons() {
        let [a, b] = &summaries();
        insta::assert_snapshot!("by_run", comparison(&[a, b], 200));
        insta::assert_snapshot!("by_metric", comparison(&[a, b], 80));
    }

    #[test]
    fn rows_are_told_apart() {
        let [a, b] = &summaries();
        let other = Summary { seed: 8, ..a.clone() };
        assert_eq!(row_names(&[a, b]), ["none", "dcqcn-win"]);
        assert_eq!(row_names(&[a, &other]), ["none #7", "none #8"]);
    }

    #[test]
    fn published_values() {
        let published = |case: &str, value| Published {
            case: case.into(),
            metric: "mean RTT, µs".into(),
            value,
        };
        let table = beside(
            &[
                published("DCQCN", 7.5),
                published("LSTM-PID", 4.25),
                published("HPCC", 4.2),
            ],
            &[Some(7.01), None, Some(4.32)],
        );
        insta::assert_snapshot!("beside", table);
    }

    #[test]
    fn numbers() {
        let texts: Vec<String> = [0.0, 0.000_12, 0.5, 1.5, 99.994, 123.45, 123_456.7]
            .map(|v| number(Some(v)))
            .into();
        assert_eq!(
            texts,
            ["0", "1.2e-4", "0.500", "1.50", "99.99", "123.5", "123457"]
        );
        assert_eq!(duration_us(Some(1_866.0)), "1.87 ms");
        assert_eq!(duration_us(Some(4.318)), "4.32 µs");
        assert_eq!(bytes(2_500), "2.50 KB");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(
            done(FlowCount {
                total: 20,
                completed: 20
            }),
            "all 20"
        );
        assert_eq!(
            [100, 5_000, 2_500, 150_000_000].map(short_bytes),
            ["100 B", "5 KB", "2.5 KB", "150 MB"]
        );
    }
}
