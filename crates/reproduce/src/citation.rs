//! What a reproduction is of: a publication, and where in it.

use std::fmt;

/// A publication and where in it, or what stands in for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// The short name of the publication: `ours` of an experiment that nobody has published.
    pub short: String,
    /// The whole citation; empty where there is no publication.
    pub whole: String,
    /// Where in it.
    pub at: String,
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole.as_str() {
            "" => f.write_str(&self.at),
            whole => write!(f, "{whole}; {}", self.at),
        }
    }
}
