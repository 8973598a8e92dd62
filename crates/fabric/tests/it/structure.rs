//! Which parts of the engine may name which, as ARCHITECTURE.md says: read off the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each folder, and those that it may name alongside itself and what all may (numbers; descriptions and results are a crate of their own).
const MAY_NAME: [(&str, &[&str]); 8] = [
    ("world", &[]),
    ("core", &["world", "watch"]),
    ("switch", &["world", "core"]),
    ("traffic", &["world", "core"]),
    ("host", &["world", "core", "traffic"]),
    // Its hooks look at the core and at senders; see `no_circle_is_large` for what it has of its own.
    ("watch", &["world", "core", "host"]),
    // Its surface for models of other simulators, which are crates of their own.
    ("model", &["world", "core", "switch", "host", "traffic"]),
    ("lanes", &["world", "core", "switch"]),
];
const ALL_MAY_NAME: [&str; 2] = ["ids", "common"];
/// As many files may name each other in a circle.
const LARGEST_CIRCLE: usize = 5;

/// Fields that other folders may name, by struct: all else is asked for by methods. An empty list is all of them.
const OPEN_FIELDS: [(&str, &[&str], &str); 16] = [
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
    ("host::qp::Way", &[], "an answer, handed on to the queue pair"),
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
/// Folders whose files nobody else names: what others may know of is named in their `mod.rs`.
const CLOSED: [&str; 2] = ["host", "switch"];

/// A module's path, and what its file names of the crate.
type Modules = BTreeMap<Vec<String>, Vec<Vec<String>>>;

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

/// The paths that a source names, tests and comments apart: `use` with its braces opened, and others as they are.
fn paths_in(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod tests").next().unwrap_or(source);
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or(line));
    let code = lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace("pub(in crate", "pub(in ");
    let mut paths = Vec::new();
    for statement in code.split(';') {
        let Some(at) = statement.find("use ") else {
            continue;
        };
        open_braces("", &statement[at + 4..], &mut paths);
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let end = code[at..].find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            paths.push(code[at..at + end.unwrap_or(code.len() - at)].to_owned());
        }
    }
    paths
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d`, `a::c::e`.
fn open_braces(before: &str, text: &str, paths: &mut Vec<String>) {
    let text = text.trim();
    let Some(open) = text.find('{') else {
        let name = text.split(" as ").next().unwrap_or(text);
        return paths.push(format!("{before}{}", name.trim()));
    };
    let before = format!("{before}{}", &text[..open]);
    let (mut depth, mut start) = (0, open + 1);
    for (at, c) in text.char_indices().skip_while(|&(at, _)| at <= open) {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                if !text[start..at].trim().is_empty() {
                    open_braces(&before, &text[start..at], paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

fn words(path: &str) -> Vec<String> {
    path.split("::").map(|word| word.trim().to_owned()).collect()
}

/// All modules of the crate, each with the modules that it names.
fn modules() -> Modules {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let module_of = |file: &PathBuf| {
        let inside = file.strip_prefix(&root).expect("a source").with_extension("");
        let mut words: Vec<String> = inside.iter().map(|word| word.to_string_lossy().into()).collect();
        if words.last().is_some_and(|last| last == "mod" || last == "lib") {
            words.pop();
        }
        words
    };
    let names: BTreeSet<Vec<String>> = files.iter().map(module_of).collect();
    let find = |from: &[String], path: &str| {
        let mut path = words(path);
        let mut found: Vec<String> = match path[0].as_str() {
            "crate" => Vec::new(),
            "super" | "self" => from.to_vec(),
            // A child's name, or what does not belong to the crate.
            child if names.contains(&[from, &[child.to_owned()]].concat()) => from.to_vec(),
            _ => return None,
        };
        while path
            .first()
            .is_some_and(|word| ["crate", "super", "self"].contains(&word.as_str()))
        {
            if path.remove(0) == "super" {
                found.pop();
            }
        }
        found.extend(path);
        while !names.contains(&found) {
            found.pop();
        }
        (found != from).then_some(found)
    };
    let named = |file: &PathBuf| {
        let from = module_of(file);
        let source = fs::read_to_string(file).expect("a source");
        let paths = paths_in(&source);
        let named = paths.iter().filter_map(|path| find(&from, path)).collect();
        (from, named)
    };
    files.iter().map(named).collect()
}

/// A switch cannot name a queue pair, a host cannot name a buffer, the world names nothing that moves.
#[test]
fn folders_name_what_they_may() {
    let modules = modules();
    let mut seen = 0;
    for (folder, others) in MAY_NAME {
        for (module, named) in modules
            .iter()
            .filter(|(module, _)| module.first().is_some_and(|first| first == folder))
        {
            for first in named.iter().filter_map(|path| path.first()) {
                let may = first == folder
                    || others.contains(&first.as_str())
                    || ALL_MAY_NAME.contains(&first.as_str());
                assert!(
                    may,
                    "{} names `{first}`, which `{folder}` must not",
                    module.join("::")
                );
                seen += 1;
            }
        }
    }
    assert!(
        seen > 200,
        "{seen} names were found: the sources are read no more"
    );
}

/// Where each module comes in a walk that goes deep first, and the modules on the way (Tarjan's algorithm).
struct Walk<'a> {
    modules: &'a Modules,
    number: BTreeMap<&'a [String], usize>,
    lowest: BTreeMap<&'a [String], usize>,
    way: Vec<&'a [String]>,
    circles: Vec<Vec<String>>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, module: &'a [String]) {
        let number = self.number.len();
        self.number.insert(module, number);
        self.lowest.insert(module, number);
        self.way.push(module);
        let modules = self.modules;
        for next in &modules[module] {
            let low = match self.number.get(next.as_slice()) {
                None => {
                    self.visit(next);
                    self.lowest[next.as_slice()]
                }
                Some(&number) if self.way.contains(&next.as_slice()) => number,
                Some(_) => continue,
            };
            let lowest = self.lowest.get_mut(module).expect("it was numbered");
            *lowest = low.min(*lowest);
        }
        if self.lowest[module] == number {
            let place = self
                .way
                .iter()
                .position(|&on| on == module)
                .expect("it is on the way");
            let circle = self.way.split_off(place);
            self.circles
                .push(circle.iter().map(|module| module.join("::")).collect());
        }
    }
}

#[test]
fn no_circle_is_large() {
    let modules = modules();
    let mut walk = Walk {
        modules: &modules,
        number: BTreeMap::new(),
        lowest: BTreeMap::new(),
        way: Vec::new(),
        circles: Vec::new(),
    };
    for module in modules.keys() {
        if !walk.number.contains_key(module.as_slice()) {
            walk.visit(module);
        }
    }
    let largest = walk
        .circles
        .iter()
        .max_by_key(|circle| circle.len())
        .expect("there are files");
    assert!(
        largest.len() > 1,
        "files of a folder name each other: circles are found no more"
    );
    assert!(
        largest.len() <= LARGEST_CIRCLE,
        "{} files in a circle: {largest:?}",
        largest.len()
    );
}

/// The structs of a source, each with its fields that the whole crate may name.
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

/// What a folder holds is its own, but for what is said here with a reason; and what is said here is so.
#[test]
fn fields_are_their_folders_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut needed = BTreeSet::new();
    for (folder, _) in MAY_NAME {
        let mut files = Vec::new();
        sources(&root.join(folder), &mut files);
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

/// A queue pair, a buffer: outside they have the names that their folder gives them.
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
