//! Width of plain text.

use paceline_lab::table;
use terminal_size::{Height, Width};

pub(crate) use paceline_lab::layout::{among_many, columns, nearest, sparkline, table, wrap};

/// Returns the width of a terminal in columns, or the default width of tables without one.
pub(crate) fn width(terminal: Option<(Width, Height)>) -> usize {
    terminal.map_or(table::DEFAULT_WIDTH, |(Width(columns), _)| {
        usize::from(columns).max(40)
    })
}
