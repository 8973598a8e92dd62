//! What is said on standard error, alongside results: progress, hints, warnings.
//!
//! The log's disk may be full, its reader or the terminal gone. None of that is a reason to lose a run: what cannot be
//! written is left out. (`eprintln!` would panic, and the lints forbid it.)

use std::fmt;
use std::io::Write as _;

use paceline_scenario::visible;

/// Writes a line to standard error, formatted as by `format!`.
macro_rules! say {
    ($($arguments:tt)*) => {
        $crate::say::line(format_args!($($arguments)*))
    };
}

/// Writes a line to standard error. See [`say!`].
pub(crate) fn line(line: fmt::Arguments<'_>) {
    text(&format!("{line}\n"));
}

/// Writes `text` to standard error, in one piece, so that lines of several threads do not mix.
pub(crate) fn text(text: &str) {
    // Names of files and labels may hold anything.
    raw(&visible(text));
}

/// Writes what may act on the terminal to standard error: colours.
pub(crate) fn raw(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
