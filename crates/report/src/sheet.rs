//! Pages that are not about runs: parts with text, numbers, charts and tables.

use serde::Serialize;

use super::charts::Chart;
use super::{Look, RenderError, fill, script_json};

const TEMPLATE: &str = include_str!("../assets/sheet.html.j2");

/// Content of a page.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// Kind of page, shown above the title.
    pub kicker: String,
    /// Title of the page.
    pub title: String,
    /// Introductory paragraph about the whole page.
    pub story: String,
    /// Warnings to consider before trusting the page.
    pub warnings: Vec<String>,
    /// Key numbers at the top.
    pub tiles: Vec<Tile>,
    /// Parts of the page, in order.
    pub parts: Vec<Part>,
    /// Command that creates the page again.
    pub command: String,
    /// Facts on its origin: names and values.
    pub facts: Vec<(String, String)>,
}

/// Key number with a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Tile {
    /// Name of the quantity.
    pub name: String,
    /// Number with its unit.
    pub value: String,
    /// Value to compare it with.
    pub note: String,
}

/// Part of a page: a heading, and the content below it.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Heading of the part.
    pub title: String,
    /// Paragraph below the heading.
    pub text: String,
    /// Charts of the part.
    pub charts: Vec<Chart>,
    /// Tables of the part.
    pub tables: Vec<Grid>,
}

/// Table: a header, and rows whose first cell is a name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Grid {
    /// Names of the columns.
    pub head: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Note below the table.
    pub note: String,
    /// Heading under which it is collapsed; empty for a table that is always visible.
    pub folded: String,
}

/// Input of the template, which inserts `charts` and `look` unescaped.
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
    /// Id of the element for its charts; empty without charts.
    place: String,
    tables: &'a [Grid],
}

/// Chart with the id of its element.
#[derive(Serialize)]
struct Placed<'a> {
    place: String,
    #[serde(flatten)]
    chart: &'a Chart,
}

/// Renders a page.
///
/// # Errors
/// If the template is invalid.
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
    use crate::{Axis, ChartKind, Line, Width};

    fn sheet() -> Sheet {
        let chart = Chart {
            title: "Loss".into(),
            note: "Falls.".into(),
            x: Axis::new("round", ""),
            y: Axis::new("loss", ""),
            kind: ChartKind::Points,
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
