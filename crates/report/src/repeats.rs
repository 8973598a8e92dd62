//! Page about several schemes with the same seeds, and the page of each seed.

use paceline_kernel::order::Sort as _;
use serde::Serialize;
use serde_json::Value;

use super::charts::{Chart, Named, Seeds};
use super::{Look, RenderError, charts, fill, palette, render_one_of, script_json};
use paceline_lab::files::RunData;
use paceline_lab::metrics::{Metric, of_runs};
use paceline_lab::repeats::{OfScheme, OneRun, PairedSchemes, Repeats, in_words};
use paceline_lab::stats::{BOOTSTRAP_FROM, Interval};
use paceline_lab::table::{self, run_names};

const TEMPLATE: &str = include_str!("../assets/repeats.html.j2");

/// Returns the pages of a comparison with several seeds, with their names: `report.html`, and `seed-N.html` for each
/// seed if seeds matter. `data` are the runs of `all`, in their order.
pub fn repeats_pages(all: &Repeats, data: &[RunData]) -> Vec<(String, Result<String, RenderError>)> {
    let name = "report.html".to_string();
    if let Some(note) = all.seed_says_nothing() {
        return vec![(name, render_one_of(data, &run_names(data), &note, &[]))];
    }
    let by_seed = |i: usize| -> Vec<RunData> {
        groups(data)
            // A scheme to which seeds make no difference has one run, which stands for all.
            .map(|runs| runs[i.min(runs.len() - 1)].clone())
            .collect()
    };
    let mut pages = vec![(name, render(all, data, &by_seed(0)))];
    for (i, &seed) in all.seeds.iter().enumerate() {
        let note = format!("These are the runs of seed {seed}, one of {}.", all.repeats);
        let runs = by_seed(i);
        let page = render_one_of(&runs, &run_names(&runs), &note, &links(all, Some(seed)));
        pages.push((page_of(seed), page));
    }
    pages
}

fn page_of(seed: u64) -> String {
    format!("seed-{seed}.html")
}

/// Groups the runs by scheme.
fn groups(data: &[RunData]) -> impl Iterator<Item = &[RunData]> {
    data.chunk_by(|a, b| a.summary.scheme == b.summary.scheme)
}

/// Link to a page about other seeds; without an address for the current page.
#[derive(Serialize)]
pub(super) struct SeedLink {
    name: String,
    page: Option<String>,
}

/// Returns links to the page about all seeds and to that of each; `here` is the current one.
fn links(all: &Repeats, here: Option<u64>) -> Vec<SeedLink> {
    let everything = SeedLink {
        name: "all seeds".into(),
        page: here.map(|_| "./report.html".to_string()),
    };
    let of_seed = |&seed: &u64| SeedLink {
        name: format!("seed {seed}"),
        page: (here != Some(seed)).then(|| format!("./{}", page_of(seed))),
    };
    [everything]
        .into_iter()
        .chain(all.seeds.iter().map(of_seed))
        .collect()
}

/// Input of the template, which inserts JSON unescaped.
#[derive(Serialize)]
struct Page {
    title: String,
    description: String,
    story: String,
    seeds: Vec<SeedLink>,
    /// Number of seeds per scheme.
    count: usize,
    warnings: Vec<String>,
    notes: Vec<String>,
    schemes: Vec<Head>,
    metrics: Vec<Row>,
    means_note: String,
    details: Vec<super::DetailTable>,
    paired: Vec<Differences>,
    paired_note: String,
    shown: String,
    runs: Vec<Runs>,
    scenarios: Vec<super::Scenario>,
    command: String,
    data: String,
    charts: String,
    version: &'static str,
    look: Look,
}

#[derive(Serialize)]
struct Head {
    name: String,
    color: usize,
}

/// Quantity under all schemes.
#[derive(Serialize)]
struct Row {
    /// Heading of the group; empty if it is the same as in the row above.
    group: String,
    name: &'static str,
    cells: Vec<String>,
}

/// Differences of a scheme from the first.
#[derive(Serialize)]
struct Differences {
    title: String,
    rows: Vec<Difference>,
    flows: String,
}

#[derive(Serialize)]
struct Difference {
    group: String,
    name: &'static str,
    cells: Vec<DifferenceCell>,
    clear: bool,
}

#[derive(Serialize)]
struct DifferenceCell {
    text: String,
    /// True for a difference, which precedes its interval.
    first: bool,
    best: bool,
}

/// Runs of a scheme.
#[derive(Serialize)]
struct Runs {
    name: String,
    color: usize,
    runs: Vec<RunLink>,
}

#[derive(Serialize)]
struct RunLink {
    seed: String,
    page: Option<String>,
    digest: String,
}

/// Chart with the id of its element.
#[derive(Serialize)]
struct Placed {
    place: &'static str,
    #[serde(flatten)]
    chart: Chart,
}

