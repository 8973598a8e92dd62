//! Self-contained page `report.html` about one or several runs.
//!
//! The page is a pure function of the content of the runs' folders, without their cost on the machine: two reports of
//! the same runs are identical.

mod blame;
mod bytes;
pub mod charts;
pub mod decimate;
pub mod figure;
mod look;
pub mod palette;
mod path;
mod recorded;
mod repeats;
mod sheet;
#[cfg(test)]
mod size;
mod slow;
mod story;
mod sweep;
mod tabular;
mod template;
mod topology;
mod track;
mod tune;
mod write;

pub use charts::{Axis, Chart, ChartKind, Line, Width};
pub use look::{Look, STYLE, script_json};
pub use repeats::repeats_pages;
pub use sheet::{Grid, Part, Sheet, Tile, render_sheet};
pub use sweep::{places, render_sweep};
pub use tabular::{Number, NumberColumn, RowNumbers, Tabular};
pub use template::{RenderError, fill};
pub use track::{Packed, Track};
pub use tune::render_tune;
pub use write::{
    Written, repeat_names, scheme_folder, together, write_compared, write_comparison, write_repeats,
    write_run, write_run_into, write_sweep_page,
};

use serde::Serialize;

use look::{SCRIPTS, STYLES};
use repeats::SeedLink;

use paceline_lab::files::RunData;
use paceline_lab::metrics::{Metric, shown};
use paceline_lab::results::Summary;
use paceline_lab::{table, text};

const TEMPLATE: &str = include_str!("../assets/report.html.j2");

/// Renders the page about `runs`, in their order: a single run, or a comparison of several.
pub fn render(runs: &[RunData]) -> Result<String, RenderError> {
    render_named(runs, &table::run_names(runs))
}

/// Renders the page about `runs` under names of the caller's.
pub fn render_named(runs: &[RunData], names: &[String]) -> Result<String, RenderError> {
    render_one_of(runs, names, "", &[])
}

/// Renders the page about runs that are part of several repeats: `note` says so, and `seeds` are links to the others.
fn render_one_of(
    runs: &[RunData],
    names: &[String],
    note: &str,
    seeds: &[SeedLink],
) -> Result<String, RenderError> {
    let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
    let schemes: Vec<&str> = summaries.iter().map(|summary| summary.scheme.as_str()).collect();
    let styles = palette::assign(&schemes);
    let named: Vec<charts::Named<'_>> = runs
        .iter()
        .zip(names)
        .zip(&styles)
        .map(|((data, name), &(color, dash))| charts::Named {
            name,
            color,
            dash,
            data,
        })
        .collect();
    let single = summaries.len() == 1;
    let metrics = shown(&summaries);
    let slow = match runs {
        [run] => slow::rows(run),
        _ => Vec::new(),
    };
    let page = Page {
        title: title(&summaries),
        description: description(runs),
        story: story::story(&summaries, names),
        note,
        seeds,
        whereabouts: match runs {
            [run] => story::whereabouts(run),
            _ => None,
        },
        warnings: warnings(&summaries, names, false),
        notes: warnings(&summaries, names, true),
        alone: story::alone(&summaries),
        tiles: if single {
            story::tiles(summaries[0])
        } else {
            Vec::new()
        },
        groups: groups(&metrics),
        metrics: heads(&metrics),
        rows: rows(runs, names, &styles, &metrics),
        sizes: if single { sizes(summaries[0]) } else { Vec::new() },
        details: details(&summaries, names),
        more_flows: runs[0].flows.len().saturating_sub(slow.len()),
        slow_shown: slow.len(),
        slow,
        paths: match runs {
            [run] => path::sections(run),
            _ => Vec::new(),
        },
        blame: match runs {
            [run] => blame::section(run),
            _ => None,
        },
        recorded: match runs {
            [run] => recorded::sections(run),
            _ => Vec::new(),
        },
        single,
        linked: runs.iter().any(|run| run.folder.is_some()),
        topology: match runs {
            [run] => topology::view(run).map(|view| script_json(&view)),
            _ => None,
        },
        charts: script_json(&charts::charts(&named)),
        scenarios: scenarios(runs, names),
        provenance: provenance(&summaries, names),
        version: paceline_lab::version(),
        look: Look::of(&STYLES, &SCRIPTS),
    };
    fill(TEMPLATE, page)
}

