//! What a folder has that was trained, and the page of a forest.

use std::io::Write as _;
use std::path::Path;

use paceline_congestion::learned::forest::Forest;
use paceline_forest::prove;
use paceline_lab::files::Folder;
use paceline_learn::page::{self, ForestPage};
use serde_json::Value;

use crate::failure::Failure;

/// `training.json`.
pub(super) fn write_json(folder: &Folder, training: &Value) -> Result<(), Failure> {
    folder.write(Path::new("training.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, training)?;
        writeln!(out)
    })?;
    Ok(())
}

/// `report.html`.
pub(super) fn write_page(folder: &Folder, page: &str) -> Result<(), Failure> {
    folder.write(Path::new("report.html"), |out| out.write_all(page.as_bytes()))?;
    Ok(())
}

/// Ranges that a page looks at for a claim, or for a threshold of a trend.
const BUDGET: u64 = 20_000;

/// The page of a forest; `command` makes it again.
pub(super) fn forest_page(forest: &Forest, command: String) -> Result<String, Failure> {
    let findings = prove::prove(forest, &forest.parts().claims, BUDGET).map_err(Failure::arguments)?;
    let page = ForestPage {
        forest,
        findings: &findings,
        command,
    };
    Ok(page::forest(&page)?)
}
