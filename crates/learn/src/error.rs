//! Errors of learning, with texts for users.

use std::path::PathBuf;

use paceline_lab::files::OutputError;
use paceline_lab::run::RunError;
use paceline_scenario::Diagnostics;

/// Reason for which there is no dataset or no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A scenario to be recorded is invalid.
    #[error("{0}")]
    Scenario(#[from] Diagnostics),
    /// A scenario cannot be an environment, or refuses a step.
    #[error(transparent)]
    Environment(#[from] paceline_env::Error),
    /// A run to be recorded failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The caller stopped before there was a result.
    #[error("stopped before {0}")]
    Stopped(&'static str),
    /// An operation on a file failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Verb of the operation that failed.
        action: &'static str,
        /// File of the operation.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A file has unexpected contents.
    #[error("{} is not {expected}: {message}", path.display())]
    Content {
        /// Path of the file.
        path: PathBuf,
        /// Expected contents, with an article.
        expected: &'static str,
        /// Description of the fault.
        message: String,
    },
    /// A dataset is from another version, or from other code.
    #[error(
        "{} was recorded by version {found}, this is version {}: record it again \
         (its sources: {sources})",
        path.display(), paceline_lab::version()
    )]
    OtherVersion {
        /// Path of the dataset.
        path: PathBuf,
        /// Version that wrote it.
        found: String,
        /// Sources of its pairs.
        sources: String,
    },
    /// There are too few pairs.
    #[error(
        "{wanted} pairs are wanted, but the recorded runs have only {found}: record more runs, or ask for fewer"
    )]
    TooFewPairs {
        /// Number of pairs wanted.
        wanted: usize,
        /// Number of pairs found.
        found: usize,
    },
    /// A key is set twice for one run.
    #[error(
        "`{scenario}` is to run with `{first}` and with `{second}`: `{key}` can be set once, as the last would \
         silently win"
    )]
    SetTwice {
        /// Name of the scenario.
        scenario: String,
        /// Key that is set twice.
        key: String,
        /// Name of the first setting.
        first: String,
        /// Name of the second setting.
        second: String,
    },
    /// A judging run was also used for learning.
    #[error("{test} cannot judge what learned from {training}: they have the same {what}")]
    NotApart {
        /// Description of the judging run.
        test: String,
        /// Description of the training run.
        training: String,
        /// Property that both share.
        what: &'static str,
    },
    /// Options of a training contradict each other or the data.
    #[error("{0}")]
    Options(String),
    /// Output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A page cannot be rendered, because of a fault in the program.
    #[error(transparent)]
    Page(#[from] paceline_report::RenderError),
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_path_buf(),
            source,
        }
    }
}
