//! What a program could have, and was built without.

use std::sync::OnceLock;

/// Names, each with what to do to have it.
static ALL: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();

/// Says what the program was built without; returns false if that was asked for already.
pub(crate) fn leave_out(names: Vec<(&'static str, String)>) -> bool {
    ALL.set(names).is_ok()
}

fn all() -> &'static [(&'static str, String)] {
    ALL.get_or_init(Vec::new)
}

/// Whether the program was built without something that it could have.
pub fn is_incomplete() -> bool {
    !all().is_empty()
}

/// What to do to have the fidelity, the set of measures or the table of this name, if the program could have it and was
/// built without.
pub fn left_out(name: &str) -> Option<&'static str> {
    let found = all().iter().find(|(known, _)| *known == name);
    found.map(|(_, why)| why.as_str())
}
