//! Citations: the publication of a reproduction, and the position in it.

use std::fmt;

/// Publication and a position in it, or a substitute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Short name of the publication; `ours` for an experiment that was never published.
    pub short: String,
    /// Full citation; empty without a publication.
    pub whole: String,
    /// Position in the publication, such as a figure or table.
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
