//! Figure for LaTeX: `\\input` includes it in a document, whose font its texts use. It needs only the package pgf.

use std::fmt::Write as _;

use super::scene::{Anchor, INK, Mark, Scene};

/// Returns the text of the file. Lengths are PostScript points, as on the sheet.
pub(super) fn text(scene: &Scene) -> String {
    let (width, height, font) = (scene.width, scene.height, scene.font);
    let mut text = format!(
        "% Needs \\usepackage{{pgf}} and T1 fonts.\n\\begingroup\n\\begin{{pgfpicture}}\n\
         \\pgfpathrectangle{{\\pgfpointorigin}}{{\\pgfqpoint{{{width:.2}bp}}{{{height:.2}bp}}}}\n\
         \\pgfusepath{{use as bounding box}}\n\\pgfsetroundjoin\n\
         \\definecolor{{ink}}{{HTML}}{{{}}}\n\\fontsize{{{font}bp}}{{{:.1}bp}}\\selectfont\n",
        hex(INK),
        font * 1.2
    );
    for mark in &scene.marks {
        add(&mut text, mark, height);
    }
    text.push_str("\\end{pgfpicture}\n\\endgroup\n");
    text
}

fn add(text: &mut String, mark: &Mark, height: f64) {
    let written = match mark {
        Mark::Line {
            points,
            color,
            width,
            dash,
        } => {
            let dashes: String = dash.iter().map(|length| format!("{{{length}bp}}")).collect();
            writeln!(
                text,
                "\\definecolor{{c}}{{HTML}}{{{}}}\\pgfsetstrokecolor{{c}}\\pgfsetlinewidth{{{width}bp}}\
                 \\pgfsetdash{{{dashes}}}{{0bp}}\n{}\\pgfusepath{{stroke}}",
                hex(color),
                path(points, height)
            )
        }
        // The opacity is reset afterwards, since it would hold for later marks.
        Mark::Area {
            points,
            color,
            opacity,
        } => writeln!(
            text,
            "\\definecolor{{c}}{{HTML}}{{{}}}\\pgfsetfillcolor{{c}}\\pgfsetfillopacity{{{opacity}}}\n\
             {}\\pgfpathclose\\pgfusepath{{fill}}\\pgfsetfillopacity{{1}}",
            hex(color),
            path(points, height)
        ),
        Mark::Clip(Some([left, top, right, bottom])) => writeln!(
            text,
            "\\begin{{pgfscope}}\n\\pgfpathrectangle{{{}}}{{{}}}\\pgfusepath{{clip}}",
            point(*left, height - bottom),
            point(right - left, bottom - top)
        ),
        Mark::Clip(None) => writeln!(text, "\\end{{pgfscope}}"),
        Mark::Text {
            at: (x, y),
            text: words,
            anchor,
            turned,
        } => {
            let anchor = match anchor {
                Anchor::Start => ",left",
                Anchor::Middle => "",
                Anchor::End => ",right",
            };
            let turned = if *turned { ",rotate=90" } else { "" };
            let y = height - y;
            writeln!(
                text,
                "\\pgftext[x={x:.2}bp,y={y:.2}bp,base{anchor}{turned}]{{\\color{{ink}}{}}}",
                escaped(words)
            )
        }
    };
    written.expect("a text takes all");
}

fn hex(color: &str) -> String {
    color.trim_start_matches('#').to_uppercase()
}

fn point(x: f64, y: f64) -> String {
    format!("\\pgfqpoint{{{x:.3}bp}}{{{y:.3}bp}}")
}

fn path(points: &[(f64, f64)], height: f64) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let command = if i == 0 { "moveto" } else { "lineto" };
        let _ = writeln!(path, "\\pgfpath{command}{{{}}}", point(*x, height - y));
    }
    path
}

/// Escapes a text for LaTeX.
fn escaped(text: &str) -> String {
    let mut all = String::new();
    for letter in text.chars() {
        match letter {
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => all.extend(['\\', letter]),
            '\\' => all.push_str("\\textbackslash{}"),
            '~' => all.push_str("\\textasciitilde{}"),
            '^' => all.push_str("\\textasciicircum{}"),
            // T1 fonts have neither Greek letters nor arrows; mathematics has.
            'µ' | 'μ' => all.push_str("\\ensuremath{\\mu}"),
            '–' => all.push_str("--"),
            '→' => all.push_str("\\ensuremath{\\rightarrow}"),
            letter => all.push(letter),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_a_command() {
        assert_eq!(escaped("a_b 5% {µs}"), "a\\_b 5\\% \\{\\ensuremath{\\mu}s\\}");
        assert_eq!(escaped("\\x"), "\\textbackslash{}x");
    }
}
