//! Errors when reading a file: failures of the system, and damaged or unsupported content.

/// Reason why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Error of the system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Damaged or unsupported content.
    #[error("{0}")]
    Content(String),
}

impl Error {
    pub(crate) fn damaged(what: &str) -> Self {
        Self::Content(format!("the file is damaged: {what}"))
    }
}
