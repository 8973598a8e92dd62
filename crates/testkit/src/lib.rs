//! What the tests of several crates have in common: how much they do, and which files of a crate name which.

pub mod circles;
pub mod modules;
mod source;
mod tokens;

use std::env;

/// The fewest random cases that a property is tried with.
const FEWEST: u32 = 4;

/// How many random cases to try a property with: `full` where the environment has `CI`, as continuous integration does;
/// otherwise a sixteenth. `PROPTEST_CASES` replaces both.
pub fn cases(full: u32) -> u32 {
    let asked = env::var("PROPTEST_CASES")
        .ok()
        .and_then(|count| count.parse().ok());
    asked.unwrap_or(if is_long() { full } else { (full / 16).max(FEWEST) })
}

/// Whether tests may take long: in continuous integration.
pub fn is_long() -> bool {
    env::var_os("CI").is_some()
}
