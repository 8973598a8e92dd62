//! Report page of ADPG's policy.

use paceline_congestion::adpg::{STEP, multiplier};
use paceline_report::{Axis, Chart, ChartKind, Grid, Line, Part, Sheet, Tile, Width, render_sheet};

use super::{PolicyPage, STEPS_MAX, chart, thinned};
use crate::Error;
use crate::adpg::{CASES, TrainedPolicy, Update};

/// Renders the page of a policy.
///
/// # Errors
/// The template is faulty.
pub fn adpg(page: &PolicyPage<'_, TrainedPolicy>) -> Result<String, Error> {
    let trained = page.trained;
    let sheet = Sheet {
        kicker: "Paceline training".into(),
        title: "ADPG's policy".into(),
        story: story(trained),
        warnings: match trained.stopped {
            true => vec!["It was stopped before its last update.".into()],
            false => Vec::new(),
        },
        tiles: tiles(trained),
        parts: vec![over_time(trained), answers(trained)],
        command: page.command.clone(),
        facts: page.facts.clone(),
    };
    Ok(render_sheet(&sheet)?)
}

/// Returns the means over the first and over the last tenth of the updates.
fn ends(updates: &[Update], of: impl Fn(&Update) -> f64) -> [f64; 2] {
    let tenth = updates.len().div_ceil(10);
    let mean = |some: &[Update]| some.iter().map(&of).sum::<f64>() / some.len().max(1) as f64;
    [&updates[..tenth], &updates[updates.len() - tenth..]].map(mean)
}

fn story(trained: &TrainedPolicy) -> String {
    let [first, last] = ends(&trained.updates, |update| update.error);
    let grown = if last < first { "fell" } else { "did not fall" };
    format!(
        "In {} updates a network of {} weights learned to tell flows by how much to speed up or slow down. z is how far the \
         round-trip time is above what fits a flow's rate, below 0 there is room: its mean square {grown}, from {first:.3} \
         over the first tenth of the updates to {last:.3} over the last.",
        trained.updates.len(),
        trained.policy.weights().count(),
    )
}

fn tiles(trained: &TrainedPolicy) -> Vec<Tile> {
    let tile = |name: &str, [first, last]: [f64; 2]| Tile {
        name: name.into(),
        value: format!("{last:.4}"),
        note: format!("over the last tenth of the updates; {first:.4} over the first"),
    };
    vec![
        tile("loss", ends(&trained.updates, |update| update.loss)),
        tile("mean square of z", ends(&trained.updates, |update| update.error)),
        Tile {
            name: "decisions".into(),
            value: trained.decisions().to_string(),
            note: format!("in {} scenarios at a time", CASES.len()),
        },
    ]
}

fn over_time(trained: &TrainedPolicy) -> Part {
    let updates = thinned(&trained.updates, STEPS_MAX);
    let course = |of: &dyn Fn(&Update) -> f64| -> Vec<(f64, f64)> {
        let point = |update: &Update| (update.number as f64, of(update));
        updates.iter().map(point).collect()
    };
    let by_case = (CASES.iter().enumerate())
        .map(|(i, case)| Line::new(case.label, i, &course(&|update| update.errors[i])))
        .collect();
    let row = |(i, case): (usize, &crate::adpg::Case)| {
        let [first, last] = ends(&trained.updates, |update| update.errors[i]);
        vec![case.label.into(), format!("{first:.4}"), format!("{last:.4}")]
    };
    let updates_axis = || Axis::new("update", "");
    Part {
        title: "Update by update".into(),
        text: "What flows did since the update before is what each one learns from; so a point is also about the course of \
               the runs in which they are: they begin anew now and then."
            .into(),
        charts: vec![
            Chart {
                kind: ChartKind::Lines,
                width: Width::Full,
                ..chart(
                    "Mean square of z",
                    "Of all flows of a scenario; the policy is one for all of them.",
                    updates_axis(),
                    Axis::new("mean square of z", ""),
                    by_case,
                )
            },
            Chart {
                kind: ChartKind::Lines,
                width: Width::Full,
                ..chart(
                    "Loss",
                    "Below 0 where flows speed up while there is room and slow down while there is none.",
                    updates_axis(),
                    Axis::new("loss", ""),
                    vec![Line::new("loss", 0, &course(&|update| update.loss))],
                )
            },
        ],
        tables: vec![Grid {
            head: ["mean square of z", "first tenth", "last tenth"].map(String::from).to_vec(),
            rows: CASES.iter().enumerate().map(row).collect(),
            ..Grid::default()
        }],
    }
}

/// Returns the part about the policy's reaction to a constant z: both inputs of z are equal, and so are both
/// multipliers.
fn answers(trained: &TrainedPolicy) -> Part {
    let of = |before: f32| -> Vec<(f64, f64)> {
        // From -0.8, the z of an empty queue.
        let point = |i: i32| {
            let z = (f64::from(i) - 20.0) / 25.0;
            let action = trained.policy.pass(&[before, z as f32, before, z as f32]).output;
            (z, multiplier(action, STEP))
        };
        (0..=120).map(point).collect()
    };
    let still = Line {
        dash: 1,
        guide: true,
        ..Line::new("as before", 7, &[(-0.8, 1.0), (4.0, 1.0)])
    };
    Part {
        title: "What it does".into(),
        text: String::new(),
        charts: vec![Chart {
            kind: ChartKind::Lines,
            width: Width::Full,
            ..chart(
                "Rate over the rate before",
                "By a z that stays, after questions at which the flow went as fast as it could (1), neither faster nor slower \
                 (0), and as slow as it could (-1).",
                Axis::new("z", ""),
                Axis::new("multiplier", ""),
                vec![
                    Line::new("after 1", 0, &of(1.0)),
                    Line::new("after 0", 1, &of(0.0)),
                    Line::new("after -1", 2, &of(-1.0)),
                    still,
                ],
            )
        }],
        tables: Vec::new(),
    }
}
