//! Checks of the pages' scripts.

use std::fs;
use std::path::{Path, PathBuf};

fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            scripts(&entry, found);
        } else if entry.extension().is_some_and(|end| end == "js" || end == "j2") {
            found.push(entry);
        }
    }
}

/// A call accepts some 100,000 arguments, and a network has more hosts: `Paceline.most` takes a list.
#[test]
fn no_call_takes_a_whole_list_apart() {
    let mut found = Vec::new();
    for assets in [
        "assets",
        "../learn/assets",
        "../reproduce/assets",
        "../view/assets",
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(assets);
        if folder.is_dir() {
            scripts(&folder, &mut found);
        }
    }
    assert!(found.len() > 10, "{found:?}");
    let is_ours = |file: &&PathBuf| !file.to_string_lossy().ends_with(".min.js");
    for file in found.iter().filter(is_ours) {
        let text = fs::read_to_string(file).unwrap();
        for part in ["Math.max(", "Math.min("] {
            let spread = text
                .split(part)
                .skip(1)
                .any(|rest| rest.split(')').next().is_some_and(|of| of.contains("...")));
            assert!(!spread, "{}: {part}", file.display());
        }
    }
}
