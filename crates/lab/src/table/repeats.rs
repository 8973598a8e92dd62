//! Repeats with several seeds.

use super::{Column, METRICS, Metric, number, occasional, render};
use crate::repeats::{PairedSchemes, Repeats};
use crate::stats::{FlowPairs, Interval, Paired};

/// Means over seeds with their intervals, and how each scheme differs from the first.
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
    for other in &all.paired {
        text.push_str(&format!(
            "\n{} against {}, seed by seed, with {percent}% confidence intervals\n{}",
            other.scheme,
            other.reference,
            differences(other)
        ));
        if let Some(flows) = &other.flows {
            text.push_str(&by_flow(flows));
        }
    }
    if !all.paired.is_empty() {
        text.push_str(
            "* zero lies outside the interval; where there is no difference at all, that happens by chance \
             once in 20\n",
        );
    }
    text
}

/// A row per quantity, a column per scheme; as many schemes side by side as fit.
fn means(all: &Repeats, width: usize) -> String {
    let cell = |metric: &Metric, interval: Option<&Interval>| match interval {
        Some(of) if of.half_width() == 0.0 => (metric.show)(Some(of.mean)),
        Some(of) => format!(
            "{} ± {}",
            (metric.show)(Some(of.mean)),
            (metric.show)(Some(of.half_width()))
        ),
        None => number(None),
    };
    let known = |metric: &&Metric| all.intervals.iter().any(|of| of.metrics.contains_key(metric.key));
    let rows = METRICS.iter().chain(occasional().filter(known));
    let column = |i: usize| {
        let of = &all.intervals[i];
        let cells = rows
            .clone()
            .map(|metric| cell(metric, of.metrics.get(metric.key)));
        Column::right("", &of.scheme, cells.collect())
    };
    let tables = |per_table: usize| {
        let schemes: Vec<usize> = (0..all.intervals.len()).collect();
        let parts = schemes.chunks(per_table).map(|part| {
            let mut columns = labels(rows.clone());
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

/// Group and name of metrics, a group's name once.
fn labels<'a>(metrics: impl Iterator<Item = &'a Metric> + Clone) -> Vec<Column> {
    let mut last = "";
    let groups = metrics.clone().map(|metric| {
        let shown = if metric.group == last { "" } else { metric.group };
        last = metric.group;
        shown.to_string()
    });
    let groups = Column::left("", "", groups.collect());
    let names = Column::left("", "", metrics.map(|metric| metric.name.to_string()).collect());
    vec![groups, names]
}

/// A row per quantity that differs: how much, and in percent.
fn differences(other: &PairedSchemes) -> String {
    let differs = |paired: &&Paired| paired.difference.mean != 0.0 || paired.difference.half_width() > 0.0;
    let of = |metric: &&Metric| other.metrics.get(metric.key).filter(differs).is_some();
    let metrics = METRICS.iter().chain(occasional()).filter(of);
    let cells = |text: &dyn Fn(&Metric, &Paired) -> String| -> Vec<String> {
        let one = |metric: &Metric| other.metrics.get(metric.key).map(|paired| text(metric, paired));
        metrics.clone().filter_map(one).collect()
    };
    let mut columns = labels(metrics.clone());
    columns.push(Column::right(
        "",
        "difference",
        cells(&|m, p| signed(m, p.difference.mean)),
    ));
    columns.push(Column::right(
        "",
        "interval",
        cells(&|m, p| format!("{} to {}", signed(m, p.difference.lo), signed(m, p.difference.hi))),
    ));
    let of_ratio = |text: &dyn Fn(&Interval) -> String| {
        cells(&|_, p| p.ratio.as_ref().map_or_else(|| number(None), text))
    };
    columns.push(Column::right(
        "",
        "relative",
        of_ratio(&|ratio| percent(ratio.mean)),
    ));
    columns.push(Column::right(
        "",
        "interval",
        of_ratio(&|ratio| format!("{} to {}", percent(ratio.lo), percent(ratio.hi))),
    ));
    let mark = |_: &Metric, p: &Paired| if p.clear { "*" } else { "" }.to_string();
    columns.push(Column::left("", "", cells(&mark)));
    render(&columns)
}

/// A ratio as a difference in percent.
fn percent(ratio: f64) -> String {
    match format!("{:+.1}%", 100.0 * (ratio - 1.0)).as_str() {
        "-0.0%" => "+0.0%".to_string(),
        text => text.to_string(),
    }
}

fn signed(metric: &Metric, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", (metric.show)(Some(value.abs())))
}

/// What became of the single flows, in a sentence.
fn by_flow(flows: &FlowPairs) -> String {
    let mean = flows.ratio.map_or_else(String::new, |ratio| {
        format!(
            ": ×{} on (geometric) average, {} to {}",
            number(Some(ratio.mean)),
            number(Some(ratio.lo)),
            number(Some(ratio.hi))
        )
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
