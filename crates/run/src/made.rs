//! Tables that are derived from a run's outcome.
//!
//! Nothing is recorded for them: their rows are made for a query about a run that has just ended, and a run's folder
//! does not contain them.

use crate::table::{Cell, Column};
use crate::{Outcome, RunSpec};

/// Table whose rows are made by a query.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Name of the table in SQL.
    pub name: &'static str,
    /// Description of a row, without a full stop.
    pub about: &'static str,
    /// Keys that a scenario has to set for it, and the need for an experiment.
    pub needs: &'static str,
    /// Columns, in the order of a row's cells.
    pub columns: &'static [Column],
    /// Function that makes part of the rows.
    pub rows: Rows,
}

/// Function that makes rows from an index on, as consecutive cells ([`cells`]); none after the last row.
pub type Rows = fn(&RunSpec, &Outcome, usize) -> Vec<Cell<'static>>;

/// Number of rows per call: a table may have more rows than fit in memory as cells.
const PART: usize = 1 << 14;

/// Makes the cells of `rows` from row `first` on.
pub fn cells<T, const COLUMNS: usize>(
    rows: impl IntoIterator<Item = T>,
    first: usize,
    of: impl Fn(T) -> [Cell<'static>; COLUMNS],
) -> Vec<Cell<'static>> {
    let part = rows.into_iter().skip(first).take(PART);
    part.flat_map(of).collect()
}
