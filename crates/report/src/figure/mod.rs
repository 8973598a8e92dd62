//! Figures for papers: one panel, in the size of a column, as SVG, PDF or a table.
//!
//! What is drawn is what runs' folders hold, without rounding; the table has all of it.

mod axis;
mod pdf;
mod runs;
mod scene;
mod svg;
mod sweep;

use std::fmt::Write as _;

pub use runs::{What, of_runs};
pub use scene::Size;
pub use sweep::of_sweep;

use scene::Scene;

/// Why there is nothing to draw.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoFigure(pub String);

/// A panel with curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The axis of places.
    pub x: Scale,
    /// The axis of values.
    pub y: Scale,
    /// How a curve goes from point to point.
    pub shape: Shape,
    /// What is drawn.
    pub curves: Vec<Curve>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Which quantity, with its unit.
    pub label: String,
    /// What follows each number, where that differs from tick to tick: bytes.
    pub bytes: bool,
    /// Whether it is logarithmic.
    pub log: bool,
    /// The largest value, where that is known whatever the data.
    pub max: Option<f64>,
    /// Names of the places 0, 1, 2, .., where they are no numbers.
    pub names: Vec<String>,
}

impl Scale {
    fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            bytes: false,
            log: false,
            max: None,
            names: Vec::new(),
        }
    }
}

/// How a curve goes from point to point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A value holds until the next.
    Steps,
    /// Straight lines between points that are shown.
    Points,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it shows.
    pub name: String,
    /// Index of a colour of the palette.
    pub color: usize,
    /// Index of a dash pattern; 0 is solid.
    pub dash: usize,
    /// In order of places.
    pub points: Vec<Point>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its place.
    pub x: f64,
    /// Its value; none where what came before ends and nothing follows at once.
    pub y: Option<f64>,
    /// A smallest and a largest value around it: of a bin, of an interval.
    pub range: Option<(f64, f64)>,
}

impl Point {
    const fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y: Some(y),
            range: None,
        }
    }
}

impl Figure {
    /// As a vector image for pages and editors.
    pub fn svg(&self, size: Size) -> String {
        svg::text(&Scene::of(self, size))
    }

    /// As a page of exactly its size, with the standard font Helvetica.
    pub fn pdf(&self, size: Size) -> Vec<u8> {
        pdf::bytes(&Scene::of(self, size))
    }

    /// Every point as a row: `curve,x,y,low,high`; the axes' labels stand in the head.
    pub fn csv(&self) -> String {
        let quoted = |text: &str| match text.contains([',', '"', '\n']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_string(),
        };
        let mut text = format!(
            "curve,{},{},low,high\n",
            quoted(&self.x.label),
            quoted(&self.y.label)
        );
        for curve in &self.curves {
            for point in &curve.points {
                let Some(y) = point.y else { continue };
                let (low, high) = point.range.map_or_else(Default::default, |(low, high)| {
                    (low.to_string(), high.to_string())
                });
                let place = self.x.names.get(point.x as usize);
                let x = place.map_or_else(|| point.x.to_string(), |name| quoted(name));
                let _ = writeln!(text, "{},{x},{y},{low},{high}", quoted(&curve.name));
            }
        }
        text
    }
}
