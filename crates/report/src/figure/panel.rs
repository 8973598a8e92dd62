//! Panel of a figure: its axes and curves.

/// Reason why there is nothing to draw.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoFigure(pub String);

/// Panel with axes and curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Horizontal axis of the panel.
    pub x: Scale,
    /// Vertical axis of the panel.
    pub y: Scale,
    /// Connection between the points of a curve.
    pub shape: Shape,
    /// Curves in the order of the legend.
    pub curves: Vec<Curve>,
}

/// Axis of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Name of the quantity, with its unit.
    pub label: String,
    /// True for bytes, whose unit may differ from tick to tick.
    pub bytes: bool,
    /// True if it is logarithmic.
    pub log: bool,
    /// Largest possible value, if it is known independently of the data.
    pub max: Option<f64>,
    /// Names of the positions 0, 1, 2, .., if these are not numbers.
    pub names: Vec<String>,
    /// Ends set by the user.
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

/// Connection between the points of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Steps: a value holds until the next.
    Steps,
    /// Straight lines with visible points.
    Points,
}

/// Curve of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Index of a colour in the palette.
    pub color: usize,
    /// Index of a dash pattern; 0 is solid.
    pub dash: usize,
    /// Points in order of x.
    pub points: Vec<Point>,
}

/// Point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// Value; `None` at the end of a piece that is not continued at once.
    pub y: Option<f64>,
    /// Lower and upper end of a range around it: of a bin or of an interval.
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
