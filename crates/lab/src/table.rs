//! Tables for a terminal. Pure functions from numbers to text.

mod repeats;
mod sizes;

pub use repeats::repeats;
pub use repeats::{by_flow, difference, differing, with_interval};
pub use sizes::slowdown_by_size;

use crate::results::{CollectiveTime, FlowCount, Summary, WORTH_SAYING};
use crate::stats;

/// Columns that a terminal has when nobody knows.
pub const DEFAULT_WIDTH: usize = 100;

/// A column of a comparison.
pub struct Metric {
    /// Which group of columns it is in.
    pub group: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Where it is in `summary.json`.
    pub key: &'static str,
    /// Its value in a summary, as text.
    pub text: fn(&Summary) -> String,
    /// Its value in a summary.
    pub value: fn(&Summary) -> Option<f64>,
    /// A value as text.
    pub show: fn(Option<f64>) -> String,
    /// Its value, the smaller the better; `None` also where small is not good.
    pub cost: fn(&Summary) -> Option<f64>,
}

/// How many flows finished, of how many.
const DONE: Metric = Metric {
    group: "flows",
    name: "done",
    key: "flows.completed",
    text: |s| done(s.flows),
    value: |s| Some(s.flows.completed as f64),
    show: whole,
    cost: |_| None,
};

/// The cost where low is good.
const fn low(value: f64) -> f64 {
    value
}

/// The cost where high is good.
const fn high(value: f64) -> f64 {
    -value
}

macro_rules! metrics {
    ($first:expr; $($group:literal $name:literal $key:literal: $value:expr, $show:expr, $cost:path;)*) => {
        &[$first, $(Metric {
            group: $group,
            name: $name,
            key: $key,
            text: |summary| {
                let (value, show): (fn(&Summary) -> Option<f64>, fn(Option<f64>) -> String) = ($value, $show);
                show(value(summary))
            },
            value: $value,
            show: $show,
            cost: |summary| {
                let value: fn(&Summary) -> Option<f64> = $value;
                value(summary).map($cost)
            },
        },)*]
    };
}

/// The columns of every comparison.
pub const METRICS: &[Metric] = metrics! {
    DONE;
    "FCT slowdown" "mean" "fct_slowdown.mean": |s| s.fct_slowdown.mean, number, low;
    "FCT slowdown" "p50" "fct_slowdown.p50": |s| s.fct_slowdown.p50, number, low;
    "FCT slowdown" "p95" "fct_slowdown.p95": |s| s.fct_slowdown.p95, number, low;
    "FCT slowdown" "p99" "fct_slowdown.p99": |s| s.fct_slowdown.p99, number, low;
    "FCT" "mean" "fct_us.mean": |s| s.fct_us.mean, duration_us, low;
    "FCT" "last end" "finish_us": |s| s.finish_us, duration_us, low;
    "RTT" "mean" "rtt_us.mean": |s| s.rtt_us.mean, duration_us, low;
    "RTT" "p99" "rtt_us.p99": |s| s.rtt_us.p99, duration_us, low;
    "RTT" "max" "rtt_us.max": |s| s.rtt_us.max, duration_us, low;
    "RTT" "all ACKs" "rtt_all_us.mean": |s| s.rtt_all_us.mean, duration_us, low;
    "Gbit/s" "mean rate" "rate_mean_gbps": |s| s.rate_mean_gbps, number, high;
    "queue" "max" "queue_bytes.max": |s| Some(s.queue_bytes.max as f64), whole_bytes, low;
    "PFC" "pauses" "pfc.pauses": |s| Some(s.pfc.pauses as f64), whole, low;
    "packets" "drops" "drops": |s| Some(s.drops as f64), whole, low;
};

/// The mean time of a collective's iterations.
const COLLECTIVE_TIME: Metric = Metric {
    group: "collectives",
    name: "mean time",
    key: "collectives.time_us",
    text: |s| duration_us(mean_of(s, |time| time.time_us)),
    value: |s| mean_of(s, |time| time.time_us),
    show: duration_us,
    cost: |s| mean_of(s, |time| time.time_us),
};

