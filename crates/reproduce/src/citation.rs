//! What a reproduction is of: a publication, and where in it.

use std::fmt;

use paceline_congestion::papers::Paper;

/// A publication and where in it, or what stands in for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Citation {
    paper: Option<Paper>,
    at: &'static str,
}

impl Citation {
    /// A place in a publication.
    pub const fn of(paper: Paper, at: &'static str) -> Self {
        Self {
            paper: Some(paper),
            at,
        }
    }

    /// An experiment that nobody has published.
    pub const fn ours(at: &'static str) -> Self {
        Self { paper: None, at }
    }

    /// The short name of the publication.
    pub const fn short(&self) -> &'static str {
        match self.paper {
            Some(paper) => paper.short,
            None => "ours",
        }
    }
}

/// The whole citation.
impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.paper {
            Some(paper) => write!(f, "{}; {}", paper.citation, self.at),
            None => f.write_str(self.at),
        }
    }
}
