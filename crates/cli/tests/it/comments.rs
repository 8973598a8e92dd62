//! Comments of the source read like the pages. What cannot be counted, readers find; what can be counted only falls.

use std::path::{Path, PathBuf};

use crate::book::plain;

/// Doc comments of three words or fewer: they say what the name says. Those left are help texts.
const SHORT: usize = 181;
/// Doc comments that start with a word of [`OPENINGS`]. Those left are help texts.
const BADLY_OPENED: usize = 26;
/// A doc comment of a function starts with its verb, any other with the thing.
const OPENINGS: [&str; 8] = [
    "What", "Whether", "Of", "Its", "Where", "Those", "Who", "The same",
];

fn add_sources(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") {
                add_sources(&path, sources);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
}

/// Returns the doc comments of a text, each as one line.
fn doc_comments(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut before = None;
    for line in text.lines() {
        let line = line.trim_start();
        let mark = ["///", "//!"].into_iter().find(|mark| line.starts_with(mark));
        if let Some(mark) = mark {
            if before != Some(mark) {
                found.push(String::new());
            }
            let comment = found.last_mut().expect("one was added");
            comment.push(' ');
            comment.push_str(line[mark.len()..].trim());
        }
        before = mark;
    }
    found
        .into_iter()
        .map(|comment| comment.trim().to_string())
        .collect()
}

#[test]
fn comments_get_plainer() {
    let mut sources = Vec::new();
    add_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut sources);
    assert!(sources.len() > 1000);
    let (mut short, mut badly_opened) = (Vec::new(), Vec::new());
    for source in &sources {
        for comment in doc_comments(&std::fs::read_to_string(source).unwrap()) {
            let place = || format!("{}: {comment}", source.display());
            let opens = |word: &&str| {
                let rest = comment.strip_prefix(*word);
                rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            if comment.split_whitespace().count() <= 3 {
                short.push(place());
            } else if OPENINGS.iter().any(opens) {
                badly_opened.push(place());
            }
        }
    }
    for (found, budget, what) in [
        (short, SHORT, "have three words or fewer"),
        (
            badly_opened,
            BADLY_OPENED,
            "start with a word that hides the thing",
        ),
    ] {
        let list = found.join("\n");
        assert!(
            found.len() <= budget,
            "{} doc comments {what}, more than {budget}:\n{list}",
            found.len()
        );
    }
}

/// Comments use the words of the pages. (Names in backticks are code.)
#[test]
fn comments_are_plain_english() {
    let mut sources = Vec::new();
    add_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut sources);
    let mut found = Vec::new();
    for source in &sources {
        let text = std::fs::read_to_string(source).unwrap();
        for (line, number) in text.lines().zip(1..) {
            let Some((code, comment)) = line.split_once("//") else {
                continue;
            };
            // An odd number of quotes before it: the slashes are in a string.
            if code.matches('"').count() % 2 == 1 {
                continue;
            }
            let prose: Vec<&str> = comment.split('`').step_by(2).collect();
            for word in plain::banned(&prose.join(" x ")) {
                found.push(format!("{}:{number}: `{word}`:{comment}", source.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn doc_comments_are_found() {
    let text = "//! Of a module,\n//! in two lines.\n\n/// One.\nfn f() {}\n    /// Two\n    /// lines.\n";
    assert_eq!(
        doc_comments(text),
        ["Of a module, in two lines.", "One.", "Two lines."]
    );
}
