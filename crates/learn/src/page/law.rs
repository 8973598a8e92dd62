//! The page of a search: a rate law, or Swift's parameters.

use paceline_congestion::decc::law::{Law, Seen, State};
use paceline_report::{Axis, Chart, Grid, Kind, Line, Part, Sheet, Tile, Width, render_sheet};

use super::{PolicyPage, chart};
use crate::Error;
use crate::search::{Found, Subject};

/// Renders the page of a search.
///
/// # Errors
/// If the template is at fault.
pub fn search(page: &PolicyPage<'_, Found>) -> Result<String, Error> {
    let found = page.trained;
    let mut parts = vec![over_time(found)];
    if found.options.subject == Subject::Law {
        let values: Vec<f32> = found.values.iter().map(|&value| value as f32).collect();
        parts.push(pictures(&Law::new(&values).map_err(Error::Options)?));
    }
    parts.push(numbers(found));
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: match found.options.subject {
            Subject::Law => "DECC's rate law".into(),
            Subject::Swift => "Swift's parameters".into(),
        },
        story: story(found),
        warnings: match found.stopped {
            true => vec!["It was stopped before its last generation.".into()],
            false => Vec::new(),
        },
        tiles: tiles(found),
        parts,
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

fn story(found: &Found) -> String {
    let lines = &found.lines;
    format!(
        "In {} generations of {} candidates a search moved {} numbers to where runs cost least: unused line, latency, \
         unfairness and losses, in networks that it drew. In trials, whose networks it never learned from, the cost went \
         from {:.2} to {:.2}. The oracle, which knows how many flows there are, has {:.2}; Swift as set by hand {:.2}, and \
         as searched for {:.2}.",
        found.updates.len(),
        found.options.candidates,
        found.values.len(),
        lines.start,
        found.best(),
        lines.oracle,
        lines.by_hand,
        lines.searched,
    )
}

fn tiles(found: &Found) -> Vec<Tile> {
    let tile = |name: &str, value: f64, note: &str| Tile {
        name: name.into(),
        value: format!("{value:.2}"),
        note: note.into(),
    };
    vec![
        tile(
            "cost in trials",
            found.best(),
            "of the best trial, which was kept",
        ),
        tile(
            "the oracle's",
            found.lines.oracle,
            "0.99 of the fair share, from the first packet",
        ),
        tile(
            "Swift's, searched for",
            found.lines.searched,
            "by the same search",
        ),
    ]
}

fn over_time(found: &Found) -> Part {
    let points = |of: &dyn Fn(&crate::search::Update) -> Option<f64>| -> Vec<(f64, f64)> {
        let updates = found.updates.iter();
        updates
            .filter_map(|update| Some((f64::from(update.generation), of(update)?)))
            .collect()
    };
    let last = found.updates.len() as f64;
    let guide = |name: &str, colour: usize, cost: f64| Line {
        dash: 1,
        guide: true,
        ..Line::new(name, colour, &[(0.0, cost), (last.max(1.0), cost)])
    };
    let mut trials = vec![(0.0, found.lines.start)];
    trials.extend(points(&|update| update.trial.map(|(middle, _)| middle)));
    let lines = |title: &str, note: &str, y: &str, lines: Vec<Line>| Chart {
        kind: Kind::Lines,
        width: Width::Full,
        ..chart(title, note, Axis::new("generation", ""), Axis::new(y, ""), lines)
    };
    Part {
        title: "Generation by generation".into(),
        text: "Each generation has networks of its own, so costs in it differ by these as well. Trials are always in the same \
               networks."
            .into(),
        charts: vec![
            lines(
                "Cost in trials",
                "Of the middle of the search.",
                "cost",
                vec![
                    Line::new("middle", 0, &trials),
                    guide("oracle", 7, found.lines.oracle),
                    guide("Swift, searched for", 2, found.lines.searched),
                    guide("Swift, by hand", 1, found.lines.by_hand),
                ],
            ),
            lines(
                "Cost in the generation",
                "Of the best candidate, and of the median one.",
                "cost",
                vec![
                    Line::new("best", 0, &points(&|update| Some(update.best))),
                    Line::new("median", 1, &points(&|update| Some(update.median))),
                ],
            ),
            lines(
                "Step of the search",
                "In lengths of an axis.",
                "deviation",
                vec![Line::new("deviation", 2, &points(&|update| Some(update.sigma)))],
            ),
        ],
        tables: Vec::new(),
    }
}

/// A bandwidth-delay product in the pictures: 400 Gbit/s, 8 us, packets of 1 KB.
const PACKETS: f64 = 404.0;
/// Flows that share a line in the pictures.
const FLOWS: [f64; 4] = [2.0, 32.0, 512.0, 8192.0];

fn pictures(law: &Law) -> Part {
    let by_latency = |flows: f64| -> Vec<(f64, f64)> {
        let point = |k: i32| {
            let r = 1.0 + f64::from(k) / 25.0;
            let state = State {
                w: 1.0 / flows,
                before: Some(r),
                starts: false,
            };
            let seen = Seen {
                mean: Some(r),
                newest: r,
                elapsed: (flows / PACKETS).max(r),
                nacks: 0.0,
            };
            let (d, ..) = law.step(&state, &seen, PACKETS);
            (r, 100.0 * (libm::exp(d) - 1.0))
        };
        (0..=100).map(point).collect()
    };
    let targets: Vec<(f64, f64)> = (0..=52)
        .map(|k| {
            let flows = libm::exp2(f64::from(k) / 4.0);
            (libm::log2(flows), law.rests_at(1.0 / flows, PACKETS))
        })
        .collect();
    let wide = |title: &str, note: &str, x: Axis, y: Axis, lines: Vec<Line>| Chart {
        kind: Kind::Lines,
        width: Width::Full,
        ..chart(title, note, x, y, lines)
    };
    let flows = FLOWS.iter().enumerate();
    let lines = flows.map(|(place, &flows)| {
        let name = format!("{flows:.0} flows");
        Line::new(&name, place, &by_latency(flows))
    });
    Part {
        title: "The law".into(),
        text: "A line of 400 Gbit/s, a base round trip of 8 us, packets of 1 KB; each flow at its fair share, round trips that \
               stay as they are, and no losses."
            .into(),
        charts: vec![
            wide(
                "Change of the rate by a decision",
                "Nothing changes where a line crosses zero: there that many flows rest.",
                Axis::new("round-trip time, of the empty network's", ""),
                Axis::new("change of the rate", "%"),
                lines.collect(),
            ),
            wide(
                "Where flows rest",
                "The target by the number of flows that share the line evenly.",
                Axis::new("flows, as a power of two", ""),
                Axis::new("round-trip time, of the empty network's", ""),
                vec![Line::new("target", 0, &targets)],
            ),
        ],
        tables: Vec::new(),
    }
}

fn numbers(found: &Found) -> Part {
    let axes = found.options.subject.axes().iter().zip(&found.values);
    let row = |(axis, value): (&paceline_congestion::decc::law::Coefficient, &f64)| {
        vec![
            axis.name.to_string(),
            format!("{}", axis.start),
            format!("{value:.4}"),
            format!("{} to {}", axis.range.0, axis.range.1),
        ]
    };
    Part {
        title: "The numbers".into(),
        text: String::new(),
        charts: Vec::new(),
        tables: vec![Grid {
            head: ["name", "start", "found", "searched in"]
                .map(String::from)
                .to_vec(),
            rows: axes.map(row).collect(),
            ..Grid::default()
        }],
    }
}
