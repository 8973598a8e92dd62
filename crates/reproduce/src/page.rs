//! Self-contained page about reproductions.

use serde::Serialize;

use super::Reproduction;
use super::choice::Choice;
use super::count::Counts;
use super::criterion::{Cell, Evidence};
use super::need::Done;
use super::panel::{Curve, Drawing, Panel, Row};
use super::text::{criteria, difference, orderings, shown};
use super::write::Drawn;
use paceline_report::charts::{Axis, Chart, ChartKind, Line, Width, pack_tracks};
use paceline_report::decimate::POINTS_MAX;
use paceline_report::figure::{Figure, of_chart};
use paceline_report::{Look, RenderError, fill, palette, script_json};

const TEMPLATE: &str = include_str!("../assets/reproduce.html.j2");
const STYLE: &str = include_str!("../assets/reproduce.css");

/// Index of the dash pattern for published lines.
const DASHED: usize = 1;

/// Renders the page about `chosen`, in their order.
pub(super) fn render(chosen: &[&Reproduction], done: &Done, drawn: &[Drawn]) -> Result<String, RenderError> {
    let mut charts = Vec::new();
    let mut sections: Vec<Section<'_>> = (chosen.iter())
        .map(|one| Section {
            figures: (drawn.iter().enumerate().filter(|(_, figure)| figure.of == one.id))
                .map(|(number, figure)| Image {
                    name: &figure.name,
                    svg: inline(&figure.svg, number),
                })
                .collect(),
            ..section(one, done, &mut charts)
        })
        .collect();
    // Kinds of evidence that no reproduction has are left out.
    let known = [0, 1, 2, 3].map(|kind| sections.iter().any(|one| !one.counts[kind].count.is_empty()));
    for (standing, known) in sections
        .iter_mut()
        .flat_map(|one| one.counts.iter_mut().zip(known))
    {
        standing.known = known;
    }
    let kinds = Evidence::ALL.into_iter().zip(known).filter(|(_, known)| *known);
    pack_tracks(charts.iter_mut().map(|placed: &mut Placed| &mut placed.chart));
    let page = Page {
        kinds: kinds.map(|(kind, _)| kind.title()).collect(),
        sections,
        charts: script_json(&charts),
        version: crate::identity::version(),
        look: Look::charts(),
        style: STYLE,
    };
    fill(TEMPLATE, page)
}

/// Returns the name and the figure of each chart of the page: ours solid, published values dashed.
pub(super) fn figures(chosen: &[&Reproduction], done: &Done) -> Vec<(String, Figure)> {
    let of_one = |one: &&Reproduction| {
        let panels = one.panels(done);
        let figure = |(number, panel): (usize, &Panel)| {
            let chart = chart_of(panel, &colors(panel), false)?;
            (!chart.lines.is_empty()).then(|| (place(one, number), of_chart(&chart)))
        };
        panels.iter().enumerate().filter_map(figure).collect::<Vec<_>>()
    };
    chosen.iter().flat_map(of_one).collect()
}

/// Returns the name of a panel, of its element on the page and of its figure.
fn place(reproduction: &Reproduction, panel: usize) -> String {
    format!("{}-{panel}", reproduction.id)
}

/// Input of the template, which inserts `charts`, `look`, `style` and images unescaped.
#[derive(Serialize)]
struct Page<'a> {
    /// Kinds of evidence that occur.
    kinds: Vec<&'static str>,
    sections: Vec<Section<'a>>,
    charts: String,
    version: &'static str,
    look: Look,
    style: &'static str,
}

#[derive(Serialize)]
struct Section<'a> {
    id: &'a str,
    title: &'a str,
    source: String,
    setting: &'a str,
    notes: &'a [String],
    /// Choices made after results were known.
    choices: &'a [Choice],
    /// Counts by kind of evidence, in the order of [`Evidence::ALL`].
    counts: [Standing; 4],
    panels: Vec<Table>,
    figures: Vec<Image<'a>>,
    runs: Vec<Run>,
}

/// Figure of a recipe.
#[derive(Serialize)]
struct Image<'a> {
    /// Name of its file.
    name: &'a str,
    /// Text that the template inserts unescaped.
    svg: String,
}

