//! Files for citation tools and for continuous integration agree with `Cargo.toml`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Reads a file of the repository by its path from the root.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the rest of the first line that starts with a key, without quotes around it.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let rest = text.lines().find_map(|line| line.strip_prefix(key));
    let rest = rest.unwrap_or_else(|| panic!("no line starts with `{key}`"));
    rest.trim().trim_matches('"')
}

/// Returns the items of the YAML list below a key, without quotes around them.
fn items<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let below = text.lines().skip_while(|line| *line != key).skip(1);
    let found: Vec<&str> = below
        .map_while(|line| line.strip_prefix("  - "))
        .map(|item| item.trim_start_matches("name: ").trim_matches('"'))
        .collect();
    assert!(!found.is_empty(), "there is no list `{key}`");
    found
}

#[test]
fn citations_agree_with_the_manifest() {
    let (cargo, cff) = (file("Cargo.toml"), file("CITATION.cff"));
    let version = value(&cargo, "version = ");
    let (title, authors, licences) = (
        value(&cff, "title: "),
        items(&cff, "authors:"),
        items(&cff, "license:"),
    );
    assert_eq!(value(&cff, "version: "), version);
    assert_eq!(value(&cargo, "license = "), licences.join(" OR "));
    assert_eq!(
        value(&cargo, "authors = "),
        format!("[\"{}\"]", authors.join("\", \""))
    );

    let codemeta: Value = serde_json::from_str(&file("codemeta.json")).expect("codemeta.json is JSON");
    assert_eq!(codemeta["version"], json!(version));
    assert_eq!(codemeta["name"], json!(title));
    assert_eq!(codemeta["keywords"], json!(items(&cff, "keywords:")));
    let spdx = |name: &&str| format!("https://spdx.org/licenses/{name}");
    let urls: Vec<String> = licences.iter().map(spdx).collect();
    assert_eq!(codemeta["license"], json!(urls));
    let people = codemeta["author"].as_array().expect("a list of authors");
    let names: Vec<&Value> = people.iter().map(|author| &author["name"]).collect();
    assert_eq!(json!(names), json!(authors));

    let page = file("book/src/reference/citing.md");
    for cited in [title, version] {
        assert!(
            page.contains(&format!("{{{cited}}}")),
            "the page on citing lacks {cited}"
        );
    }
}

#[test]
fn the_oldest_rust_is_the_same_everywhere() {
    let rust = value(&file("Cargo.toml"), "rust-version = ").to_string();
    for (name, text) in [
        (".github/workflows/ci.yml", format!("toolchain: \"{rust}\"")),
        ("codemeta.json", format!("Rust {rust} or newer")),
        ("README.md", format!("Rust {rust} or newer")),
        ("book/src/start/installation.md", format!("Rust {rust} or newer")),
    ] {
        assert!(file(name).contains(&text), "{name} lacks `{text}`");
    }
}
