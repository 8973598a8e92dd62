//! Output common to all trainings of policies.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use paceline_learn::{Checkpoints, ModelFiles};
use serde_json::Value;

use super::session::Session;
use crate::commands::folder::{write_json, write_page};
use crate::failure::{Done, Ended};
use crate::interrupt::InterruptGuard;
use crate::{interrupt, output};

/// A trained policy with its output.
pub(super) struct Policy {
    /// Scheme that uses the policy.
    pub(super) scheme: &'static str,
    /// Name of the model and of its files.
    pub(super) name: String,
    pub(super) files: ModelFiles,
    /// Content of `training.json`.
    pub(super) record: Value,
    /// Content of `report.html`.
    pub(super) page: Option<String>,
    /// Message for the terminal, without the hint how to use the model.
    pub(super) message: String,
    /// True if the training was interrupted.
    pub(super) stopped: bool,
}

/// Writes the folder of a policy and prints the results.
pub(super) fn finish(policy: &Policy, session: &Session, kept: InterruptGuard) -> Ended {
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
            session.folder.join(&policy.name).display(),
            scheme = policy.scheme
        ),
        stopped: policy.stopped,
    };
    leave(&left, session, kept)
}

/// Output of a training.
pub(super) struct Left<'a> {
    /// Model and data files: names and content.
    pub(super) files: &'a [(String, &'a [u8])],
    /// Content of `training.json`.
    pub(super) record: &'a Value,
    /// Content of `report.html`.
    pub(super) page: Option<&'a str>,
    /// Folders to move from the checkpoints to the results.
    pub(super) carried: &'a [PathBuf],
    /// Message for the terminal.
    pub(super) message: &'a str,
    /// True if the training was interrupted.
    pub(super) stopped: bool,
}

/// Writes the folder and prints the results. The checkpoint of an interrupted training is kept in it.
pub(super) fn leave(left: &Left<'_>, session: &Session, kept: InterruptGuard) -> Ended {
    // Once the folder is being written, an interruption must not leave a part of it.
    let _kept = kept.written(!interrupt::asked());
    let folder = session.checkpoints.results(&session.folder, session.force)?;
    interrupt::print_place(&session.folder, folder.destination());
    for (name, bytes) in left.files {
        folder.write(Path::new(name), |out| out.write_all(bytes))?;
    }
    for name in left.carried {
        folder.carry(&Checkpoints::relative_path_of(name), name)?;
    }
    // With the checkpoint, so that the same command resumes.
    if left.stopped {
        session.checkpoints.carry(&folder)?;
    }
    write_json(&folder, left.record)?;
    if let Some(page) = left.page {
        write_page(&folder, page)?;
    }
    folder.commit()?;
    if session.say.json {
        output::print_json(left.record)?;
    } else if !session.say.quiet {
        output::print(left.message)?;
    }
    Ok(match left.stopped {
        true => Done::Interrupted,
        false => Done::All,
    })
}

/// Returns the model's name, which includes the seed unless that is 1.
pub(super) fn name(of: &str, seed: u64) -> String {
    match seed {
        1 => of.to_string(),
        seed => format!("{of}-{seed}"),
    }
}

/// Returns the message about a training: its duration, folder and page.
pub(super) fn message(done: &str, wall_s: f64, stopped: bool, session: &Session) -> String {
    let early = if stopped { ", stopped early" } else { "" };
    let folder = &session.folder;
    format!(
        "{done} in {wall_s:.1} s{early}\nmodel in {}; look at {}; ",
        folder.display(),
        folder.join("report.html").display()
    )
}

/// Lists the training's settings and the version, for its page.
pub(super) fn facts<const N: usize>(facts: [(&str, String); N]) -> Vec<(String, String)> {
    let version = ("version", paceline_learn::version().to_string());
    let facts = facts.into_iter().chain([version]);
    facts.map(|(name, value)| (name.to_string(), value)).collect()
}
