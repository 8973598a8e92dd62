//! Observations and actions of agents: the vocabulary that the scheme [`crate::policy`] and training
//! environments share.

mod action;
mod feature;
mod measure;

pub use action::Action;
pub use feature::{Feature, adpg};
pub use measure::Measured;

use crate::nearest::{hint, nearest};

/// Error: no item has the name that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{found}`{hint}; expected one of: {names}")]
pub struct Unknown {
    /// Kind of item, such as "observation".
    what: &'static str,
    /// Name that was asked for.
    found: String,
    /// Suggestion with the nearest name; empty if none is near.
    hint: String,
    /// All valid names, separated by commas.
    names: String,
}

impl Unknown {
    /// Creates the error for a name that is not one of `names`.
    pub fn new(what: &'static str, found: &str, names: &[&'static str]) -> Self {
        Self {
            what,
            found: found.to_string(),
            hint: hint(nearest(found, names.iter().copied())),
            names: names.join(", "),
        }
    }
}
