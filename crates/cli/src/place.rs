//! Where results go when nobody says: each input has a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_lab::files::{OutputError, check_destination};
use paceline_lab::repeats::Repeats;
use paceline_lab::results::{RunStatus, Summary};
use paceline_scenario::Resolved;

use crate::failure::Failure;

/// The folder that `asked` names; of none, the first of `default`, `default-2`, `default-3`, .. that has
/// nothing in it, or what these inputs left when they were run before (`same` says so). With `force` what is in
/// `default` is replaced rather than avoided.
///
/// # Errors
/// If these inputs have been run, and that is not to be replaced: to run them again would give the same bytes.
pub(crate) fn choose(
    asked: Option<&PathBuf>,
    default: &Path,
    force: bool,
    same: impl Fn(&Path) -> bool,
) -> Result<PathBuf, Failure> {
    if let Some(folder) = asked {
        return Ok(folder.clone());
    }
    match first(default, same) {
        (folder, true) if force => Ok(folder),
        (folder, true) => Err(there(&folder)),
        (_, false) if force => Ok(default.to_path_buf()),
        (folder, false) => Ok(folder),
    }
}

/// The same for what goes on where it was stopped: `stopped` says that it was there. With `force` it is begun anew.
pub(crate) fn choose_or_go_on(
    asked: Option<&PathBuf>,
    default: &Path,
    force: bool,
    stopped: impl Fn(&Path) -> bool,
) -> PathBuf {
    match asked {
        Some(folder) => folder.clone(),
        None if force => default.to_path_buf(),
        None => first(default, stopped).0,
    }
}

/// The first of `default`, `default-2`, .. that has nothing in it, or of which `known` holds, and whether it does.
fn first(default: &Path, known: impl Fn(&Path) -> bool) -> (PathBuf, bool) {
    let mut folder = default.to_path_buf();
    // What else may be in the way is told by whoever makes the folder.
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

fn there(folder: &Path) -> Failure {
    if is_partial(folder) {
        return Failure::arguments(format!(
            "{} has the part of this that was done when it was interrupted. Make the whole with --force, or elsewhere with \
             --out",
            folder.display()
        ));
    }
    Failure::arguments(format!(
        "{} has this run: the same input, seed and version give the same bytes. Make it again with --force, or \
         elsewhere with --out",
        folder.display()
    ))
}

/// Whether the run in `folder`, or one of the comparison there, was interrupted.
fn is_partial(folder: &Path) -> bool {
    let inside = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let of = |folder: &Path| fs::read_to_string(folder.join("summary.json")).ok();
    let all = inside.filter_map(|folder| of(&folder)).chain(of(folder));
    all.filter_map(|text| serde_json::from_str::<Summary>(&text).ok())
        .any(|summary| summary.status == RunStatus::Partial)
}

/// Whether `folder` is what a run of `input` left.
pub(crate) fn is_run(folder: &Path, input: &Resolved) -> bool {
    let is = |name: &str, text: &str| fs::read_to_string(folder.join(name)).is_ok_and(|there| there == text);
    folder.join("summary.json").is_file()
        && is("scenario.toml", &input.toml)
        && input.files.iter().all(|(name, text)| is(name, text))
}

/// Whether `folder` is what a comparison of these left: of each scheme the same seeds.
pub(crate) fn is_comparison(folder: &Path, inputs: &[Vec<Resolved>]) -> bool {
    let Ok(text) = fs::read_to_string(folder.join("comparison.json")) else {
        return false;
    };
    let (seeds, schemes) = if let Ok(repeats) = serde_json::from_str::<Repeats>(&text) {
        (repeats.asked, repeats.intervals.len())
    } else {
        let list = serde_json::from_str::<Vec<Summary>>(&text);
        (1, list.map_or(0, |list| list.len()))
    };
    let runs: Vec<PathBuf> = fs::read_dir(folder).map_or_else(
        |_| Vec::new(),
        |entries| entries.flatten().map(|entry| entry.path()).collect(),
    );
    let there = |input: &Resolved| runs.iter().any(|run| is_run(run, input));
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
        assert_eq!(chosen(false, "none"), Some(default.clone()));
        for name in ["a", "a-2"] {
            fs::create_dir(tmp.path().join(name)).unwrap();
            fs::write(tmp.path().join(name).join("summary.json"), "{}").unwrap();
        }
        assert_eq!(chosen(false, "none"), Some(tmp.path().join("a-3")));
        assert_eq!(chosen(false, "a-2"), None);
        assert_eq!(chosen(true, "a-2"), Some(tmp.path().join("a-2")));
        assert_eq!(chosen(true, "none"), Some(default.clone()));
        let going_on =
            |force, stopped: &str| choose_or_go_on(None, &default, force, |folder| folder.ends_with(stopped));
        assert_eq!(going_on(false, "none"), tmp.path().join("a-3"));
        assert_eq!(going_on(false, "a-2"), tmp.path().join("a-2"));
        assert_eq!(going_on(true, "a-2"), default);
        let named = tmp.path().join("b");
        assert_eq!(choose(Some(&named), &default, false, |_| false).ok(), Some(named));
    }
}