/// Numbers of the page for programs: those of `comparison.json`, without the runs.
#[derive(Serialize)]
struct Numbers<'a> {
    seeds: &'a [u64],
    confidence: f64,
    intervals: &'a [OfScheme],
    paired: &'a [PairedSchemes],
}

fn render(all: &Repeats, data: &[RunData], first: &[RunData]) -> Result<String, RenderError> {
    let schemes: Vec<&str> = all.intervals.iter().map(|one| one.scheme.as_str()).collect();
    let styles = palette::assign(&schemes);
    let heads = || {
        (schemes.iter().zip(&styles)).map(|(name, &(color, _))| Head {
            name: (*name).to_string(),
            color,
        })
    };
    let page = Page {
        title: data
            .first()
            .map_or_else(String::new, |run| run.summary.scenario.clone()),
        description: super::description(data),
        story: story(all),
        seeds: links(all, None),
        count: all.seeds.len(),
        warnings: all.told_of(|warning| !warning.is_note()),
        notes: all.told_of(paceline_scenario::Warning::is_note),
        schemes: heads().collect(),
        metrics: metrics(all),
        means_note: means_note(all),
        details: table::jobs_of_repeats(all, table::ROWS_OF_PAGE)
            .into_iter()
            .map(Into::into)
            .collect(),
        paired: all.paired.iter().map(|other| differences(all, other)).collect(),
        paired_note: paired_note(all),
        shown: all.seeds[0].to_string(),
        runs: all
            .schemes()
            .zip(heads())
            .map(|(runs, head)| runs_of(all, runs, head))
            .collect(),
        scenarios: super::scenarios(
            first,
            &schemes.iter().map(|name| (*name).to_string()).collect::<Vec<_>>(),
        ),
        command: command(all),
        data: script_json(&rounded(
            serde_json::to_value(Numbers {
                seeds: &all.seeds,
                confidence: all.confidence,
                intervals: &all.intervals,
                paired: &all.paired,
            })
            .unwrap_or_default(),
        )),
        charts: script_json(&all_charts(all, data, first, &schemes, &styles)),
        version: paceline_lab::version(),
        look: Look::charts(),
    };
    fill(TEMPLATE, page)
}

/// Rounds numbers to twelve digits: a value read from a file may differ in the last digit, and the page must be the
/// same.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => number
            .as_f64()
            .map_or(Value::Null, |value| charts::round(value, 12).into()),
        Value::Array(list) => list.into_iter().map(rounded).collect(),
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| (key, rounded(value)))
            .collect(),
        other => other,
    }
}

/// Returns the charts over all seeds, and those over time for the first seed.
fn all_charts(
    all: &Repeats,
    data: &[RunData],
    first: &[RunData],
    schemes: &[&str],
    styles: &[(usize, usize)],
) -> Vec<Placed> {
    let over_seeds: Vec<Seeds<'_>> = groups(data)
        .zip(schemes.iter().zip(styles))
        .map(|(runs, (&name, &(color, dash)))| Seeds {
            name,
            color,
            dash,
            runs: runs.iter().collect(),
        })
        .collect();
    let named: Vec<Named<'_>> = first
        .iter()
        .zip(schemes.iter().zip(styles))
        .map(|(data, (&name, &(color, dash)))| Named {
            name,
            color,
            dash,
            data,
        })
        .collect();
    let place = |place| move |chart| Placed { place, chart };
    let over_seeds = charts::over_seeds(&over_seeds, all.repeats);
    // Charts refer to each other by their index on the page, so these count on.
    let over_time = charts::over_time_of(&named, over_seeds.len());
    // One seed only: a mean of queues over time would show a course that no run had.
    let over_time = over_time.into_iter().map(|mut chart| {
        chart.title = format!("{}, seed {}", chart.title, all.seeds[0]);
        chart
    });
    (over_seeds.into_iter())
        .map(place("charts"))
        .chain(over_time.map(place("charts-over-time")))
        .collect()
}

fn story(all: &Repeats) -> String {
    let fixed = all.intervals.iter().filter(|one| !one.seed_matters).count();
    let mut text = format!(
        "{} schemes, each with the same {} seeds ({}): every seed gives all schemes the same flows.",
        all.intervals.len(),
        all.repeats,
        in_words(&all.seeds),
    );
    if all.intervals.len() == 1 {
        text = format!(
            "One scheme with {} seeds ({}).",
            all.repeats,
            in_words(&all.seeds)
        );
    }
    if fixed > 0 {
        text.push_str(" Where the seed changes nothing, one run represents all.");
    }
    let quantities = all.quantities();
    // The iteration time is the purpose of a job, so it comes first.
    let iteration = quantities
        .iter()
        .find(|metric| metric.key.ends_with(".iteration_us.mean"));
    if let Some(metric) = iteration.filter(|metric| metric.key.starts_with("jobs.")) {
        text.push_str(&extremes(
            all,
            metric,
            &format!("The mean iteration of job {}", metric.label()),
        ));
    }
    if let Some(metric) = quantities.iter().find(|metric| metric.key == "fct_slowdown.mean") {
        text.push_str(&extremes(all, metric, "Mean slowdown"));
    }
    text
}

