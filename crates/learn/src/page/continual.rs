//! Report page of DECC's loop: cost of each episode, in present and in earlier networks.

use paceline_congestion::decc::law::Law;
use paceline_report::{Axis, Grid, Line, Part, Sheet, Tile, render_sheet};

use super::PolicyPage;
use super::law::{cost_tile, level, numbers, pictures, stopped, wide};
use crate::Error;
use crate::continual::{Continued, Deploys, Episode};
use crate::search::{Costs, FORGETS, Subject};

/// Returns the column titles of the table of episodes.
pub const fn head() -> [&'static str; 10] {
    [
        "episode",
        "ran",
        "its run's cost",
        "goodput, %",
        "p99, us",
        "Jain's index",
        "lost, %",
        "deployed then",
        "cost, new and old",
        "forgotten, %",
    ]
}

/// Returns the row of an episode; `forgotten` is how much it forgets, in per cent.
pub fn row(episode: &Episode, forgotten: f64) -> Vec<String> {
    let result = &episode.experience.result;
    vec![
        episode.number.to_string(),
        episode.experience.model.name.clone(),
        format!("{:.2}", result.cost),
        format!("{:.1}", 100.0 * result.goodput),
        format!("{:.2}", result.p99_us),
        format!("{:.3}", result.jain),
        format!("{:.2}", 100.0 * result.loss),
        episode.deployed.clone(),
        format!("{:.3}, {:.3}", episode.costs.0.experience, episode.costs.0.old),
        format!("{forgotten:.1}"),
    ]
}

/// Renders the page of a loop; `start` has the values of the initial law.
///
/// # Errors
/// The template is faulty.
pub fn continual(page: &PolicyPage<'_, Continued>, start: &[f64]) -> Result<String, Error> {
    let done = page.trained;
    let forgotten = done.forgotten();
    let mut warnings = stopped(done.stopped);
    let sentence = |text: String| format!("{}{}.", text[..1].to_uppercase(), &text[1..]);
    warnings.extend(done.warnings().into_iter().map(sentence));
    let mut parts = vec![curves(done, &forgotten), table(done, &forgotten)];
    let law = done.episodes.last().map_or(start, |episode| &episode.law);
    let values: Vec<f32> = law.iter().map(|&value| value as f32).collect();
    parts.push(pictures::pictures(&Law::new(&values).map_err(Error::Options)?));
    parts.push(numbers(Subject::Law, law, Some(start)));
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: "DECC, refined episode by episode".into(),
        story: done.summary(),
        warnings,
        tiles: tiles(done, &forgotten),
        parts,
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

fn tiles(done: &Continued, forgotten: &[f64]) -> Vec<Tile> {
    let (Some((before, _)), Some(last)) = (done.before, done.episodes.last()) else {
        return Vec::new();
    };
    let after = last.costs.0;
    let cost = |name: &str, of: &dyn Fn(&Costs) -> f64| {
        cost_tile(
            name,
            of(&after),
            &format!("times the oracle's; {:.2} before", of(&before)),
        )
    };
    vec![
        cost("cost in the new network", &|costs| costs.experience),
        cost("cost in the old networks", &|costs| costs.old),
        Tile {
            name: "forgotten".into(),
            value: format!("{:.1} %", forgotten.last().unwrap_or(&0.0)),
            note: "of the cost in the old networks".into(),
        },
    ]
}

fn curves(done: &Continued, forgotten: &[f64]) -> Part {
    type CostOf<'a> = &'a dyn Fn(&(Costs, Costs)) -> f64;
    let last = done.episodes.len();
    let points = |of: CostOf<'_>| -> Vec<(f64, f64)> {
        let after = done.episodes.iter().map(|episode| &episode.costs);
        let all = done.before.iter().chain(after);
        (0u32..).map(f64::from).zip(all.map(of)).collect()
    };
    let deployed = |name: &str| match done.options.deploys {
        Deploys::Law => name.to_string(),
        Deploys::Trees => format!("{name}, trees"),
    };
    let mut lines = vec![
        Line::new(
            deployed("new network"),
            0,
            &points(&|(costs, _)| costs.experience),
        ),
        Line::new(deployed("old networks"), 1, &points(&|(costs, _)| costs.old)),
    ];
    // Trees may lose what the law has gained, so both are drawn.
    if done.options.deploys == Deploys::Trees {
        let law = |name: &str, colour: usize, of: CostOf<'_>| Line {
            dash: 2,
            ..Line::new(name, colour, &points(of))
        };
        lines.push(law("new network, the law", 0, &|(_, law)| law.experience));
        lines.push(law("old networks, the law", 1, &|(_, law)| law.old));
    }
    lines.push(level("oracle", 7, 1.0, last));
    let of_episodes = |of: &dyn Fn(&Episode) -> f64| -> Vec<(f64, f64)> {
        let each = done.episodes.iter();
        each.map(|episode| (f64::from(episode.number), of(episode)))
            .collect()
    };
    let losses = (1u32..).map(f64::from).zip(forgotten.iter().copied());
    let losses: Vec<(f64, f64)> = [(0.0, 0.0)].into_iter().chain(losses).collect();
    let axis = || Axis::new("episode", "");
    Part {
        title: "Episode by episode".into(),
        text: "What was deployed after each episode; 0 is what ran in the first. All are judged in the same networks: like that \
               of the first episode's run, and the search's own, on seeds that neither taught nor chose."
            .into(),
        charts: vec![
            wide(
                "Cost over the oracle's",
                "Lower is better.",
                axis(),
Axis::new("cost", ""),
                lines,
            ),
            wide(
                "Forgotten in the old networks",
                "Since the first episode. The dashed line is what trials allow the law.",
                axis(),
Axis::new("forgotten", "%"),
                vec![
                    Line::new("forgotten", 3, &losses),
                    level("allowed in trials", 7, 100.0 * FORGETS, last),
                ],
            ),
            wide(
                "Cost of the run",
                "Of the run of each episode, under what was deployed before; not over an oracle's.",
                axis(),
Axis::new("cost", ""),
                vec![Line::new("run", 2, &of_episodes(&|one| one.experience.result.cost))],
            ),
        ],
        tables: Vec::new(),
    }
}

fn table(done: &Continued, forgotten: &[f64]) -> Part {
    let rows = done.episodes.iter().zip(forgotten);
    let trials = |episode: &Episode| {
        let (before, after) = episode.trials;
        vec![
            episode.number.to_string(),
            episode.steps.len().to_string(),
            format!("{:.3} to {:.3}", before.experience, after.experience),
            format!("{:.3} to {:.3}", before.old, after.old),
            episode
                .models
                .iter()
                .map(|made| made.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        ]
    };
    Part {
        title: "Runs and refinements".into(),
        text: "Costs of runs are not over an oracle's. Trials choose the law, so they do not judge it."
            .into(),
        charts: Vec::new(),
        tables: vec![
            Grid {
                head: head().map(String::from).to_vec(),
                rows: rows
                    .map(|(episode, forgotten)| row(episode, *forgotten))
                    .collect(),
                ..Grid::default()
            },
            Grid {
                head: [
                    "episode",
                    "generations",
                    "law in trials, new network",
                    "law in trials, old networks",
                    "models made",
                ]
                .map(String::from)
                .to_vec(),
                rows: done.episodes.iter().map(trials).collect(),
                ..Grid::default()
            },
        ],
    }
}