/// Decisions that took effect.
const DECISIONS_MADE: Metric = Metric {
    group: "decisions",
    name: "made",
    key: "decisions.made",
    text: |s| whole(s.decisions.map(|of| of.made as f64)),
    value: |s| s.decisions.map(|of| of.made as f64),
    show: whole,
    cost: |_| None,
};

/// What is shown besides where a run has collectives.
const COLLECTIVES: &[Metric] = metrics! {
    COLLECTIVE_TIME;
    "collectives" "bus Gbit/s" "collectives.busbw_gbps": |s| mean_of(s, |time| time.busbw_gbps), number, high;
};

/// What is shown besides where decisions take time.
const DECISIONS: &[Metric] = metrics! {
    DECISIONS_MADE;
    "decisions" "mean wait" "decisions.wait_us_mean": |s| s.decisions.map(|of| of.wait_us_mean), duration_us, low;
    "decisions" "busy" "decisions.busy": |s| s.decisions.and_then(|of| of.busy), number, low;
};

/// What had left before its sender heard anything, where that is worth saying.
const UNHEARD: Metric = Metric {
    group: "bytes sent",
    name: "unheard",
    key: "before_feedback.share",
    text: |s| percent(unheard(s)),
    value: unheard,
    show: percent,
    cost: |_| None,
};

/// What is shown besides where most of the bytes left before any feedback.
const BEFORE_FEEDBACK: &[Metric] = &[UNHEARD];

fn unheard(summary: &Summary) -> Option<f64> {
    let share = summary.before_feedback.map(|before| before.share);
    share.filter(|&share| share >= WORTH_SAYING)
}

/// A share in percent, never rounded to all.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(
        || "–".to_string(),
        |share| format!("{:.0}%", (share * 100.0).floor()),
    )
}

/// What is shown only of runs that have it.
pub fn occasional() -> impl Iterator<Item = &'static Metric> + Clone {
    COLLECTIVES.iter().chain(DECISIONS).chain(BEFORE_FEEDBACK)
}

/// The mean over iterations that came to their end.
fn mean_of(summary: &Summary, value: fn(&CollectiveTime) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = summary.collectives.iter().filter_map(value).collect();
    stats::mean(&values)
}

/// A comparison of runs: a row per run, or, where that is wider than `width`, a column per run.
///
/// RTT is sampled once per flow and round trip, and for "all ACKs" at every acknowledgement; the
/// mean rate is the payload of the completed flows over the sum of their completion times. Collectives
/// and decisions that take time are shown where there are any, and what left before its sender heard anything
/// where that is half of the bytes or more.
pub fn comparison(runs: &[&Summary], width: usize) -> String {
    let names = row_names(runs);
    let collectives = runs.iter().any(|run| !run.collectives.is_empty());
    let decisions = runs.iter().any(|run| run.decisions.is_some());
    let mut metrics: Vec<&Metric> = METRICS.iter().collect();
    let feedback = runs.iter().any(|run| unheard(run).is_some());
    for (more, shown) in [
        (COLLECTIVES, collectives),
        (DECISIONS, decisions),
        (BEFORE_FEEDBACK, feedback),
    ] {
        metrics.extend(more.iter().filter(|_| shown));
    }
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
pub struct Column {
    group: String,
    name: String,
    cells: Vec<String>,
    right: bool,
}

impl Column {
    /// Of texts.
    pub fn left(group: &str, name: &str, cells: Vec<String>) -> Self {
        Self {
            group: group.to_string(),
            name: name.to_string(),
            cells,
            right: false,
        }
    }
    /// Of numbers.
    pub fn right(group: &str, name: &str, cells: Vec<String>) -> Self {
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

/// How wide a terminal shows `text`.
pub fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// Columns two spaces apart, with a line of groups above where there are any.
pub fn render(columns: &[Column]) -> String {
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
pub fn short_bytes(value: u64) -> String {
    let text = bytes(value);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A count: whole, or with the digits of [`number`].
fn whole(value: Option<f64>) -> String {
    match value {
        Some(count) if count.fract() == 0.0 => format!("{count:.0}"),
        other => number(other),
    }
}

/// A size that need not be whole.
fn whole_bytes(value: Option<f64>) -> String {
    value.map_or_else(|| number(None), |value| bytes(value.round() as u64))
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
mod tests;
