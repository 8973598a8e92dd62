//! What an agent sees of its flow, and what its actions do: the vocabulary of the scheme [`crate::policy`] and of those who
//! train agents in environments.

mod action;
mod feature;
mod measure;

pub use action::Action;
pub use feature::{Feature, adpg};
pub use measure::Measured;

use crate::nearest::{hint, nearest};

/// There is nothing of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} `{found}`{hint}; expected one of: {names}")]
pub struct Unknown {
    /// What it should be.
    what: &'static str,
    /// What was asked for.
    found: String,
    /// The nearest name.
    hint: String,
    /// All of them.
    names: String,
}

impl Unknown {
    /// Of a name that is none of these.
    pub fn new(what: &'static str, found: &str, names: &[&'static str]) -> Self {
        Self {
            what,
            found: found.to_string(),
            hint: hint(nearest(found, names.iter().copied())),
            names: names.join(", "),
        }
    }
}