/// Input of the template, which inserts `topology`, `charts` and `look` unescaped.
#[derive(Serialize)]
struct Page<'a> {
    title: String,
    description: String,
    story: String,
    note: &'a str,
    seeds: &'a [SeedLink],
    whereabouts: Option<String>,
    warnings: Vec<Warning>,
    notes: Vec<Warning>,
    tiles: Vec<story::Tile>,
    /// Description of the base of slowdowns.
    alone: String,
    groups: Vec<HeadGroup>,
    metrics: Vec<HeadCell>,
    rows: Vec<Row>,
    sizes: Vec<Vec<String>>,
    details: Vec<DetailTable>,
    slow: Vec<slow::Row>,
    slow_shown: usize,
    /// Number of flows that the list leaves out.
    more_flows: usize,
    /// Critical paths of trace-driven jobs.
    paths: Vec<path::Section>,
    /// Attribution of waiting times, if it was recorded.
    blame: Option<blame::Section>,
    /// Recorded tables that no other section shows.
    recorded: Vec<recorded::Section>,
    single: bool,
    /// True if rows of the table link to pages.
    linked: bool,
    topology: Option<String>,
    charts: String,
    scenarios: Vec<Scenario>,
    provenance: Vec<Provenance>,
    version: &'static str,
    look: Look,
}

fn title(summaries: &[&Summary]) -> String {
    let mut names: Vec<&str> = summaries
        .iter()
        .map(|summary| summary.scenario.as_str())
        .collect();
    names.dedup();
    names.join(", ")
}

/// Returns the description in the runs' scenario, if it is the same for all.
fn description(runs: &[RunData]) -> String {
    let of = |run: &RunData| -> Option<String> {
        let table: toml::Table = run.scenario.parse().ok()?;
        Some(table.get("description")?.as_str()?.to_string())
    };
    let mut all = runs.iter().map(of);
    let first = all.next().flatten().unwrap_or_default();
    if all.all(|other| other.as_deref() == Some(&first)) {
        first
    } else {
        String::new()
    }
}

#[derive(PartialEq, Serialize)]
struct Warning {
    about: String,
    text: String,
}

/// Returns the notes of all runs, or their other warnings; one shared by all runs is listed once.
fn warnings(summaries: &[&Summary], names: &[String], notes: bool) -> Vec<Warning> {
    let mut found: Vec<Warning> = Vec::new();
    for (summary, name) in summaries.iter().zip(names) {
        for warning in summary
            .warnings
            .iter()
            .filter(|warning| warning.is_note() == notes)
        {
            let shared = summaries.iter().all(|other| other.warnings.contains(warning));
            let about = if shared { String::new() } else { name.clone() };
            // Positions in the input are left out: a run's folder has another file, and its page must be the same.
            let shown = Warning {
                about,
                text: warning.text.clone(),
            };
            if !found.contains(&shown) {
                found.push(shown);
            }
        }
    }
    found
}

#[derive(Serialize)]
struct HeadGroup {
    name: String,
    columns: usize,
}

fn groups(metrics: &[Metric]) -> Vec<HeadGroup> {
    let part = |part: &[Metric]| HeadGroup {
        name: part[0].group.clone(),
        columns: part.len(),
    };
    metrics.chunk_by(|a, b| a.group == b.group).map(part).collect()
}

#[derive(Serialize)]
struct HeadCell {
    name: &'static str,
    /// True if a group begins with it.
    first: bool,
}

fn heads(metrics: &[Metric]) -> Vec<HeadCell> {
    let heads = metrics.iter().enumerate().map(|(i, metric)| HeadCell {
        name: metric.name,
        first: begins_group(metrics, i),
    });
    heads.collect()
}

