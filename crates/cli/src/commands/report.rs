//! `paceline report`: renders the page of finished runs again.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::files::{OutFile, RunData, clear_leftovers, write_file};
use paceline_lab::repeats::{OneRun, Repeats};
use paceline_lab::results::{FlowRows, Summary};
use paceline_lab::sweep::SweepData;
use paceline_lab::table;
use paceline_report as report;

use crate::args::BucketArgs;
use crate::failure::{Done, Ended, Failure};
use crate::{names, output};

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Folders of runs, comparisons or a sweep
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// File to write [default: report.html, in DIR if there is only one]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file; a folder's report.html is replaced anyway
    #[arg(long)]
    force: bool,
    /// Names of the runs, by those that they have without; or of all, in their order
    #[arg(long, value_name = "before,after", value_delimiter = ',')]
    names: Vec<String>,
    #[command(flatten)]
    buckets: BucketArgs,
}

/// Reads the folders of runs or of a sweep, and renders their page.
pub(super) fn report(args: &ReportArgs) -> Ended {
    // Refuses an existing file before runs are read, of which there may be many.
    if let Some(file) = &args.out {
        let inputs: Vec<&Path> = args.folders.iter().map(PathBuf::as_path).collect();
        OutFile::new(file, args.force, &inputs)?;
    }
    let is_sweep = |folder: &PathBuf| folder.join("sweep.json").is_file();
    let refused = |what: &str| match args.names.is_empty() {
        true => Ok(()),
        false => Err(Failure::arguments(format!(
            "--names: the page of {what} has the names of its plan"
        ))),
    };
    if args.folders.iter().any(is_sweep) {
        refused("a sweep")?;
        return report_sweep(args);
    }
    let file = args.file();
    if let [folder] = args.folders.as_slice()
        && let Some(repeats) = repeats_in(folder)?
    {
        refused("a comparison with several seeds")?;
        return report_repeats(args, folder, &repeats);
    }
    let runs = read_runs(&args.folders, file.parent())?;
    let names = names::renamed(&args.names, &table::run_names(&runs))?;
    let page = report::render_named(&runs, &names).map_err(Failure::run)?;
    write(&file, &page)?;
    let flows: Vec<Vec<FlowRows>> = runs.iter().map(|run| vec![run.flows.clone()]).collect();
    let by_size = output::by_size(args.buckets.buckets.as_ref(), &names, &flows);
    output::print(&format!("{}\n{by_size}", file.display()))?;
    Ok(Done::All)
}

/// Reads the runs in folders of runs or comparisons. If the page is written to one of them (`beside`), its runs get
/// links.
pub(super) fn read_runs(folders: &[PathBuf], beside: Option<&Path>) -> Result<Vec<RunData>, Failure> {
    Ok(read_folders(folders, beside)?
        .into_iter()
        .map(|(_, data)| data)
        .collect())
}

/// Reads runs and returns each with its folder.
pub(super) fn read_folders(
    folders: &[PathBuf],
    beside: Option<&Path>,
) -> Result<Vec<(PathBuf, RunData)>, Failure> {
    let mut runs = Vec::new();
    for folder in folders {
        for run in runs_in(folder)? {
            let path = match run.as_os_str().is_empty() {
                true => folder.clone(),
                false => folder.join(&run),
            };
            let mut data = RunData::read(&path).map_err(Failure::arguments)?;
            // A page in the folder of a comparison can link to the pages of its runs.
            if run != Path::new("") && beside == Some(folder) {
                data.folder = Some(run.to_string_lossy().into_owned());
            }
            runs.push((path, data));
        }
    }
    Ok(runs)
}

