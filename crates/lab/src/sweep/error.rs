//! Errors that stop a sweep.

use paceline_scenario::Diagnostics;

use crate::files::OutputError;

/// Reason why a sweep cannot start or continue. (A run that fails is a row.)
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The scenario or the grid is wrong.
    #[error("{0}")]
    Input(Diagnostics),
    /// The request does not fit the content of the folder.
    #[error("{0}")]
    Refused(String),
    /// A row was edited after it was written.
    #[error(
        "{} was edited after `paceline sweep` wrote it (remove it to repeat the run, or remove its `digest` line to \
         accept the change)",
        .0.display()
    )]
    Edited(std::path::PathBuf),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<Diagnostics> for SweepError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Input(diagnostics)
    }
}