/// Returns true if a metric belongs to another group than the previous one.
fn begins_group(metrics: &[Metric], i: usize) -> bool {
    i == 0 || metrics[i].group != metrics[i - 1].group
}

#[derive(Serialize)]
struct Row {
    name: String,
    /// Link to the run's page.
    page: Option<String>,
    color: usize,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    text: String,
    best: bool,
    first: bool,
}

/// Returns the table's rows. The best value of a column is marked if runs differ, and only among runs with equally
/// many finished flows: a run must not gain by leaving flows unfinished.
fn rows(runs: &[RunData], names: &[String], styles: &[(usize, usize)], metrics: &[Metric]) -> Vec<Row> {
    let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
    let comparable = summaries.windows(2).all(|pair| pair[0].flows == pair[1].flows);
    let cell = |summary: &Summary, i: usize| {
        let metric = &metrics[i];
        let costs = || summaries.iter().filter_map(|other| metric.cost(other));
        let least = costs().fold(f64::INFINITY, f64::min);
        let differ = costs().any(|cost| cost > least);
        Cell {
            text: metric.text(summary),
            best: comparable && differ && metric.cost(summary) == Some(least),
            first: begins_group(metrics, i),
        }
    };
    // A path that begins with a dot cannot be taken for a URL scheme.
    let page = |run: &RunData| (run.folder.as_ref()).map(|folder| format!("./{folder}/report.html"));
    let row = |((run, name), &(color, _)): ((&RunData, &String), &(usize, usize))| Row {
        name: name.clone(),
        page: page(run),
        color,
        cells: (0..metrics.len()).map(|i| cell(&run.summary, i)).collect(),
    };
    runs.iter().zip(names).zip(styles).map(row).collect()
}

/// Returns slowdown by size as text, for sizes that occur.
fn sizes(summary: &Summary) -> Vec<Vec<String>> {
    let row = |bucket: &paceline_lab::results::SizeBucket| {
        let range = match bucket.hi {
            Some(hi) if bucket.lo == 0 => format!("below {}", size(hi)),
            Some(hi) => format!("{} to {}", size(bucket.lo), size(hi)),
            None => format!("{} and more", size(bucket.lo)),
        };
        let values = [bucket.mean, bucket.p50, bucket.p95, bucket.p99].map(text::number);
        [vec![range, bucket.flows.to_string()], values.to_vec()].concat()
    };
    summary
        .by_size
        .iter()
        .filter(|bucket| bucket.flows > 0)
        .map(row)
        .collect()
}

/// Table of details, such as the jobs of runs.
#[derive(Serialize)]
struct DetailTable {
    title: String,
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// Number of rows left out, as text because templates only support numbers up to 2^63.
    more: Option<String>,
    file: &'static str,
}

fn details(summaries: &[&Summary], names: &[String]) -> Vec<DetailTable> {
    let tables = table::details(summaries, names, table::ROWS_OF_PAGE);
    tables.into_iter().map(DetailTable::from).collect()
}

impl From<table::Detail> for DetailTable {
    fn from(of: table::Detail) -> Self {
        Self {
            title: of.title[..1].to_uppercase() + &of.title[1..],
            more: of.more.as_ref().map(|more| more.count.to_string()),
            file: of.more.map_or("", |more| more.file),
            head: of.head,
            rows: of.rows,
        }
    }
}

/// Formats a round size, such as a limit between buckets.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

#[derive(Serialize)]
struct Scenario {
    name: String,
    text: String,
}

fn scenarios(runs: &[RunData], names: &[String]) -> Vec<Scenario> {
    let one = |(run, name): (&RunData, &String)| Scenario {
        name: name.clone(),
        text: run.scenario.clone(),
    };
    runs.iter().zip(names).map(one).collect()
}

#[derive(Serialize)]
struct Provenance {
    name: String,
    seed: String,
    version: String,
    digest: String,
    events: String,
    packet_hops: String,
}

