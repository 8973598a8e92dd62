//! How much the tests do: all of it in continuous integration, a sixteenth of the random cases on a desk.

use std::env;

/// The fewest random cases that a property is tried with.
const FEWEST: u32 = 4;

/// How many random cases to try a property with: `full` where the environment has `CI`, as continuous integration does;
/// otherwise a sixteenth. `PROPTEST_CASES` replaces both.
pub fn cases(full: u32) -> u32 {
    let asked = env::var("PROPTEST_CASES")
        .ok()
        .and_then(|count| count.parse().ok());
    asked.unwrap_or(if env::var_os("CI").is_some() {
        full
    } else {
        (full / 16).max(FEWEST)
    })
}
