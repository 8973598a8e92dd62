//! Why a file is not read.

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system says why.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is damaged, or has what cannot be read.
    #[error("{0}")]
    Content(String),
}

impl Error {
    pub(crate) fn damaged(what: &str) -> Self {
        Self::Content(format!("the file is damaged: {what}"))
    }
}
