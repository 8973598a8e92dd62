//! From data to charts: plain descriptions that the page draws.

mod iterations;
mod limits;
mod over_seeds;
mod over_time;
mod per_flow;

use serde::Serialize;

use super::track::{Packed, Track};
pub(crate) use limits::limit;
pub(super) use over_seeds::{Seeds, over_seeds};
pub(crate) use over_time::{Clock, credits, pauses, queues, rates_in_one, states};
use paceline_lab::files::RunData;
pub(crate) use per_flow::{QUANTILES, size_groups};

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub note: String,
    /// The axis of places.
    pub x: Axis,
    /// The axis of values.
    pub y: Axis,
    /// How values are drawn.
    pub kind: Kind,
    /// How wide it is.
    pub width: Width,
    /// What is drawn.
    pub lines: Vec<Line>,
}

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Straight lines between points, which are shown.
    Points,
    /// Straight lines.
    Lines,
    /// A value holds until the next.
    Step,
    /// Points alone.
    Dots,
    /// Tracks over time: bins that the page joins and shows again as closely as it is looked at.
    Track,
}

/// Share of the page's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// All of it.
    Full,
    /// A half.
    Half,
    /// A third.
    Third,
    /// A quarter.
    Quarter,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Which quantity.
    pub label: String,
    /// What follows a number.
    pub unit: String,
    /// Whether it is logarithmic.
    pub log: bool,
    /// Fixed largest value, so that charts side by side compare.
    pub max: Option<f64>,
}

impl Axis {
    /// A linear one.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            unit: unit.into(),
            log: false,
            max: None,
        }
    }
    /// Logarithmic where the values span so much that a linear axis would hide most of them.
    pub fn log_if_wide(mut self, values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        self.log = low > 0.0 && high / low > 30.0;
        self
    }
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What it shows.
    pub name: String,
    /// Index of a colour of the page's palette.
    pub color: usize,
    /// Index of a dash pattern; 0 is solid.
    pub dash: usize,
    /// Whether it is drawn as a thin line whatever the chart's kind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guide: bool,
    /// Places, in order.
    pub x: Vec<f64>,
    /// A value for each.
    pub y: Vec<f64>,
    /// Instead of places and values: bins over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<Packed>,
    /// Instead of these: those of a line of another chart of the page, both by their places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<(usize, usize)>,
    /// What `track` is made of.
    #[serde(skip)]
    pub source: Option<Source>,
}

/// A track, and what a chart's axes make of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub(super) track: Track,
    /// Where the axis of time is zero, in ps, and its unit.
    pub(super) zero_ps: u64,
    pub(super) clock_ps: f64,
    /// The unit of the axis of values, and what values are whole multiples of.
    pub(super) scale: f64,
    pub(super) unit: f64,
}

impl Line {
    /// Of points of the same x only the last is kept.
    pub fn new(name: impl Into<String>, color: usize, points: &[(f64, f64)]) -> Self {
        let mut line = Self {
            name: name.into(),
            color,
            dash: 0,
            guide: false,
            x: Vec::new(),
            y: Vec::new(),
            track: None,
            same: None,
            source: None,
        };
        for &(x, y) in points {
            let (x, y) = (round(x, 7), round(y, 4));
            if line.x.last() == Some(&x) {
                line.x.pop();
                line.y.pop();
            }
            line.x.push(x);
            line.y.push(y);
        }
        line
    }

    /// A value over time.
    fn over_time(name: impl Into<String>, color: usize, source: Source) -> Self {
        Self {
            source: Some(source),
            ..Self::new(name, color, &[])
        }
    }

    /// Samples of a value at any times, in order, on an axis whose unit of time is `clock_ps`.
    pub fn of_samples(name: impl Into<String>, color: usize, samples: &[(f64, f64)], clock_ps: f64) -> Self {
        let ps = |&(at, value): &(f64, f64)| ((at * clock_ps).round() as u64, value);
        let samples: Vec<(u64, f64)> = samples.iter().map(ps).collect();
        let source = Source {
            track: Track::of_samples(&samples),
            zero_ps: 0,
            clock_ps,
            scale: 1.0,
            unit: 1e-6,
        };
        Self::over_time(name, color, source)
    }

