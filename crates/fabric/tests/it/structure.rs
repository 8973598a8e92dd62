//! Dependencies between parts of the engine, as ARCHITECTURE.md allows them: read from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use paceline_testkit::modules::Modules;

/// Modules that all folders may name: ids, and the harness of the tests.
const ALL_MAY_NAME: [&str; 2] = ["ids", "common"];

/// Fields that other folders may name, by struct: all others need methods. An empty list stands for all fields.
const OPEN_FIELDS: [(&str, &[&str], &str); 22] = [
    (
        "core::Core",
        &[
            "agenda",
            "packets",
            "ports",
            "queues",
            "shared_rng",
            "counters",
            "watch",
        ],
        "the ground that switches and hosts stand on: a hop borrows several at once",
    ),
    ("core::packet::Packet", &[], "what all hand on"),
    (
        "core::port::Port",
        &[],
        "what all hand packets to, in one line of the cache",
    ),
    (
        "core::port::ClassQueue",
        &[],
        "its accounts are the switch's, its packets the core's",
    ),
    ("core::paths::Paths", &[], "an answer"),
    ("core::parts::Posted", &[], "an answer"),
    (
        "host::qp::DataPath",
        &[],
        "an answer, handed on to the queue pair",
    ),
    ("core::cx::Cx", &[], "lent to every handler of an event"),
    (
        "host::decisions::Question",
        &[],
        "what is handed to those outside the run",
    ),
    ("switch::spread::Stage", &[], "an answer"),
    ("model::net::Net", &[], "what is lent"),
    ("model::Site", &[], "what is lent"),
    ("lanes::switch::Net", &[], "what is lent"),
    ("watch::Watch", &[], "recorders, which all tell"),
    (
        "traffic::memo::Memo",
        &["taken"],
        "what the run adds to what it counts itself",
    ),
    (
        "traffic::memo::Counts",
        &[],
        "what was counted, handed to who keeps it",
    ),
    ("traffic::memo::Taken", &[], "the same of all phases"),
    ("traffic::memo::Begin", &[], "an answer, handed on to the phase"),
    ("traffic::replay::Standing", &[], "an answer"),
    (
        "watch::record::Recorder",
        &[],
        "series, which become the outcome where the run ends",
    ),
    (
        "watch::deadlock::Watch",
        &[],
        "when run/deadlock.rs looks, and what it found",
    ),
    ("world::", &[], "all have the world to read, and nobody to change"),
];
/// Folders whose files nobody else names: what others may use is exported in their `mod.rs`.
const CLOSED: [&str; 2] = ["host", "switch"];

fn sources(folder: &Path, list: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            sources(&path, list);
        } else if !path.to_string_lossy().ends_with("tests.rs") {
            list.push(path);
        }
    }
}

/// Returns the folders that each may name in addition to itself: the table of ARCHITECTURE.md.
fn may_name() -> BTreeMap<String, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let text = fs::read_to_string(path).expect("ARCHITECTURE.md");
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.split(" | ").collect();
        let [folder, _, names] = cells[..] else {
            return None;
        };
        let words = names.trim_end_matches('|').split([',', ' ', '`']);
        let words = words
            .filter(|word| !["", "nothing"].contains(word))
            .map(str::to_owned);
        Some((folder.strip_suffix("/`")?.to_owned(), words.collect()))
    };
    text.lines().filter_map(row).collect()
}

/// A switch cannot name a queue pair, a host cannot name a buffer, and the world names nothing that changes.
#[test]
fn folders_name_what_they_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let modules = Modules::read(&root.join("lib.rs")).names();
    let first = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let mut seen = 0;
    for (folder, others) in may_name() {
        assert!(
            root.join(&folder).is_dir(),
            "ARCHITECTURE.md: there is no `{folder}`"
        );
        for (module, named) in modules.iter().filter(|(module, _)| first(module) == folder) {
            for (other, names) in named {
                let of = first(other);
                // A folder that may name all others names the crate's root too.
                let may = of == folder
                    || others.contains(&of)
                    || others.contains("all")
                    || ALL_MAY_NAME.contains(&of.as_str());
                assert!(
                    may,
                    "{module} names {names:?} of `{other}`, which `{folder}` must not"
                );
                seen += names.len();
            }
        }
    }
    assert!(
        seen > 200,
        "{seen} names were found: the sources are read no more"
    );
}

/// Returns the structs of a source, each with the fields that the whole crate may name.
fn open_fields(source: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in source.lines() {
        let words: Vec<&str> = line.split(['(', ')', '<', ' ', ';']).collect();
        if let Some(at) = words.iter().position(|&word| word == "struct")
            && !line.trim_start().starts_with("//")
        {
            found.push((words[at + 1].to_owned(), Vec::new()));
        }
        let field = line
            .strip_prefix("    pub(crate) ")
            .or(line.strip_prefix("    pub "));
        let name = field
            .and_then(|field| field.split_once(": "))
            .map(|(name, _)| name);
        if let (Some(name), Some((_, fields))) = (name, found.last_mut())
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        {
            fields.push(name.to_owned());
        }
    }
    found.retain(|(_, fields)| !fields.is_empty());
    found
}

/// Fields are private to their folder, except for those listed above with a reason; and those listed are used.
#[test]
fn fields_are_their_folders_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut needed = BTreeSet::new();
    for (folder, _) in may_name().into_iter().filter(|(_, names)| !names.contains("all")) {
        let mut files = Vec::new();
        sources(&root.join(&folder), &mut files);
        for file in files {
            let inside = file.strip_prefix(&root).expect("a source").with_extension("");
            let module = inside.to_string_lossy().replace('/', "::").replace("::mod", "");
            for (name, fields) in open_fields(&fs::read_to_string(&file).expect("a source")) {
                let full = format!("{module}::{name}");
                let open = OPEN_FIELDS
                    .iter()
                    .position(|(of, _, _)| full == *of || of.ends_with("::") && full.starts_with(of));
                let Some(place) = open else {
                    panic!(
                        "{full}: `{}` can be named from other folders",
                        fields.join("`, `")
                    );
                };
                let allowed = OPEN_FIELDS[place].1;
                for field in fields {
                    assert!(
                        allowed.is_empty() || allowed.contains(&field.as_str()),
                        "{full}: `{field}` can be named from other folders"
                    );
                    needed.insert((place, if allowed.is_empty() { String::new() } else { field }));
                }
            }
        }
    }
    for (place, (of, fields, _)) in OPEN_FIELDS.iter().enumerate() {
        let all = if fields.is_empty() { &[""] } else { *fields };
        for field in all {
            let is_needed = needed.contains(&(place, (*field).to_owned()));
            assert!(is_needed, "{of}: `{field}` is its folder's own by now");
        }
    }
}

/// Queue pairs and buffers are named by their folders' exports alone.
#[test]
fn files_of_closed_folders_are_their_own() {
    for folder in CLOSED {
        let path = format!("{}/src/{folder}/mod.rs", env!("CARGO_MANIFEST_DIR"));
        let source = fs::read_to_string(path).expect("a folder has a `mod.rs`");
        let modules: Vec<&str> = source.lines().filter(|line| line.contains("mod ")).collect();
        assert!(modules.len() > 5, "{folder}: its modules are found no more");
        for line in modules {
            assert!(!line.starts_with("pub"), "{folder}: `{line}` opens a file to all");
        }
    }
}
