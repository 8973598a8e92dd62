//! Where the rows of tables come from: a run that has just ended, or the folder of one.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use paceline_fabric::Outcome;
use paceline_lab::files::RunData;
use paceline_lab::results::{FlowRows, Summary};
use paceline_lab::run::Finished;
use paceline_scenario::Resolved;

/// A run that has just ended.
#[derive(Debug)]
pub struct Ended {
    /// What was run.
    pub input: Resolved,
    /// What came of it.
    pub finished: Finished,
}

/// What is asked. It can be used as the content of a folder.
pub(crate) struct Source {
    of: Of,
    /// Of a run that has just ended made when it is first needed: most questions need less.
    data: OnceLock<RunData>,
}

enum Of {
    Run(Arc<Ended>),
    Folder(PathBuf),
}

impl Source {
    pub(crate) const fn of_run(ended: Arc<Ended>) -> Self {
        let data = OnceLock::new();
        Self {
            of: Of::Run(ended),
            data,
        }
    }

    /// The folder of a run, and what it holds.
    pub(crate) fn of_folder(folder: &Path, data: RunData) -> Self {
        Self {
            of: Of::Folder(folder.to_path_buf()),
            data: OnceLock::from(data),
        }
    }

    /// The run, if it is at hand.
    pub(crate) fn ended(&self) -> Option<&Ended> {
        match &self.of {
            Of::Run(ended) => Some(ended),
            Of::Folder(_) => None,
        }
    }

    /// What it left behind, if that is at hand.
    pub(crate) fn outcome(&self) -> Option<&Outcome> {
        self.ended().map(|ended| &ended.finished.outcome)
    }

    /// A file of the folder, if it is one.
    pub(crate) fn file(&self, name: &str) -> Option<PathBuf> {
        match &self.of {
            Of::Folder(folder) => Some(folder.join(name)),
            Of::Run(_) => None,
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