fn provenance(summaries: &[&Summary], names: &[String]) -> Vec<Provenance> {
    let one = |(summary, name): (&&Summary, &String)| Provenance {
        name: name.clone(),
        seed: summary.seed.to_string(),
        version: summary.version.clone(),
        digest: summary.digest.clone(),
        events: summary.events.to_string(),
        packet_hops: summary.packet_hops.to_string(),
    };
    summaries.iter().zip(names).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_lab::sample;

    fn run(scheme: &str) -> RunData {
        let (mut input, outcome) = sample::incast();
        input.scheme = scheme.into();
        RunData::new(&input, &sample::finished(&input, outcome))
    }

    #[test]
    fn a_page_stands_alone() {
        let page = render(&[run("dcqcn"), run("hpcc")]).unwrap();
        assert!(page.len() < 200_000, "{} bytes", page.len());
        for attribute in ["src=", "href=\"http", "@import", "url("] {
            assert!(!page.contains(attribute), "{attribute}");
        }
        assert!(page.contains("0123456789abcdef"));
        assert!(page.contains("Three flows to one host."));
        assert!(
            page.contains("Permission is hereby granted"),
            "the library's licence goes with it"
        );
    }

    fn warning(text: &str) -> paceline_scenario::Warning {
        paceline_scenario::Warning::new(paceline_scenario::WarningKind::Reading, text)
    }

    #[test]
    fn a_page_shows_the_largest_numbers() {
        let mut data = run("dcqcn");
        data.summary.seed = u64::MAX;
        data.summary.events = u64::MAX - 1;
        data.summary.packet_hops = u64::MAX - 2;
        let page = render(&[data]).unwrap();
        for number in [u64::MAX, u64::MAX - 1, u64::MAX - 2] {
            assert!(page.contains(&number.to_string()), "{number}");
        }
    }

    #[test]
    fn what_users_wrote_stays_text() {
        let mut data = run("</script><b>dcqcn");
        data.summary.scenario = "<img src=x onerror=alert(1)>".into();
        data.summary.warnings = vec![warning("<i>beware</i>")];
        data.scenario = "# </pre><script>alert(1)</script>".into();
        let page = render(&[data]).unwrap();
        for bad in ["<img", "<i>beware", "</pre><script>", "<b>dcqcn"] {
            assert!(!page.contains(bad), "{bad}");
        }
        // The page has only its own scripts: data of the network and of charts, library, program.
        assert_eq!(page.matches("</script>").count(), 4);
    }

    #[test]
    fn the_best_is_marked_among_equals_only() {
        let (slow, fast) = (run("dcqcn"), run("hpcc"));
        let mut fast = fast;
        fast.summary.fct_slowdown.mean = Some(1.2);
        let names = ["dcqcn".to_string(), "hpcc".to_string()];
        let styles = [(0, 0), (1, 0)];
        let metrics = shown(&[&slow.summary, &fast.summary]);
        let table = rows(&[slow.clone(), fast.clone()], &names, &styles, &metrics);
        assert_eq!((table[0].cells[1].best, table[1].cells[1].best), (false, true));
        // Neither equal values are marked, nor a run that left more flows unfinished.
        assert!(!table[0].cells[2].best && !table[1].cells[2].best);
        fast.summary.flows.completed -= 1;
        let table = rows(&[slow.clone(), fast.clone()], &names, &styles, &metrics);
        assert!(table.iter().all(|row| row.cells.iter().all(|cell| !cell.best)));
    }

    #[test]
    fn shared_warnings_are_said_once() {
        let (mut a, b) = (run("dcqcn"), run("hpcc"));
        a.summary.warnings.push(warning("only here"));
        let names = ["dcqcn".to_string(), "hpcc".to_string()];
        let found = warnings(&[&a.summary, &b.summary], &names, false);
        let texts: Vec<(&str, &str)> = found.iter().map(|w| (w.about.as_str(), &w.text[..9])).collect();
        assert_eq!(
            texts,
            [("", "1 of 3 fl"), ("", "The 99th "), ("dcqcn", "only here")]
        );
    }
}
