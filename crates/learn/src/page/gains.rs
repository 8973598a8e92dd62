//! Report page of a controller's gains.

use paceline_congestion::lstm_pid::Gains;
use paceline_report::{Axis, Chart, ChartKind, Grid, Line, Part, Sheet, Tile, Width, render_sheet};

use paceline_lab::text::percent;

use super::chart::{STEPS_MAX, chart, thinned};
use crate::Error;
use crate::pidnn::{Episode, Point, THESIS, TrainedGains};

/// Names of the gains, and the colours of their lines.
const GAINS: [(&str, usize); 3] = [("K_p", 0), ("K_i", 2), ("K_d", 1)];

/// Contents of the report on gains.
#[derive(Debug)]
pub struct GainsPage<'a> {
    /// Training with its history.
    pub trained: &'a TrainedGains,
    /// Target round-trip time, in µs.
    pub target_us: f64,
    /// Command that reproduces it.
    pub command: String,
    /// Names and values of its inputs.
    pub facts: Vec<(String, String)>,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

const fn list(gains: &Gains) -> [f64; 3] {
    [gains.p, gains.i, gains.d]
}

/// Returns the largest deviation of each gain from its last value over the last quarter of the updates,
/// relative to that value.
pub fn last_quarter(trained: &TrainedGains) -> [f64; 3] {
    let updates = trained.history.last().map_or(0, |point| point.update);
    let rest = || {
        trained
            .history
            .iter()
            .filter(|point| point.update * 4 >= updates * 3)
    };
    let last = list(&trained.gains);
    std::array::from_fn(|i| {
        let away = rest().map(|point| (list(&point.gains)[i] - last[i]).abs());
        away.fold(0.0, f64::max) / last[i].abs().max(f64::MIN_POSITIVE)
    })
}

/// Renders the page of gains.
///
/// # Errors
/// The template is faulty.
pub fn gains(page: &GainsPage<'_>) -> Result<String, Error> {
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: "The gains of the rate controller".into(),
        story: story(page),
        warnings: page.warnings.clone(),
        tiles: tiles(page),
        parts: vec![over_time(page), held(page)],
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

fn story(page: &GainsPage<'_>) -> String {
    let trained = page.trained;
    let updates = trained.episodes.last().map_or(0, |episode| episode.updates);
    let [p, i, d] = list(&trained.gains);
    let rested = match trained.has_converged() {
        true => "they have come to rest",
        false => "they have not come to rest",
    };
    format!(
        "While senders ran, each of their samples moved the gains against the gradient of what the round-trip \
         time was off by. After {updates} updates they are K_p {p:.3}, K_i {i:.3} and K_d {d:.3}; {rested}: over \
         the last quarter the one that moved most was off its end by {}.",
        percent(trained.change)
    )
}

fn tiles(page: &GainsPage<'_>) -> Vec<Tile> {
    let trained = page.trained;
    let [now, start, published] = [&trained.gains, &trained.options.start, &THESIS].map(list);
    let tile = |i: usize| Tile {
        name: GAINS[i].0.into(),
        value: format!("{:.4}", now[i]),
        note: format!("from {:.3}; published {:.3}", start[i], published[i]),
    };
    let mut tiles: Vec<Tile> = (0..GAINS.len()).map(tile).collect();
    tiles.push(Tile {
        name: "last quarter".into(),
        value: percent(trained.change),
        note: "from its end, the gain that moved most".into(),
    });
    if let Some(last) = trained.episodes.last() {
        tiles.push(Tile {
            name: "updates".into(),
            value: last.updates.to_string(),
            note: format!("{} of their gradients cut", percent(last.clipped)),
        });
        tiles.push(Tile {
            name: "mean RTT".into(),
            value: format!("{:.2} µs", last.mean_rtt_us),
            note: format!("in the last run; target {} µs", page.target_us),
        });
    }
    tiles
}

fn over_time(page: &GainsPage<'_>) -> Part {
    let trained = page.trained;
    let points: Vec<Point> = thinned(&trained.history, STEPS_MAX);
    let ends = points.first().zip(points.last());
    let ends = ends.map(|(first, last)| [first.update as f64, last.update as f64]);
    let lines = GAINS.iter().enumerate().flat_map(|(i, &(name, color))| {
        let course: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (point.update as f64, list(&point.gains)[i]))
            .collect();
        let published = ends.map(|ends| Line {
            dash: 1,
            guide: true,
            ..Line::new(
                format!("{name}, published"),
                color,
                &ends.map(|update| (update, list(&THESIS)[i])),
            )
        });
        std::iter::once(Line::new(name, color, &course)).chain(published)
    });
    let row = |i: usize| {
        let mut row = vec![GAINS[i].0.to_string()];
        let all = [&trained.options.start, &trained.gains, &THESIS].map(|gains| list(gains)[i]);
        row.extend(all.map(|gain| format!("{gain:.4}")));
        row.push(percent(last_quarter(trained)[i]));
        row
    };
    Part {
        title: "Gains over time".into(),
        text: String::new(),
        charts: vec![Chart {
            kind: ChartKind::Lines,
            width: Width::Full,
            ..chart(
                "Gains",
                "Dashed, what was published for this experiment.",
                Axis::new("updates of all senders", ""),
                Axis::new("gain", ""),
                lines.collect(),
            )
        }],
        tables: vec![Grid {
            head: MOVED.map(String::from).to_vec(),
            rows: (0..GAINS.len()).map(row).collect(),
            ..Grid::default()
        }],
    }
}

