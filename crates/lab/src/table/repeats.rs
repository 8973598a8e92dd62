//! Tables of repeats with several seeds.

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;

use super::details::{ROWS_MIN, heaviest};
use super::{Column, Detail, More, ROWS_OF_TERMINAL, details_text, render};
use crate::metrics::{METRICS, Metric, of_jobs, of_runs};
use crate::repeats::{OfScheme, PairedSchemes, Repeats};
use crate::results::FlowPairs;
use crate::stats::{Interval, Paired};
use crate::text::{natural_order, number};

/// Formats means over seeds with their intervals, and the differences between each scheme and the first.
pub fn repeats(all: &Repeats, width: usize) -> String {
    let percent = 100.0 * all.confidence;
    let seeds = match (all.seeds.first(), all.seeds.last()) {
        (Some(first), Some(last)) => format!("{first} to {last}"),
        _ => String::new(),
    };
    let mut text = means(all, width);
    text.push_str(&format!(
        "mean over {} seeds ({seeds}) ± half the width of its {percent}% confidence interval\n",
        all.repeats
    ));
    text.push_str(&details_text(jobs(all, ROWS_OF_TERMINAL).as_slice()));
    for other in &all.paired {
        text.push_str(&format!(
            "\n{} against {}, seed by seed, with {percent}% confidence intervals\n{}",
            other.scheme,
            other.reference,
            differences(all, other)
        ));
        if let Some(flows) = &other.flows {
            text.push_str(&by_flow(flows));
        }
    }
    let vary = |other: &PairedSchemes| {
        let mut found = differing(all, other).into_iter();
        found.any(|(_, paired)| !paired.constant)
    };
    if all.paired.iter().any(vary) {
        text.push_str(
            "* the interval excludes zero; without a real difference, that happens once in 20 cases\n",
        );
    }
    text
}

/// Builds the table of jobs: iterations and exposed communication under each scheme, and the mean iteration relative to
/// the first. A table of many more than `limit` rows keeps the jobs with the longest iterations.
pub fn jobs(all: &Repeats, limit: usize) -> Option<Detail> {
    let metrics = of_jobs(all.runs.iter().map(|run| &run.summary));
    let by_job: Vec<(&str, &[Metric])> = metrics
        .chunk_by(|a, b| a.group == b.group)
        .map(|of_job| (of_job[0].label(), of_job))
        .collect();
    let mut weights: SortedMap<&str, f64> = SortedMap::new();
    for (label, of_job) in &by_job {
        let means = all
            .intervals
            .iter()
            .filter_map(|of| of.metrics.get(&of_job[0].key));
        let longest = means.map(|of| of.mean).reduce(f64::max);
        weights.extend(longest.map(|mean| (*label, mean)));
    }
    let mut labels: Vec<String> = weights.keys().map(|label| (*label).to_string()).collect();
    labels.order_by(|a, b| natural_order(a, b));
    let found = heaviest(weights, (limit / all.intervals.len().max(1)).max(ROWS_MIN));
    let more = found.map(|(kept, count)| {
        labels.retain(|label| kept.contains(label));
        More {
            count,
            file: "comparison.json",
        }
    });
    let against = |scheme: &str, key: &str| {
        let other = all.paired.iter().find(|other| other.scheme == scheme)?;
        let paired = other.metrics.get(key)?;
        let ratio = paired.ratio.as_ref()?;
        let mark = if paired.clear { " *" } else { "" };
        Some(match ratio.ends() {
            Some((lo, hi)) => format!(
                "{}, {} to {}{mark}",
                percent(ratio.mean),
                percent(lo),
                percent(hi)
            ),
            None => percent(ratio.mean),
        })
    };
    let row = |(label, of): (&String, &OfScheme)| {
        let (_, of_job) = by_job.iter().find(|(known, _)| known == label)?;
        // None of its iterations came to its end in some run.
        of.metrics.get(&of_job[0].key)?;
        let mut cells = vec![label.clone(), of.scheme.clone()];
        cells.extend((of_job.iter()).map(|metric| with_interval(metric, of.metrics.get(&metric.key))));
        cells.push(against(&of.scheme, &of_job[0].key).unwrap_or_default());
        Some(cells)
    };
    let pairs = labels
        .iter()
        .flat_map(|label| all.intervals.iter().map(move |of| (label, of)));
    let rows: Vec<_> = pairs.filter_map(row).collect();
    let mut head = vec!["job", "scheme"];
    head.extend(by_job.first()?.1.iter().map(|metric| metric.name));
    head.push("iteration against the first scheme");
    (!rows.is_empty()).then_some(Detail {
        title: "by job, mean over the seeds",
        head,
        rows,
        more,
    })
}

/// Formats a mean as `1.23 ± 0.04`, or alone if it is the same with every seed.
pub fn with_interval(metric: &Metric, interval: Option<&Interval>) -> String {
    let Some(of) = interval else {
        return number(None);
    };
    match of.half_width() {
        Some(half) => format!("{} ± {}", metric.show(Some(of.mean)), metric.show(Some(half))),
        None => metric.show(Some(of.mean)),
    }
}

/// Returns the metrics of whole runs that some scheme has; those of jobs are in [`jobs`].
fn known(all: &Repeats) -> Vec<Metric> {
    let is_known = |metric: &Metric| {
        all.intervals
            .iter()
            .any(|of| of.metrics.contains_key(&metric.key))
    };
    let usual = METRICS.len();
    let numbered = of_runs().enumerate();
    numbered
        .filter(|(i, metric)| *i < usual || is_known(metric))
        .map(|(_, metric)| metric)
        .collect()
}

