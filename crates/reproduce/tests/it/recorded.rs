//! The statements of `VALIDATION.md` on publications match the recorded outcomes.

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

/// Returns the cells of the table of publications, by reproduction.
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

/// Returns the updated table: a row for each experiment with an outcome, and the existing rows of those without.
fn table() -> String {
    let known = rows();
    let mut text = String::new();
    for one in registry() {
        let cells = match fs::read_to_string(root().join(format!("experiments/{}/outcome.json", one.id))) {
            Ok(text) => {
                let outcomes: Outcomes = serde_json::from_str(&text).unwrap();
                cells(Counts::of(&one.records(&outcomes.done(one).unwrap())))
            }
            Err(_) => match known.get(&one.id) {
                Some(cells) => cells.clone(),
                None => continue,
            },
        };
        text += &format!("| `{}` | {} |\n", one.id, cells.join(" | "));
    }
    text
}

/// `UPDATE_BOOK=1` writes the table.
#[test]
fn the_table_has_what_was_recorded() {
    let part = read("validation/REPRODUCTIONS.md");
    let is_row = |line: &&str| line.starts_with("| `");
    let now: String = part
        .lines()
        .filter(is_row)
        .map(|line| format!("{line}\n"))
        .collect();
    let expected = table();
    if std::env::var_os("UPDATE_BOOK").is_some() {
        for file in ["validation/REPRODUCTIONS.md", "VALIDATION.md"] {
            fs::write(root().join(file), read(file).replacen(&now, &expected, 1)).unwrap();
        }
        return;
    }
    assert_eq!(now, expected, "`UPDATE_BOOK=1` writes it again");
}
