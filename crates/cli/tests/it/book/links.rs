//! All links in the README and the book lead to existing files and headings.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a page with the files that it includes.
fn page(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let mut whole = String::new();
    for line in text.lines() {
        let included = line
            .strip_prefix("{{#include ")
            .and_then(|rest| rest.strip_suffix("}}"));
        match included.filter(|name| name.ends_with(".md")) {
            Some(name) => whole.push_str(&page(&file.parent().unwrap().join(name))),
            None => whole.push_str(line),
        }
        whole.push('\n');
    }
    whole
}

/// Iterates over lines outside of code blocks.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Returns the anchors of a page's headings, as mdBook creates them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line
                .trim_start_matches('#')
                .trim()
                .to_lowercase()
                .replace(' ', "-");
            title
                .chars()
                .filter(|c| c.is_alphanumeric() || "-_".contains(*c))
                .collect()
        })
        .collect()
}

fn targets(text: &str) -> Vec<String> {
    let ends =
        prose(text).flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
    ends.filter(|target| !target.contains("://") && !target.is_empty() && !target.contains(' '))
        .map(str::to_string)
        .collect()
}

pub(crate) fn add_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let mut pages = vec![super::book().join("../../README.md")];
    add_pages(&super::book(), &mut pages);
    let (mut checked, mut broken) = (0, Vec::new());
    for file in &pages {
        for target in targets(&page(file)) {
            checked += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let to = match path {
                "" => file.clone(),
                path => file.parent().unwrap().join(path),
            };
            let leads = to.exists() && (anchor.is_empty() || anchors(&page(&to)).contains(anchor));
            if !leads {
                broken.push(format!("{}: {target}", file.display()));
            }
        }
    }
    assert!(checked > 400, "{checked} links are found");
    assert!(broken.is_empty(), "{broken:#?}");
}
