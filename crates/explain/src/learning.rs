//! Observations, actions and rewards of learning environments: the lists of `paceline_env`.

use paceline_env::{Action, Agents, Feature, Reward};
use paceline_lab::layout;

use crate::example;

/// Pages with a short description of each.
pub(crate) const PAGES: [(&str, &str); 4] = [
    ("observations", "what agents see in an environment for learning"),
    ("actions", "what they do"),
    ("rewards", "what they get"),
    ("agents", "who is an agent"),
];

/// Returns the page with this name, if it is one of these.
pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    let (title, rows) = match name {
        "observations" => ("What agents see; values are cut to their range.", observations()),
        "actions" => (
            "What an action does: a number from -1 to 1. `step` is 0.2 unless it is said.",
            Action::ALL
                .map(|one| vec![one.name().into(), one.help().into()])
                .to_vec(),
        ),
        "rewards" => (
            "What a question brings; it is about the time since the last one, and cut to its range.",
            Reward::ALL.map(reward).to_vec(),
        ),
        "agents" => (
            "Who is an agent.",
            Agents::ALL
                .map(|one| vec![one.name().into(), one.help().into()])
                .to_vec(),
        ),
        _ => return None,
    };
    let table = layout::columns(&rows, width);
    Some(format!(
        "{name}\n\n{title}\n\n{table}\nFrom Python: paceline.Environment(..); in the book: Who trains.\n{}",
        // In this run nobody controls the flows, and it says so: the controller is a program of the user.
        example::shown("paceline run many-to-one-16 --scheme external --duration 200us")
    ))
}

fn observations() -> Vec<Vec<String>> {
    let head = ["observation", "unit", "range", "what"]
        .map(String::from)
        .to_vec();
    let row = |feature: &Feature| {
        let (low, high) = feature.range;
        let unit = if feature.unit.is_empty() {
            "-"
        } else {
            feature.unit
        };
        vec![
            feature.name.into(),
            unit.into(),
            format!("{low} to {high}"),
            feature.help.into(),
        ]
    };
    std::iter::once(head)
        .chain(Feature::all().iter().map(row))
        .collect()
}

fn reward(one: Reward) -> Vec<String> {
    let (low, high) = one.range();
    vec![one.name().into(), format!("{low} to {high}"), one.help().into()]
}
