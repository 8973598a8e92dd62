//! Suggestions of the demo.

use paceline_congestion::registry::SCHEMES;
use serde_json::Value;

use crate::common::json;
use crate::shell::Reader;
use crate::sources::Command;

/// Returns the demo's suggestions, by the words before them.
fn hints(reader: &Reader, demo: &str) -> Vec<(String, String)> {
    let output = reader.types_line(demo);
    assert!(output.status.success(), "{demo}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = |line: &str| {
        let (what, hint) = line.split_once("  ")?;
        Some((what.to_string(), hint.trim().to_string()))
    };
    let found: Vec<(String, String)> = said
        .lines()
        .skip_while(|line| !line.starts_with("open the report"))
        .filter_map(line)
        .collect();
    assert!(found.len() >= 4, "{said}");
    found
}

pub(crate) fn those_of_the_demo_work() {
    let reader = Reader::new();
    let hints = hints(&reader, "paceline demo");
    let page = &hints[0].1;
    assert!(reader.folder().join(page).is_file(), "{page}");
    let lines = hints[1..].iter().flat_map(|(_, hint)| hint.split("; "));
    let commands: Vec<Command> = lines
        .map(|line| Command {
            line: line.to_string(),
            ..Command::default()
        })
        .collect();
    assert!(
        commands
            .iter()
            .all(|command| command.line.starts_with("paceline "))
    );
    reader.types(&commands);
}

/// For every scheme, the change that the demo suggests gives another run.
pub(crate) fn a_suggested_change_changes_something() {
    let reader = Reader::new();
    let digest = |summary: &Value| summary["digest"].as_str().expect("a digest").to_string();
    for scheme in SCHEMES.iter().map(|scheme| scheme.name) {
        let hints = hints(
            &reader,
            &format!("paceline demo --scale 0.05 --schemes {scheme} --out {scheme}"),
        );
        let change = &hints[1].1;
        let output = reader.types_line(&format!("{change} --json --quiet"));
        assert!(output.status.success(), "{change}");
        let changed: Value = serde_json::from_slice(&output.stdout).expect("a summary");
        let before = json(&reader.folder().join(scheme).join(scheme).join("summary.json"));
        assert_ne!(digest(&before), digest(&changed), "`{change}` changes nothing");
    }
}
