//! Recipe of a figure: the options of `paceline plot` in a file, which draws it again.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use clap::{Args as _, Command, FromArgMatches as _};
use paceline_lab::files::OutFile;
use paceline_reproduce::Recipe;
use paceline_scenario::diagnostics::Source;
use paceline_scenario::{Diagnostics, Problem, read_text};
use toml::{Table, Value};

use super::PlotArgs;
use crate::failure::Failure;
use crate::text;

/// Key of the folders, which are no option.
const RUNS: &str = "runs";
/// Key of the figure's file.
const OUT: &str = "out";
/// Options that are not part of a figure.
const NOT_KEPT: [&str; 4] = ["force", "save", "save-experiment", "from"];
/// Options whose values are lists.
const LISTS: [&str; 2] = ["names", "order"];

/// Reads the file of a recipe.
pub(super) fn of_file(file: &Path) -> Result<(Recipe, Source), Failure> {
    let text = read_text(file).map_err(|error| Failure::arguments(format!("{}: {error}", file.display())))?;
    let source = Source::new(file.display().to_string(), text);
    Ok((paceline_scenario::read_toml(&source)?, source))
}

/// Returns the options that a recipe's file gives. Its paths start at its own folder.
pub(super) fn read(file: &Path) -> Result<PlotArgs, Failure> {
    let (mut recipe, source) = of_file(file)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let runs = recipe.remove(RUNS).ok_or_else(|| {
        let problem = Problem::new(format!("expected `{RUNS}`, the folders to draw"));
        Diagnostics::from(problem.at(&source.end()))
    })?;
    let all = match runs.get_ref() {
        Value::Array(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    let path = |one: &Value| match one.as_str() {
        Some(path) => Ok(folder.join(path)),
        None => {
            let problem = Problem::new(format!("`{RUNS}`: expected folders, found `{one}`"));
            Err(Diagnostics::from(problem.at(&source.at(runs.span()))))
        }
    };
    let folders: Result<Vec<PathBuf>, Diagnostics> = all.iter().map(path).collect();
    let args = parse(&recipe, &source)?;
    Ok(PlotArgs {
        folders: folders?,
        out: args.out.map(|out| folder.join(out)),
        ..args
    })
}

/// Returns the options of a recipe, whose runs are known to the caller.
pub(super) fn parse(recipe: &Recipe, source: &Source) -> Result<PlotArgs, Diagnostics> {
    let command = PlotArgs::augment_args(Command::new("plot").no_binary_name(true));
    let options: Vec<String> = (command.get_arguments().filter_map(|arg| arg.get_long()))
        .filter(|name| !NOT_KEPT.contains(name))
        .map(ToString::to_string)
        .collect();
    let mut words: Vec<OsString> = Vec::new();
    for (key, value) in recipe {
        let wrong = |message: String| Problem::new(message).at(&source.at(value.span()));
        if !options.contains(key) {
            let hint = text::nearest(key, options.iter().map(String::as_str))
                .map_or_else(String::new, |near| format!(": did you mean `{near}`?"));
            return Err(wrong(format!("unknown key `{key}`{hint}")).into());
        }
        let text = plain(value.get_ref()).ok_or_else(|| {
            let found = value.get_ref();
            wrong(format!(
                "`{key}`: expected a text, a number or a list of them, found `{found}`"
            ))
        })?;
        words.push(format!("--{key}={text}").into());
    }
    // The command needs a folder and a file, which the caller may have.
    let has_out = recipe.contains_key(OUT);
    words.extend((!has_out).then(|| OsString::from("--out=.")));
    words.extend(["--".into(), ".".into()]);
    let parsed = command.try_get_matches_from(words);
    let parsed = parsed.and_then(|matches| PlotArgs::from_arg_matches(&matches));
    let args = parsed.map_err(|error| {
        let message = error.to_string();
        let first = message.lines().take_while(|line| !line.is_empty());
        let first = first.collect::<Vec<_>>().join(" ");
        located(first.trim_start_matches("error: "), recipe, source)
    })?;
    Ok(PlotArgs {
        out: args.out.clone().filter(|_| has_out),
        ..args
    })
}

/// Returns an error at the key whose option its message names first, or at the end of the file.
pub(super) fn located(message: &str, recipe: &Recipe, source: &Source) -> Diagnostics {
    let named = recipe
        .iter()
        .filter_map(|(key, value)| Some((message.find(&format!("--{key}"))?, value)));
    let location = match named.min_by_key(|(position, _)| *position) {
        Some((_, value)) => source.at(value.span()),
        None => source.end(),
    };
    Problem::new(message).at(&location).into()
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Array(all) => {
            let all: Option<Vec<String>> = all.iter().map(plain).collect();
            Some(all?.join(","))
        }
        _ => None,
    }
}

/// Writes the recipe of the figure that this command line asks for.
pub(super) fn write(file: &Path, args: &PlotArgs) -> Result<(), Failure> {
    let target = OutFile::new(file, args.force, &[])?;
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let near = |path: &Path| Value::from(relative(folder, path).to_string_lossy().into_owned());
    let mut table = options();
    if let Some(out) = &args.out {
        table.insert(OUT.into(), near(out));
    }
    let runs = args.folders.iter().map(|path| near(path)).collect();
    table.insert(RUNS.into(), Value::Array(runs));
    let text = format!(
        "# Drawn again by: paceline plot --from {}\n{table}",
        file.display()
    );
    target.write(|out| out.write_all(text.as_bytes()))?;
    Ok(())
}

/// Returns the recipe of a figure of an experiment: without runs, and with the name of its file alone.
pub(super) fn of_experiment(args: &PlotArgs) -> Result<Table, Failure> {
    let mut table = match &args.from {
        None => options(),
        Some(file) => {
            let (recipe, _) = of_file(file)?;
            let values = recipe.into_iter().map(|(key, value)| (key, value.into_inner()));
            values.filter(|(key, _)| key != RUNS).collect()
        }
    };
    let name = args.out.as_deref().and_then(Path::file_name).unwrap_or_default();
    table.insert(OUT.into(), name.to_string_lossy().into_owned().into());
    Ok(table)
}

/// Returns the options of this command line that belong to the figure.
fn options() -> Table {
    let known = PlotArgs::augment_args(Command::new("plot"));
    let mut table = Table::new();
    for (name, value) in given(&known, std::env::args_os()) {
        let value = match name.as_str() {
            name if NOT_KEPT.contains(&name) || name == OUT => continue,
            name if LISTS.contains(&name) => Value::Array(value.split(',').map(Value::from).collect()),
            _ => value
                .parse::<i64>()
                .map_or_else(|_| Value::from(value.as_str()), Value::from),
        };
        table.insert(name, value);
    }
    table
}

/// Returns the options of a command line, which has been checked, with their values.
fn given(known: &Command, words: impl Iterator<Item = OsString>) -> Vec<(String, String)> {
    let takes_value = |name: &str| {
        let found = known.get_arguments().find(|arg| arg.get_long() == Some(name));
        found.is_some_and(|arg| arg.get_action().takes_values())
    };
    let long_of = |short: char| {
        let found = known.get_arguments().find(|arg| arg.get_short() == Some(short));
        found
            .and_then(|arg| arg.get_long())
            .unwrap_or_default()
            .to_string()
    };
    let mut found = Vec::new();
    let mut words = words.map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        let (name, own) = if word == "--" {
            break;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, own) = long
                .split_once('=')
                .map_or((long, None), |(name, own)| (name, Some(own)));
            (name.to_string(), own.map(ToString::to_string))
        } else if let Some(short) = word.strip_prefix('-')
            && let Some(first) = short.chars().next()
        {
            let own = short[first.len_utf8()..].trim_start_matches('=');
            (long_of(first), (!own.is_empty()).then(|| own.to_string()))
        } else {
            continue;
        };
        if takes_value(&name)
            && let Some(value) = own.or_else(|| words.next())
        {
            found.push((name, value));
        }
    }
    found
}

