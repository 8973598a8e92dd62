//! State of a folder that may still be written to.

use std::path::Path;

use paceline_lab::sweep::{IN_MEMORY_MAX, count_rows, read_plan};
use serde::Serialize;

use crate::files::{Table, changed, tables};

/// State of the folder, as the page asks for it every few seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    /// Text that differs when a table, a page or the number of finished runs does.
    pub(crate) stamp: String,
    /// Number of planned runs; only for sweeps.
    pub(crate) planned: Option<usize>,
    /// Number of finished runs of a sweep.
    pub(crate) done: usize,
    /// True for a sweep that lacks runs, or whose tables are older than its last run.
    pub(crate) under_way: bool,
    pub(crate) tables: Vec<Table>,
    /// True if the folder has more tables than are listed.
    pub(crate) cut: bool,
}

/// Tables of a sweep under way, which become files at its end.
pub(crate) const LIVE: [&str; 2] = ["results", "points"];

/// Returns true if a file of a sweep is missing or older than its last run.
pub(crate) fn is_stale(root: &Path, name: &str) -> bool {
    let file = changed(&root.join(name));
    file == 0 || file < changed(&root.join("rows"))
}

impl Status {
    pub(crate) fn of(root: &Path, is_sweep: bool) -> Self {
        let (mut tables, cut) = tables(root);
        let plan = is_sweep.then(|| read_plan(root).ok()).flatten();
        let planned = plan.as_ref().map(|plan| plan.runs().len());
        let done = plan.map_or(0, |plan| count_rows(root, &plan));
        let mut stamp = format!("{done} {}", changed(&root.join("report.html")));
        for table in &tables {
            stamp += &format!(" {} {} {}", table.path, table.size, table.changed);
        }
        let is_small = done > 0 && planned.is_some_and(|planned| planned <= IN_MEMORY_MAX);
        for name in LIVE.iter().rev().filter(|_| is_small) {
            let path = format!("{name}.parquet");
            if is_stale(root, &path) {
                // The files of an earlier state would show other numbers than the page.
                tables.retain(|table| table.path != path && table.path != format!("{name}.csv"));
                let (url, size, changed) = (format!("live/{path}"), 0, 0);
                tables.insert(
                    0,
                    Table {
                        path,
                        url,
                        size,
                        changed,
                        live: true,
                    },
                );
            }
        }
        let stale = || is_stale(root, "results.parquet");
        let under_way = planned.is_some_and(|planned| done < planned || stale());
        Self {
            stamp,
            planned,
            done,
            under_way,
            tables,
            cut,
        }
    }
}
