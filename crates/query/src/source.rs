//! Sources of table rows: a run that has just ended, or the folder of a run.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use paceline_fabric::Outcome;
use paceline_lab::files::RunData;
use paceline_lab::results::{FlowRows, Summary};
use paceline_lab::run::Finished;
use paceline_scenario::Resolved;

/// A run that has just ended, in memory.
#[derive(Debug)]
pub struct Ended {
    /// The resolved scenario that was run.
    pub input: Resolved,
    /// The results of the run.
    pub finished: Finished,
}

/// A source of rows. It dereferences to the contents of a folder.
pub(crate) struct Source {
    of: RunOrigin,
    /// Contents of the folder. For a run in memory, they are built on first use, since most queries need less.
    data: OnceLock<RunData>,
}

enum RunOrigin {
    Run(Arc<Ended>),
    Folder(PathBuf),
}

impl Source {
    pub(crate) const fn of_run(ended: Arc<Ended>) -> Self {
        let data = OnceLock::new();
        Self {
            of: RunOrigin::Run(ended),
            data,
        }
    }

    /// Creates a source from a folder and its contents.
    pub(crate) fn of_folder(folder: &Path, data: RunData) -> Self {
        Self {
            of: RunOrigin::Folder(folder.to_path_buf()),
            data: OnceLock::from(data),
        }
    }

    /// Returns the run, if it is in memory.
    pub(crate) fn ended(&self) -> Option<&Ended> {
        match &self.of {
            RunOrigin::Run(ended) => Some(ended),
            RunOrigin::Folder(_) => None,
        }
    }

    /// Returns the run's outcome, if it is in memory.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        self.ended().map(|ended| &ended.finished.outcome)
    }

    /// Returns the path of a file, if the source is a folder.
    pub(crate) fn file(&self, name: &str) -> Option<PathBuf> {
        match &self.of {
            RunOrigin::Folder(folder) => Some(folder.join(name)),
            RunOrigin::Run(_) => None,
        }
    }

    pub(crate) fn flows(&self) -> &FlowRows {
        match self.ended() {
            Some(ended) => &ended.finished.flows,
            None => &self.flows,
        }
    }

    pub(crate) fn summary(&self) -> &Summary {
        match self.ended() {
            Some(ended) => &ended.finished.summary,
            None => &self.summary,
        }
    }
}

impl Deref for Source {
    type Target = RunData;

    fn deref(&self) -> &RunData {
        self.data.get_or_init(|| {
            let ended = self.ended().expect("a folder is read when it is opened");
            RunData::new(&ended.input, &ended.finished)
        })
    }
}