/// Returns the path of `to` from a folder, if both are there; otherwise `to`.
fn relative(folder: &Path, to: &Path) -> PathBuf {
    let whole = |path: &Path| match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(path), ..) => Some(path),
        // A file that is to be written is not there yet.
        (Err(_), Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            };
            Some(parent.canonicalize().ok()?.join(name))
        }
        _ => None,
    };
    let (Some(from), Some(whole)) = (whole(folder), whole(to)) else {
        return to.to_path_buf();
    };
    let common = (from.components().zip(whole.components()))
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(whole.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_command_line() {
        let known = PlotArgs::augment_args(Command::new("plot"));
        let words = [
            "paceline", "plot", "a", "--what", "queue", "-o", "q.pdf", "--log=x", "--force", "-oz", "b",
            "--names", "x,y",
        ];
        let found = given(&known, words.iter().map(OsString::from));
        let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            found,
            [
                ("what", "queue"),
                ("out", "q.pdf"),
                ("log", "x"),
                ("out", "z"),
                ("names", "x,y")
            ]
        );
    }

    #[test]
    fn paths_from_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir_all(at("results/two")).unwrap();
        std::fs::create_dir_all(at("paper/figures")).unwrap();
        let from = |folder: &str, to: &str| relative(&at(folder), &at(to)).display().to_string();
        assert_eq!(from("paper/figures", "results/two"), "../../results/two");
        assert_eq!(from("paper", "paper/new.pdf"), "new.pdf");
        assert_eq!(from("paper", "paper/figures/new.pdf"), "figures/new.pdf");
        assert_eq!(
            relative(Path::new("nowhere"), Path::new("x/y")),
            PathBuf::from("x/y")
        );
    }
}
