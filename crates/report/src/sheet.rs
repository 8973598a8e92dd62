//! A page that is not about runs: prose, numbers, charts and tables in parts.

use serde::Serialize;

use super::charts::Chart;
use super::{Look, RenderError, fill, script_json};

const TEMPLATE: &str = include_str!("../assets/sheet.html.j2");

/// Everything on a page.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// What kind of page it is, above the title.
    pub kicker: String,
    /// The title.
    pub title: String,
    /// A paragraph about the whole.
    pub story: String,
    /// What to know before trusting it.
    pub warnings: Vec<String>,
    /// Numbers to look at first.
    pub tiles: Vec<Tile>,
    /// The parts, in order.
    pub parts: Vec<Part>,
    /// The command that makes it again.
    pub command: String,
    /// What it was made of: names and values.
    pub facts: Vec<(String, String)>,
}

/// A number to look at first.
#[derive(Clone, Debug, Serialize)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// The number with its unit.
    pub value: String,
    /// What to compare it with.
    pub note: String,
}

/// A part of a page: a heading, and what stands under it.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The heading.
    pub title: String,
    /// A paragraph.
    pub text: String,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Tables.
    pub tables: Vec<Grid>,
}

/// A table: a head, and rows whose first cell is a name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Grid {
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// What to know of it.
    pub note: String,
    /// What it is called where it is shown only when asked for; empty for a table that is shown.
    pub folded: String,
}

/// What the template gets. `charts` and `look` go into it as they are.
#[derive(Serialize)]
struct Page<'a> {
    kicker: &'a str,
    title: &'a str,
    story: &'a str,
    warnings: &'a [String],
    tiles: &'a [Tile],
    parts: Vec<Section<'a>>,
    command: &'a str,
    facts: &'a [(String, String)],
    charts: String,
    version: &'static str,
    look: Look,
}

#[derive(Serialize)]
struct Section<'a> {
    title: &'a str,
    text: &'a str,
    /// Where its charts go; empty for none.
    place: String,
    tables: &'a [Grid],
}

/// A chart, and the element that it goes into.
#[derive(Serialize)]
struct Placed<'a> {
    place: String,
    #[serde(flatten)]
    chart: &'a Chart,
}

/// Renders a page.
///
/// # Errors
/// If the template is at fault.
pub fn render_sheet(sheet: &Sheet) -> Result<String, RenderError> {
    let mut charts = Vec::new();
    let mut parts = Vec::new();
    for (number, part) in sheet.parts.iter().enumerate() {
        let place = format!("part-{number}");
        charts.extend(part.charts.iter().map(|chart| Placed {
            place: place.clone(),
            chart,
        }));
        parts.push(Section {
            title: &part.title,
            text: &part.text,
            place: if part.charts.is_empty() {
                String::new()
            } else {
                place
            },
            tables: &part.tables,
        });
    }
    let page = Page {
        kicker: &sheet.kicker,
        title: &sheet.title,
        story: &sheet.story,
        warnings: &sheet.warnings,
        tiles: &sheet.tiles,
        parts,
        command: &sheet.command,
        facts: &sheet.facts,
        charts: script_json(&charts),
        version: paceline_lab::version(),
        look: Look::charts(),
    };
    fill(TEMPLATE, page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Kind, Line, Width};

    fn sheet() -> Sheet {
        let chart = Chart {
            title: "Loss".into(),
            note: "Falls.".into(),
            x: Axis::new("round", ""),
            y: Axis::new("loss", ""),
            kind: Kind::Points,
            width: Width::Half,
            lines: vec![Line::new("train", 0, &[(1.0, 0.5), (2.0, 0.25)])],
        };
        Sheet {
            title: "<b>mine".into(),
            parts: vec![Part {
                title: "Rounds".into(),
                charts: vec![chart],
                tables: vec![Grid {
                    head: ["round", "loss"].map(String::from).to_vec(),
                    rows: vec![["1", "</td><script>"].map(String::from).to_vec()],
                    ..Grid::default()
                }],
                ..Part::default()
            }],
            ..Sheet::default()
        }
    }

    #[test]
    fn a_page_stands_alone_and_texts_stay_texts() {
        let page = render_sheet(&sheet()).unwrap();
        for bad in ["src=", "href=\"http", "<b>mine", "</td><script>"] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert_eq!(page.matches("</script>").count(), 3);
        assert!(page.contains(r#"{"place":"part-0","title":"Loss""#));
        assert!(page.contains(r#"<div id="part-0" class="charts">"#));
    }

    #[test]
    fn a_line_says_that_it_is_a_guide_only_if_it_is() {
        let mut line = Line::new("a", 0, &[(0.0, 0.0)]);
        assert!(!serde_json::to_string(&line).unwrap().contains("guide"));
        line.guide = true;
        assert!(serde_json::to_string(&line).unwrap().contains("\"guide\":true"));
    }
}
