//! A panel: its axes and curves.

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
    /// Ends that somebody set.
    pub limits: (Option<f64>, Option<f64>),
}

impl Scale {
    pub(super) fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            bytes: false,
            log: false,
            max: None,
            names: Vec::new(),
            limits: (None, None),
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
    pub(super) const fn at(x: f64, y: f64) -> Self {
        Self {
            x,
            y: Some(y),
            range: None,
        }
    }
}
