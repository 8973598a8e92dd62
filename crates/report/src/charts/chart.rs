//! Charts with their axes and lines.

use paceline_lab::files::RunData;
use serde::Serialize;

use crate::track::{Packed, Track};

/// Chart of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// Title above the chart.
    pub title: String,
    /// Explanation for the reader.
    pub note: String,
    /// Horizontal axis of the chart.
    pub x: Axis,
    /// Vertical axis of the chart.
    pub y: Axis,
    /// Drawing style of the lines.
    pub kind: ChartKind,
    /// Width on the page.
    pub width: Width,
    /// Lines of the chart.
    pub lines: Vec<Line>,
}

/// Drawing style of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChartKind {
    /// Straight lines with visible points.
    Points,
    /// Straight lines without points.
    Lines,
    /// Steps: a value holds until the next.
    Step,
    /// Points without connecting lines.
    Dots,
    /// Tracks over time: bins, which the page merges and splits again on zooming.
    Track,
}

/// Share of the page's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// Full width of the page.
    Full,
    /// Half of the width.
    Half,
    /// Third of the width.
    Third,
    /// Quarter of the width.
    Quarter,
}

/// Axis of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Name of the quantity.
    pub label: String,
    /// Unit, shown behind numbers.
    pub unit: String,
    /// True if it is logarithmic.
    pub log: bool,
    /// Fixed upper end, which makes charts next to each other comparable.
    pub max: Option<f64>,
}

impl Axis {
    /// Creates a linear axis.
    pub fn new(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            unit: unit.into(),
            log: false,
            max: None,
        }
    }
    /// Makes the axis logarithmic if the values span such a range that a linear axis would hide most of them.
    pub fn log_if_wide(mut self, values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(0.0, f64::max);
        self.log = low > 0.0 && high / low > 30.0;
        self
    }
}

/// Line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Index of a colour in the page's palette.
    pub color: usize,
    /// Index of a dash pattern; 0 is solid.
    pub dash: usize,
    /// True for a thin guide line, regardless of the chart's style.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub guide: bool,
    /// X values in ascending order.
    pub x: Vec<f64>,
    /// Y value for each x.
    pub y: Vec<f64>,
    /// Bins over time, which replace x and y.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<Packed>,
    /// Line of another chart on the page with the same data, as indices of chart and line; replaces all other data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<(usize, usize)>,
    /// Data from which `track` is packed.
    #[serde(skip)]
    pub source: Option<Source>,
}

/// Track, with the scales of a chart's axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub(crate) track: Track,
    /// Unit of the time axis, in ps.
    pub(crate) clock_ps: f64,
    /// Unit of the value axis, and the unit that all values are multiples of.
    pub(crate) scale: f64,
    pub(crate) unit: f64,
}

impl Line {
    /// Creates a line from points; of several with the same x, only the last is kept.
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
            // Rounded before the comparison: points that differ in later digits are one on the screen.
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

    /// Creates a line of a value over time.
    pub(super) fn over_time(name: impl Into<String>, color: usize, source: Source) -> Self {
        Self {
            source: Some(source),
            ..Self::new(name, color, &[])
        }
    }

    /// Creates a line of samples at arbitrary times in order, on an axis whose unit of time is `clock_ps`.
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

    /// Packs the track, if there is one.
    pub(super) fn pack(&mut self) {
        let packed = |source: &Source| source.track.pack(source.clock_ps, source.scale, source.unit);
        self.track = self.source.as_ref().map(packed);
    }

    /// Returns the largest value.
    pub(super) fn largest(&self) -> f64 {
        let of = |source: &Source| source.track.largest() / source.scale;
        self.source.as_ref().map_or(0.0, of)
    }
}

/// Rounds `value` to significant digits: shorter text for the same picture.
pub(crate) fn round(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

/// Run with its name and colour on the page.
pub(crate) struct Named<'a> {
    pub name: &'a str,
    pub color: usize,
    pub dash: usize,
    pub data: &'a RunData,
}

/// Returns the unit in which times up to `longest` ps read best, and its size in ps.
pub(crate) fn unit_of_time(longest: u64) -> (&'static str, f64) {
    match longest {
        0..2_000_000 => ("ns", 1e3),
        2_000_000..2_000_000_000 => ("µs", 1e6),
        2_000_000_000..2_000_000_000_000 => ("ms", 1e9),
        _ => ("s", 1e12),
    }
}
