//! Helpers shared by the tests of several crates: the number of random cases, and dependencies between the files of a
//! crate.

pub mod circles;
pub mod modules;
mod source;
mod tokens;

use std::env;

/// Smallest number of random cases for a property.
const FEWEST: u32 = 4;

/// Returns the number of random cases for a property: `full` if the environment has `CI`, as in continuous
/// integration, otherwise a sixteenth. `PROPTEST_CASES` overrides both.
pub fn cases(full: u32) -> u32 {
    let asked = env::var("PROPTEST_CASES")
        .ok()
        .and_then(|count| count.parse().ok());
    asked.unwrap_or(if is_long() { full } else { (full / 16).max(FEWEST) })
}

/// Returns true if long tests should run: in continuous integration.
pub fn is_long() -> bool {
    env::var_os("CI").is_some()
}
