//! Optional parts of the program that this build lacks.

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

/// Returns true if this build lacks an optional part.
pub fn is_incomplete() -> bool {
    !all().is_empty()
}

/// Returns how to get the fidelity, set of measures or table of this name; `None` unless it is a part that this build
/// lacks.
pub fn left_out(name: &str) -> Option<&'static str> {
    let found = all().iter().find(|(known, _)| *known == name);
    found.map(|(_, why)| why.as_str())
}
