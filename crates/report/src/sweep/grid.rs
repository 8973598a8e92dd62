//! Grid of a sweep as input of the page's script.

use paceline_scenario::sweep::{Axis, AxisValue};
use serde::Serialize;

use super::measures::{Offered, offered};
use crate::palette;
use paceline_lab::results::Summary;
use paceline_lab::stats::{CONFIDENCE, interval, mean};
use paceline_lab::sweep::{Keep, Status, SweepData};

/// Data that the page draws.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Grid {
    pub(super) axes: Vec<GridAxis>,
    pub(super) measures: Vec<GridMeasure>,
    pub(super) points: Vec<GridPoint>,
    /// Number of seeds per point.
    pub(super) repeats: usize,
}

/// Axis of the grid.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct GridAxis {
    /// Last word of the key.
    pub(super) name: String,
    pub(super) key: String,
    pub(super) values: Vec<String>,
    /// Positions of the values on a scale, if all have one, and their unit.
    pub(super) numbers: Option<Vec<f64>>,
    pub(super) unit: String,
    /// Colour and dash pattern of each value.
    pub(super) styles: Vec<(usize, usize)>,
    pub(super) scheme: bool,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct GridMeasure {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) cost: i8,
}

/// Point of the grid; field names are short because there may be thousands of points.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct GridPoint {
    /// Index of the value on each axis.
    pub(super) v: Vec<usize>,
    /// Number of finished runs, and of failed ones.
    pub(super) n: usize,
    pub(super) failed: usize,
    /// Number of runs that left flows unfinished.
    pub(super) open: usize,
    /// True if the seed changes nothing: one run represents all.
    pub(super) fixed: bool,
    /// For each measure, an empty list, the mean, or the mean and both ends of its interval.
    pub(super) m: Vec<Vec<f64>>,
    /// Folders of the runs that hold a report.
    pub(super) runs: Vec<String>,
}

impl Grid {
    /// Returns the grid of a sweep. If only the seed varies, the seeds are its axis.
    pub(super) fn of(data: &SweepData) -> Self {
        let seeds = data.plan.seeds.len();
        // An axis with one value leaves nothing to choose on the page.
        let varies: Vec<usize> = (0..data.plan.axes.len())
            .filter(|&number| data.plan.axes[number].values.len() > 1)
            .collect();
        let mut axes: Vec<GridAxis> = varies.iter().map(|&i| axis(&data.plan.axes[i])).collect();
        let measures = offered(data);
        let mut points = Vec::new();
        let mut repeats = seeds;
        if varies.is_empty() && seeds > 1 && data.plan.points.len() == 1 {
            axes.push(seed_axis(&data.plan.seeds));
            points
                .extend((0..seeds).map(|repeat| point(data, &measures, 0, repeat..repeat + 1, vec![repeat])));
            repeats = 1;
        } else {
            for (number, of) in data.plan.points.iter().enumerate() {
                let values = varies.iter().map(|&axis| of.values[axis]).collect();
                points.push(point(data, &measures, number, 0..seeds, values));
            }
        }
        let mut grid = Self {
            axes,
            measures: measures
                .iter()
                .map(|measure| GridMeasure {
                    name: measure.name.clone(),
                    unit: measure.unit,
                    cost: measure.cost,
                })
                .collect(),
            points,
            repeats,
        };
        grid.drop_the_silent();
        grid
    }

    /// Removes measures without information: those that no run has, or that are 0 everywhere; and the share of
    /// completed flows if it is 100 % everywhere.
    fn drop_the_silent(&mut self) {
        let silent = |i: usize, measure: &GridMeasure| {
            let nothing = if measure.unit == "%" { 100.0 } else { 0.0 };
            let mut all = self.points.iter().flat_map(|point| &point.m[i]);
            all.all(|&value| value == nothing)
        };
        let measures = self.measures.iter().enumerate();
        let kept: Vec<bool> = measures.map(|(i, measure)| !silent(i, measure)).collect();
        let mut keep = kept.iter();
        self.measures.retain(|_| keep.next().copied().unwrap_or(false));
        for point in &mut self.points {
            let mut keep = kept.iter();
            point.m.retain(|_| keep.next().copied().unwrap_or(false));
        }
    }
}

