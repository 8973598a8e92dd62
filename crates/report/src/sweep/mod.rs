//! Page about a sweep: its grid as colours and lines, the table, and failed runs.

mod grid;
mod measures;
mod story;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::look::{COMMON, EXPORT, STYLE, UPLOT_LICENCE, UPLOT_SCRIPT, UPLOT_STYLE, script_json};
use crate::template::{RenderError, fill};
use grid::Grid;
pub use grid::places;
use paceline_lab::sweep::SweepData;
use paceline_scenario::sweep::{Axis, AxisValue};

const TEMPLATE: &str = include_str!("../../assets/sweep.html.j2");
static STYLES: [&str; 2] = [STYLE, include_str!("../../assets/sweep.css")];
static SCRIPTS: [&str; 6] = [
    COMMON,
    EXPORT,
    include_str!("../../assets/sweep/model.js"),
    include_str!("../../assets/sweep/heat.js"),
    include_str!("../../assets/sweep/lines.js"),
    include_str!("../../assets/sweep/table.js"),
];

/// Renders the page about a sweep, finished or not.
pub fn render_sweep(data: &SweepData) -> Result<String, RenderError> {
    let grid = Grid::of(data);
    let page = Page {
        title: &data.plan.scenario,
        description: &data.plan.description,
        story: story::story(data, &grid),
        warnings: story::warnings(data, &grid),
        notes: paceline_lab::sweep::warnings(data, paceline_scenario::Warning::is_note),
        failed: story::failed(data),
        axes: data.plan.axes.iter().map(axis_text).collect(),
        seeds: data.plan.seeds.len(),
        several: data.plan.seeds.len() > 1,
        spread: data.plan.seeds.len() > 1 && grid.points.iter().any(|point| !point.fixed),
        seed_list: some_of(&data.plan.seeds),
        command: command(&data.plan.arguments),
        varies: !grid.axes.is_empty(),
        marked: grid.points.iter().any(|point| point.open + point.failed > 0),
        data: script_json(&grid),
        made_by: &data.plan.version,
        version: paceline_lab::version(),
        style: format!("{UPLOT_STYLE}\n{}", STYLES.join("\n")),
        uplot: format!("/*\n{UPLOT_LICENCE}*/\n{UPLOT_SCRIPT}"),
        script: SCRIPTS.join("\n"),
    };
    fill(TEMPLATE, page)
}

/// Input of the template, which inserts `data`, `style`, `uplot` and `script` unescaped.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    description: &'a str,
    story: String,
    warnings: Vec<String>,
    notes: Vec<String>,
    failed: story::Failures,
    axes: Vec<(String, String)>,
    seeds: usize,
    /// True if there are several seeds.
    several: bool,
    /// True if seeds change something at any point.
    spread: bool,
    seed_list: String,
    command: String,
    varies: bool,
    /// True if some points cannot be compared with the others.
    marked: bool,
    data: String,
    made_by: &'a str,
    version: &'static str,
    style: String,
    uplot: String,
    script: String,
}

/// Returns the key and the values of an axis.
fn axis_text(axis: &Axis) -> (String, String) {
    let text = |(number, value): (usize, &AxisValue)| match axis.settings.is_empty() {
        true => value.to_string(),
        false => {
            let sets = axis
                .sets(number)
                .into_iter()
                .map(|(key, value)| format!("{key} = {value}"));
            format!("{value} ({})", sets.collect::<Vec<_>>().join(", "))
        }
    };
    let values: Vec<String> = axis.values.iter().enumerate().map(text).collect();
    (axis.key.clone(), values.join(", "))
}

/// Lists all of a few seeds, or the ends of many.
fn some_of(seeds: &[u64]) -> String {
    let text = |seeds: &[u64]| {
        let texts: Vec<String> = seeds.iter().map(ToString::to_string).collect();
        texts.join(", ")
    };
    match seeds {
        [first, second, .., last] if seeds.len() > 12 => format!("{first}, {second}, ... {last}"),
        _ => text(seeds),
    }
}

/// Returns the command of the sweep, quoted for a shell.
fn command(arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    let quoted = |argument: &String| {
        if !argument.is_empty() && argument.chars().all(plain) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    };
    let words: Vec<String> = arguments.iter().map(quoted).collect();
    format!("paceline sweep {}", words.join(" "))
}
