//! Default folders for results: each input has a separate folder.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_lab::files::{OutputError, Writing, check_destination};
use paceline_lab::repeats::Repeats;
use paceline_lab::results::{RunStatus, Summary};
use paceline_scenario::Resolved;

use crate::failure::Failure;

/// Folder for the results of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Folder to be written.
    New(PathBuf),
    /// Folder with the results of an earlier identical command, which would give the same bytes again.
    Existing(PathBuf),
}

/// Chooses a folder: `asked`, or the first of `default`, `default-2`, `default-3`, .. that is empty or has results of
/// the same inputs (`same`). With `force`, `default` is replaced.
///
/// # Errors If the folder has partial results of these inputs.
pub(crate) fn choose(
    asked: Option<&PathBuf>,
    default: &Path,
    force: bool,
    same: impl Fn(&Path) -> bool,
) -> Result<Destination, Failure> {
    let (folder, is_there) = match asked {
        Some(folder) => (folder.clone(), !force && same(folder)),
        None => {
            let found = first(default, same);
            if !force && found.0 != default {
                tell_other_code(default);
            }
            found
        }
    };
    match (folder, is_there) {
        (folder, true) if force => Ok(Destination::New(folder)),
        (folder, true) if is_partial(&folder) => Err(in_part(&folder)),
        (folder, true) => Ok(Destination::Existing(folder)),
        (_, false) if force && asked.is_none() => Ok(Destination::New(default.to_path_buf())),
        (folder, false) => Ok(Destination::New(folder)),
    }
}

/// Chooses a folder for a command that never reuses results.
pub(crate) fn choose_new(asked: Option<&PathBuf>, default: &Path, force: bool) -> PathBuf {
    choose_or_go_on(asked, default, force, |_| false)
}

/// Chooses a folder for a command that resumes its work. `stopped` returns true for a folder with unfinished work.
/// With `force`, it starts again.
pub(crate) fn choose_or_go_on(
    asked: Option<&PathBuf>,
    default: &Path,
    force: bool,
    stopped: impl Fn(&Path) -> bool,
) -> PathBuf {
    match asked {
        Some(folder) => folder.clone(),
        None if force => default.to_path_buf(),
        None => {
            let folder = first(default, stopped).0;
            if folder != default {
                tell_other_code(default);
            }
            folder
        }
    }
}

/// Reports that existing results are not used because other code produced them.
fn tell_other_code(folder: &Path) {
    let plan = paceline_lab::sweep::read_plan(folder).map(|plan| plan.version);
    let version = plan
        .ok()
        .or_else(|| summaries(folder).next().map(|summary| summary.version));
    let this = paceline_lab::version();
    if let Some(version) = version.filter(|version| version != this) {
        say!(
            "{} has results by version {version}, this is {this}, which may give others: they are not used",
            folder.display()
        );
    }
}

/// Returns the first of `default`, `default-2`, .. that is empty or for which `known` is true, and the result of
/// `known`.
fn first(default: &Path, known: impl Fn(&Path) -> bool) -> (PathBuf, bool) {
    let mut folder = default.to_path_buf();
    // Other obstacles are reported when the folder is created.
    for n in 2.. {
        if !matches!(
            check_destination(&folder, false),
            Err(OutputError::NotEmpty { .. })
        ) {
            break;
        }
        if known(&folder) {
            return (folder, true);
        }
        folder = PathBuf::from(format!("{}-{n}", default.display()));
    }
    (folder, false)
}

fn in_part(folder: &Path) -> Failure {
    Failure::arguments(format!(
        "{} has the part of this that was done when it was interrupted. Make the whole with --force, or elsewhere with \
         --out",
        folder.display()
    ))
}

/// Reports that the results existed already.
pub(crate) fn print_there(folder: &Path) {
    say!(
        "results in {}, of the same command earlier; --force runs it again",
        folder.display()
    );
}

/// Iterates over the summaries of the run or comparison in `folder`.
fn summaries(folder: &Path) -> impl Iterator<Item = Summary> {
    let inside = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    inside
        .filter_map(|folder| summary(&folder))
        .chain(summary(folder))
}

