//! State of a folder that may still be written to.

use std::path::Path;

use paceline_lab::sweep::{IN_MEMORY_MAX, Plan, count_rows, read_plan};
use serde::Serialize;

use crate::files::{Listing, changed, tables};
use crate::site::Kind;

/// State of the folder, as the page asks for it every few seconds.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    /// Text that differs when a table, a page or the number of finished runs does.
    pub(crate) stamp: String,
    /// Runs that are planned and finished; only for sweeps.
    pub(crate) planned: Option<usize>,
    pub(crate) done: usize,
    /// True for a sweep that lacks runs, or whose tables are older than its last run.
    pub(crate) under_way: bool,
    pub(crate) tables: Vec<Table>,
    /// True if the folder has more tables than are listed.
    pub(crate) cut: bool,
}

/// Table of the list: a file, or one of the finished runs of a sweep.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) path: String,
    /// Address of the content, without the first slash.
    pub(crate) url: String,
    /// Size in bytes; 0 if there is no file yet.
    pub(crate) size: u64,
    /// True for a table that is computed from the rows so far.
    pub(crate) live: bool,
}

/// Tables of a sweep under way, which become files at its end.
pub(crate) const LIVE: [&str; 2] = ["results", "points"];

/// Returns a sweep's plan with the number of its runs that have ended.
fn sweep(root: &Path) -> Option<(Plan, usize)> {
    let plan = read_plan(root).ok()?;
    let done = count_rows(root, &plan);
    Some((plan, done))
}

/// Returns true if a file of a sweep is missing or older than its last run.
pub(crate) fn is_stale(root: &Path, name: &str) -> bool {
    let file = changed(&root.join(name));
    file == 0 || file < changed(&root.join("rows"))
}

impl Status {
    pub(crate) fn of(root: &Path, kind: Kind) -> Self {
        let Listing { tables, cut } = tables(root);
        let swept = (kind == Kind::Sweep).then(|| sweep(root)).flatten();
        let planned = swept.as_ref().map(|(plan, _)| plan.runs().len());
        let done = swept.map_or(0, |(_, done)| done);
        let stale = |name: &str| planned.is_some() && is_stale(root, name);
        let mut stamp = format!("{done} {}", changed(&root.join("report.html")));
        let file = |found: &crate::files::Found| {
            stamp += &format!(" {} {} {}", found.path, found.size, found.changed);
            Table {
                url: format!("file/{}", encoded(&found.path)),
                path: found.path.clone(),
                size: found.size,
                live: false,
            }
        };
        let mut listed: Vec<Table> = tables.iter().map(file).collect();
        if done > 0 && planned.is_some_and(|planned| planned <= IN_MEMORY_MAX) {
            for name in LIVE.iter().rev() {
                let path = format!("{name}.parquet");
                if stale(&path) {
                    // The files of an earlier state would show other numbers than the page.
                    listed.retain(|table| table.path != path && table.path != format!("{name}.csv"));
                    listed.insert(
                        0,
                        Table {
                            url: format!("live/{path}"),
                            path,
                            size: 0,
                            live: true,
                        },
                    );
                }
            }
        }
        Self {
            stamp,
            planned,
            done,
            under_way: planned.is_some_and(|planned| done < planned) || stale("results.parquet"),
            tables: listed,
            cut,
        }
    }
}

/// Encodes a path for an address.
pub(crate) fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                text.push(byte.into())
            }
            byte => text += &format!("%{byte:02X}"),
        }
    }
    text
}
