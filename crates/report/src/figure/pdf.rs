//! PDF of one page. A figure only needs lines, areas and texts in one embedded font, which is little enough to be
//! written without a library.

use std::fmt::Write as _;

use super::font;
use super::scene::{Mark, Scene};

/// Returns the file (PDF 1.4, ISO 32000-1): a catalogue, a page with a state for each opacity, its content, a font
/// with its description and its file.
pub(super) fn bytes(scene: &Scene) -> Vec<u8> {
    let name = font::NAME;
    let face = &*font::FACE;
    // PDF measures glyphs in thousandths of the font's size.
    let scaled = |units: i16| (f64::from(units) * 1000.0 / f64::from(face.units_per_em())).round();
    let bounds = face.global_bounding_box();
    let [left, bottom, right, top] = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(scaled);
    let (ascent, descent) = (scaled(face.ascender()), scaled(face.descender()));
    let capitals = scaled(face.capital_height().unwrap_or_else(|| face.ascender()));
    let widths: Vec<String> = (FIRST..=u8::MAX)
        .map(|code| format!("{:.0}", font::width(letter(code))))
        .collect();
    let objects: [Vec<u8>; 7] = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:.2} {:.2}] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> \
             /ExtGState << /Solid << /ca 1 >> /Light << /ca 0.25 >> >> >> >>",
            scene.width, scene.height
        )
        .into_bytes(),
        stream("", &content(scene)),
        format!(
            "<< /Type /Font /Subtype /TrueType /BaseFont /{name} /Encoding /WinAnsiEncoding /FirstChar {FIRST} /LastChar 255 \
             /Widths [{}] /FontDescriptor 6 0 R >>",
            widths.join(" ")
        )
        .into_bytes(),
        format!(
            "<< /Type /FontDescriptor /FontName /{name} /Flags 32 /FontBBox [{left} {bottom} {right} {top}] /ItalicAngle 0 \
             /Ascent {ascent} /Descent {descent} /CapHeight {capitals} /StemV 80 /FontFile2 7 0 R >>"
        )
        .into_bytes(),
        stream(&format!(" /Length1 {}", font::FILE.len()), font::FILE),
    ];
    // The bytes above 127 mark the file as binary for programs that transfer it (ISO 32000-1, 7.5.2).
    let mut file = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    // The table of references needs the position of each object in the file.
    let mut indices = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        indices.push(file.len());
        file.extend(format!("{number} 0 obj\n").as_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    // Each entry has exactly 20 bytes (ISO 32000-1, 7.5.4); object 0 heads the list of free objects.
    let mut end = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for index in indices {
        end.push_str(&format!("{index:010} 00000 n \n"));
    }
    end.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    ));
    file.extend(end.as_bytes());
    file
}

/// First character code of the font.
const FIRST: u8 = 32;

fn stream(more: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< /Length {}{more} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// Returns the drawing commands of the page. Coordinates start at its lower left corner.
fn content(scene: &Scene) -> Vec<u8> {
    // Round joins, as in the other formats.
    let mut bytes = b"1 j\n".to_vec();
    for mark in &scene.marks {
        match mark {
            Mark::Line {
                points,
                color,
                width,
                dash,
            } => {
                let dash: Vec<String> = dash.iter().map(f64::to_string).collect();
                let path = path(scene, points);
                let (color, dash) = (rgb(color), dash.join(" "));
                bytes.extend(format!("{color} RG {width} w [{dash}] 0 d\n{path}S\n").as_bytes());
            }
            Mark::Area {
                points,
                color,
                opacity,
            } => {
                let state = if *opacity < 1.0 { "Light" } else { "Solid" };
                let (color, path) = (rgb(color), path(scene, points));
                bytes.extend(format!("/{state} gs {color} rg\n{path}h f\n").as_bytes());
            }
            Mark::Clip(None) => bytes.extend(b"Q\n"),
            Mark::Clip(Some([left, top, right, bottom])) => {
                let (y, width, height) = (scene.height - bottom, right - left, bottom - top);
                bytes.extend(format!("q {left:.2} {y:.2} {width:.2} {height:.2} re W n\n").as_bytes());
            }
            Mark::Text {
                at,
                text,
                anchor,
                turned,
            } => {
                let (x, y) = (at.0, scene.height - at.1);
                // PDF has no anchors, so the text starts further left.
                let back = anchor.share() * font::width_of(text, scene.font);
                let matrix = match turned {
                    true => format!("0 1 -1 0 {x:.2} {:.2}", y - back),
                    false => format!("1 0 0 1 {:.2} {y:.2}", x - back),
                };
                add_text(&mut bytes, &matrix, scene.font, text);
            }
        }
    }
    bytes
}

/// Shows a text whose position and rotation are given by the text matrix.
fn add_text(bytes: &mut Vec<u8>, matrix: &str, font: f64, text: &str) {
    bytes.extend(format!("/Solid gs 0.11 0.125 0.14 rg BT /F {font} Tf {matrix} Tm (").as_bytes());
    for c in text.chars() {
        match code(c) {
            code @ (b'(' | b')' | b'\\') => bytes.extend([b'\\', code]),
            code => bytes.push(code),
        }
    }
    bytes.extend(b") Tj ET\n");
}

/// Letters whose code in Windows' code page 1252 differs from Unicode.
const OTHERS: [(char, u8); 8] = [
    ('…', 0x85),
    ('‘', 0x91),
    ('’', 0x92),
    ('“', 0x93),
    ('”', 0x94),
    ('•', 0x95),
    ('–', 0x96),
    ('—', 0x97),
];

/// Returns the code of a letter in that code page.
fn code(letter: char) -> u8 {
    match letter {
        ' '..='~' | '\u{a0}'..='\u{ff}' => letter as u8,
        'μ' => 0xb5,
        '−' => b'-',
        _ => OTHERS
            .iter()
            .find(|(known, _)| *known == letter)
            .map_or(b'?', |(_, code)| *code),
    }
}

/// Returns the letter of a code.
fn letter(code: u8) -> char {
    let other = OTHERS.iter().find(|(_, known)| *known == code);
    other.map_or(char::from(code), |(letter, _)| *letter)
}

fn path(scene: &Scene, points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'm' } else { 'l' };
        writeln!(path, "{x:.3} {:.3} {command}", scene.height - y).expect("a text takes all");
    }
    path
}

/// Converts `#rrggbb` to three numbers from 0 to 1.
fn rgb(color: &str) -> String {
    let part = |i: usize| u8::from_str_radix(&color[i..i + 2], 16).unwrap_or(0);
    let shares = [1, 3, 5].map(|i| format!("{:.3}", f64::from(part(i)) / 255.0));
    shares.join(" ")
}
