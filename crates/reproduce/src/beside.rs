//! Published values of an incast, shown next to a user's runs.

use paceline_lab::results::Summary;
use paceline_lab::table::{self, Published};

/// Returns true if a scenario with this name is the one of the thesis's table 6.
pub fn in_thesis_table6(scenario: &str) -> bool {
    matches!(scenario, "incast-20" | "b_incast20")
}

/// Compares `runs` with the thesis's table 6, for the schemes that it has; empty if it has none of them.
pub fn beside_thesis_table6(runs: &[&Summary]) -> String {
    let Some(reproduction) = crate::find("thesis-table6") else {
        return String::new();
    };
    let (mut published, mut ours) = (Vec::new(), Vec::new());
    for run in runs {
        for (metric, printed, value) in reproduction.beside(run) {
            published.push(Published {
                case: run.scheme.clone(),
                metric,
                value: printed,
            });
            ours.push(value);
        }
    }
    if published.is_empty() {
        return String::new();
    }
    // A note that starts with a scheme's name applies to that scheme's published values.
    let is_of = |note: &str| {
        runs.iter()
            .any(|run| note.starts_with(&format!("{}:", run.scheme.to_uppercase())))
    };
    let notes = reproduction.notes.iter().filter(|note| is_of(note));
    let notes: String = notes.map(|note| format!("{note}\n")).collect();
    format!(
        "\npublished ({}, table 6: the 20-to-1 incast in HPCC's ns-3 simulator):\n{}{notes}",
        reproduction.source.short,
        table::beside(&published, &ours),
    )
}
