//! A chart: its axes and lines.

use paceline_lab::files::RunData;
use serde::Serialize;

use crate::track::{Packed, Track};

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
    pub(crate) track: Track,
    /// The unit of the axis of time.
    pub(crate) clock_ps: f64,
    /// The unit of the axis of values, and what values are whole multiples of.
    pub(crate) scale: f64,
    pub(crate) unit: f64,
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
    pub(super) fn over_time(name: impl Into<String>, color: usize, source: Source) -> Self {
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
            clock_ps,
            scale: 1.0,
            unit: 1e-6,
        };
        Self::over_time(name, color, source)
    }

    /// Packs the track, if it is one.
    pub(super) fn pack(&mut self) {
        let packed = |source: &Source| source.track.pack(source.clock_ps, (source.scale, source.unit));
        self.track = self.source.as_ref().map(packed);
    }

    /// The largest value.
    pub(super) fn largest(&self) -> f64 {
        let of = |source: &Source| source.track.largest() / source.scale;
        self.source.as_ref().map_or(0.0, of)
    }
}

/// `value` to so many digits that count: shorter text, same picture.
pub(crate) fn round(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// A run with its name and colour on the page.
pub(crate) struct Named<'a> {
    pub name: &'a str,
    pub color: usize,
    pub dash: usize,
    pub data: &'a RunData,
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
