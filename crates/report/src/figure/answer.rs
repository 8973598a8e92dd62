//! Figures of answers: rows with x, y and optionally the name of a curve.

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;

use super::{Curve, Figure, NoFigure, Point, Scale, Shape};
use crate::palette;

/// X value of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum XValue {
    /// Numeric position on the axis.
    At(f64),
    /// Named position; names are arranged in the order in which they occur.
    Named(String),
}

/// Row of an answer to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of its curve.
    pub curve: String,
    /// Position on the x axis.
    pub x: XValue,
    /// Value on the y axis.
    pub y: f64,
}

/// Draws rows under the names of their two columns. Curves are in the order in which they occur, their points in the
/// order of x.
///
/// # Errors
/// If there are no rows, or some x values are numbers and others names.
pub fn of_rows(rows: &[Row], x: &str, y: &str) -> Result<Figure, NoFigure> {
    let names: Vec<&String> = rows.iter().filter_map(|row| row.x.name()).collect();
    if rows.is_empty() {
        return Err(NoFigure("the answer has no rows with numbers".into()));
    }
    if !names.is_empty() && names.len() < rows.len() {
        let name = names[0];
        return Err(NoFigure(format!(
            "column `{x}` has numbers and texts such as `{name}`: expected one of them"
        )));
    }
    let mut indices: Vec<String> = Vec::new();
    let mut known: SortedMap<&str, usize> = SortedMap::new();
    let mut curves: Vec<Curve> = Vec::new();
    let mut index: SortedMap<&str, usize> = SortedMap::new();
    for row in rows {
        let at = match &row.x {
            XValue::At(at) => *at,
            XValue::Named(name) => {
                let position = *known.entry(name).or_insert_with(|| {
                    indices.push(name.clone());
                    indices.len() - 1
                });
                position as f64
            }
        };
        let curve = *index.entry(&row.curve).or_insert_with(|| {
            curves.push(Curve {
                name: row.curve.clone(),
                color: 0,
                dash: 0,
                points: Vec::new(),
            });
            curves.len() - 1
        });
        curves[curve].points.push(Point {
            x: at,
            y: Some(row.y),
            range: None,
        });
    }
    // Only when all names are known: a scheme's usual colour must not go to another curve first.
    let names: Vec<String> = curves.iter().map(|curve| curve.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (curve, (color, dash)) in curves.iter_mut().zip(palette::assign(&names)) {
        (curve.color, curve.dash) = (color, dash);
        curve.points.order_by(|a, b| a.x.total_cmp(&b.x));
    }
    Ok(Figure {
        x: Scale {
            names: indices,
            ..Scale::new(x)
        },
        y: Scale::new(y),
        shape: Shape::Points,
        curves,
    })
}

impl XValue {
    const fn name(&self) -> Option<&String> {
        match self {
            Self::At(_) => None,
            Self::Named(name) => Some(name),
        }
    }
}
