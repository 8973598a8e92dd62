//! Parts of pages that are copies of files: after `<!-- from PATH:ANCHOR -->`, a block of code, or everything up to
//! `<!-- end -->`. Pages stay readable as files.

use std::fs;
use std::path::Path;

use super::links;

const FROM: &str = "<!-- from ";
/// Path of the README from the book's folder.
const README: &str = "../../README.md";
const END: &str = "<!-- end -->";

/// Returns a file's content, or the part between the lines `ANCHOR: name` and `ANCHOR_END: name`.
fn original(page: &Path, what: &str) -> String {
    let (path, anchor) = what.rsplit_once(':').unwrap_or((what, ""));
    let file = page.parent().unwrap().join(path);
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    if anchor.is_empty() {
        return text;
    }
    let is = |line: &str, mark: &str| line.trim_end().ends_with(&format!("{mark}: {anchor}"));
    let inside = text
        .lines()
        .skip_while(|line| !is(line, "ANCHOR"))
        .skip(1)
        .take_while(|line| !is(line, "ANCHOR_END"));
    let lines: Vec<&str> = inside.filter(|line| !line.contains("ANCHOR")).collect();
    assert!(!lines.is_empty(), "{what}: there is no such anchor");
    lines.join("\n") + "\n"
}

/// Returns the page with up-to-date copies.
fn renewed(page: &Path, text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let what = line.strip_prefix(FROM).and_then(|rest| rest.strip_suffix(" -->"));
        let Some(what) = what else { continue };
        let copy = original(page, what);
        let is_code = !what.ends_with(".md");
        let end = if is_code { "```" } else { END };
        if is_code {
            out.push_str(lines.next().unwrap_or_default());
            out.push('\n');
        }
        out.push_str(&copy);
        out.push_str(end);
        out.push('\n');
        let found = lines.by_ref().any(|line| line == end);
        assert!(found, "{}: no {end} behind {what}", page.display());
    }
    out
}

#[test]
fn copies_are_current() {
    let mut pages = Vec::new();
    links::add_pages(&super::book(), &mut pages);
    pages.push(super::book().join(README));
    let mut copies = 0;
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        if !text.contains(FROM) {
            continue;
        }
        copies += text.matches(FROM).count();
        let now = renewed(page, &text);
        let name = page.strip_prefix(super::book()).unwrap();
        super::keep(&name.display().to_string(), &now);
    }
    assert!(copies > 10, "{copies}");
}
