//! What `VALIDATION.md` says of publications is what was recorded of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_reproduce::{Count, Counts, Outcomes, registry};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

#[test]
fn validation_has_the_section_whole() {
    assert!(read("VALIDATION.md").ends_with(&read("validation/REPRODUCTIONS.md")));
}

/// The cells of the table of publications, by reproduction.
fn rows() -> BTreeMap<String, Vec<String>> {
    let text = read("validation/REPRODUCTIONS.md");
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ").map(str::to_string);
        let id = cells.next()?.trim_end_matches('`').to_string();
        Some((
            id,
            cells
                .map(|cell| cell.trim_end_matches(" |").to_string())
                .collect(),
        ))
    });
    rows.collect()
}

fn cells(counts: Counts) -> Vec<String> {
    let count = |count: Count| match count.judged {
        0 => "–".to_string(),
        _ => count.text(),
    };
    let shown = match counts.shown {
        0 => "–".to_string(),
        shown => shown.to_string(),
    };
    vec![
        count(counts.published),
        count(counts.simulator),
        count(counts.property),
        shown,
    ]
}

#[test]
fn the_table_has_what_was_recorded() {
    let rows = rows();
    let mut wrong = Vec::new();
    for one in registry() {
        let file = root().join(format!("experiments/{}/outcome.json", one.id));
        let Ok(text) = fs::read_to_string(file) else {
            continue;
        };
        let outcomes: Outcomes = serde_json::from_str(&text).unwrap();
        let counted = cells(Counts::of(&one.records(&outcomes.done(one).unwrap())));
        if rows.get(&one.id) != Some(&counted) {
            let said = rows.get(&one.id).map(|cells| cells.join(" | "));
            wrong.push(format!(
                "{}: recorded {}, said {said:?}",
                one.id,
                counted.join(" | ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