/// Returns an image as part of the page: without its font, since the page loads none, and with ids of its own.
fn inline(svg: &str, number: usize) -> String {
    let (start, rest) = svg.split_once("<style>").unwrap_or((svg, ""));
    let (_, end) = rest.split_once("</style>").unwrap_or_default();
    format!("{start}{end}").replace("panel1", &format!("drawn{number}"))
}

/// Count of a kind of evidence.
#[derive(Serialize)]
struct Standing {
    title: &'static str,
    /// Text of the count; empty if there are no values.
    count: String,
    /// True if any reproduction of the page has values of this kind.
    known: bool,
    /// `good` if all judged values meet their criteria, `bad` if not; empty if none is judged.
    standing: &'static str,
}

#[derive(Serialize)]
struct Table {
    title: String,
    /// Id of the element for its chart; empty without a chart.
    place: String,
    /// True if the table is initially open.
    open: bool,
    head: String,
    columns: Vec<Head>,
    rows: Vec<Lines>,
    criteria: Vec<String>,
    orderings: Vec<Sentence>,
}

#[derive(Serialize)]
struct Head {
    name: String,
    published: String,
    color: usize,
    parts: Parts,
}

/// Parts of a column in addition to our values.
#[derive(Clone, Copy, Serialize)]
struct Parts {
    paper: bool,
    difference: bool,
    /// Number of table columns that it spans.
    span: usize,
}

impl Parts {
    fn of(panel: &Panel, column: usize) -> Self {
        let (paper, difference) = (panel.has_published(column), panel.has_differences(column));
        Self {
            paper,
            difference,
            span: 1 + usize::from(paper) + usize::from(difference),
        }
    }
}

/// Row of a table.
#[derive(Serialize)]
struct Lines {
    name: String,
    cells: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    parts: Parts,
    paper: String,
    ours: String,
    difference: String,
    /// `ok`, `differs` or empty.
    verdict: &'static str,
    /// Sign of the difference, shown behind it.
    sign: &'static str,
    /// Class of its colour in a heat map.
    heat: Option<&'static str>,
}

/// Classes of a heat map's colours, from the lowest value to the highest.
const HEAT: [&str; 9] = [
    "cold4", "cold3", "cold2", "cold1", "", "hot1", "hot2", "hot3", "hot4",
];

/// Returns the colour of a value if `most` is the largest absolute value.
fn heat(value: f64, most: f64) -> &'static str {
    let share = if most > 0.0 { value / most } else { 0.0 };
    // Rounded away from zero, so that only zero has no colour.
    let step = (4.0 * share.abs()).ceil().copysign(share);
    HEAT[(4.0 + step).clamp(0.0, 8.0) as usize]
}

#[derive(Serialize)]
struct Sentence {
    text: String,
    ok: bool,
}

#[derive(Serialize)]
struct Run {
    name: String,
    seed: u64,
    events: u64,
    packet_hops: u64,
    digest: String,
}

/// Chart with the id of its element.
#[derive(Serialize)]
struct Placed {
    place: String,
    #[serde(flatten)]
    chart: Chart,
}

fn section<'a>(reproduction: &'a Reproduction, done: &Done, charts: &mut Vec<Placed>) -> Section<'a> {
    let panels = reproduction.panels(done);
    let counts = Counts::of(&reproduction.records(done));
    let table = |(number, panel): (usize, &Panel)| table(panel, place(reproduction, number), charts);
    let runs = done
        .runs
        .iter()
        .filter(|run| {
            reproduction
                .needs()
                .iter()
                .any(|need| need.name() == run.need.name())
        })
        .filter_map(|run| {
            let summary = run.summary.as_ref().filter(|_| run.need.folder)?;
            Some(Run {
                name: run.need.name(),
                seed: summary.seed,
                events: summary.events,
                packet_hops: summary.packet_hops,
                digest: summary.digest.clone(),
            })
        });
    Section {
        id: &reproduction.id,
        title: &reproduction.title,
        source: reproduction.source.to_string(),
        setting: &reproduction.setting,
        notes: &reproduction.notes,
        choices: &reproduction.choices,
        counts: Evidence::ALL.map(|kind| standing(counts, kind)),
        runs: runs.collect(),
        panels: panels.iter().enumerate().map(table).collect(),
        figures: Vec::new(),
    }
}

