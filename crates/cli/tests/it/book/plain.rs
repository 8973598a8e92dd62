//! README, book, help, `explain`, errors and warnings are in plain English, as far as a test can check.

use std::fs;
use std::path::{Path, PathBuf};

use super::links::prose;

/// Words to be replaced by the field's terms, or by plainer English.
const BANNED: &[&str] = &[
    "anew",
    "begun",
    "beside",
    "besides",
    "crowd",
    "culprit",
    "hangs on",
    "heed",
    "heeded",
    "heeds",
    "in the place of",
    "reckon",
    "reckoned",
    "standstill",
    "told",
    "unheard",
    "whatever",
    "what is what",
    "who trains",
    "whoever",
];

/// Maximum number of words in a sentence.
const LONGEST: usize = 30;

fn files() -> Vec<PathBuf> {
    let mut files = vec![
        super::book().join("../../README.md"),
        super::book().join("introduction.md"),
    ];
    for folder in ["start", "guide", "model", "validation", "findings"] {
        let entries = fs::read_dir(super::book().join(folder)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    files
}

/// Removes code and link targets, which are not prose.
fn without_code(line: &str) -> String {
    let mut kept = String::new();
    for (i, part) in line.split('`').enumerate() {
        kept.push_str(if i % 2 == 0 { part } else { "x" });
    }
    let mut parts = kept.split("](");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        text + part.split_once(')').map_or(part, |(_, rest)| rest)
    })
}

/// Splits a text into paragraphs, list items and table cells.
fn paragraphs(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in prose(text) {
        let start = line.trim_start();
        let is_table = start.starts_with('|');
        let is_new = start.is_empty() || is_table || start.starts_with(['#', '*', '-', '!', '>', '<']);
        let is_new = is_new
            || start
                .split_once(". ")
                .is_some_and(|(n, _)| n.parse::<u32>().is_ok());
        if is_new {
            all.push(String::new());
        }
        if is_table {
            all.extend(start.split('|').map(str::to_string));
            all.push(String::new());
        } else if let Some(paragraph) = all.last_mut() {
            paragraph.push_str(line.trim());
            paragraph.push('\n');
        }
    }
    all.iter()
        .map(|text| without_code(&text.replace('\n', " ").replace('*', "")))
        .collect()
}

/// Iterates over the banned words in a text.
pub(crate) fn banned(text: &str) -> impl Iterator<Item = &'static str> {
    let letters = |c: char| if c.is_alphanumeric() || c == '-' { c } else { ' ' };
    let plain: String = text.to_lowercase().chars().map(letters).collect();
    let words = format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "));
    let has = move |word: &&&str| words.contains(&format!(" {word} "));
    BANNED.iter().filter(has).copied().collect::<Vec<_>>().into_iter()
}

/// Lists texts that the program prints: reference pages, which come from `explain`, and snapshots of help, errors and
/// warnings.
fn printed() -> Vec<PathBuf> {
    let crates = super::book().join("../../crates");
    let mut files = Vec::new();
    for folder in [
        super::book().join("reference"),
        crates.join("cli/tests/it/snapshots"),
        crates.join("scenario/tests/it/snapshots"),
    ] {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.is_file()));
    }
    files
}

fn complaints(file: &Path, text: &str) -> Vec<String> {
    let name = file.file_name().unwrap_or_default().display();
    let mut found = Vec::new();
    for paragraph in paragraphs(text) {
        found.extend(banned(&paragraph).map(|word| format!("{name}: `{word}`: {paragraph}")));
        for sentence in paragraph
            .split_inclusive(['.', '!', '?', ':', ';'])
            .fold(Vec::new(), joined)
        {
            let count = sentence.split_whitespace().count();
            if count > LONGEST {
                found.push(format!("{name}: {count} words: {sentence}"));
            }
        }
    }
    found
}

/// A sentence only ends before a space, not within `3.5` or a file name.
fn joined(mut all: Vec<String>, part: &str) -> Vec<String> {
    match all.last_mut() {
        Some(last) if !part.starts_with(' ') => last.push_str(part),
        _ => all.push(part.to_string()),
    }
    all
}

#[test]
fn pages_are_plain_english() {
    let complaints: Vec<String> = files()
        .iter()
        .flat_map(|file| complaints(file, &fs::read_to_string(file).unwrap()))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn printed_texts_are_plain_english() {
    let mut complaints = Vec::new();
    for file in printed() {
        let text = fs::read_to_string(&file).unwrap();
        // Snapshots start with the test's code.
        let skipped = ["expression: "];
        let lines = (1..).zip(text.lines());
        for (line, words) in lines.filter(|(_, words)| !skipped.iter().any(|start| words.starts_with(start)))
        {
            let words = &without_code(words);
            let at = || format!("{}:{line}", file.file_name().unwrap_or_default().display());
            complaints.extend(banned(words).map(|word| format!("{}: `{word}`: {words}", at())));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}

/// Lines of experiments with banned words: `culprit`, which their measures and labels use, and few others.
const LEFT_IN_EXPERIMENTS: usize = 21;

#[test]
fn texts_of_experiments_get_plainer() {
    let folders = fs::read_dir(super::book().join("../../experiments")).unwrap();
    let mut found = Vec::new();
    for folder in folders.map(|entry| entry.unwrap().path()) {
        for file in ["README.md", "experiment.toml"].map(|name| folder.join(name)) {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let lines = text
                .lines()
                .filter(|line| banned(&without_code(line)).next().is_some());
            found.extend(lines.map(|line| format!("{}: {line}", file.display())));
        }
    }
    assert!(found.len() <= LEFT_IN_EXPERIMENTS, "{found:#?}");
}

#[test]
fn complaints_are_made() {
    let long = "word ".repeat(LONGEST + 1);
    let text = format!(
        "It hangs on\nthe seed.\n\n{long}. Short one.\n\n```\nanew {long}\n```\n\n`told` 3.5 [a](b) {long}"
    );
    let found = complaints(Path::new("page.md"), &text);
    assert_eq!(found.len(), 3, "{found:#?}");
}
