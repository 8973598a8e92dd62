//! What can go wrong, for people.

use std::path::PathBuf;

use paceline_lab::files::OutputError;
use paceline_lab::run::RunError;
use paceline_scenario::Diagnostics;

/// Why there is no dataset, or no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A scenario that was to be recorded is wrong.
    #[error("{0}")]
    Scenario(#[from] Diagnostics),
    /// A scenario is no environment, or refuses.
    #[error(transparent)]
    Environment(#[from] paceline_env::Error),
    /// A run that was to be recorded failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The caller stopped before there was anything.
    #[error("stopped before {0}")]
    Stopped(&'static str),
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{} is not {expected}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it should be, with its article.
        expected: &'static str,
        /// What is wrong.
        message: String,
    },
    /// A dataset was made by another version, or with other code.
    #[error(
        "{} was recorded by version {found}, this is version {}: record it again \
         (its sources: {sources})",
        path.display(), paceline_lab::version()
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Who wrote it.
        found: String,
        /// What it was recorded from.
        sources: String,
    },
    /// There are not enough pairs.
    #[error(
        "{wanted} pairs are wanted, but the recorded runs have only {found}: record more runs, or ask for fewer"
    )]
    TooFewPairs {
        /// How many were asked for.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
    /// A key is set twice for one run.
    #[error(
        "`{scenario}` is to run with `{first}` and with `{second}`: `{key}` can be set once, as the last would \
         silently win"
    )]
    SetTwice {
        /// The scenario.
        scenario: String,
        /// The key.
        key: String,
        /// What comes first.
        first: String,
        /// What comes later.
        second: String,
    },
    /// A run that judges was learned from.
    #[error("{test} cannot judge what learned from {training}: they have the same {what}")]
    NotApart {
        /// The run that judges.
        test: String,
        /// The run that was learned from.
        training: String,
        /// What is the same.
        what: &'static str,
    },
    /// The options of a training do not fit together or the data.
    #[error("{0}")]
    Options(String),
    /// Output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A page cannot be made: a fault of the program.
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
