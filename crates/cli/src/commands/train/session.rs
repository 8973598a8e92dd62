//! A training in progress: its folder, its checkpoints and the settings that all trainings share.

use std::path::{Path, PathBuf};

use paceline_learn::{Checkpoints, EVERY};

use super::args::Trainee;
use crate::args::SayArgs;
use crate::commands::sweep::shell;
use crate::destination;
use crate::failure::Failure;

/// A training in progress.
pub(super) struct Session {
    /// Folder for the results; it may exist only if `force` is set.
    pub(super) folder: PathBuf,
    /// Command that reproduces the model.
    pub(super) command: String,
    pub(super) checkpoints: Checkpoints,
    /// True if the folder of an earlier training is replaced.
    pub(super) force: bool,
    pub(super) say: SayArgs,
    /// Seed from the command line, if any.
    pub(super) chosen_seed: Option<u64>,
    /// Number of runs in parallel.
    pub(super) threads: usize,
    compares: bool,
}

impl Session {
    /// Chooses the folder, and opens the checkpoints of an earlier, interrupted training of the same model.
    pub(super) fn open(trainee: &Trainee) -> Result<Self, Failure> {
        let (command, common) = (trainee.command(), trainee.common());
        let default = Path::new("results").join(format!("train-{}", trainee.path().join("-")));
        let default = common.out.clone().unwrap_or(default);
        // An interrupted training is resumed. A finished one is kept, since only hours of training could show that the
        // result is the same.
        let stopped = |folder: &Path| Checkpoints::are_of(folder, &command);
        let folder = destination::choose_or_go_on(common.out.as_ref(), &default, common.force, stopped);
        let every = common.checkpoint_every.map_or(EVERY, |every| {
            std::time::Duration::from_nanos(every.as_ps() / 1000)
        });
        let checkpoints = Checkpoints::open(&folder, &command, every, common.force, |text| {
            say!("warning: {text}");
        })?;
        if checkpoints.exist() && !common.say.quiet {
            say!("going on from the checkpoint in {}", folder.display());
        }
        Ok(Self {
            folder,
            command,
            checkpoints,
            force: common.force,
            say: common.say,
            chosen_seed: common.seed,
            threads: trainee.threads(),
            compares: trainee.compares(),
        })
    }

    /// Returns the seed of all random draws.
    pub(super) fn seed(&self) -> u64 {
        self.chosen_seed.unwrap_or(1)
    }

    /// Returns the command that resumes this training.
    pub(super) fn same_again(&self) -> String {
        let out = shell(&[self.folder.display().to_string()]);
        format!("{} --out {out}", self.whole_command())
    }

    /// Returns the command with the comparison, which the model does not depend on.
    pub(super) fn whole_command(&self) -> String {
        self.command.clone() + if self.compares { " --compare" } else { "" }
    }
}
