//! Page of a forest: its inputs and outputs, its properties, and its origin according to the file.

use std::fmt::Write as _;

use paceline_congestion::learned::forest::{Feature, Forest, Scale};
use paceline_congestion::learned::{Model, ModelKind};
use paceline_lab::layout;
use serde_json::Value;

use super::sources;

/// Describes a forest in a line.
pub(super) fn about(forest: &Forest) -> String {
    let made = match teacher(forest) {
        Some(teacher) => format!("; distilled from {teacher}"),
        None => String::new(),
    };
    format!("{}{made}", size(forest))
}

/// Returns the size: `300 boosted oblivious trees of depth 6`.
fn size(forest: &Forest) -> String {
    let trees = &forest.parts().trees;
    let deepest = trees.iter().map(|tree| tree.splits.len()).max().unwrap_or(0);
    format!("{} boosted oblivious trees of depth {deepest}", trees.len())
}

/// Returns the name of the model from which it was distilled.
fn teacher(forest: &Forest) -> Option<&str> {
    forest.parts().about.get("teacher")?.get("name")?.as_str()
}

/// Returns the page of a forest.
pub(super) fn page(forest: &Forest, model: &Model, location: &str, width: usize) -> String {
    let card = model.card();
    let parts = forest.parts();
    let leaves: usize = parts.trees.iter().map(|tree| tree.leaves.len()).sum();
    let splits: usize = parts.trees.iter().map(|tree| tree.splits.len()).sum();
    let feature = |feature: &Feature| match feature.scale {
        Scale::Fixed(bits) => format!("{} ({bits} bits behind the point)", feature.name),
        Scale::Float => feature.name.clone(),
    };
    let mut rows = vec![
        (
            "what",
            format!("{}: {splits} questions, {leaves} leaves", size(forest)),
        ),
        (
            "reads",
            parts.features.iter().map(feature).collect::<Vec<_>>().join(", "),
        ),
        ("does", parts.output.clone()),
    ];
    if let Some([low, high]) = parts.limits {
        rows.push((
            "limits",
            format!("{} to {}", forest.value(low), forest.value(high)),
        ));
    }
    if let Some(teacher) = teacher(forest) {
        rows.push(("distilled from", teacher.to_string()));
    }
    // An imported forest has no record of its training.
    if !card.training.command.is_empty() {
        let training = &card.training;
        rows.push(("learned from", format!("{} decisions", card.data.train)));
        rows.push((
            "by",
            format!(
                "{}, {}, rate {}, {} rounds, seed {}",
                training.loss, training.optimiser, training.learning_rate, training.rounds, training.seed
            ),
        ));
        rows.push(("made by", format!("Paceline {}", card.version)));
        rows.push(("again", training.command.clone()));
    }
    rows.push(("forest", format!("SHA-256 {}", card.weights_sha256)));
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_string(), value])
        .collect();
    let mut page = format!("{} - a forest that decides\n\n", card.name);
    page.push_str(&layout::columns(&rows, width));
    if !parts.claims.is_empty() {
        page.push_str(&format!(
            "\nSaid of it (`paceline forest prove {location}` proves or refutes it):\n"
        ));
        let said = trends(forest).chain(parts.claims.iter().map(|claim| claim.what.clone()));
        said.for_each(|what| page.push_str(&format!("  {what}\n")));
    }
    let asked = parts.about.get("not_proved").and_then(Value::as_array);
    for one in asked.into_iter().flatten() {
        let [what, verdict] = ["what", "verdict"].map(|key| one.get(key).and_then(Value::as_str));
        let _ = writeln!(
            page,
            "\nAsked of it, and {}: {}",
            verdict.unwrap_or_default(),
            what.unwrap_or_default()
        );
    }
    page.push_str(&judged(forest, width));
    if !card.data.sources.is_empty() {
        page.push_str("\nScenarios in which it learned:\n");
        page.push_str(&layout::columns(&sources(card), width));
    }
    let fits = ModelKind::POLICIES
        .into_iter()
        .find(|kind| model.fits(*kind).is_ok());
    if let Some(scheme) = fits {
        page.push_str(&format!(
            "\nIn a scenario:\n  [cc.{scheme}]\n  model = \"{location}\"\n"
        ));
    }
    page
}

fn trends(forest: &Forest) -> impl Iterator<Item = String> + '_ {
    let parts = forest.parts();
    parts.features.iter().filter_map(move |feature| {
        let trend = feature.trend?;
        Some(format!("{} is {trend} in {}", parts.output, feature.name))
    })
}

/// Returns its results in scenarios that were not used for training, according to the file.
fn judged(forest: &Forest, width: usize) -> String {
    let Some(Value::Array(scenarios)) = forest.parts().about.get("judged") else {
        return String::new();
    };
    let number = |value: &Value| {
        Some(
            value
                .get("mean")?
                .as_f64()
                .map_or_else(String::new, |x| format!("{x:.4}")),
        )
    };
    let mut rows = Vec::new();
    for scenario in scenarios {
        let name = scenario
            .get("scenario")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let scores = scenario.get("scores").and_then(Value::as_array);
        rows.extend(scores.into_iter().flatten().filter_map(|score| {
            let [what, unit] = ["what", "unit"].map(|key| score.get(key).and_then(Value::as_str));
            let unit = unit
                .filter(|unit| !unit.is_empty())
                .map_or_else(String::new, |unit| format!(" {unit}"));
            let [teacher, forest] = ["teacher", "forest"].map(|key| score.get(key).and_then(number));
            Some(vec![
                format!("  {name}"),
                what?.to_string(),
                format!("{}{unit}; teacher {}{unit}", forest?, teacher?),
            ])
        }));
    }
    match rows.is_empty() {
        true => String::new(),
        false => format!(
            "\nWhere nothing learned, means over seeds:\n{}",
            layout::columns(&rows, width)
        ),
    }
}
