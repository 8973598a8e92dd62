//! Figure as lines, areas and texts on a sheet, from which all image formats are written.

use super::axis::Ticked;
use super::font::width_of;
use super::style::{Legend, LineStyle, Style};
use super::{Curve, Figure, Point, Shape};
use crate::decimate::extremes;

/// Width and height in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width of the sheet in millimetres.
    pub width_mm: f64,
    /// Height of the sheet in millimetres.
    pub height_mm: f64,
}

/// Points (1/72 inch) per millimetre.
const PT_PER_MM: f64 = 72.0 / 25.4;
/// Largest number of curves in the legend; the others are counted.
const NAMED_MAX: usize = 8;
/// Largest number of points per curve: more than a printer can show. The table has all.
const POINTS_MAX: usize = 4000;

pub(super) const INK: &str = "#1c2024";
const GRID: &str = "#dddddd";

/// Length of a curve's sample in the legend.
const SAMPLE: f64 = 14.0;

/// Dash patterns by index, in points.
const DASHES: [&[f64]; 4] = [&[], &[4.0, 2.0], &[1.2, 1.6], &[5.0, 1.5, 1.2, 1.5]];

/// Part of a text that is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// Returns the share of the text before its position.
    pub(super) const fn share(self) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => 0.5,
            Self::End => 1.0,
        }
    }
}

/// Element of the sheet; coordinates are in points from its upper left corner.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    Line {
        points: Vec<(f64, f64)>,
        color: &'static str,
        width: f64,
        dash: &'static [f64],
    },
    Area {
        points: Vec<(f64, f64)>,
        color: &'static str,
        opacity: f64,
    },
    Text {
        at: (f64, f64),
        text: String,
        anchor: Anchor,
        /// True if it is turned to be read from below.
        turned: bool,
    },
    /// Clipping rectangle (left, top, right, bottom) for the following elements up to the next of these; `None` for
    /// the whole sheet.
    Clip(Option<[f64; 4]>),
}

/// Sheet with its elements.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Font size in points.
    pub(super) font: f64,
    pub(super) marks: Vec<Mark>,
}

/// Edges of the panel, and its axes.
struct Panel {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Ticked,
    y: Ticked,
}

impl Panel {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.left + (self.right - self.left) * self.x.place(x),
            self.bottom - (self.bottom - self.top) * self.y.place(y),
        )
    }
}

impl Scene {
    /// Lays out a figure on a sheet.
    pub(super) fn of(figure: &Figure, style: &Style) -> Self {
        let mut scene = Self {
            width: style.size.width_mm * PT_PER_MM,
            height: style.size.height_mm * PT_PER_MM,
            font: style.font,
            marks: Vec::new(),
        };
        let mut top = 0.0;
        if let Some(title) = &style.title {
            scene.text((scene.width / 2.0, scene.font + 2.0), title, Anchor::Middle);
            top = scene.font + 3.0;
        }
        let colors: Vec<_> = (figure.curves.iter().enumerate())
            .map(|(index, curve)| style.palette.of(index, curve.color, curve.dash))
            .collect();
        // A single curve needs no legend.
        let legend = match figure.curves.len() {
            0 | 1 => Legend::Off,
            _ => style.legend,
        };
        let mut right = scene.width;
        match legend {
            Legend::Top => top = scene.legend(figure, &colors, top),
            Legend::Right => right = scene.legend_beside(figure, &colors, top + 6.0),
            Legend::Off => {}
        }
        let panel = scene.panel(figure, top + 6.0 * scene.unit(), right);
        // Axes before curves, so that the grid lies below them.
        scene.axes(figure, &panel);
        // Curves end at the edge of the panel, with room for the width of lines along it.
        scene.marks.push(Mark::Clip(Some([
            panel.left - 2.0,
            panel.top - 2.0,
            panel.right + 2.0,
            panel.bottom + 2.0,
        ])));
        for (index, (curve, style)) in figure.curves.iter().zip(colors).enumerate() {
            scene.curve(curve, figure.shape, &panel, index, style);
        }
        scene.marks.push(Mark::Clip(None));
        scene
    }

    fn text(&mut self, at: (f64, f64), text: impl Into<String>, anchor: Anchor) {
        self.marks.push(Mark::Text {
            at,
            text: text.into(),
            anchor,
            turned: false,
        });
    }

