//! Figures for papers: one panel, in the size of a column, as SVG, PDF or a table.
//!
//! What is drawn is what runs' folders hold, without rounding; the table has all of it.

mod axis;
mod panel;
mod pdf;
mod runs;
mod scene;
mod svg;
mod sweep;

use std::fmt::Write as _;

pub use panel::{Curve, Figure, NoFigure, Point, Scale, Shape};
pub use runs::{What, of_runs};
pub use scene::Size;
pub use sweep::of_sweep;

use scene::Scene;

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
