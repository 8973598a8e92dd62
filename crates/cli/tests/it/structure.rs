//! Dependencies among the files and crates of the workspace, read from the sources. ARCHITECTURE.md describes the
//! rules that are checked here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use paceline_testkit::circles::circles;
use paceline_testkit::modules::Modules;

/// Maximum number of files in a crate that may refer to each other in a cycle.
const LARGEST_CIRCLE: usize = 5;
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the folders of the workspace's crates, by name.
fn crates() -> BTreeMap<String, PathBuf> {
    let entries = fs::read_dir(workspace().join("crates")).expect("crates have a folder");
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    folders.push(workspace().join("python"));
    let named = |folder: PathBuf| {
        let name = folder.file_name()?.to_str()?.to_owned();
        folder.join("Cargo.toml").exists().then_some((name, folder))
    };
    folders.into_iter().filter_map(named).collect()
}

/// Reads the modules of each crate.
fn modules() -> Vec<(String, Modules)> {
    let read = |(name, folder): (String, PathBuf)| {
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
        let root = roots
            .iter()
            .find(|root| root.exists())
            .expect("a crate has a root");
        (name, Modules::read(root))
    };
    crates().into_iter().map(read).collect()
}

/// Files that refer to each other in a cycle can only be understood together. Names are followed through re-exports
/// to the file that defines them.
#[test]
fn no_circle_is_large() {
    let mut too_large = String::new();
    let mut sizes = Vec::new();
    for (name, modules) in modules() {
        let names = modules.names();
        for circle in circles(&names) {
            sizes.push(circle.len());
            if circle.len() <= LARGEST_CIRCLE {
                continue;
            }
            too_large += &format!("{name}: {} files in a circle\n", circle.len());
            for from in &circle {
                for (to, what) in names[from].iter().filter(|(to, _)| circle.contains(to)) {
                    let what: Vec<&str> = what.iter().map(String::as_str).collect();
                    too_large += &format!("  `{from}` names {} of `{to}`\n", what.join(", "));
                }
            }
        }
    }
    assert!(
        sizes.len() > 20,
        "{} circles: the sources are read no more",
        sizes.len()
    );
    assert!(
        too_large.is_empty(),
        "\n{too_large}(the crate's root has no name)"
    );
}

/// Returns the dependencies in a manifest, except those for tests.
fn dependencies(folder: &Path) -> BTreeSet<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a crate has a manifest");
    let sections = manifest.split("\n[");
    let own = sections.filter(|section| section.starts_with("dependencies]"));
    let lines = own.flat_map(str::lines);
    let names = lines.filter_map(|line| line.strip_prefix("paceline-")?.split(['.', ' ', '=']).next());
    names.map(str::to_owned).collect()
}

/// The table of crates in ARCHITECTURE.md agrees with the manifests.
#[test]
fn crates_are_as_the_architecture_says() {
    let text = fs::read_to_string(workspace().join("ARCHITECTURE.md")).expect("it is there");
    let mut told = BTreeMap::new();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [name, _, names] = cells[..] else { continue };
        let name = name.trim_matches('`').trim_start_matches("crates/").to_owned();
        let words = names.trim_end_matches('|').split([',', ' ', '`']);
        let words: BTreeSet<String> = words
            .filter(|word| !["", "nothing"].contains(word))
            .map(str::to_owned)
            .collect();
        told.insert(name, words);
    }
    for (name, folder) in crates() {
        let found = dependencies(&folder);
        match told.get(&name) {
            Some(names) => assert_eq!(*names, found, "{name}: told in ARCHITECTURE.md, and found"),
            None => panic!("ARCHITECTURE.md does not have the crate {name}"),
        }
    }
}

/// Rarely executed crates use the kernel's maps and sets: a `BTreeMap` has several times their machine code.
#[test]
fn cold_crates_have_maps_of_little_code() {
    const COLD: [&str; 9] = [
        "scenario",
        "lab",
        "query",
        "report",
        "view",
        "explain",
        "learn",
        "reproduce",
        "cli",
    ];
    let mut read = 0;
    for name in COLD {
        let mut folders = vec![workspace().join("crates").join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder of sources") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("tests.rs") && path.extension().is_some_and(|end| end == "rs") {
                    let text = fs::read_to_string(&path).expect("a source");
                    let (own, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
                    let found = ["BTreeMap", "BTreeSet"]
                        .into_iter()
                        .find(|tree| own.contains(tree));
                    assert_eq!(
                        found,
                        None,
                        "{}: paceline_kernel::sorted has the same",
                        path.display()
                    );
                    read += 1;
                }
            }
        }
    }
    assert!(read > 300, "{read} files: the sources are read no more");
}
