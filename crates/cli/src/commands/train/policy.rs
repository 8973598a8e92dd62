//! What trainings of policies leave, whatever they train.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use paceline_learn::{Checkpoints, ModelFiles};
use serde_json::Value;

use super::args::TrainArgs;
use crate::commands::folder::{write_json, write_page};
use crate::failure::{Done, Ended};
use crate::interrupt::Kept;
use crate::{interrupt, output};

/// A policy that was trained, and what is said of it.
pub(super) struct Policy {
    /// The scheme that it decides for.
    pub(super) scheme: &'static str,
    /// The model's name.
    pub(super) name: String,
    pub(super) files: ModelFiles,
    /// `training.json`.
    pub(super) record: Value,
    /// `report.html`.
    pub(super) page: Option<String>,
    /// What the terminal shows, up to how a run uses it.
    pub(super) message: String,
    /// Whether it was stopped early.
    pub(super) stopped: bool,
}

/// Writes and shows a policy.
pub(super) fn finish(policy: &Policy, args: &TrainArgs, checkpoints: &Checkpoints, kept: Kept) -> Ended {
    let left = Left {
        files: &[
            (format!("{}.safetensors", policy.name), &policy.files.weights),
            (format!("{}.json", policy.name), &policy.files.card),
        ],
        record: &policy.record,
        page: policy.page.as_deref(),
        carried: &[],
        message: &format!(
            "{}a run uses it with\n  --scheme {scheme} --set cc.{scheme}.model={}\n",
            policy.message,
            args.folder().join(&policy.name).display(),
            scheme = policy.scheme
        ),
        stopped: policy.stopped,
    };
    leave(&left, args, checkpoints, kept)
}

/// What a training leaves.
pub(super) struct Left<'a> {
    /// Files that are read again: names and content.
    pub(super) files: &'a [(String, &'a [u8])],
    /// `training.json`.
    pub(super) record: &'a Value,
    /// `report.html`.
    pub(super) page: Option<&'a str>,
    /// Folders that the training has put among its checkpoints.
    pub(super) carried: &'a [PathBuf],
    /// What the terminal shows.
    pub(super) message: &'a str,
    /// Whether it was stopped early.
    pub(super) stopped: bool,
}

/// Writes and shows it; of a training that was stopped its checkpoint stays alongside it.
pub(super) fn leave(left: &Left<'_>, args: &TrainArgs, checkpoints: &Checkpoints, kept: Kept) -> Ended {
    let _kept = kept.written(!interrupt::asked());
    let folder = checkpoints.results(&args.folder(), args.force)?;
    interrupt::print_place(&args.folder(), folder.destination());
    for (name, bytes) in left.files {
        folder.write(Path::new(name), |out| out.write_all(bytes))?;
    }
    for name in left.carried {
        folder.carry(&Checkpoints::placed(name), name)?;
    }
    if left.stopped {
        checkpoints.carry(&folder)?;
    }
    write_json(&folder, left.record)?;
    if let Some(page) = left.page {
        write_page(&folder, page)?;
    }
    folder.commit()?;
    if args.say.json {
        output::print_json(left.record)?;
    } else if !args.say.quiet {
        output::print(left.message)?;
    }
    Ok(match left.stopped {
        true => Done::Interrupted,
        false => Done::All,
    })
}

/// The model's name: of other seeds than the first with the seed.
pub(super) fn name(of: &str, seed: u64) -> String {
    match seed {
        1 => of.to_string(),
        seed => format!("{of}-{seed}"),
    }
}

/// What was done in so many seconds, and where the model is, and the page about it if there is one.
pub(super) fn message(
    done: &str,
    (wall_s, stopped): (f64, bool),
    has_page: bool,
    args: &TrainArgs,
) -> String {
    let early = if stopped { ", stopped early" } else { "" };
    let folder = args.folder();
    let look = match has_page {
        true => format!("; look at {}", folder.join("report.html").display()),
        false => String::new(),
    };
    format!(
        "{done} in {wall_s:.1} s{early}\nmodel in {}{look}; ",
        folder.display()
    )
}

/// What it was made of, for its page.
pub(super) fn facts<const N: usize>(facts: [(&str, String); N]) -> Vec<(String, String)> {
    let version = ("version", paceline_learn::version().to_string());
    let facts = facts.into_iter().chain([version]);
    facts.map(|(name, value)| (name.to_string(), value)).collect()
}
