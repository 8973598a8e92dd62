//! The page of Aurora's policy.

use paceline_congestion::adpg::multiplier;
use paceline_congestion::aurora::{CUT, HISTORY, INPUTS, STEP};
use paceline_congestion::learned::layers::Policy as _;
use paceline_report::{Axis, Chart, Grid, Kind, Line, Part, Sheet, Tile, Width, render_sheet};

use super::{PolicyPage, STEPS_MAX, chart, thinned};
use crate::Error;
use crate::aurora::{TrainedPolicy, Update};

/// Renders the page of a policy.
///
/// # Errors
/// If the template is at fault.
pub fn aurora(page: &PolicyPage<'_, TrainedPolicy>) -> Result<String, Error> {
    let trained = page.trained;
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: "Aurora's policy".into(),
        story: story(trained),
        warnings: match trained.stopped {
            true => vec!["It was stopped before its last round.".into()],
            false => Vec::new(),
        },
        tiles: tiles(trained),
        parts: vec![over_time(trained), answers(trained)],
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

/// Round and reward of each trial.
fn trials(trained: &TrainedPolicy) -> Vec<(f64, f64)> {
    let updates = trained.updates.iter();
    updates
        .filter_map(|update| Some((update.round as f64, update.trial?)))
        .collect()
}

/// The trial whose policy was kept: the first of the best.
fn best(trained: &TrainedPolicy) -> (f64, f64) {
    let trials = trials(trained);
    trials.into_iter().fold((0.0, f64::NEG_INFINITY), |best, trial| {
        if trial.1 > best.1 { trial } else { best }
    })
}

fn story(trained: &TrainedPolicy) -> String {
    let first = trials(trained).first().map_or(0.0, |trial| trial.1);
    let (round, reward) = best(trained);
    format!(
        "In {} rounds a network of {} weights learned how a flow should change its rate, twice per round trip, to get the most \
         for itself: 10 for all of the line, less 2 for each round trip of delay, less 2000 for what is lost. In networks that \
         it never learned in it got {first:.2} a decision before, and {reward:.2} after round {round:.0}, whose policy this is.",
        trained.updates.len() - 1,
        trained.policy.values().len(),
    )
}

fn tiles(trained: &TrainedPolicy) -> Vec<Tile> {
    let (round, reward) = best(trained);
    let last = trained.updates.last();
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
            note: "at the end; 2 at the beginning".into(),
        },
        Tile {
            name: "decisions".into(),
            value: trained.decisions().to_string(),
            note: "that it learned from".into(),
        },
    ]
}

fn over_time(trained: &TrainedPolicy) -> Part {
    let updates = thinned(&trained.updates[1..], STEPS_MAX);
    let course = |of: &dyn Fn(&Update) -> f64| -> Vec<(f64, f64)> {
        let point = |update: &Update| (update.round as f64, of(update));
        updates.iter().map(point).collect()
    };
    let rounds = || Axis::new("round", "");
    let lines = |title: &str, note: &str, y: Axis, lines: Vec<Line>| Chart {
        kind: Kind::Lines,
        width: Width::Full,
        ..chart(title, note, rounds(), y, lines)
    };
    let row = |(round, reward): (f64, f64)| vec![format!("{round:.0}"), format!("{reward:.4}")];
    Part {
        title: "Round by round".into(),
        text: "In a round flows decide by the policy and some chance, in networks that are drawn anew for each episode, so it is \
               also about those. Trials are without chance, and always in the same six networks, which it never learns in; by \
               them the policy that is kept was chosen."
            .into(),
        charts: vec![
            lines(
                "Reward of a decision",
                "At least -5 each, what is below counted as that.",
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
                "An action of 1 changes the rate by 2.5 %.",
                Axis::new("deviation", ""),
                vec![Line::new("actions", 2, &course(&|update| update.deviation))],
            ),
        ],
        tables: vec![Grid {
            head: ["round", "reward in trials"].map(String::from).to_vec(),
            rows: trials(trained).into_iter().map(row).collect(),
            ..Grid::default()
        }],
    }
}

/// By what the rate is multiplied where a flow has seen the same for ten intervals.
fn answer(trained: &TrainedPolicy, now: [f32; 3]) -> f64 {
    let seen: [f32; INPUTS] = std::array::from_fn(|k| now[k % (INPUTS / HISTORY)]);
    let action = (trained.policy.decide(&seen) / CUT).clamp(-1.0, 1.0);
    multiplier(action, STEP * f64::from(CUT))
}

/// What it does about delays that stay, grow or shrink, and about what does not arrive.
fn answers(trained: &TrainedPolicy) -> Part {
    let of = |growth: f32, sent: f32| -> Vec<(f64, f64)> {
        let point = |k: i32| {
            let latency = 1.0 + f64::from(k) / 20.0;
            (
                latency,
                100.0 * (answer(trained, [growth, latency as f32, sent]) - 1.0),
            )
        };
        (0..=120).map(point).collect()
    };
    let still = || Line {
        dash: 1,
        guide: true,
        ..Line::new("as before", 7, &[(1.0, 0.0), (7.0, 0.0)])
    };
    let shown = |title: &str, note: &str, lines: Vec<Line>| Chart {
        kind: Kind::Lines,
        width: Width::Full,
        ..chart(
            title,
            note,
            Axis::new("round-trip time, of the empty network's", ""),
            Axis::new("change of the rate", "%"),
            lines,
        )
    };
    Part {
        title: "What it does".into(),
        text: "By how much it changes the rate after ten intervals alike.".into(),
        charts: vec![
            shown(
                "By the growth of delay",
                "1 where a queue grows as fast as its line could send; all that was sent arrived.",
                vec![
                    Line::new("grows (0.5)", 2, &of(0.5, 1.0)),
                    Line::new("stays (0)", 1, &of(0.0, 1.0)),
                    Line::new("shrinks (-0.5)", 0, &of(-0.5, 1.0)),
                    still(),
                ],
            ),
            shown(
                "By what was sent over what arrived",
                "Delays that stay.",
                vec![
                    Line::new("1", 0, &of(0.0, 1.0)),
                    Line::new("1.5", 1, &of(0.0, 1.5)),
                    Line::new("3", 2, &of(0.0, 3.0)),
                    still(),
                ],
            ),
        ],
        tables: Vec::new(),
    }
}
