//! Sources of commands: pages of the book, and help texts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::stdout;

/// A command; `fails` is true if the page shows that it fails.
#[derive(Clone, Debug, Default)]
pub(crate) struct Command {
    pub(crate) line: String,
    pub(crate) fails: bool,
    /// The command's text on its page, and the output shown there.
    pub(crate) shown: Option<(String, String)>,
}

/// Commands that a reader executes in order.
#[derive(Default)]
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) commands: Vec<Command>,
    /// Scenarios on the page, each introduced by its name in backticks and a colon.
    pub(crate) scenarios: Vec<(String, String)>,
    /// Path of the page, if its outputs and figures are checked.
    pub(crate) file: Option<PathBuf>,
}

/// Returns the README, all pages of the book, and one page with the examples of all help texts.
pub(crate) fn pages() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    add_markdown(&root.join("book/src"), &mut files);
    files.sort();
    let mut pages: Vec<Page> = files.iter().map(|file| of_markdown(&root, file)).collect();
    pages.push(of_helps());
    pages.push(of_explanations());
    pages.retain(|page| !page.commands.is_empty());
    pages
}

fn add_markdown(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_markdown(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

/// Returns the files that a reader has to write: `NAME.toml`, a colon, and the block.
fn scenarios(text: &str) -> Vec<(String, String)> {
    let parts = text.split("`:\n\n```toml\n");
    let pairs = parts.clone().zip(parts.skip(1));
    let named = pairs.filter_map(|(before, after)| {
        let name = before.rsplit('`').next()?;
        let is_name = name.ends_with(".toml") && !name.contains(char::is_whitespace);
        is_name.then(|| {
            (
                name.to_string(),
                after.split("```").next().unwrap_or_default().to_string(),
            )
        })
    });
    named.collect()
}

/// Returns the lines that start with `$` in all console blocks.
fn of_markdown(root: &Path, file: &Path) -> Page {
    let text = fs::read_to_string(file).expect("a page");
    let blocks = text.split("```").skip(1).step_by(2);
    let terminals = blocks.filter_map(|block| block.strip_prefix("console\n"));
    let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
    let guide = name.starts_with("book/src/guide/");
    let of_block = |block: &str| {
        let fails = block.contains("  × ");
        let parts: Vec<String> = block.split("$ ").skip(1).map(str::to_string).collect();
        let command = |part: String| {
            let joined = part.replace("\\\n", " ");
            let line = joined.lines().next().unwrap_or_default();
            let typed = part.len() - joined.len() + line.len() + 1;
            let (typed, output) = part.split_at(typed.min(part.len()));
            let is_shown = guide && !output.is_empty();
            Command {
                line: without_comment(line),
                fails,
                shown: is_shown.then(|| (typed.to_string(), output.to_string())),
            }
        };
        parts.into_iter().map(command).collect::<Vec<_>>()
    };
    Page {
        commands: terminals.flat_map(of_block).collect(),
        scenarios: scenarios(&text),
        file: guide.then(|| file.to_path_buf()),
        name,
    }
}

fn without_comment(line: &str) -> String {
    line.split("  #").next().unwrap_or_default().trim().to_string()
}

/// Returns the examples of all commands' help texts, in order, since later ones use the results of earlier ones.
fn of_helps() -> Page {
    let here = Path::new(".");
    let top = stdout(here, &["--help"]);
    let list = top.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = list
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next());
    let mut texts: Vec<String> = names.map(|name| stdout(here, &[name, "--help"])).collect();
    texts.extend(["topology", "flows"].map(|what| stdout(here, &["generate", what, "--help"])));
    // The overview comes first: a flow.txt that a later example generates would be taken for the input of its
    // config.txt.
    texts.insert(0, top.clone());
    let mut commands: Vec<Command> = texts.iter().flat_map(|text| examples(text)).collect();
    // Examples of the overview are repeated in the help of their commands.
    let mut seen = BTreeSet::new();
    commands.retain(|command| seen.insert(command.line.clone()));
    Page {
        name: "examples of helps".into(),
        commands,
        ..Page::default()
    }
}

/// Returns the example on each page of `explain`, except those of scenarios, which run them.
fn of_explanations() -> Page {
    let index = stdout(Path::new("."), &["explain"]);
    let groups = index
        .split("\n\n")
        .filter(|group| !group.starts_with("Scenarios\n"));
    // Names are indented by two spaces, and their descriptions more.
    let names = groups.flat_map(|group| {
        let rows = group.lines().filter_map(|line| line.strip_prefix("  "));
        rows.filter(|row| !row.starts_with(' '))
            .filter_map(|row| row.split_whitespace().next())
    });
    let example = |name: &str| {
        let page = stdout(Path::new("."), &["explain", name]);
        let found = page.split_once("\nExample:\n  ").map(|(_, rest)| rest);
        let line = found.and_then(|rest| rest.lines().next());
        Command {
            line: line
                .unwrap_or_else(|| panic!("the page of {name} has no example"))
                .to_string(),
            ..Command::default()
        }
    };
    let mut commands: Vec<Command> = names.map(example).collect();
    commands.sort_by(|a, b| a.line.cmp(&b.line));
    commands.dedup_by(|a, b| a.line == b.line);
    assert!(commands.len() > 50, "{} examples", commands.len());
    Page {
        name: "examples of explanations".into(),
        commands,
        ..Page::default()
    }
}

/// Returns the commands under `Examples:`. Their descriptions follow after two or more spaces.
fn examples(help: &str) -> Vec<Command> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let block: Vec<&str> = lines.take_while(|line| line.starts_with("  ")).collect();
    let joined = block.join("\n").replace("\\\n", " ");
    let commands = joined
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with("paceline "));
    let command = |line: &str| Command {
        line: shown(line),
        ..Command::default()
    };
    commands.map(command).collect()
}

/// Returns a command without its description. A continued line has spaces inside.
fn shown(line: &str) -> String {
    let mut kept = String::new();
    for (i, part) in line
        .split("  ")
        .filter(|part| !part.trim().is_empty())
        .enumerate()
    {
        if i > 0 && !part.trim_start().starts_with("--") {
            break;
        }
        kept.push_str(part);
        kept.push(' ');
    }
    kept.trim().to_string()
}