    /// Returns the scale of lines and markers, which grow with the font from the size for a column.
    fn unit(&self) -> f64 {
        self.font / 7.5
    }

    fn line(&mut self, points: &[(f64, f64)], color: &'static str, width: f64, dash: usize) {
        self.marks.push(Mark::Line {
            points: points.to_vec(),
            color,
            width: width * self.unit(),
            dash: DASHES[dash % DASHES.len()],
        });
    }

    /// Draws the legend in rows from `top` on; returns its lower end.
    fn legend(&mut self, figure: &Figure, colors: &[LineStyle], top: f64) -> f64 {
        let row = self.font + 3.0;
        let mut at = (4.0, top + self.font + 2.0);
        for (curve, style) in figure.curves.iter().zip(colors).take(NAMED_MAX) {
            let width = SAMPLE * self.unit() + 3.0 + width_of(&curve.name, self.font) + self.font;
            // A name wider than the sheet must not leave an empty row before it.
            if at.0 + width > self.width && at.0 > 4.0 {
                at = (4.0, at.1 + row);
            }
            self.sample(at, &curve.name, *style);
            at.0 += width;
        }
        if let Some(more) = more(figure) {
            self.text((4.0, at.1 + row), more, Anchor::Start);
            at.1 += row;
        }
        at.1
    }

    /// Draws the legend in a column at the right edge; returns its left end.
    fn legend_beside(&mut self, figure: &Figure, colors: &[LineStyle], top: f64) -> f64 {
        let named = || figure.curves.iter().take(NAMED_MAX);
        let widest = named()
            .map(|curve| width_of(&curve.name, self.font))
            .fold(0.0, f64::max);
        // The panel keeps at least half of the sheet.
        let left = (self.width - widest - SAMPLE * self.unit() - 7.0).max(self.width / 2.0);
        let mut at = (left, top + self.font);
        for (curve, style) in named().zip(colors) {
            self.sample(at, &curve.name, *style);
            at.1 += self.font + 3.0;
        }
        if let Some(more) = more(figure) {
            self.text(at, more, Anchor::Start);
        }
        left - 4.0
    }

    fn sample(&mut self, at: (f64, f64), name: &str, style: LineStyle) {
        let (middle, end) = (at.1 - self.font * 0.35, at.0 + SAMPLE * self.unit());
        self.line(&[(at.0, middle), (end, middle)], style.color, 1.2, style.dash);
        self.text((end + 3.0, at.1), name, Anchor::Start);
    }

