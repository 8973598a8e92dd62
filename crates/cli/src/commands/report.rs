//! `paceline report`: the page about finished runs, again.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_lab::report::{self, RunData};
use paceline_lab::results::{FlowRow, Summary};
use paceline_lab::table;

use crate::args::ReportArgs;
use crate::failure::{Done, Ended, Failure};
use crate::output;

/// Reads the runs' folders and renders the page about them.
pub(super) fn report(args: &ReportArgs) -> Ended {
    let mut runs = Vec::new();
    for folder in &args.folders {
        for folder in runs_in(folder)? {
            runs.push(RunData::read(&folder).map_err(Failure::arguments)?);
        }
    }
    let page = report::render(&runs).map_err(Failure::run)?;
    let file = args.out.clone().unwrap_or_else(|| match args.folders.as_slice() {
        [folder] => folder.join("report.html"),
        _ => PathBuf::from("report.html"),
    });
    fs::write(&file, page)
        .map_err(|error| Failure::run(format!("cannot write {}: {error}", file.display())))?;
    let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
    let names = table::row_names(&summaries);
    let flows: Vec<Vec<FlowRow<'_>>> = runs.iter().map(|run| run.flows.clone()).collect();
    let by_size = output::by_size(args.buckets.buckets.as_ref(), &names, &flows);
    output::print(&format!("{}\n{by_size}", file.display()))?;
    Ok(Done::All)
}

/// A run's folder itself; of a comparison, the folders in it, in the order of its runs.
fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let comparison = folder.join("comparison.json");
    if !comparison.is_file() {
        return Ok(vec![folder.to_path_buf()]);
    }
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::arguments(format!(
            "{} is not what a comparison writes: {what}",
            comparison.display()
        ))
    };
    let text = fs::read_to_string(&comparison).map_err(|error| wrong(&error))?;
    let summaries: Vec<serde_json::Value> = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    summaries
        .iter()
        .map(|summary| {
            let scheme = summary["scheme"]
                .as_str()
                .ok_or_else(|| wrong(&"a run without a scheme"))?;
            Ok(folder.join(scheme))
        })
        .collect()
}
