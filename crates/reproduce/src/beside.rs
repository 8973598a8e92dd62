//! What was printed of an incast, next to runs that somebody else made.

use paceline_lab::results::Summary;
use paceline_lab::table::{self, Published};

/// Whether a scenario of this name is the one that the thesis's table 6 is about.
pub fn in_thesis_table6(scenario: &str) -> bool {
    matches!(scenario, "incast-20" | "b_incast20")
}

/// Values of `runs` alongside those of the thesis's table 6, for the schemes that it has; empty if it has none of them.
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
    // A note that begins with a scheme's name is on its published values.
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