/// Returns true if the run in `folder`, or one of the comparison there, was interrupted.
fn is_partial(folder: &Path) -> bool {
    summaries(folder).any(|summary| summary.status == RunStatus::Partial)
}

/// Returns true if `folder` has the results of this code for `input`, with all requested files.
pub(crate) fn is_run(folder: &Path, input: &Resolved, writing: Writing) -> bool {
    let is = |name: &str, content: &[u8]| {
        paceline_scenario::read_bytes(folder.join(name)).is_ok_and(|there| there == content)
    };
    let version = |summary: &Summary| summary.version == paceline_lab::version();
    let is_there = |name: &str| folder.join(name).is_file();
    let (all, unique) = (writing.format.flows(), writing.format.unique_flows());
    let flows = || is_there(all) || !writing.expand && is_there(unique);
    // An interrupted run may lack its flows.
    summary(folder)
        .filter(version)
        .is_some_and(|summary| summary.status == RunStatus::Partial || flows())
        && is("scenario.toml", input.toml.as_bytes())
        && input.files.iter().all(|(name, content)| is(name, content))
        && (!writing.timeline || folder.join("timeline.pftrace").is_file())
}

fn summary(folder: &Path) -> Option<Summary> {
    let text = paceline_scenario::read_text(folder.join("summary.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns true if `folder` has the comparison of these inputs, with the same number of seeds per scheme.
pub(crate) fn is_comparison(folder: &Path, inputs: &[Vec<Resolved>], writing: Writing) -> bool {
    let Ok(text) = paceline_scenario::read_text(folder.join("comparison.json")) else {
        return false;
    };
    let (seeds, schemes) = if let Ok(repeats) = serde_json::from_str::<Repeats>(&text) {
        // Runs are ordered by scheme. Intervals exist only if the seed matters.
        let mut schemes: Vec<&str> = repeats
            .runs
            .iter()
            .map(|run| run.summary.scheme.as_str())
            .collect();
        schemes.dedup();
        (repeats.asked, schemes.len())
    } else {
        let list = serde_json::from_str::<Vec<Summary>>(&text);
        (1, list.map_or(0, |list| list.len()))
    };
    let runs: Vec<PathBuf> = fs::read_dir(folder).map_or_else(
        |_| Vec::new(),
        |entries| entries.flatten().map(|entry| entry.path()).collect(),
    );
    let there = |input: &Resolved| runs.iter().any(|run| is_run(run, input, writing));
    schemes == inputs.len()
        && inputs
            .iter()
            .all(|repeats| repeats.len() == seeds && there(&repeats[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_input_gets_another_folder() {
        let tmp = tempfile::tempdir().unwrap();
        let default = tmp.path().join("a");
        let chosen = |force, same: &str| choose(None, &default, force, |folder| folder.ends_with(same)).ok();
        let new = |folder: PathBuf| Some(Destination::New(folder));
        assert_eq!(chosen(false, "none"), new(default.clone()));
        for name in ["a", "a-2"] {
            fs::create_dir(tmp.path().join(name)).unwrap();
            fs::write(tmp.path().join(name).join("summary.json"), "{}").unwrap();
        }
        assert_eq!(chosen(false, "none"), new(tmp.path().join("a-3")));
        assert_eq!(
            chosen(false, "a-2"),
            Some(Destination::Existing(tmp.path().join("a-2")))
        );
        assert_eq!(chosen(true, "a-2"), new(tmp.path().join("a-2")));
        assert_eq!(chosen(true, "none"), new(default.clone()));
        let going_on =
            |force, stopped: &str| choose_or_go_on(None, &default, force, |folder| folder.ends_with(stopped));
        assert_eq!(going_on(false, "none"), tmp.path().join("a-3"));
        assert_eq!(going_on(false, "a-2"), tmp.path().join("a-2"));
        assert_eq!(going_on(true, "a-2"), default);
        let named = tmp.path().join("b");
        let asked = |force, same| choose(Some(&named), &default, force, |_| same).ok();
        assert_eq!(asked(false, false), new(named.clone()));
        assert_eq!(asked(false, true), Some(Destination::Existing(named.clone())));
        assert_eq!(asked(true, true), new(named.clone()));
    }
}
