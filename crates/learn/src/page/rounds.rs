//! Report pages of policies trained round by round.

use paceline_report::{Axis, Chart, ChartKind, Grid, Line, Part, Sheet, Tile, Width, render_sheet};

use super::{PolicyPage, STEPS_MAX, chart, thinned};
use crate::Error;
use crate::rounds::{TrainedPolicy, Update};

/// Texts on the page of one policy.
pub(super) struct Texts {
    pub(super) title: &'static str,
    pub(super) story: String,
    /// Note of the chart of rewards.
    pub(super) reward: &'static str,
    /// Note of the chart of the actions' standard deviation.
    pub(super) action: &'static str,
}

/// Renders the page; `answers` is the part on the policy's decisions.
pub(super) fn page(
    page: &PolicyPage<'_, TrainedPolicy>,
    texts: Texts,
    answers: Part,
) -> Result<String, Error> {
    let trained = page.trained;
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: texts.title.into(),
        warnings: match trained.stopped {
            true => vec!["It was stopped before its last round.".into()],
            false => Vec::new(),
        },
        tiles: tiles(trained),
        parts: vec![over_time(trained, &texts), answers],
        story: texts.story,
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

/// Returns round and reward of each trial.
pub(super) fn trials(trained: &TrainedPolicy) -> Vec<(f64, f64)> {
    let updates = trained.updates.iter();
    updates
        .filter_map(|update| Some((update.round as f64, update.trial?)))
        .collect()
}

/// Returns the trial whose policy was kept: the first of the best.
pub(super) fn best(trained: &TrainedPolicy) -> (f64, f64) {
    let trials = trials(trained);
    trials.into_iter().fold((0.0, f64::NEG_INFINITY), |best, trial| {
        if trial.1 > best.1 { trial } else { best }
    })
}

fn tiles(trained: &TrainedPolicy) -> Vec<Tile> {
    let (round, reward) = best(trained);
    let last = trained.updates.last();
    let first = trained.updates.first().map_or(0.0, |update| update.deviation);
    vec![
        Tile {
            name: "reward in trials".into(),
            value: format!("{reward:.3}"),
            note: format!(
                "after round {round:.0}, the best of {} trials",
                trials(trained).len()
            ),
        },
        Tile {
            name: "deviation of actions".into(),
            value: format!("{:.2}", last.map_or(0.0, |update| update.deviation)),
            note: format!("at the end; {first:.2} at the beginning"),
        },
        Tile {
            name: "decisions".into(),
            value: trained.decisions().to_string(),
            note: "that it learned from".into(),
        },
    ]
}

fn over_time(trained: &TrainedPolicy, texts: &Texts) -> Part {
    // Round 0 only tries the first policy.
    let updates = thinned(&trained.updates[1..], STEPS_MAX);
    let course = |of: &dyn Fn(&Update) -> f64| -> Vec<(f64, f64)> {
        let point = |update: &Update| (update.round as f64, of(update));
        updates.iter().map(point).collect()
    };
    let rounds = || Axis::new("round", "");
    let lines = |title: &str, note: &str, y: Axis, lines: Vec<Line>| Chart {
        kind: ChartKind::Lines,
        width: Width::Full,
        ..chart(title, note, rounds(), y, lines)
    };
    let row = |(round, reward): (f64, f64)| vec![format!("{round:.0}"), format!("{reward:.4}")];
    let triggers: Vec<(f64, f64)> = updates
        .iter()
        .filter_map(|update| Some((update.round as f64, update.triggered?)))
        .collect();
    let mut part = Part {
        title: "Round by round".into(),
        text: "In a round flows decide by the policy and some chance, in networks that are drawn anew for each episode, so it is \
               also about those. Trials are without chance, and always in the same six networks, which it never learns in; by \
               them the policy that is kept was chosen."
            .into(),
        charts: vec![
            lines(
                "Reward of a decision",
                texts.reward,
                Axis::new("mean reward", ""),
                vec![
                    Line::new("in the round", 7, &course(&|update| update.reward)),
                    Line::new("in trials", 0, &trials(trained)),
                ],
            ),
            lines(
                "What the critic does not know",
                "Its mean square error over the variance of what came: 1 where it says nothing.",
                Axis::new("share", ""),
                vec![Line::new("critic", 1, &course(&|update| update.unexplained))],
            ),
            lines(
                "Deviation of actions",
                texts.action,
                Axis::new("deviation", ""),
                vec![Line::new("actions", 2, &course(&|update| update.deviation))],
            ),
        ],
        tables: vec![Grid {
            head: ["round", "reward in trials"].map(String::from).to_vec(),
            rows: trials(trained).into_iter().map(row).collect(),
            ..Grid::default()
        }],
    };
    if !triggers.is_empty() {
        let line = vec![Line::new("triggers", 3, &triggers)];
        let note = "With chance: the watcher triggers with the probability that it says.";
        let chart = lines("Intervals that trigger", note, Axis::new("share", ""), line);
        part.charts.push(chart);
    }
    part
}
