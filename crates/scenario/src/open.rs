//! Lookup of an input by its name.

use std::path::{Path, PathBuf};

use crate::diagnostics::{self, Diagnostics, Problem, Source};
use crate::files::{self, Files};
use crate::overrides::Overrides;
use crate::{builtin, ns3};

/// Input that was found.
pub(crate) enum Opened {
    /// Scenario, the lookup of its files, and its default name.
    Toml(Source, Files, String),
    /// Configuration and its path.
    Config(Source, PathBuf),
}

/// Finds the input that `input` names: a file, a folder that holds one, or a built-in scenario.
pub(crate) fn open(input: &str, overrides: &Overrides) -> Result<Opened, Diagnostics> {
    let path = Path::new(input);
    if let Some(text) = &overrides.text {
        let source = Source::new(input, text.as_str());
        return Ok(Opened::Toml(source, Files::within([PathBuf::new()]), stem(path)));
    }
    let path = if path.is_dir() {
        let inside = ["scenario.toml", "config.txt"].map(|name| path.join(name));
        let found = inside.into_iter().find(|file| file.is_file());
        found.ok_or_else(|| {
            let whose = if path.join("sweep.json").is_file() {
                ": it is a sweep's, whose runs are in its folder `runs`"
            } else if path.join("comparison.json").is_file() {
                ": it is a comparison's, whose runs have folders in it"
            } else {
                ""
            };
            Problem::new(format!(
                "`{input}` is a folder without a scenario.toml or a config.txt{whose}"
            ))
        })?
    } else {
        path.to_path_buf()
    };
    if !path.is_file() {
        if let Some(near) = file_beside(&path) {
            return Err(Problem::new(format!("there is no file `{input}`"))
                .help(format!("did you mean `{}`?", near.display()))
                .into());
        }
        // A name with an extension or a folder is meant as a file, not as a built-in scenario.
        if path.extension().is_some() || path.components().count() > 1 {
            return Err(Problem::new(format!("there is no file `{input}`"))
                .help("`paceline list scenarios` lists the built-in ones")
                .into());
        }
        let shipped = shipped(input)?;
        let source = Source::new(format!("{input}.toml"), shipped.text);
        return Ok(Opened::Toml(source, shipped.files(), input.to_string()));
    }
    let source = files::read(&path)?;
    // Inputs of other kinds are recognized first: the TOML parser would only find a syntax error in them.
    if looks_like_flows(source.text()) {
        let message = format!("`{input}` looks like a file of flows, or a topology, of HPCC's simulator");
        return Err(Problem::new(message)
            .help("give the config.txt that names it; or write a scenario with `[[workload]] file = \"..\"`")
            .into());
    }
    if let Some((what, key)) = of_htsim(source.text()) {
        let message = format!("`{input}` looks like {what} of htsim");
        return Err(Problem::new(message)
            .help(format!("write a scenario with {key} = {input:?}`"))
            .into());
    }
    // A scenario may have names of a vendor's file, so only texts that are no TOML count.
    let is_toml = || toml::de::DeTable::parse(source.text()).is_ok();
    if let Some(vendor) = crate::vendor::files::vendor_of(source.text()).filter(|_| !is_toml()) {
        let message = format!("`{input}` is a configuration of {}", vendor.title);
        return Err(Problem::new(message)
            .help(format!(
                "name it in a scenario: `[vendor]` and below it `{} = {input:?}`; `paceline explain {0}` lists what is read",
                vendor.name
            ))
            .into());
    }
    if let Some(kind) = other_kind(source.text()) {
        let message =
            format!("`{input}` is {kind}: expected a scenario (.toml), a config.txt, or a folder with one");
        return Err(Problem::new(message).into());
    }
    if ns3::config::looks_like_config(source.text()) {
        return Ok(Opened::Config(source, path));
    }
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let files = Files::within([folder.clone(), PathBuf::new()]).and_stored(&folder)?;
    Ok(Opened::Toml(source, files, stem(&path)))
}

/// Returns a scenario or configuration in the same folder whose name is close to that of a missing file.
fn file_beside(missing: &Path) -> Option<PathBuf> {
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty());
    let wanted = missing.extension().is_some() || folder.is_some();
    let inside = folder.unwrap_or(Path::new("."));
    let files = wanted.then(|| std::fs::read_dir(inside).ok()).flatten()?;
    let names: Vec<String> = files
        .flatten()
        .map(|file| file.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".toml") || name.ends_with(".txt"))
        .collect();
    let name = missing.file_name()?.to_string_lossy();
    let near = diagnostics::nearest(&name, names.iter().map(String::as_str))?;
    Some(folder.map_or_else(|| PathBuf::from(near), |folder| folder.join(near)))
}

/// Returns true if a text starts like a flow file or a topology: only with numbers, or with several on its first
/// line.
fn looks_like_flows(text: &str) -> bool {
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default();
    let numbers = first
        .split_whitespace()
        .take_while(|word| is_number(word))
        .count();
    let mut words = text.split_whitespace().take(8).peekable();
    numbers > 2 || words.peek().is_some() && words.all(is_number)
}

/// Returns the kind of an htsim input, and the key of a scenario that names such a file.
fn of_htsim(text: &str) -> Option<(&'static str, &'static str)> {
    let words = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let mut lines = text
        .lines()
        .map(words)
        .filter(|words| words.first().is_some_and(|word| !word.starts_with('#')));
    let starts = |line: Option<Vec<String>>, key: &str| {
        line.is_some_and(|words| words.len() == 2 && words[0] == key && words[1].parse::<u32>().is_ok())
    };
    if !starts(lines.next(), "Nodes") {
        return None;
    }
    Some(match starts(lines.next(), "Connections") {
        true => ("a connection matrix", "`[[workload]] file"),
        false => ("a topology", "`topology.file"),
    })
}

/// Returns the kind of a text that is a table or the result of a run, rather than a scenario.
fn other_kind(text: &str) -> Option<&'static str> {
    // A comment may have commas, too.
    let mut lines =
        (text.lines()).filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let (first, second) = (lines.next()?.trim_start(), lines.next().unwrap_or_default());
    let commas = |line: &str| line.matches(',').count();
    match first {
        _ if first.starts_with('{') => Some("JSON"),
        _ if first.starts_with("<!DOCTYPE") || first.starts_with("<html") || first.starts_with("<svg") => {
            Some("a page")
        }
        _ if commas(first) > 1 && commas(first) == commas(second) && !first.contains('=') => {
            Some("a table of CSV")
        }
        _ => None,
    }
}

/// Returns the default name of a scenario in this file.
fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}

impl builtin::Shipped {
    /// Returns the lookup of its files: the texts built in with it, then the working directory.
    pub(crate) fn files(&self) -> Files {
        let texts = self.files.iter();
        let texts = texts.map(|&(path, text)| (path.to_string(), text.to_string().into_bytes()));
        Files::within([PathBuf::new()]).with_memory(texts)
    }
}

pub(crate) fn shipped(name: &str) -> Result<&'static builtin::Shipped, Problem> {
    let names = || builtin::scenarios().iter().map(|shipped| shipped.name);
    let found = builtin::scenarios().iter().find(|shipped| shipped.name == name);
    found.ok_or_else(|| {
        let problem = Problem::new(format!("`{name}` is neither a file nor a built-in scenario"));
        problem.help(format!(
            "{} `paceline list scenarios` has all {}",
            diagnostics::among_many(name, names()),
            names().count()
        ))
    })
}
