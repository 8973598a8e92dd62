//! A sheet as a PDF of one page. It needs lines, areas and texts in a standard font, which every reader has: that is
//! little enough to be written here.

use std::fmt::Write as _;

use super::scene::{Anchor, FONT, Mark, Scene, width_of};

/// The bytes of the file (PDF 1.4, ISO 32000-1): a catalogue, a page, its content, a font, a state for each opacity.
pub(super) fn bytes(scene: &Scene) -> Vec<u8> {
    let content = content(scene);
    let objects: [Vec<u8>; 5] = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {:.2} {:.2}] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> \
             /ExtGState << /Solid << /ca 1 >> /Light << /ca 0.25 >> >> >> >>",
            scene.width, scene.height
        )
        .into_bytes(),
        [
            format!("<< /Length {} >>\nstream\n", content.len()).as_bytes(),
            &content,
            b"\nendstream",
        ]
        .concat(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_vec(),
    ];
    let mut file = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").as_bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let table = file.len();
    let mut end = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for place in places {
        end.push_str(&format!("{place:010} 00000 n \n"));
    }
    end.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
        objects.len() + 1
    ));
    file.extend(end.as_bytes());
    file
}

/// What draws the page. Places count from its lower left corner.
fn content(scene: &Scene) -> Vec<u8> {
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
            Mark::Text {
                at,
                text,
                anchor,
                turned,
            } => add_text(&mut bytes, (at.0, scene.height - at.1), text, *anchor, *turned),
        }
    }
    bytes
}

fn add_text(bytes: &mut Vec<u8>, (x, y): (f64, f64), text: &str, anchor: Anchor, turned: bool) {
    let back = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width_of(text) / 2.0,
        Anchor::End => width_of(text),
    };
    let place = match turned {
        true => format!("0 1 -1 0 {x:.2} {:.2}", y - back),
        false => format!("1 0 0 1 {:.2} {y:.2}", x - back),
    };
    bytes.extend(format!("/Solid gs 0.11 0.125 0.14 rg BT /F {FONT} Tf {place} Tm (").as_bytes());
    for c in text.chars() {
        match c {
            '(' | ')' | '\\' => bytes.extend([b'\\', c as u8]),
            ' '..='~' => bytes.push(c as u8),
            // The same in Windows' code page 1252 as in Unicode.
            '\u{a0}'..='\u{ff}' => bytes.push(c as u32 as u8),
            '–' => bytes.push(0x96),
            'μ' => bytes.push(0xb5),
            _ => bytes.push(b'?'),
        }
    }
    bytes.extend(b") Tj ET\n");
}

fn path(scene: &Scene, points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'm' } else { 'l' };
        writeln!(path, "{x:.3} {:.3} {command}", scene.height - y).expect("a text takes all");
    }
    path
}

/// `#rrggbb` as three shares.
fn rgb(color: &str) -> String {
    let part = |i: usize| u8::from_str_radix(&color[i..i + 2], 16).unwrap_or(0);
    let shares = [1, 3, 5].map(|i| format!("{:.3}", f64::from(part(i)) / 255.0));
    shares.join(" ")
}
