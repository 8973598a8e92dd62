//! Report page of Aurora's policy.

use paceline_congestion::adpg::multiplier;
use paceline_congestion::aurora::{CUT, HISTORY, INPUTS, STEP};
use paceline_congestion::learned::layers::Policy as _;
use paceline_report::{Axis, Chart, ChartKind, Line, Part, Width};

use super::rounds::{Texts, best, page, trials};
use super::{PolicyPage, chart};
use crate::Error;
use crate::rounds::TrainedPolicy;

/// Renders the page of a policy.
///
/// # Errors
/// The template is faulty.
pub fn aurora(of: &PolicyPage<'_, TrainedPolicy>) -> Result<String, Error> {
    let texts = Texts {
        title: "Aurora's policy",
        story: story(of.trained),
        reward: "At least -5 each, what is below counted as that.",
        action: "An action of 1 changes the rate by 2.5 %.",
    };
    page(of, texts, answers(of.trained))
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

/// Returns the factor of the rate after ten equal intervals.
fn answer(trained: &TrainedPolicy, now: [f32; 3]) -> f64 {
    let seen: [f32; INPUTS] = std::array::from_fn(|k| now[k % (INPUTS / HISTORY)]);
    let action = (trained.policy.decide(&seen) / CUT).clamp(-1.0, 1.0);
    multiplier(action, STEP * f64::from(CUT))
}

/// Returns the part about reactions to constant, growing and shrinking delays, and to missing deliveries.
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
        kind: ChartKind::Lines,
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
