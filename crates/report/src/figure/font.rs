//! Font of figures: a subset of Liberation Sans, whose letters have the widths of Helvetica's.

use std::sync::LazyLock;

use ttf_parser::Face;

/// Font file that PDF and SVG embed.
pub(super) static FILE: &[u8] = include_bytes!("../../assets/PacelineSans.ttf");

/// Name of the font in files.
pub(super) const NAME: &str = "PacelineSans";

pub(super) static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(FILE, 0).expect("the font is part of the program"));

/// Returns the width of a letter in thousandths of the font size. Letters that the font lacks have the width of a
/// digit.
pub(super) fn width(letter: char) -> f64 {
    let glyph = FACE.glyph_index(letter);
    let advance = glyph.and_then(|glyph| FACE.glyph_hor_advance(glyph));
    advance.map_or(556.0, |advance| {
        f64::from(advance) * 1000.0 / f64::from(FACE.units_per_em())
    })
}

/// Returns the width of a text in points.
pub(super) fn width_of(text: &str, height: f64) -> f64 {
    text.chars().map(width).sum::<f64>() / 1000.0 * height
}