fn standing(counts: Counts, kind: Evidence) -> Standing {
    let count = counts.count_of(kind);
    Standing {
        title: kind.title(),
        count: counts.text_of(kind).unwrap_or_default(),
        known: false,
        standing: match count {
            Some(count) if count.is_good() => "good",
            Some(count) if count.judged > 0 => "bad",
            _ => "",
        },
    }
}

/// Returns the colours of a panel's columns.
fn colors(panel: &Panel) -> Vec<usize> {
    let schemes = panel.columns.iter().map(|column| column.scheme.as_str());
    let schemes: Vec<&str> = schemes.collect();
    let colors = palette::assign(&schemes).into_iter();
    colors.map(|(color, _)| color).collect()
}

/// Returns the chart of a panel, if it has one; on the page, long series over time are `tracks`.
fn chart_of(panel: &Panel, colors: &[usize], tracks: bool) -> Option<Chart> {
    match &panel.drawing {
        Some(drawing) => drawn(panel, drawing, tracks),
        None => chart(panel, colors),
    }
}

fn table(panel: &Panel, place: String, charts: &mut Vec<Placed>) -> Table {
    let colors = colors(panel);
    let chart = chart_of(panel, &colors, true).filter(|chart| !chart.lines.is_empty());
    let drawn = chart.is_some();
    charts.extend(chart.map(|chart| Placed {
        place: place.clone(),
        chart,
    }));
    let heads = panel.columns.iter().zip(&colors);
    let parts: Vec<Parts> = (0..panel.columns.len()).map(|i| Parts::of(panel, i)).collect();
    let verdicts = panel.cells.iter().zip(&panel.rows);
    let mut verdicts = verdicts.flat_map(|(cells, row)| cells.iter().map(|cell| cell.verdict(row.decimals)));
    let all_good = verdicts.all(|verdict| verdict == Some(true));
    let values = panel.cells.iter().flatten().filter_map(|cell| cell.ours);
    let most = panel.heat_map.then(|| values.map(f64::abs).fold(0.0, f64::max));
    Table {
        title: panel.title.clone(),
        place: if drawn { place } else { String::new() },
        // A table without differences adds nothing to its chart, and a table without rows has nothing to show.
        open: !(drawn && all_good) || panel.rows.is_empty(),
        head: panel.head.clone(),
        columns: heads
            .zip(&parts)
            .map(|((column, &color), &parts)| Head {
                name: column.name.clone(),
                published: column.published.clone(),
                color,
                parts,
            })
            .collect(),
        rows: panel
            .rows
            .iter()
            .zip(&panel.cells)
            .map(|(one, cells)| row(one, cells, &parts, most))
            .collect(),
        criteria: criteria(panel),
        orderings: orderings(panel)
            .into_iter()
            .map(|(text, ok)| Sentence { text, ok })
            .collect(),
    }
}

fn row(row: &Row, cells: &[Cell], parts: &[Parts], most: Option<f64>) -> Lines {
    let cell = |(cell, &parts): (&Cell, &Parts)| Shown {
        parts,
        paper: shown(cell.paper, row.decimals),
        ours: shown(cell.ours, row.decimals),
        difference: difference(cell),
        verdict: match cell.verdict(row.decimals) {
            Some(true) => "ok",
            Some(false) => "differs",
            None => "",
        },
        sign: match cell.verdict(row.decimals) {
            Some(true) => " ✓",
            Some(false) => " ✗",
            None => "",
        },
        heat: cell.ours.zip(most).map(|(ours, most)| heat(ours, most)),
    };
    Lines {
        name: row.name(),
        cells: cells.iter().zip(parts).map(cell).collect(),
    }
}

