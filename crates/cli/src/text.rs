//! Plain text, as wide as the terminal.

use paceline_lab::table;
use terminal_size::{Height, Width};

pub(crate) use paceline_lab::layout::{among_many, columns, nearest, sparkline, table, wrap};

/// Columns of a terminal; of none, those that a table may have.
pub(crate) fn width(terminal: Option<(Width, Height)>) -> usize {
    terminal.map_or(table::DEFAULT_WIDTH, |(Width(columns), _)| {
        usize::from(columns).max(40)
    })
}
