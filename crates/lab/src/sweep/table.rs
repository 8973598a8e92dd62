//! Terminal table of a sweep: a row per point, means over the seeds.

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedSet;

use super::{Row, Status, SweepData, notes};
use crate::metrics::{self, Metric};
use crate::results::Summary;
use crate::stats::{self, CONFIDENCE};
use crate::table::{Column, render};
use crate::text::{bytes, duration_us, number};

/// Axis whose first value is the reference for the others.
const SCHEME: &str = "cc.scheme";

/// Metric of a run and the format of its values.
struct Quantity {
    group: &'static str,
    name: &'static str,
    of: fn(&Summary) -> Option<f64>,
    /// Returns the unit for a value of this size: its divisor, and its name.
    unit: Unit,
}

type Unit = fn(f64) -> (f64, &'static str);

/// Function that reads a metric from a summary.
type Value = dyn Fn(&Summary) -> Option<f64>;

/// Column of the table.
struct Shown {
    group: String,
    name: &'static str,
    of: Box<Value>,
    unit: Unit,
}

impl Shown {
    fn of_run(of: &'static Quantity) -> Self {
        Self {
            group: of.group.to_string(),
            name: of.name,
            of: Box::new(of.of),
            unit: of.unit,
        }
    }

    fn of_job(metric: Metric, unit: Unit) -> Self {
        Self {
            group: metric.group.clone(),
            name: metric.name,
            of: Box::new(move |summary| metric.value(summary)),
            unit,
        }
    }
}

/// Maximum number of jobs with columns.
const JOBS_SHOWN: usize = 3;

/// Returns columns for mean iteration and exposed communication of the first few jobs, or first tokens and caches of
/// services.
fn of_jobs(data: &SweepData) -> Vec<Shown> {
    let summaries: Vec<_> = (data.in_order().filter_map(|(_, row)| row.summary.as_ref())).collect();
    let mut all = metrics::of_jobs(summaries.iter().copied());
    all.extend(metrics::of_services(summaries));
    let jobs = all.chunk_by(|a, b| a.group == b.group).take(JOBS_SHOWN);
    let shown = jobs.flat_map(|of_job| {
        let wanted = of_job.iter().filter(|metric| {
            let key = metric.key.as_str();
            [".iteration_us.mean", ".exposed_us", ".ttft_us.p99", ".kv_us.mean"]
                .iter()
                .any(|end| key.ends_with(end))
        });
        wanted.map(|metric| Shown::of_job(metric.clone(), unit_of_us))
    });
    shown.collect()
}

const QUANTITIES: [Quantity; 6] = [
    Quantity {
        group: "FCT slowdown",
        name: "mean",
        of: |s| s.fct_slowdown.mean,
        unit: |_| (1.0, ""),
    },
    Quantity {
        group: "FCT slowdown",
        name: "p99",
        of: |s| s.fct_slowdown.p99,
        unit: |_| (1.0, ""),
    },
    Quantity {
        group: "FCT",
        name: "mean",
        of: |s| s.fct_us.mean,
        unit: unit_of_us,
    },
    Quantity {
        group: "queue",
        name: "max",
        of: |s| Some(s.queue_bytes.max as f64),
        unit: unit_of_bytes,
    },
    Quantity {
        group: "PFC",
        name: "pauses",
        of: |s| Some(s.pfc.pauses as f64),
        unit: |_| (1.0, ""),
    },
    Quantity {
        group: "packets",
        name: "drops",
        of: |s| Some(s.drops as f64),
        unit: |_| (1.0, ""),
    },
];

/// Returns the units of [`duration_us`].
fn unit_of_us(us: f64) -> (f64, &'static str) {
    match us.abs() {
        us if us >= 1e6 => (1e6, " s"),
        us if us >= 1e3 => (1e3, " ms"),
        _ => (1.0, " µs"),
    }
}

/// Returns the units of [`bytes`].
fn unit_of_bytes(bytes: f64) -> (f64, &'static str) {
    match bytes.abs() {
        bytes if bytes >= 1e9 => (1e9, " GB"),
        bytes if bytes >= 1e6 => (1e6, " MB"),
        bytes if bytes >= 1e3 => (1e3, " KB"),
        _ => (1.0, " B"),
    }
}

/// Approximate maximum number of rows; a larger grid is reduced to both ends.
const ROWS_MAX: usize = 40;

/// Renders the table of a sweep: a row per point of the grid, with the mean over its seeds and half the width of its 95
/// % interval. Below it, if the scheme varies, are the differences between schemes seed by seed. A large grid is
/// reduced to the points with the smallest and the largest 99th percentiles of slowdowns.
pub fn table(data: &SweepData) -> String {
    let all = data.plan.points.len();
    let points = ends((0..all).collect(), |&point| {
        let values = data.values(point, MAIN.of);
        stats::mean(&values.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
    });
    let mut columns = axes(data, &points, None);
    columns.push(Column::right(
        "",
        "runs",
        points.iter().map(|&point| runs(data, point)).collect(),
    ));
    let jobs = of_jobs(data);
    let of_runs: Vec<Shown> = QUANTITIES.iter().map(Shown::of_run).collect();
    for quantity in jobs.iter().chain(&of_runs) {
        let cell = |&point: &usize| {
            let values = data.values(point, &quantity.of);
            let values: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
            mean_cell(&values, quantity.unit)
        };
        let cells = points.iter().map(cell).collect();
        columns.push(Column::right(&quantity.group, quantity.name, cells));
    }
    let mut text = render(&columns);
    if points.len() < all {
        text.push_str(&format!(
            "the smallest and the largest of FCT slowdown {}; ... and {} more, in points.csv\n",
            MAIN.name,
            all - points.len()
        ));
    }
    if data.plan.seeds.len() > 1 && !points.iter().all(|&point| data.point_is_fixed(point)) {
        text.push_str("mean over the seeds ± half the width of its 95 % interval\n");
    }
    if points.iter().any(|&point| !data.point_is_comparable(point)) {
        text.push_str("!: a run failed or left flows unfinished, and the point is not compared\n");
    }
    text.push_str(&differences(data, &jobs));
    for note in notes(data) {
        text.push_str(&format!("\n{}\n", note.text));
    }
    text
}

/// Metric by which points are ordered.
const MAIN: &Quantity = &QUANTITIES[1];

/// Returns all of a few points, or of many those with the smallest and the largest values, in their original order.
fn ends<T>(all: Vec<T>, value: impl Fn(&T) -> Option<f64>) -> Vec<T> {
    if all.len() <= ROWS_MAX + ROWS_MAX / 4 {
        return all;
    }
    let values: Vec<Option<f64>> = all.iter().map(value).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    // Points without a value stay between the two ends.
    let rank = |&i: &usize| values[i].unwrap_or(0.0);
    order.order_by(|a, b| rank(a).total_cmp(&rank(b)));
    let (with, without): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&i| values[i].is_some());
    let half = with.len() / 2;
    let order = [&with[..half], &without[..], &with[half..]].concat();
    let kept: SortedSet<usize> = order[..ROWS_MAX / 2]
        .iter()
        .chain(&order[order.len() - ROWS_MAX / 2..])
        .copied()
        .collect();
    let numbered = all.into_iter().enumerate();
    numbered
        .filter(|(i, _)| kept.contains(i))
        .map(|(_, one)| one)
        .collect()
}

/// Returns a column per axis, except for axis `without`.
fn axes(data: &SweepData, points: &[usize], without: Option<usize>) -> Vec<Column> {
    let axes = data.plan.axes.iter().enumerate();
    let axes = axes.filter(|(number, _)| Some(*number) != without);
    let column = |(number, axis): (usize, &paceline_scenario::sweep::Axis)| {
        let value = |&point: &usize| axis.values[data.plan.points[point].values[number]].to_string();
        Column::left("", &short_key(data, number), points.iter().map(value).collect())
    };
    axes.map(column).collect()
}

/// Returns the shortest unique end of an axis' key: `load` for `workload.background.poisson.load`.
fn short_key(data: &SweepData, number: usize) -> String {
    let axes = &data.plan.axes;
    if axes[number].key.contains(',') {
        return axes[number].name();
    }
    let key = axes[number].key.as_str();
    let own = |end: &&str| {
        let mut others = axes.iter().enumerate().filter(|(other, _)| *other != number);
        !others.any(|(_, other)| other.key == *end || other.key.ends_with(&format!(".{end}")))
    };
    let ends = key.rmatch_indices('.').map(|(dot, _)| &key[dot + 1..]);
    ends.chain([key]).find(own).unwrap_or(key).to_string()
}

/// Formats the number of finished runs of a point, and the number planned if some are missing.
fn runs(data: &SweepData, point: usize) -> String {
    let all = data.plan.seeds.len();
    let rows: Vec<&Row> = (0..all).filter_map(|repeat| data.row(point, repeat)).collect();
    let completed = rows.iter().filter(|row| row.status == Status::Completed).count();
    let failed = rows.len() - completed;
    let text = match (completed == all, failed) {
        (true, _) if data.point_is_fixed(point) => "1".to_string(),
        (true, _) => all.to_string(),
        (false, 0) => format!("{completed}/{all}"),
        (false, failed) => format!("{completed}/{all}, {failed} failed"),
    };
    match data.point_is_comparable(point) {
        true => text,
        false => text + " !",
    }
}

fn mean_cell(values: &[f64], unit: Unit) -> String {
    let Some(mean) = stats::mean(values) else {
        return number(None);
    };
    match stats::interval(values, CONFIDENCE).and_then(|found| found.half_width()) {
        Some(half) => with_half_width(mean, half, unit),
        None => plain(mean, unit),
    }
}

/// Formats a value like the tables of single runs.
fn plain(value: f64, unit: Unit) -> String {
    match unit(value).1 {
        " B" | " KB" | " MB" | " GB" => bytes(value.round() as u64),
        " µs" | " ms" | " s" => duration_us(Some(value)),
        _ if value.fract() == 0.0 => value.to_string(),
        _ => number(Some(value)),
    }
}

/// Formats mean and half width in the unit of the mean, with as many digits.
fn with_half_width(mean: f64, half: f64, unit: Unit) -> String {
    let (divisor, unit) = unit(mean);
    format!(
        "{} ±{}{unit}",
        number(Some(mean / divisor)),
        number(Some(half / divisor))
    )
}

/// Formats the differences between the other schemes and the first, in slowdowns and in iterations of jobs, at points
/// that differ in nothing else. The same seed gives both schemes the same flows, so the influence of the flows cancels.
fn differences(data: &SweepData, jobs: &[Shown]) -> String {
    let axes_of = &data.plan.axes;
    let Some(axis) = axes_of.iter().position(|other| other.key == SCHEME) else {
        return String::new();
    };
    let schemes = &axes_of[axis].values;
    if schemes.len() < 2 || data.plan.seeds.len() < 2 {
        return String::new();
    }
    let points = &data.plan.points;
    let firsts: Vec<usize> = (0..points.len())
        .filter(|&i| points[i].values[axis] == 0)
        .collect();
    let count = firsts.len();
    // The last axis varies fastest, so points that differ only in the scheme are this far apart.
    let stride: usize = axes_of[axis + 1..]
        .iter()
        .map(|other| other.values.len())
        .product();
    let firsts = ends(firsts, |&first| {
        let values = data.values(first, MAIN.of);
        stats::mean(&values.into_iter().map(|(_, value)| value).collect::<Vec<_>>())
    });
    let mut columns = axes(data, &firsts, Some(axis));
    let slowdowns: Vec<Shown> = QUANTITIES[..2].iter().map(Shown::of_run).collect();
    let what = match jobs.is_empty() {
        true => "FCT slowdown",
        false => "FCT slowdown and iterations of jobs",
    };
    let mut any = false;
    for (i, scheme) in schemes.iter().enumerate().skip(1) {
        for quantity in slowdowns.iter().chain(jobs) {
            let cell = |&first: &usize| difference_cell(data, first, first + i * stride, quantity);
            let cells: Vec<Option<String>> = firsts.iter().map(cell).collect();
            any |= cells.iter().any(Option::is_some);
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| number(None)));
            let name = match quantity.group.strip_prefix("job ") {
                Some(job) => format!("{job} {}", quantity.name),
                None => quantity.name.to_string(),
            };
            columns.push(Column::right(&scheme.to_string(), &name, cells.collect()));
        }
    }
    if !any {
        return String::new();
    }
    let more = match count - firsts.len() {
        0 => String::new(),
        more => format!("... and {more} more: the runs are in results.csv\n"),
    };
    format!(
        "\nDifference in {what} from {} with the same flows (*: the 95 % interval excludes 0):\n{}{more}",
        schemes[0],
        render(&columns)
    )
}

fn difference_cell(data: &SweepData, first: usize, other: usize, quantity: &Shown) -> Option<String> {
    if !data.point_is_comparable(first) || !data.point_is_comparable(other) {
        return None;
    }
    let (first, other) = (data.values(first, &quantity.of), data.values(other, &quantity.of));
    let pairs = first.iter().filter_map(|&(seed, a)| {
        let (_, b) = other.iter().find(|(theirs, _)| *theirs == seed)?;
        Some((a, *b))
    });
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let pair = stats::paired(&a, &b, CONFIDENCE)?;
    let mean = pair.difference.mean;
    let half = pair.difference.half_width();
    let sign = if mean > 0.0 { "+" } else { "" };
    // Both numbers are in the unit of the larger one.
    let (divisor, unit) = (quantity.unit)(mean.abs().max(half.unwrap_or(0.0)));
    let mean = number(Some(mean / divisor));
    Some(match half {
        None => format!("{sign}{mean}{unit}  "),
        Some(half) => format!(
            "{sign}{mean} ±{}{unit}{}",
            number(Some(half / divisor)),
            if pair.clear { " *" } else { "  " }
        ),
    })
}