/// Renders the pages of a comparison with several seeds. Pages of single seeds are written next to the runs, where
/// the main page links to them.
fn report_repeats(args: &ReportArgs, folder: &Path, repeats: &Repeats) -> Ended {
    let file = args.file();
    let beside = file.parent() == Some(folder);
    let read = |run: &OneRun| {
        let data = RunData::read(&folder.join(&run.folder)).map_err(Failure::arguments)?;
        Ok(RunData {
            folder: beside.then(|| run.folder.clone()),
            ..data
        })
    };
    let runs = repeats
        .runs
        .iter()
        .map(read)
        .collect::<Result<Vec<RunData>, Failure>>()?;
    for (name, page) in report::repeats_pages(repeats, &runs) {
        let page = page.map_err(Failure::run)?;
        if name == "report.html" {
            write(&file, &page)?;
        } else if beside {
            write(&folder.join(name), &page)?;
        }
    }
    let schemes = || runs.chunk_by(|a, b| a.summary.scheme == b.summary.scheme);
    let first: Vec<&Summary> = schemes().map(|runs| &runs[0].summary).collect();
    let flows: Vec<Vec<FlowRows>> = schemes()
        .map(|runs| runs.iter().map(|run| run.flows.clone()).collect())
        .collect();
    let by_size = output::by_size(args.buckets.buckets.as_ref(), &table::row_names(&first), &flows);
    output::print(&format!("{}\n{by_size}", file.display()))?;
    Ok(Done::All)
}

/// Renders the page of a sweep.
fn report_sweep(args: &ReportArgs) -> Ended {
    let [folder] = args.folders.as_slice() else {
        return Err(Failure::arguments(
            "a sweep is reported alone: expected one DIR (`paceline merge` merges shards)",
        ));
    };
    let page = report::render_sweep(&SweepData::read(folder)?).map_err(Failure::run)?;
    let file = args.file();
    write(&file, &page)?;
    output::print(&format!("{}\n", file.display()))?;
    Ok(Done::All)
}

impl ReportArgs {
    /// Returns the path of the page.
    fn file(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| match self.folders.as_slice() {
            [folder] => folder.join("report.html"),
            _ => PathBuf::from("report.html"),
        })
    }
}

fn write(file: &Path, page: &str) -> Result<(), Failure> {
    clear_leftovers(file);
    Ok(write_file(file, |out| out.write_all(page.as_bytes()))?)
}

/// Reads the statistics over seeds in a comparison's folder; `None` unless it has several seeds.
pub(super) fn repeats_in(folder: &Path) -> Result<Option<Repeats>, Failure> {
    let file = folder.join("comparison.json");
    match comparison(&file)? {
        Some(value) if value.is_object() => {
            let all = serde_json::from_value(value).map_err(|error| wrong(&file, &error))?;
            Ok(Some(all))
        }
        _ => Ok(None),
    }
}

/// Reads a `comparison.json`, if present.
fn comparison(file: &Path) -> Result<Option<serde_json::Value>, Failure> {
    if !file.is_file() {
        return Ok(None);
    }
    let text = paceline_scenario::read_text(file).map_err(|error| wrong(file, &error))?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| wrong(file, &error))
}

fn wrong(file: &Path, what: &dyn std::fmt::Display) -> Failure {
    Failure::arguments(format!(
        "{} is not what a comparison writes: {what}",
        file.display()
    ))
}

/// Lists the folders of a comparison's runs, in order. For a single run, the list is an empty path.
pub(super) fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let file = folder.join("comparison.json");
    let Some(value) = comparison(&file)? else {
        return Ok(vec![PathBuf::new()]);
    };
    if let Some(repeats) = repeats_in(folder)? {
        return Ok(repeats
            .runs
            .iter()
            .map(|run| PathBuf::from(&run.folder))
            .collect());
    }
    let summaries = value.as_array().ok_or_else(|| wrong(&file, &"no list of runs"))?;
    summaries
        .iter()
        .map(|summary| {
            let scheme = summary["scheme"]
                .as_str()
                .ok_or_else(|| wrong(&file, &"a run without a scheme"))?;
            Ok(PathBuf::from(report::scheme_folder(scheme)))
        })
        .collect()
}