/// Describes the schemes with the smallest and largest value of a quantity.
fn extremes(all: &Repeats, metric: &Metric, name: &str) -> String {
    let of = all
        .intervals
        .iter()
        .filter_map(|one| Some((one.scheme.as_str(), one.metrics.get(&metric.key)?)));
    let mut order: Vec<(&str, &Interval)> = of.collect();
    order.order_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    match order.as_slice() {
        [low, .., high] => format!(
            " {name} is smallest with {} ({}) and largest with {} ({}).",
            low.0,
            with_interval(metric, low.1),
            high.0,
            with_interval(metric, high.1)
        ),
        _ => String::new(),
    }
}

/// Formats a value as `1.23 ± 0.04`, or alone if it does not vary.
fn with_interval(metric: &Metric, of: &Interval) -> String {
    table::with_interval(metric, Some(of))
}

/// Returns the name of a group for its first row, and an empty text for others.
fn once(last: &mut String, group: &str) -> String {
    if last == group {
        return String::new();
    }
    last.clear();
    last.push_str(group);
    group.to_string()
}

/// Returns the quantities of whole runs that some scheme has.
fn metrics(all: &Repeats) -> Vec<Row> {
    let mut last = String::new();
    let known = |metric: &Metric| {
        all.intervals
            .iter()
            .any(|of| of.metrics.contains_key(&metric.key))
    };
    of_runs()
        .filter(known)
        .map(|metric| Row {
            group: once(&mut last, &metric.group),
            name: metric.name,
            cells: (all.intervals.iter())
                .map(|of| table::with_interval(&metric, of.metrics.get(&metric.key)))
                .collect(),
        })
        .collect()
}

/// Returns the method by which the intervals are computed.
fn method(all: &Repeats) -> &'static str {
    if all.repeats < BOOTSTRAP_FROM {
        "Student's t"
    } else {
        "the bootstrap (BCa)"
    }
}

fn means_note(all: &Repeats) -> String {
    format!(
        "Mean over {} seeds, with one value per run, ± half the width of its {:.0} % confidence interval ({}). A \
         number without ± is equal for all seeds.",
        all.repeats,
        100.0 * all.confidence,
        method(all)
    )
}

fn paired_note(all: &Repeats) -> String {
    format!(
        "Differences of the runs with the same seed: their mean over {} seeds with its {:.0} % confidence interval \
         ({}), and the geometric mean of their ratios. Bold: zero lies outside the interval; where there is no \
         difference at all, that happens by chance once in 20 rows.",
        all.repeats,
        100.0 * all.confidence,
        method(all)
    )
}

fn differences(all: &Repeats, other: &PairedSchemes) -> Differences {
    let mut last = String::new();
    let differing = table::differing(all, other).into_iter();
    let rows = differing.map(|(metric, paired)| Difference {
        group: once(&mut last, &metric.group),
        name: metric.name,
        cells: cells(table::difference(&metric, paired), paired.clear),
        clear: paired.clear,
    });
    Differences {
        title: format!("{} against {}", other.scheme, other.reference),
        rows: rows.collect(),
        flows: other.flows.as_ref().map_or_else(String::new, table::by_flow),
    }
}

/// Returns the cells of differences, each followed by its interval; `clear` ones are bold.
fn cells(texts: [String; 4], clear: bool) -> Vec<DifferenceCell> {
    let cell = |(i, text)| DifferenceCell {
        text,
        first: i % 2 == 0,
        best: clear && i % 2 == 0,
    };
    texts.into_iter().enumerate().map(cell).collect()
}

fn runs_of(all: &Repeats, runs: &[OneRun], head: Head) -> Runs {
    let link = |run: &OneRun| RunLink {
        seed: match runs.len() {
            1 => format!("{} (the same with the others)", in_words(&[run.summary.seed])),
            _ => in_words(&[run.summary.seed]),
        },
        page: Some(format!("./{}/report.html", run.folder)),
        digest: run.summary.digest.clone(),
    };
    debug_assert!(runs.len() == 1 || runs.len() == all.repeats);
    Runs {
        name: head.name,
        color: head.color,
        runs: runs.iter().map(link).collect(),
    }
}

fn command(all: &Repeats) -> String {
    let schemes: Vec<&str> = all.intervals.iter().map(|one| one.scheme.as_str()).collect();
    format!(
        "paceline compare {} --schemes {} --repeats {} --seed {}",
        all.runs
            .first()
            .map_or_else(String::new, |run| format!("{}/scenario.toml", run.folder)),
        schemes.join(","),
        all.asked,
        all.seeds[0]
    )
}
