//! Writer for figures as SVG.

use std::fmt::Write as _;

use super::font;
use super::scene::{Anchor, INK, Mark, Scene};
use crate::bytes::base64;

/// Returns the text of the file.
pub(super) fn text(scene: &Scene) -> String {
    let (width, height) = (scene.width, scene.height);
    // The font is embedded: the layout used its widths, and another font would shift the labels.
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.2}pt\" height=\"{height:.2}pt\" \
         viewBox=\"0 0 {width:.2} {height:.2}\" font-family=\"{NAME}, Liberation Sans, Helvetica, Arial, sans-serif\" \
         font-size=\"{font}\" fill=\"{INK}\">\n<style>@font-face {{ font-family: {NAME}; src: \
         url(data:font/ttf;base64,{file}) }}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        NAME = font::NAME,
        font = scene.font,
        file = base64(font::FILE),
    );
    for mark in &scene.marks {
        add(&mut text, mark);
    }
    text.push_str("</svg>\n");
    text
}

fn add(text: &mut String, mark: &Mark) {
    let written = match mark {
        Mark::Line {
            points,
            color,
            width,
            dash,
        } => {
            let dashes: Vec<String> = dash.iter().map(f64::to_string).collect();
            // An empty list is no valid value of the attribute.
            let dashes = match dashes.as_slice() {
                [] => String::new(),
                all => format!(" stroke-dasharray=\"{}\"", all.join(" ")),
            };
            writeln!(
                text,
                "<path d=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\"{dashes} \
                 stroke-linejoin=\"round\"/>",
                path(points)
            )
        }
        Mark::Area {
            points,
            color,
            opacity,
        } => writeln!(
            text,
            "<path d=\"{}Z\" fill=\"{color}\" fill-opacity=\"{opacity}\"/>",
            path(points)
        ),
        // A sheet has one panel, so one clipping path is enough.
        Mark::Clip(Some([left, top, right, bottom])) => writeln!(
            text,
            "<clipPath id=\"panel1\"><rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{:.2}\"/>\
             </clipPath>\n<g clip-path=\"url(#panel1)\">",
            right - left,
            bottom - top
        ),
        Mark::Clip(None) => writeln!(text, "</g>"),
        Mark::Text {
            at: (x, y),
            text: words,
            anchor,
            turned,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let index = match turned {
                true => format!("transform=\"translate({x:.2} {y:.2}) rotate(-90)\""),
                false => format!("x=\"{x:.2}\" y=\"{y:.2}\""),
            };
            writeln!(
                text,
                "<text {index} text-anchor=\"{anchor}\">{}</text>",
                escaped(words)
            )
        }
    };
    written.expect("a text takes all");
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { 'M' } else { 'L' };
        write!(path, "{command}{x:.3} {y:.3}").expect("a text takes all");
    }
    path
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
