//! Tables that are made from what a run left behind.
//!
//! Nothing is recorded for them: a question about a run that has just ended has its rows made, and a run's folder does not
//! have them.

use crate::table::{Cell, Column};
use crate::{Outcome, RunSpec};

/// A table whose rows are made when it is asked.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Name in SQL.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// What has to be written for it in a scenario, and that it takes an experiment.
    pub needs: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// Makes some of its rows.
    pub rows: Rows,
}

/// Makes rows from one on, as their cells one after the other ([`cells`]); none behind the last row.
pub type Rows = fn(&RunSpec, &Outcome, usize) -> Vec<Cell<'static>>;

/// Rows that are made at a time: a table may have more of them than fit in memory as cells.
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
