//! Messages on standard error: progress, hints and warnings.
//!
//! Standard error may be a file on a full disk, a closed pipe or a closed terminal. None of these is a reason to lose
//! a run, so messages that cannot be written are dropped. (`eprintln!` would panic, and the lints forbid it.)

use std::fmt;
use std::io::Write as _;

use paceline_scenario::visible;

/// Writes a line to standard error, formatted as by `format!`.
macro_rules! say {
    ($($arguments:tt)*) => {
        $crate::say::line(format_args!($($arguments)*))
    };
}

/// Writes a line to standard error; see [`say!`].
pub(crate) fn line(line: fmt::Arguments<'_>) {
    text(&format!("{line}\n"));
}

/// Writes `text` to standard error in one call, so that lines of several threads do not mix.
pub(crate) fn text(text: &str) {
    // File names and labels may contain control characters.
    raw(&visible(text));
}

/// Writes text with control sequences, such as colours, to standard error.
pub(crate) fn raw(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
