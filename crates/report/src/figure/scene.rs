//! A figure as lines, areas and texts on a sheet: what SVG and PDF are written from.

use super::axis::Ticked;
use super::{Curve, Figure, Point, Shape};
use crate::decimate::extremes;

/// Width and height in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width.
    pub width_mm: f64,
    /// Height.
    pub height_mm: f64,
}

/// Points (1/72 inch) of a millimetre.
const PT_PER_MM: f64 = 72.0 / 25.4;
/// Height of letters.
pub(super) const FONT: f64 = 7.5;
/// Curves that are named; the others are counted.
const NAMED_MAX: usize = 8;
/// Points of a curve that are drawn: more than a printer can show. The table has all.
const POINTS_MAX: usize = 4000;

/// Colours of curves: the palette of the pages, on white.
const COLORS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#b0568e", "#3aa0dd", "#c98a00", "#7a6bd1", "#6b7178",
];
const INK: &str = "#1c2024";
const GRID: &str = "#dddddd";

/// Dash patterns.
const DASHES: [&[f64]; 4] = [&[], &[4.0, 2.0], &[1.2, 1.6], &[5.0, 1.5, 1.2, 1.5]];

/// Where a text is from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Something on the sheet; places count in points from its upper left corner.
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
        /// Whether it is read from below.
        turned: bool,
    },
}

/// A sheet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) marks: Vec<Mark>,
}

/// The panel's edges, and what its axes make of values.
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
    /// The figure on a sheet of this size.
    pub(super) fn of(figure: &Figure, size: Size) -> Self {
        let mut scene = Self {
            width: size.width_mm * PT_PER_MM,
            height: size.height_mm * PT_PER_MM,
            marks: Vec::new(),
        };
        let below_legend = scene.legend(figure);
        let panel = scene.panel(figure, below_legend);
        scene.axes(figure, &panel);
        for curve in &figure.curves {
            scene.curve(curve, figure.shape, &panel);
        }
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

    fn line(&mut self, points: &[(f64, f64)], color: &'static str, width: f64, dash: usize) {
        self.marks.push(Mark::Line {
            points: points.to_vec(),
            color,
            width,
            dash: DASHES[dash % DASHES.len()],
        });
    }

    /// Names of curves in rows over the panel; gives where they end.
    fn legend(&mut self, figure: &Figure) -> f64 {
        const SAMPLE: f64 = 14.0;
        const ROW: f64 = FONT + 3.0;
        let mut at = (4.0, FONT + 2.0);
        if figure.curves.len() < 2 {
            return 6.0;
        }
        for curve in figure.curves.iter().take(NAMED_MAX) {
            let width = SAMPLE + 3.0 + width_of(&curve.name) + 8.0;
            if at.0 + width > self.width && at.0 > 4.0 {
                at = (4.0, at.1 + ROW);
            }
            let middle = at.1 - FONT * 0.35;
            let sample = [(at.0, middle), (at.0 + SAMPLE, middle)];
            self.line(&sample, COLORS[curve.color % COLORS.len()], 1.2, curve.dash);
            self.text((at.0 + SAMPLE + 3.0, at.1), &curve.name, Anchor::Start);
            at.0 += width;
        }
        if figure.curves.len() > NAMED_MAX {
            let more = format!("and {} more", figure.curves.len() - NAMED_MAX);
            self.text((4.0, at.1 + ROW), more, Anchor::Start);
            at.1 += ROW;
        }
        at.1 + 6.0
    }

    fn panel(&self, figure: &Figure, top: f64) -> Panel {
        let points = || figure.curves.iter().flat_map(|curve| &curve.points);
        let xs: Vec<f64> = points().map(|point| point.x).collect();
        let ys: Vec<f64> = points().flat_map(values).collect();
        let x = Ticked::across(&figure.x, &xs, (self.width / 45.0) as usize);
        let y = Ticked::of(&figure.y, &ys, (self.height / 28.0) as usize);
        let widest = y.ticks.iter().map(|(_, text)| width_of(text)).fold(0.0, f64::max);
        let beyond = x.ticks.last().map_or(0.0, |(_, text)| width_of(text) / 2.0);
        Panel {
            left: FONT + 7.0 + widest + 4.0,
            right: self.width - beyond.max(4.0) - 1.0,
            top,
            bottom: self.height - 2.0 * FONT - 9.0,
            x,
            y,
        }
    }

    fn axes(&mut self, figure: &Figure, panel: &Panel) {
        for (value, text) in &panel.y.ticks {
            let (_, y) = panel.at(panel.x.low, *value);
            self.line(&[(panel.left, y), (panel.right, y)], GRID, 0.4, 0);
            self.text((panel.left - 4.0, y + FONT * 0.35), text, Anchor::End);
        }
        for (value, text) in &panel.x.ticks {
            let (x, _) = panel.at(*value, panel.y.low);
            self.line(&[(x, panel.bottom), (x, panel.bottom + 2.5)], INK, 0.5, 0);
            self.text((x, panel.bottom + FONT + 3.5), text, Anchor::Middle);
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
            at: (FONT + 1.0, (panel.top + panel.bottom) / 2.0),
            text: figure.y.label.clone(),
            anchor: Anchor::Middle,
            turned: true,
        });
    }

    fn curve(&mut self, curve: &Curve, shape: Shape, panel: &Panel) {
        let color = COLORS[curve.color % COLORS.len()];
        // What ends does so where the next piece begins at the earliest.
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
                self.line(&drawn, color, 1.1, curve.dash);
            }
            if shape == Shape::Points {
                drawn.into_iter().for_each(|at| self.dot(at, color));
            }
        }
    }

    /// The ranges around values: bands of bins, bars of intervals.
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
                    for y in [top, bottom] {
                        self.line(&[(left - 1.6, y), (left + 1.6, y)], color, 0.7, 0);
                    }
                }
            }
        }
    }

    fn dot(&mut self, (x, y): (f64, f64), color: &'static str) {
        const SIDE: f64 = 1.3;
        self.marks.push(Mark::Area {
            points: vec![(x - SIDE, y), (x, y - SIDE), (x + SIDE, y), (x, y + SIDE)],
            color,
            opacity: 1.0,
        });
    }
}

fn values(point: &Point) -> impl Iterator<Item = f64> {
    let range = point.range.into_iter().flat_map(|(low, high)| [low, high]);
    point.y.into_iter().chain(range)
}

/// The corners of a line whose values hold until the next point.
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

/// Widths of the letters of Helvetica from the space on, in thousandths of their height (Adobe's font metrics).
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// How wide a text is, in points.
pub(super) fn width_of(text: &str) -> f64 {
    let of = |c: char| {
        let place = (c as usize).checked_sub(32);
        place.and_then(|place| WIDTHS.get(place)).copied().unwrap_or(556)
    };
    text.chars().map(|c| f64::from(of(c))).sum::<f64>() / 1000.0 * FONT
}
