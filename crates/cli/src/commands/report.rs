//! `paceline report`: the page about finished runs, again.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::repeats::Repeats;
use paceline_lab::report::{self, RunData};
use paceline_lab::results::{FlowRow, Summary};
use paceline_lab::sweep::SweepData;
use paceline_lab::table;

use crate::args::BucketArgs;
use crate::failure::{Done, Ended, Failure};
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folders of finished runs; the folder of a comparison stands for all runs in it. Or the folder
    /// of a sweep
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// File to write [default: report.html in DIR, if there is one DIR; otherwise ./report.html]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    buckets: BucketArgs,
}

/// Reads the runs' folders, or a sweep's, and renders the page about them.
pub(super) fn report(args: &ReportArgs) -> Ended {
    let is_sweep = |folder: &PathBuf| folder.join("sweep.json").is_file();
    if args.folders.iter().any(is_sweep) {
        return report_sweep(args);
    }
    let file = args.file();
    let mut runs = Vec::new();
    for folder in &args.folders {
        for run in runs_in(folder)? {
            let mut data = RunData::read(&folder.join(&run)).map_err(Failure::arguments)?;
            // Beside the runs of a comparison it can lead to their pages.
            if run != Path::new("") && file.parent() == Some(folder) {
                data.folder = Some(run.to_string_lossy().into_owned());
            }
            runs.push(data);
        }
    }
    let page = report::render(&runs).map_err(Failure::run)?;
    write(&file, &page)?;
    let summaries: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
    let names = table::row_names(&summaries);
    let flows: Vec<Vec<FlowRow<'_>>> = runs.iter().map(|run| run.flows.clone()).collect();
    let by_size = output::by_size(args.buckets.buckets.as_ref(), &names, &flows);
    output::print(&format!("{}\n{by_size}", file.display()))?;
    Ok(Done::All)
}

/// The page about a sweep.
fn report_sweep(args: &ReportArgs) -> Ended {
    let [folder] = args.folders.as_slice() else {
        return Err(Failure::arguments(
            "a sweep has a page of its own: expected one DIR (paceline collect puts shards together)",
        ));
    };
    let page = report::render_sweep(&SweepData::read(folder)?).map_err(Failure::run)?;
    let file = args.file();
    write(&file, &page)?;
    output::print(&format!("{}\n", file.display()))?;
    Ok(Done::All)
}

impl ReportArgs {
    /// Where the page goes.
    fn file(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| match self.folders.as_slice() {
            [folder] => folder.join("report.html"),
            _ => PathBuf::from("report.html"),
        })
    }
}

fn write(file: &Path, page: &str) -> Result<(), Failure> {
    fs::write(file, page).map_err(|error| Failure::run(format!("cannot write {}: {error}", file.display())))
}

/// Of a run, the empty path; of a comparison, the folders in it, in the order of its runs.
fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let comparison = folder.join("comparison.json");
    if !comparison.is_file() {
        return Ok(vec![PathBuf::new()]);
    }
    let wrong = |what: &dyn std::fmt::Display| {
        Failure::arguments(format!(
            "{} is not what a comparison writes: {what}",
            comparison.display()
        ))
    };
    let text = fs::read_to_string(&comparison).map_err(|error| wrong(&error))?;
    let comparison: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    // With repeats, the runs of the first seed stand for all, as on the page that `compare` wrote.
    if comparison.is_object() {
        let all: Repeats = serde_json::from_value(comparison).map_err(|error| wrong(&error))?;
        let shown = all.runs.iter().step_by(all.repeats.max(1));
        return Ok(shown.map(|run| PathBuf::from(&run.folder)).collect());
    }
    let summaries = comparison.as_array().ok_or_else(|| wrong(&"no list of runs"))?;
    summaries
        .iter()
        .map(|summary| {
            let scheme = summary["scheme"]
                .as_str()
                .ok_or_else(|| wrong(&"a run without a scheme"))?;
            Ok(PathBuf::from(scheme))
        })
        .collect()
}
