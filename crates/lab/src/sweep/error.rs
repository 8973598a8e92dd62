//! Why a sweep stops.

use paceline_scenario::Diagnostics;

use crate::files::OutputError;

/// Why a sweep cannot begin or go on. (A run that fails is a row.)
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The scenario or the grid is wrong.
    #[error("{0}")]
    Input(Diagnostics),
    /// What was asked for does not fit what is there.
    #[error("{0}")]
    Refused(String),
    /// A row is not what was computed.
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