fn axis(axis: &Axis) -> GridAxis {
    let values: Vec<String> = axis.values.iter().map(ToString::to_string).collect();
    let scheme = axis.settings.is_empty() && axis.name() == "scheme";
    let names: Vec<&str> = values.iter().map(String::as_str).collect();
    let styles = if scheme {
        palette::assign(&names)
    } else {
        plain_styles(values.len())
    };
    let scale = places(&axis.values);
    GridAxis {
        name: axis.name(),
        key: axis.key.clone(),
        styles,
        scheme,
        unit: scale.as_ref().map(|(_, unit)| unit.clone()).unwrap_or_default(),
        numbers: scale.map(|(numbers, _)| numbers),
        values,
    }
}

fn seed_axis(seeds: &[u64]) -> GridAxis {
    GridAxis {
        name: "seed".into(),
        key: "seed".into(),
        values: seeds.iter().map(ToString::to_string).collect(),
        numbers: None,
        unit: String::new(),
        styles: plain_styles(seeds.len()),
        scheme: false,
    }
}

fn plain_styles(count: usize) -> Vec<(usize, usize)> {
    (0..count)
        .map(|k| (k % palette::COLORS, k / palette::COLORS))
        .collect()
}

/// Returns the values on a scale: numbers, or quantities with the same unit.
pub fn places(values: &[AxisValue]) -> Option<(Vec<f64>, String)> {
    let split = |value: &AxisValue| -> Option<(f64, String)> {
        if let Some(number) = value.number() {
            return Some((number, String::new()));
        }
        let AxisValue::Text(text) = value else {
            return None;
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        Some((text[..end].parse().ok()?, text[end..].trim().to_string()))
    };
    let parts: Option<Vec<(f64, String)>> = values.iter().map(split).collect();
    let parts = parts?;
    let unit = parts.first()?.1.clone();
    // Values in different units have no common scale, so they remain names.
    let same = parts.iter().all(|(_, other)| *other == unit);
    same.then(|| (parts.into_iter().map(|(number, _)| number).collect(), unit))
}

/// Returns a point, by its index and the indices of its seeds.
fn point(
    data: &SweepData,
    measures: &[Offered],
    number: usize,
    repeats: std::ops::Range<usize>,
    v: Vec<usize>,
) -> GridPoint {
    let rows = || repeats.clone().filter_map(|repeat| data.row(number, repeat));
    let summaries: Vec<&Summary> = rows().filter_map(|row| row.summary.as_ref()).collect();
    let fixed = data.point_is_fixed(number);
    let cell = |measure: &Offered| {
        let of_runs = summaries.iter().filter_map(|summary| measure.value(summary));
        let values: Vec<f64> = of_runs.collect();
        let found = interval(&values, CONFIDENCE).and_then(|found| found.ends());
        let ends = found.map(|(lo, hi)| [lo, hi]);
        // JSON has neither NaN nor infinity.
        let mean = mean(&values).filter(|mean| mean.is_finite());
        // Not rounded: the page rounds what it shows, but not what it saves.
        mean.into_iter().chain(ends.into_iter().flatten()).collect()
    };
    let reports = rows().filter(|row| row.keep == Keep::All && row.status == Status::Completed);
    GridPoint {
        v,
        n: rows().count(),
        failed: rows().filter(|row| row.status == Status::Failed).count(),
        fixed,
        open: summaries
            .iter()
            .filter(|summary| summary.flows.completed < summary.flows.total)
            .count(),
        m: measures.iter().map(cell).collect(),
        runs: reports.map(|row| row.id.clone()).collect(),
    }
}
