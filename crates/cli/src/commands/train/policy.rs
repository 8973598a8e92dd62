//! What trainings of policies leave, whatever they train.

use std::io::Write as _;
use std::path::Path;

use paceline_lab::files::Folder;
use paceline_learn::ModelFiles;
use serde_json::Value;

use super::args::TrainArgs;
use crate::commands::folder::{write_json, write_page};
use crate::failure::{Done, Ended};
use crate::interrupt::Kept;
use crate::output;

/// A policy that was trained, and what is said of it.
pub(super) struct Policy {
    /// The model's name.
    pub(super) name: String,
    pub(super) files: ModelFiles,
    /// Files beside it.
    pub(super) beside: Vec<(&'static str, Vec<u8>)>,
    /// `training.json`.
    pub(super) record: Value,
    /// `report.html`.
    pub(super) page: Option<String>,
    /// What the terminal is told.
    pub(super) told: String,
    /// Whether it was stopped early.
    pub(super) stopped: bool,
}

/// Writes and shows it.
pub(super) fn finish(policy: &Policy, args: &TrainArgs, kept: Kept) -> Ended {
    let _kept = kept.unless_whole();
    let folder = Folder::create(&args.folder(), args.force)?;
    for (end, bytes) in [
        ("safetensors", &policy.files.weights),
        ("json", &policy.files.card),
    ] {
        let path = format!("{}.{end}", policy.name);
        folder.write(Path::new(&path), |out| out.write_all(bytes))?;
    }
    for (name, bytes) in &policy.beside {
        folder.write(Path::new(name), |out| out.write_all(bytes))?;
    }
    write_json(&folder, &policy.record)?;
    if let Some(page) = &policy.page {
        write_page(&folder, page)?;
    }
    folder.commit()?;
    if args.say.json {
        output::print_json(&policy.record)?;
    } else if !args.say.quiet {
        output::print(&policy.told)?;
    }
    Ok(match policy.stopped {
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