/// Returns the chart of a drawing; `None` if it has no curves.
fn drawn(panel: &Panel, drawing: &Drawing, tracks: bool) -> Option<Chart> {
    let schemes: Vec<&str> = drawing.curves.iter().map(|curve| curve.scheme.as_str()).collect();
    // Ours and the published curve of a scheme share its colour and differ in their dashes.
    let mut known: Vec<&str> = Vec::new();
    for &scheme in &schemes {
        if !known.contains(&scheme) {
            known.push(scheme);
        }
    }
    let colors = palette::assign(&known);
    let color = |scheme: &str| {
        let place = known.iter().position(|known| *known == scheme);
        place.map_or(0, |place| colors[place].0)
    };
    // Long series over time become tracks, which the page refines on zooming.
    let is_long = |curve: &Curve| curve.points.len() > POINTS_MAX;
    let over_time = (tracks && drawing.curves.iter().any(is_long))
        .then(|| clock_ps(&drawing.x[1]))
        .flatten();
    let line = |curve: &Curve| {
        let (name, color) = (curve.name.clone(), color(&curve.scheme));
        Line {
            dash: if curve.published { DASHED } else { 0 },
            ..match over_time {
                Some(clock_ps) => Line::of_samples(name, color, &curve.points, clock_ps),
                None => Line::new(name, color, &curve.points),
            }
        }
    };
    let drawable = drawing.curves.iter().filter(|curve| !curve.points.is_empty());
    let lines: Vec<Line> = drawable.map(line).collect();
    (!lines.is_empty()).then(|| Chart {
        title: panel.title.clone(),
        note: "Ours solid, published dashed.".to_string(),
        x: axis(&drawing.x),
        y: axis(&drawing.y),
        kind: match (over_time, drawing.stepped) {
            (Some(_), _) => ChartKind::Track,
            (None, true) => ChartKind::Step,
            (None, false) => ChartKind::Points,
        },
        width: Width::Full,
        lines,
    })
}

fn axis([label, unit]: &[String; 2]) -> Axis {
    Axis::new(label, unit)
}

/// Returns the picoseconds in a unit of time.
fn clock_ps(unit: &str) -> Option<f64> {
    match unit {
        "ms" => Some(1e9),
        "µs" => Some(1e6),
        _ => None,
    }
}

/// Returns a chart over the rows' positions, ours solid and published values dashed; `None` if rows have no
/// positions.
fn chart(panel: &Panel, colors: &[usize]) -> Option<Chart> {
    let xs: Vec<f64> = panel.rows.iter().filter_map(|row| row.x).collect();
    if xs.len() < 2 || xs.len() != panel.rows.len() {
        return None;
    }
    let is_published = panel.cells.iter().flatten().any(|cell| cell.paper.is_some());
    let line = |column: usize, of: fn(&Cell) -> Option<f64>, name: &str, dash: usize| {
        let values = panel.cells.iter().map(|cells| of(&cells[column]));
        let points: Vec<(f64, f64)> = xs
            .iter()
            .zip(values)
            .filter_map(|(&x, y)| Some((x, y?)))
            .collect();
        let head = &panel.columns[column].name;
        let line = Line {
            dash,
            ..match is_published {
                true => Line::new(format!("{head}, {name}"), colors[column], &points),
                false => Line::new(head.clone(), colors[column], &points),
            }
        };
        (!points.is_empty()).then_some(line)
    };
    let columns = 0..panel.columns.len();
    let lines: Vec<Line> = columns
        .flat_map(|column| {
            let ours = line(column, |cell| cell.ours, "ours", 0);
            [ours, line(column, |cell| cell.paper, "paper", DASHED)]
        })
        .flatten()
        .collect();
    let first = &panel.rows[0];
    let values: Vec<f64> = lines.iter().flat_map(|line| line.y.iter().copied()).collect();
    Some(Chart {
        title: if panel.title.is_empty() {
            first.metric.clone()
        } else {
            panel.title.clone()
        },
        note: match is_published {
            true => "Ours solid, published dashed.".to_string(),
            false => String::new(),
        },
        x: Axis {
            log: panel.along.log,
            ..Axis::new(&panel.along.label, &panel.along.unit)
        },
        // Shares are read against 0, which a logarithmic axis lacks.
        y: match first.unit.as_str() {
            "%" => Axis::new(&first.metric, "%"),
            unit => Axis::new(&first.metric, unit).log_if_wide(values.iter().copied()),
        },
        kind: ChartKind::Points,
        width: Width::Full,
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::heat;

    #[test]
    fn only_zero_has_no_colour() {
        let found = [-8.0, -4.1, 0.0, 0.1, 2.0, 2.1, 8.0].map(|value| heat(value, 8.0));
        assert_eq!(found, ["cold4", "cold3", "", "hot1", "hot1", "hot2", "hot4"]);
        assert_eq!(heat(0.0, 0.0), "");
    }
}
