//! Which parts of the engine may name which, as ARCHITECTURE.md says: read off the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each folder, and those that it may name beside itself and what all may (descriptions, results, numbers).
const MAY_NAME: [(&str, &[&str]); 7] = [
    ("world", &[]),
    ("core", &["world", "watch"]),
    ("switch", &["world", "core"]),
    ("traffic", &["world", "core"]),
    ("host", &["world", "core", "traffic"]),
    // Its hooks look at the core and at senders; see `no_circle_is_large` for what it has of its own.
    ("watch", &["world", "core", "host"]),
    ("reference", &["world", "core", "switch", "host", "traffic"]),
];
const ALL_MAY_NAME: [&str; 4] = ["ids", "spec", "outcome", "common"];
/// As many files may name each other in a circle.
const LARGEST_CIRCLE: usize = 5;

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