    /// Packs the track, if it is one.
    fn pack(&mut self) {
        let packed = |source: &Source| {
            let (time, value) = ((source.zero_ps, source.clock_ps), (source.scale, source.unit));
            source.track.pack(time, value)
        };
        self.track = self.source.as_ref().map(packed);
    }

    /// The largest value.
    fn largest(&self) -> f64 {
        let of = |source: &Source| source.track.largest() / source.scale;
        self.source.as_ref().map_or(0.0, of)
    }
}

/// `value` to so many digits that count: shorter text, same picture.
pub(super) fn round(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// A run with its name and colour on the page.
pub(super) struct Named<'a> {
    pub name: &'a str,
    pub color: usize,
    pub dash: usize,
    pub data: &'a RunData,
}

/// What all tracks of a page may take, in characters.
const TEXT_MAX: usize = 2 << 20;

/// Packs all tracks of a page. Where they take too much room the longest get wider bins.
pub fn pack_tracks<'a>(charts: impl IntoIterator<Item = &'a mut Chart>) {
    pack(charts, TEXT_MAX);
}

/// Packs all tracks. While they take more than `most` characters the longest get wider bins.
fn pack<'a>(charts: impl IntoIterator<Item = &'a mut Chart>, most: usize) {
    let lines = charts.into_iter().flat_map(|chart| &mut chart.lines);
    let mut lines: Vec<&mut Line> = lines.filter(|line| line.source.is_some()).collect();
    lines.iter_mut().for_each(|line| line.pack());
    let size = |line: &&mut Line| line.track.as_ref().map_or(0, |track| track.data.len());
    while lines.iter().map(size).sum::<usize>() > most {
        let longest = lines.iter().map(size).max().unwrap_or(0);
        for line in lines.iter_mut().filter(|line| 2 * size(line) > longest) {
            if let Some(source) = &mut line.source {
                source.track = source.track.wider();
            }
            line.pack();
        }
    }
}

/// So many runs get a small chart of the queue each.
const SIDE_BY_SIDE_MAX: usize = 12;

/// Every chart that the runs have data for.
pub(super) fn charts(runs: &[Named<'_>]) -> Vec<Chart> {
    let mut charts = per_flow::slowdown_by_size(runs);
    charts.extend(per_flow::fct_cdf(runs));
    charts.extend(over_time_of(runs, charts.len()));
    fill_rows(&mut charts);
    charts
}

/// Those of them that are over time; the first of them is chart `first` of the page.
pub(super) fn over_time_of(runs: &[Named<'_>], first: usize) -> Vec<Chart> {
    let mut charts = over_time(runs, first);
    fill_rows(&mut charts);
    pack_tracks(&mut charts);
    charts
}

fn over_time(runs: &[Named<'_>], first: usize) -> Vec<Chart> {
    let clock = Clock::of(runs);
    let mut charts = Vec::new();
    let queues = over_time::queues(runs, &clock);
    let several = queues
        .as_ref()
        .filter(|chart| (3..=SIDE_BY_SIDE_MAX).contains(&chart.lines.len()));
    let place = first + charts.len();
    let alone = several
        .filter(|_| runs.len() > 1)
        .map(|chart| over_time::side_by_side(chart, place, &clock));
    charts.extend(queues);
    charts.extend(alone.into_iter().flatten());
    charts.extend(over_time::states(runs, &clock));
    charts.extend(over_time::credits(runs, &clock));
    charts.extend(over_time::rates(runs, &clock));
    charts.extend(iterations::iterations(runs, &clock));
    charts.extend(over_time::pauses(runs, &clock));
    charts.extend(limits::limits(runs, &clock));
    charts
}

/// No chart sits alongside an empty space.
fn fill_rows(charts: &mut [Chart]) {
    for halves in charts
        .chunk_by_mut(|a, b| a.width == b.width)
        .filter(|part| part[0].width == Width::Half)
    {
        if halves.len() % 2 == 1 {
            halves[halves.len() - 1].width = Width::Full;
        }
    }
}

/// The unit in which times up to `longest` ps read best, and its size in ps.
pub(crate) fn unit_of_time(longest: u64) -> (&'static str, f64) {
    match longest {
        0..2_000_000 => ("ns", 1e3),
        2_000_000..2_000_000_000 => ("µs", 1e6),
        2_000_000_000..2_000_000_000_000 => ("ms", 1e9),
        _ => ("s", 1e12),
    }
}

#[cfg(test)]
mod tests;
