//! Tables of recorded experiments in pages of findings: between two marks stands what the outcome has.

use std::fs;
use std::path::Path;

use paceline_reproduce::{Outcomes, find, markdown_tables};

use super::{book, keep};

const BEGIN: &str = "<!-- tables of ";
const END: &str = "<!-- end of tables -->";

/// The tables of an experiment's outcome; a sentence where there is none yet.
fn tables(id: &str) -> String {
    let one = find(id).unwrap_or_else(|| panic!("no experiment `{id}`"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../experiments/{id}/outcome.json"));
    let Ok(text) = fs::read_to_string(path) else {
        return format!("Not recorded yet: `paceline reproduce {id}` shows its tables.\n");
    };
    let outcome: Outcomes = serde_json::from_str(&text).unwrap();
    markdown_tables(one, &outcome.done(one).unwrap())
}

/// A page with the tables that it asks for.
fn filled(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (id, after) = after.split_once(" -->").expect("a mark ends");
        let (_, after) = after.split_once(END).expect("tables end");
        text += &format!("{before}{BEGIN}{id} -->\n\n{}\n{END}", tables(id));
        rest = after;
    }
    text + rest
}

#[test]
fn tables_are_the_recorded_ones() {
    let folder = book().join("findings");
    let pages = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found = 0;
    for path in pages.filter(|path| path.extension().is_some_and(|end| end == "md")) {
        let text = fs::read_to_string(&path).unwrap();
        found += text.matches(BEGIN).count();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        keep(&format!("findings/{name}"), &filled(&text));
    }
    assert!(found > 5, "{found}");
}
