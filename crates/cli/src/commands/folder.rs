//! Files of a training's folder, and the page of a forest.

use std::io::Write as _;
use std::path::Path;

use paceline_congestion::learned::forest::Forest;
use paceline_forest::prove;
use paceline_lab::files::Folder;
use paceline_learn::page::{self, ForestPage};
use serde_json::Value;

use crate::failure::Failure;

/// Writes `training.json`.
pub(super) fn write_json(folder: &Folder, training: &Value) -> Result<(), Failure> {
    folder.write(Path::new("training.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, training)?;
        writeln!(out)
    })?;
    Ok(())
}

/// Writes `report.html`.
pub(super) fn write_page(folder: &Folder, page: &str) -> Result<(), Failure> {
    folder.write(Path::new("report.html"), |out| out.write_all(page.as_bytes()))?;
    Ok(())
}

/// Maximum number of ranges that a page examines per claim or per threshold of a trend.
const BUDGET: u64 = 20_000;

/// Renders the page of a forest. It shows `command` as the command to repeat it.
pub(super) fn forest_page(forest: &Forest, command: String) -> Result<String, Failure> {
    let findings = prove::prove(forest, &forest.parts().claims, BUDGET).map_err(Failure::arguments)?;
    let page = ForestPage {
        forest,
        findings: &findings,
        command,
    };
    Ok(page::forest(&page)?)
}