/// Column titles of the table of gains.
pub const MOVED: [&str; 5] = ["gain", "first", "last", "published", "in the last quarter off by"];

/// Returns the part on the controlled round-trip times, run by run.
fn held(page: &GainsPage<'_>) -> Part {
    const RUNS: &str = "The scenario runs again and again, each time with the gains of the run before.";
    let (episodes, options) = (&page.trained.episodes, &page.trained.options);
    let numbered = || (1..).map(f64::from).zip(episodes);
    let course = |of: fn(&Episode) -> f64| -> Vec<(f64, f64)> {
        numbered()
            .map(|(number, episode)| (number, of(episode)))
            .collect()
    };
    let target = [1.0, episodes.len() as f64].map(|number| (number, page.target_us));
    let target = Line {
        dash: 1,
        guide: true,
        ..Line::new("target", 7, &target)
    };
    let row = |(number, episode): (f64, &Episode)| {
        let mut row = vec![format!("{number}"), episode.updates.to_string()];
        row.extend(list(&episode.gains).map(|gain| format!("{gain:.4}")));
        row.push(format!("{:.3} µs", episode.mean_rtt_us));
        row.push(percent(episode.clipped));
        row
    };
    let charts = match episodes.len() {
        0 | 1 => Vec::new(),
        _ => vec![
            chart(
                "Mean round-trip time",
                "Of all samples of a run.",
                Axis::new("run", ""),
                Axis::new("RTT", "µs"),
                vec![
                    Line::new("mean RTT", 0, &course(|episode| episode.mean_rtt_us)),
                    target,
                ],
            ),
            chart(
                "Loss",
                "Mean of half the squared error of the round-trip time, in µs².",
                Axis::new("run", ""),
                Axis::new("loss", ""),
                vec![Line::new("loss", 0, &course(|episode| episode.mean_loss))],
            ),
        ],
    };
    Part {
        title: "Run by run".into(),
        text: match options.settle.min(episodes.len()) {
            0 => RUNS.into(),
            settle => {
                format!("{RUNS} The last {settle} are in norm units, in which steps follow errors' sizes.")
            }
        },
        charts,
        tables: vec![Grid {
            head: ["run", "updates", "K_p", "K_i", "K_d", "mean RTT", "gradients cut"]
                .map(String::from)
                .to_vec(),
            rows: numbered().map(row).collect(),
            ..Grid::default()
        }],
    }
}
