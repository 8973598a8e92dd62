//! Rasterizer that writes a figure as PNG.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::OutlineBuilder;

use super::font;
use super::scene::{INK, Mark, Scene};

/// Returns the file with `dpi` pixels per inch; `None` if it would be too large.
pub(super) fn bytes(scene: &Scene, dpi: f64) -> Option<Vec<u8>> {
    // Lengths are in points, of which an inch has 72.
    let scale = dpi / 72.0;
    let side = |length: f64| (length * scale).round() as u32;
    let mut sheet = Pixmap::new(side(scene.width), side(scene.height))?;
    sheet.fill(Color::WHITE);
    let at = Transform::from_scale(scale as f32, scale as f32);
    let mut mask: Option<Mask> = None;
    for mark in &scene.marks {
        match mark {
            Mark::Line {
                points,
                color,
                width,
                dash,
            } => {
                let stroke = Stroke {
                    width: *width as f32,
                    line_cap: LineCap::Butt,
                    line_join: LineJoin::Round,
                    dash: StrokeDash::new(dash.iter().map(|&length| length as f32).collect(), 0.0),
                    ..Stroke::default()
                };
                if let Some(path) = path(points, false) {
                    sheet.stroke_path(&path, &paint(color, 1.0), &stroke, at, mask.as_ref());
                }
            }
            Mark::Area {
                points,
                color,
                opacity,
            } => {
                if let Some(path) = path(points, true) {
                    let paint = paint(color, *opacity);
                    sheet.fill_path(&path, &paint, FillRule::Winding, at, mask.as_ref());
                }
            }
            Mark::Clip(None) => mask = None,
            Mark::Clip(Some([left, top, right, bottom])) => {
                let [left, top, right, bottom] = [left, top, right, bottom].map(|&edge| edge as f32);
                let corners = Rect::from_ltrb(left, top, right, bottom);
                mask = corners.and_then(|corners| {
                    let mut mask = Mask::new(sheet.width(), sheet.height())?;
                    mask.fill_path(&PathBuilder::from_rect(corners), FillRule::Winding, true, at);
                    Some(mask)
                });
            }
            Mark::Text {
                at: position,
                text,
                anchor,
                turned,
            } => {
                let back = anchor.share() * font::width_of(text, scene.font);
                let turn = if *turned { -90.0 } else { 0.0 };
                // The shift by the anchor follows the turn, so that it is along the text.
                let start = at
                    .pre_translate(position.0 as f32, position.1 as f32)
                    .pre_rotate(turn)
                    .pre_translate(-back as f32, 0.0);
                // Without the mask: labels lie outside of the panel, to which curves are clipped.
                if let Some(path) = letters(text, scene.font) {
                    sheet.fill_path(&path, &paint(INK, 1.0), FillRule::Winding, start, None);
                }
            }
        }
    }
    sheet.encode_png().ok()
}

fn paint(color: &str, opacity: f64) -> Paint<'static> {
    let part = |i: usize| u8::from_str_radix(&color[i..i + 2], 16).unwrap_or(0);
    let mut paint = Paint::default();
    paint.set_color_rgba8(part(1), part(3), part(5), (opacity * 255.0).round() as u8);
    paint.anti_alias = true;
    paint
}

fn path(points: &[(f64, f64)], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        match i {
            0 => path.move_to(x as f32, y as f32),
            _ => path.line_to(x as f32, y as f32),
        }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// Returns the outlines of a text that starts at the origin.
fn letters(text: &str, height: f64) -> Option<Path> {
    let mut pen = Pen {
        path: PathBuilder::new(),
        at: 0.0,
        scale: (height / f64::from(font::FACE.units_per_em())) as f32,
    };
    for letter in text.chars() {
        // A letter that the font lacks must not vanish.
        let glyph = font::FACE
            .glyph_index(letter)
            .or_else(|| font::FACE.glyph_index('?'));
        if let Some(glyph) = glyph {
            font::FACE.outline_glyph(glyph, &mut pen);
        }
        pen.at += (font::width(letter) / 1000.0 * height) as f32;
    }
    pen.path.finish()
}

/// Builder of an outline, one glyph after the other.
struct Pen {
    path: PathBuilder,
    at: f32,
    scale: f32,
}

impl Pen {
    /// Converts a glyph's coordinates; the y axis of fonts points upwards.
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.at + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}
