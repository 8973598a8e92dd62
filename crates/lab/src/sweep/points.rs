//! `points.csv` and `points.parquet`: means over the seeds of each point.

use std::path::Path;

use super::results::{axis_column, texts, write_csv};
use super::{Metric, Plan, Seeds, SweepData, metrics};
use crate::files::columns::{Column, Values, write_parquet};
use crate::files::{OutputError, write_file};
use crate::stats::{CONFIDENCE, interval, mean, standard_deviation};

/// Metric of a point over its runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of runs that have it. If the seed has no effect, equal values are one run's and count once.
    pub n: usize,
    /// Mean of their values.
    pub mean: f64,
    /// Standard deviation of the sample; `None` for one run.
    pub sd: Option<f64>,
    /// Ends of the mean's interval; `None` for one run or if all values are equal.
    pub ends: Option<(f64, f64)>,
    /// Reason for the missing interval, if several seeds were run.
    pub note: Option<&'static str>,
}

impl Estimate {
    /// Computes the estimate of values; if the point's seeds have no effect (`fixed`), equal values count as one.
    fn of(values: &[f64], fixed: Option<&'static str>) -> Option<Self> {
        let equal = values.iter().all(|value| *value == values[0]);
        let note = match values.len() > 1 && equal {
            true => Some(fixed.unwrap_or("equal in all runs")),
            false => None,
        };
        let values = if fixed.is_some() && equal {
            &values[..values.len().min(1)]
        } else {
            values
        };
        let found = interval(values, CONFIDENCE);
        Some(Self {
            n: values.len(),
            mean: found.map_or_else(|| mean(values), |found| Some(found.mean))?,
            sd: standard_deviation(values),
            ends: found.and_then(|found| found.ends()),
            note,
        })
    }
}

/// Returns the metrics of a point by their keys in the summary, such as `fct_slowdown.p99`, in the order in which they
/// appear there.
pub fn estimates(data: &SweepData, point: usize) -> Vec<(String, Estimate)> {
    let runs = data.summaries(point).map(|(_, summary)| metrics(summary));
    of_runs(runs, data.seeds_at(point))
}

/// Returns the estimates of a point from the metrics of its runs.
pub(super) fn of_runs(runs: impl Iterator<Item = Vec<Metric>>, seeds: Seeds) -> Vec<(String, Estimate)> {
    let mut names: Vec<String> = Vec::new();
    let mut values: Vec<Vec<f64>> = Vec::new();
    let fixed = seeds.in_short();
    for run in runs {
        for (at, (name, value)) in run.into_iter().enumerate() {
            // Runs of a point mostly have the same metrics in the same order.
            let known = match names.get(at) {
                Some(known) if *known == name => Some(at),
                _ => names.iter().position(|known| *known == name),
            };
            let index = known.unwrap_or_else(|| {
                names.push(name);
                values.push(Vec::new());
                names.len() - 1
            });
            values[index].push(value);
        }
    }
    let estimates = values.iter().map(|values| Estimate::of(values, fixed));
    names
        .into_iter()
        .zip(estimates)
        .filter_map(|(name, estimate)| Some((name, estimate?)))
        .collect()
}

/// Returns a row for each point and metric, column by column: the values of the axes, the metric, its `n`, `mean`,
/// `sd`, the ends `lo` and `hi` of its interval, and a `note` with the reason if there is none.
pub fn points(data: &SweepData) -> Vec<Column> {
    let rows: Vec<PointRow> = (0..data.plan.points.len())
        .flat_map(|point| {
            let all = estimates(data, point).into_iter();
            all.map(move |(name, estimate)| (point, name, estimate))
        })
        .collect();
    columns_of_points(&data.plan, &rows)
}

/// Row of the table of points: index of the point, metric, and estimate.
pub(super) type PointRow = (usize, String, Estimate);

/// Returns the columns of some rows of the table of points.
pub(super) fn columns_of_points(plan: &Plan, rows: &[PointRow]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (number, axis) in plan.axes.iter().enumerate() {
        let value = |row: &PointRow| &axis.values[plan.points[row.0].values[number]];
        columns.push(axis_column(axis, rows.iter().map(value)));
    }
    columns.push(texts("metric", rows.iter().map(|row| Some(row.1.as_str()))));
    let of = |pick: fn(&Estimate) -> Option<f64>| Values::Real(rows.iter().map(|row| pick(&row.2)).collect());
    let n = rows.iter().map(|row| Some(row.2.n as i64));
    columns.push(Column::new("n", Values::Int(n.collect())));
    columns.push(Column::new("mean", of(|estimate| Some(estimate.mean))));
    columns.push(Column::new("sd", of(|estimate| estimate.sd)));
    columns.push(Column::new("lo", of(|estimate| Some(estimate.ends?.0))));
    columns.push(Column::new("hi", of(|estimate| Some(estimate.ends?.1))));
    columns.push(texts("note", rows.iter().map(|row| row.2.note)));
    columns
}

/// Writes the table of [`points`] as CSV and Parquet.
pub(super) fn write_points(folder: &Path, data: &SweepData) -> Result<(), OutputError> {
    let columns = points(data);
    write_file(&folder.join("points.csv"), |out| write_csv(out, &columns))?;
    write_file(&folder.join("points.parquet"), |out| {
        write_parquet(out, &columns, &metadata(&data.plan))
    })
}

/// Returns the metadata of `points.parquet`.
pub(super) fn metadata(plan: &Plan) -> [(&'static str, String); 3] {
    [
        ("version", plan.version.clone()),
        ("scenario", plan.scenario.clone()),
        ("confidence", CONFIDENCE.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_run_there_is_no_spread() {
        let one = Estimate::of(&[3.0], None).unwrap();
        assert_eq!(
            (one.n, one.mean, one.sd, one.ends, one.note),
            (1, 3.0, None, None, None)
        );
        assert_eq!(Estimate::of(&[], None), None);
        // Five runs that are the same are one; five that came to the same number are five, without an interval.
        let same = Estimate::of(&[3.0; 5], Some("why")).unwrap();
        assert_eq!(
            (same.n, same.sd, same.ends, same.note),
            (1, None, None, Some("why"))
        );
        let equal = Estimate::of(&[3.0; 5], None).unwrap();
        assert_eq!(
            (equal.n, equal.ends, equal.note),
            (5, None, Some("equal in all runs"))
        );
        let five = Estimate::of(&[8.0, 9.0, 10.0, 11.0, 12.0], Some("why")).unwrap();
        assert_eq!((five.n, five.mean), (5, 10.0));
        assert!((five.sd.unwrap() - 2.5f64.sqrt()).abs() < 1e-12);
        let (lo, hi) = five.ends.unwrap();
        assert!(
            (lo - 8.037).abs() < 1e-3 && (hi - 11.963).abs() < 1e-3,
            "{lo} {hi}"
        );
    }
}