    fn panel(&self, figure: &Figure, top: f64, right: f64) -> Panel {
        let font = self.font;
        let points = || figure.curves.iter().flat_map(|curve| &curve.points);
        let xs: Vec<f64> = points().map(|point| point.x).collect();
        // Only values within the limits of the other axis count.
        let (low, high) = figure.x.limits;
        let (low, high) = (low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY));
        let shown = points().filter(|point| (low..=high).contains(&point.x));
        let ys: Vec<f64> = shown.flat_map(values).collect();
        let x = Ticked::across(&figure.x, &xs, (right / (6.0 * font)) as usize);
        let y = Ticked::of(&figure.y, &ys, (self.height / (3.7 * font)) as usize);
        let width = |(_, text): &(f64, String)| width_of(text, font);
        let widest = y.ticks.iter().map(width).fold(0.0, f64::max);
        // Half of the last label reaches beyond the axis.
        let beyond = x.ticks.last().map_or(0.0, |tick| width(tick) / 2.0);
        Panel {
            left: font + 7.0 + widest + 4.0,
            right: right - beyond.max(4.0) - 1.0,
            top,
            bottom: self.height - 2.0 * font - 9.0,
            x,
            y,
        }
    }

    fn axes(&mut self, figure: &Figure, panel: &Panel) {
        for (value, text) in &panel.y.ticks {
            let (_, y) = panel.at(panel.x.low, *value);
            self.line(&[(panel.left, y), (panel.right, y)], GRID, 0.4, 0);
            self.text((panel.left - 4.0, y + self.font * 0.35), text, Anchor::End);
        }
        for (value, text) in &panel.x.ticks {
            let (x, _) = panel.at(*value, panel.y.low);
            self.line(&[(x, panel.bottom), (x, panel.bottom + 2.5)], INK, 0.5, 0);
            self.text((x, panel.bottom + self.font + 3.5), text, Anchor::Middle);
        }
        let frame = [
            (panel.left, panel.top),
            (panel.left, panel.bottom),
            (panel.right, panel.bottom),
        ];
        self.line(&frame, INK, 0.6, 0);
        let middle = (panel.left + panel.right) / 2.0;
        self.text((middle, self.height - 3.0), &figure.x.label, Anchor::Middle);
        self.marks.push(Mark::Text {
            at: (self.font + 1.0, (panel.top + panel.bottom) / 2.0),
            text: figure.y.label.clone(),
            anchor: Anchor::Middle,
            turned: true,
        });
    }

    fn curve(&mut self, curve: &Curve, shape: Shape, panel: &Panel, index: usize, style: LineStyle) {
        let LineStyle { color, dash } = style;
        // A piece ends at the start of the next one at the latest.
        for piece in curve.points.split_inclusive(|point| point.y.is_none()) {
            self.bands(piece, shape, panel, color);
            let line = match shape {
                Shape::Steps => steps(piece),
                Shape::Points => piece
                    .iter()
                    .filter_map(|point| Some((point.x, point.y?)))
                    .collect(),
            };
            let drawn: Vec<(f64, f64)> = extremes(&line, POINTS_MAX)
                .into_iter()
                .map(|(x, y)| panel.at(x, y))
                .collect();
            if drawn.len() > 1 {
                self.line(&drawn, color, 1.1, dash);
            }
            if shape == Shape::Points {
                drawn.into_iter().for_each(|(x, y)| self.dot(x, y, color, index));
            }
        }
    }

    /// Draws the ranges around values: bands of bins, bars of intervals.
    fn bands(&mut self, piece: &[Point], shape: Shape, panel: &Panel, color: &'static str) {
        let ends = piece.iter().skip(1).map(|next| next.x);
        let ends = ends.chain(piece.last().map(|last| last.x));
        for (point, end) in piece.iter().zip(ends) {
            let Some((low, high)) = point.range else { continue };
            let (left, top) = panel.at(point.x, high);
            let (right, bottom) = panel.at(end, low);
            match shape {
                Shape::Steps => self.marks.push(Mark::Area {
                    points: vec![(left, top), (right, top), (right, bottom), (left, bottom)],
                    color,
                    opacity: 0.25,
                }),
                Shape::Points => {
                    self.line(&[(left, top), (left, bottom)], color, 0.7, 0);
                    let cap = 1.6 * self.unit();
                    for y in [top, bottom] {
                        self.line(&[(left - cap, y), (left + cap, y)], color, 0.7, 0);
                    }
                }
            }
        }
    }

    /// Draws a marker, whose shape depends on the curve.
    fn dot(&mut self, x: f64, y: f64, color: &'static str, index: usize) {
        let side = 1.5 * self.unit();
        const SHAPES: [&[(f64, f64)]; 4] = [
            &[(-1.0, 0.0), (0.0, -1.0), (1.0, 0.0), (0.0, 1.0)],
            &[(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)],
            &[(-1.0, 0.8), (0.0, -1.0), (1.0, 0.8)],
            &[(-1.0, -0.8), (0.0, 1.0), (1.0, -0.8)],
        ];
        let corner = |(right, down): &(f64, f64)| (x + right * side, y + down * side);
        self.marks.push(Mark::Area {
            points: SHAPES[index % SHAPES.len()].iter().map(corner).collect(),
            color,
            opacity: 1.0,
        });
    }
}

/// Describes the curves that the legend leaves out.
fn more(figure: &Figure) -> Option<String> {
    let more = figure
        .curves
        .len()
        .checked_sub(NAMED_MAX)
        .filter(|more| *more > 0)?;
    Some(format!("and {more} more"))
}

fn values(point: &Point) -> impl Iterator<Item = f64> {
    let range = point.range.into_iter().flat_map(|(low, high)| [low, high]);
    point.y.into_iter().chain(range)
}

/// Returns the corners of a line whose values hold until the next point.
fn steps(piece: &[Point]) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = Vec::new();
    for point in piece {
        if let Some(&(_, before)) = corners.last() {
            corners.push((point.x, before));
        }
        corners.extend(point.y.map(|y| (point.x, y)));
    }
    corners
}