/// Formats a row per metric and a column per scheme, with as many schemes next to each other as fit.
fn means(all: &Repeats, width: usize) -> String {
    let rows = known(all);
    let column = |i: usize| {
        let of = &all.intervals[i];
        let cells = rows
            .iter()
            .map(|metric| with_interval(metric, of.metrics.get(&metric.key)));
        Column::right("", &of.scheme, cells.collect())
    };
    let tables = |per_table: usize| {
        let schemes: Vec<usize> = (0..all.intervals.len()).collect();
        let parts = schemes.chunks(per_table).map(|part| {
            let mut columns = labels(&rows);
            columns.extend(part.iter().map(|&i| column(i)));
            render(&columns)
        });
        parts.collect::<Vec<_>>().join("\n")
    };
    let fits = |text: &String| text.lines().all(|line| line.chars().count() <= width);
    (1..=all.intervals.len().max(1))
        .rev()
        .map(tables)
        .find(fits)
        .unwrap_or_else(|| tables(1))
}

/// Returns group and name of metrics, each group's name only once.
fn labels(metrics: &[Metric]) -> Vec<Column> {
    let mut last = "";
    let groups = metrics.iter().map(|metric| {
        let shown = if metric.group == last { "" } else { &metric.group };
        last = &metric.group;
        shown.to_string()
    });
    let groups = Column::left("", "", groups.collect());
    let names = Column::left(
        "",
        "",
        metrics.iter().map(|metric| metric.name.to_string()).collect(),
    );
    vec![groups, names]
}

/// Maximum number of metrics of jobs and collectives in a table of differences; `comparison.json` has all.
const NAMED_MAX: usize = 24;

/// Returns the metrics in which a scheme differs from the first with any seed: those of whole runs, then those of jobs
/// and collectives.
pub fn differing<'a>(all: &Repeats, other: &'a PairedSchemes) -> Vec<(Metric, &'a Paired)> {
    let differs = |paired: &&Paired| paired.difference.mean != 0.0 || paired.difference.ends().is_some();
    let usual = of_runs().count();
    let mut found: Vec<(usize, Metric, &Paired)> = (all.quantities().into_iter().enumerate())
        .filter_map(|(i, metric)| {
            let paired = other.metrics.get(&metric.key).filter(differs)?;
            Some((i, metric, paired))
        })
        .collect();
    let of_runs = found.partition_point(|(i, ..)| *i < usual);
    found.truncate(of_runs + NAMED_MAX);
    found
        .into_iter()
        .map(|(_, metric, paired)| (metric, paired))
        .collect()
}

/// Formats a difference: its mean and interval, and those of the ratio in percent. A constant difference has no
/// interval.
pub fn difference(metric: &Metric, paired: &Paired) -> [String; 4] {
    let of = &paired.difference;
    let ratio = |text: &dyn Fn(&Interval) -> String| paired.ratio.as_ref().map_or_else(|| number(None), text);
    let interval = match of.ends().filter(|_| !paired.constant) {
        Some((lo, hi)) => format!("{} to {}", signed(metric, lo), signed(metric, hi)),
        None => "the same with every seed".to_string(),
    };
    let of_ratio = match paired.ratio {
        Some(ratio) => ratio.ends().map_or_else(String::new, |(lo, hi)| {
            format!("{} to {}", percent(lo), percent(hi))
        }),
        None if paired.constant => String::new(),
        None => number(None),
    };
    [
        signed(metric, of.mean),
        interval,
        ratio(&|ratio| percent(ratio.mean)),
        of_ratio,
    ]
}

/// Formats a row per metric that differs, with the difference and its percentage.
fn differences(all: &Repeats, other: &PairedSchemes) -> String {
    let (metrics, rows): (Vec<Metric>, Vec<([String; 4], bool)>) = differing(all, other)
        .into_iter()
        .map(|(metric, paired)| {
            let texts = difference(&metric, paired);
            (metric, (texts, paired.clear))
        })
        .unzip();
    let cells = |i: usize| rows.iter().map(|(texts, _)| texts[i].clone()).collect();
    let mut columns = labels(&metrics);
    for (i, name) in ["difference", "interval", "relative", "interval"]
        .into_iter()
        .enumerate()
    {
        columns.push(Column::right("", name, cells(i)));
    }
    let marks = rows
        .iter()
        .map(|(_, clear)| if *clear { "*" } else { "" }.to_string());
    columns.push(Column::left("", "", marks.collect()));
    render(&columns)
}

/// Formats a ratio as a difference in percent.
fn percent(ratio: f64) -> String {
    match format!("{:+.1}%", 100.0 * (ratio - 1.0)).as_str() {
        "-0.0%" => "+0.0%".to_string(),
        text => text.to_string(),
    }
}

fn signed(metric: &Metric, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", metric.show(Some(value.abs())))
}

/// Describes the ratios of single flows in a sentence.
pub fn by_flow(flows: &FlowPairs) -> String {
    let mean = flows.ratio.map_or_else(String::new, |ratio| {
        let ends = ratio.ends().map_or_else(String::new, |(lo, hi)| {
            format!(", {} to {}", number(Some(lo)), number(Some(hi)))
        });
        format!(": ×{} on (geometric) average{ends}", number(Some(ratio.mean)))
    });
    let unpaired = match flows.unpaired {
        0 => String::new(),
        1 => "; 1 flow completed under one of the two only".to_string(),
        more => format!("; {more} flows completed under one of the two only"),
    };
    format!(
        "flow by flow, completion times{mean};\nmedian ×{}, 5th and 95th percentile ×{} and ×{}; {:.0}% of {} flows \
         are faster, {:.0}% slower{unpaired}\n",
        number(Some(flows.p50)),
        number(Some(flows.p5)),
        number(Some(flows.p95)),
        100.0 * flows.faster,
        flows.flows,
        100.0 * flows.slower,
    )
}
