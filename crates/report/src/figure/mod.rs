//! Figures for papers: one panel in the size of a column, as SVG, PDF, PNG, PGF or a table.
//!
//! The figure shows the values in runs' folders without rounding; the table has all of them.

mod answer;
mod axis;
mod chart;
mod font;
mod panel;
mod pdf;
mod pgf;
mod png;
mod pooled;
mod runs;
mod scene;
mod style;
mod svg;
mod sweep;
mod words;

use std::fmt::Write as _;

use paceline_scenario::csv_cell;

pub use answer::{Row, XValue, of_rows};
pub use chart::of_chart;
pub use panel::{Curve, Figure, NoFigure, Point, Scale, Shape};
pub use pooled::of_groups;
pub use runs::{FigureKind, Seeds, of_runs};
pub use scene::Size;
pub use style::{COLUMN_MM, Legend, PAGE_MM, Palette, Preset, Style};
pub use sweep::{groups_of_sweep, of_sweep};

pub(crate) use words::of_metric;

use scene::Scene;

impl Figure {
    /// Returns a vector image for pages and editors, with its font.
    pub fn svg(&self, style: &Style) -> String {
        svg::text(&Scene::of(self, style))
    }

    /// Returns a page of exactly the figure's size, with its font.
    pub fn pdf(&self, style: &Style) -> Vec<u8> {
        pdf::bytes(&Scene::of(self, style))
    }

    /// Returns pgf commands for LaTeX documents, which use the document's font.
    pub fn pgf(&self, style: &Style) -> String {
        pgf::text(&Scene::of(self, style))
    }

    /// Returns an image with `dpi` pixels per inch; `None` if it would be too large.
    pub fn png(&self, style: &Style, dpi: f64) -> Option<Vec<u8>> {
        png::bytes(&Scene::of(self, style), dpi)
    }

    /// Returns every point as a row: `curve,x,y,low,high`; the header has the axes' labels.
    pub fn csv(&self) -> String {
        let mut text = format!(
            "curve,{},{},low,high\n",
            quoted(&self.x.label),
            quoted(&self.y.label)
        );
        for curve in &self.curves {
            for point in &curve.points {
                // A point without a value only interrupts the drawn line.
                let Some(y) = point.y else { continue };
                let (low, high) = point.range.map_or_else(Default::default, |(low, high)| {
                    (low.to_string(), high.to_string())
                });
                let index = self.x.names.get(point.x as usize);
                let x = index.map_or_else(|| point.x.to_string(), |name| quoted(name));
                let _ = writeln!(text, "{},{x},{y},{low},{high}", quoted(&curve.name));
            }
        }
        text
    }
}

/// Returns a cell of a CSV file that holds `text`. Separators within a cell need quotes, and quotes are doubled (RFC
/// 4180).
pub(crate) fn quoted(text: &str) -> String {
    let text = csv_cell(text);
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into_owned(),
    }
}
