//! Critical paths of trace-driven jobs on a run's page: a table, and a picture of the path over time.

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_lab::files::RunData;
use paceline_lab::results::{CriticalPath, JobTimes, PathRow};
use paceline_lab::text::duration_us;
use paceline_lab::why::{of_links, path_rows_of, share_text, short_operation};
use serde::Serialize;

/// Largest number of rows in the picture; the kinds with the longest times get one each, the others share the last.
const KINDS_MAX: usize = 8;
/// Number of segments in tables.
const LISTED: usize = 10;
/// Geometry of the picture in its own units: width of the plot, width for names, height of a row, height of the axis.
const WIDTH: f64 = 1000.0;
const NAMES: f64 = 130.0;
const ROW: f64 = 22.0;
const AXIS: f64 = 22.0;
/// Width below which neighbouring segments are merged.
const NARROW: f64 = 1.0;

/// Critical path of a job.
#[derive(Serialize)]
pub(super) struct Section {
    job: String,
    story: String,
    /// Picture as an SVG element.
    picture: String,
    sums: Vec<[String; 6]>,
    links: Vec<[String; 6]>,
    largest: Vec<Largest>,
}

/// Operation or collective with a large share.
#[derive(Serialize)]
struct Largest {
    what: String,
    name: String,
    /// Group, time, share, steps, time in messages.
    numbers: [String; 5],
    link: String,
}

/// Returns the section of every job that has a critical path.
pub(super) fn sections(run: &RunData) -> Vec<Section> {
    let jobs = run.summary.jobs.iter();
    jobs.filter_map(|job| {
        let path = job.path.as_ref()?;
        let rows: Vec<&PathRow> = path_rows_of(run, &job.label).collect();
        Some(section(job, path, &rows))
    })
    .collect()
}

fn us(value: f64) -> String {
    duration_us(Some(value))
}

fn section(job: &JobTimes, path: &CriticalPath, rows: &[&PathRow]) -> Section {
    Section {
        job: job.label.clone(),
        story: path.story(&job.label, &job.iterations_us),
        picture: picture(rows),
        sums: (path.sums.iter())
            .map(|one| {
                [
                    one.what.clone(),
                    us(one.time_us),
                    share_text(one.share),
                    one.count.to_string(),
                    one.in_messages(),
                    one.contention(),
                ]
            })
            .collect(),
        links: (path.links.iter())
            .map(|one| {
                [
                    of_links(&one.link),
                    one.rate_gbps.to_string(),
                    us(one.time_us),
                    share_text(one.share),
                    one.messages.to_string(),
                    us(one.contention_us),
                ]
            })
            .collect(),
        largest: (path.largest.iter().take(LISTED))
            .map(|one| Largest {
                what: one.what.clone(),
                name: short_operation(one.name.as_deref().unwrap_or_default()),
                numbers: [
                    one.group.map_or_else(String::new, |group| group.to_string()),
                    us(one.time_us),
                    share_text(one.share),
                    one.count.to_string(),
                    one.in_messages(),
                ],
                link: one.link.clone(),
            })
            .collect(),
    }
}

/// Segment of the picture, in its units.
struct Part {
    from: f64,
    to: f64,
    title: String,
}

/// Draws the path over time: a row for each kind, and a segment for each row of the path. Empty if the path has no
/// duration.
fn picture(rows: &[&PathRow]) -> String {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return String::new();
    };
    // At least 1, since it divides.
    let (start, whole) = (first.start_ps, last.end_ps.saturating_sub(first.start_ps).max(1));
    let position = |ps: u64| (ps.saturating_sub(start) as f64 / whole as f64 * WIDTH).min(WIDTH);
    let mut times: SortedMap<&str, u64> = SortedMap::new();
    for row in rows {
        *times.entry(row.words()).or_default() += row.time_ps();
    }
    // The longest first, so that `other` collects what matters least.
    let mut kinds: Vec<(&str, u64)> = times.into_iter().collect();
    kinds.order_by_key(|&(_, time)| std::cmp::Reverse(time));
    let mut names: Vec<String> = kinds.iter().map(|(name, _)| (*name).to_string()).collect();
    if names.len() > KINDS_MAX {
        names.truncate(KINDS_MAX - 1);
        names.push("other".to_string());
    }
    let mut lanes: Vec<Vec<Part>> = names.iter().map(|_| Vec::new()).collect();
    for row in rows {
        let kind = names.iter().position(|name| name == row.words());
        let lane = &mut lanes[kind.unwrap_or(names.len() - 1)];
        let (from, to) = (position(row.start_ps), position(row.end_ps));
        // Thousands of segments are narrower than a pixel: they become one, without a tooltip.
        match lane.last_mut() {
            Some(last) if from - last.to < NARROW && (to - from < NARROW || last.to - last.from < NARROW) => {
                last.to = to;
                last.title.clear();
            }
            _ => lane.push(Part {
                from,
                to,
                title: title(row),
            }),
        }
    }
    let height = ROW * lanes.len() as f64 + AXIS;
    let mut svg = format!(
        "<svg class=\"path\" viewBox=\"0 0 {} {height}\" role=\"img\" aria-label=\"critical path over time\">",
        NAMES + WIDTH + 20.0
    );
    axis(&mut svg, whole, height);
    for (i, (name, parts)) in names.iter().zip(&lanes).enumerate() {
        let y = ROW * i as f64;
        svg.push_str(&format!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            NAMES - 8.0,
            y + 15.0,
            escaped(name),
        ));
        for part in parts {
            svg.push_str(&format!(
                "<rect x=\"{:.2}\" y=\"{}\" width=\"{:.2}\" height=\"{}\" style=\"fill:var(--c{})\">",
                NAMES + part.from,
                y + 3.0,
                (part.to - part.from).max(NARROW / 2.0),
                ROW - 6.0,
                i % 8,
            ));
            if !part.title.is_empty() {
                svg.push_str(&format!("<title>{}</title>", escaped(&part.title)));
            }
            svg.push_str("</rect>");
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Returns the tooltip of a segment.
fn title(row: &PathRow) -> String {
    let mut text = row.words().to_string();
    if !row.name.is_empty() {
        text.push_str(&format!(" {}", row.name));
    }
    match (row.rank, row.to_rank) {
        (Some(from), Some(to)) => text.push_str(&format!(", rank {from} to {to}")),
        (Some(rank), None) => text.push_str(&format!(", rank {rank}")),
        _ => {}
    }
    text.push_str(&format!(": {}", us(row.time_ps() as f64 / 1e6)));
    if !row.link.is_empty() {
        text.push_str(&format!(", bound by {}", of_links(&row.link)));
    }
    text
}

/// Draws the axis below the plot, with round times.
fn axis(svg: &mut String, whole_ps: u64, height: f64) {
    let whole = whole_ps as f64;
    // About six ticks.
    let rough = whole / 6.0;
    let power = 10f64.powi(rough.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|&step| step >= rough)
        .unwrap_or(10.0 * power);
    let mut at = 0.0;
    while at <= whole {
        let x = NAMES + at / whole * WIDTH;
        svg.push_str(&format!(
            "<line x1=\"{x:.2}\" x2=\"{x:.2}\" y1=\"0\" y2=\"{}\"/><text x=\"{x:.2}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            height - AXIS,
            height - 6.0,
            us(at / 1e6),
        ));
        at += step;
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
