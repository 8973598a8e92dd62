//! `paceline view`: a local page that opens a folder of results.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use paceline_lab::files::ReadError;
use paceline_lab::sweep::{IN_MEMORY_MAX, SweepData, read_plan};
use paceline_query::TABLES;
use paceline_report as report;
use paceline_view::{Content, Kind, Server};
use serde_json::{Map, Value, json};

use super::report::{read_runs, repeats_in, runs_in};
use crate::failure::{Ended, Failure};
use crate::{interrupt, output};

const NOTES: &str = "\
The page has the report, every table with filters, sorting and groups, and a time line of each run.
It opens for programs of this machine that know the printed address, and it changes nothing.
A sweep is shown while it is under way. The folder of a run or comparison appears when that has ended.
Ctrl-C ends the command with exit status 0.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(super) struct ViewArgs {
    /// Folder of a run, comparison or sweep
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Port of 127.0.0.1 [default: any free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

/// Serves the page of a folder until the user interrupts.
pub(super) fn view(args: &ViewArgs) -> Ended {
    let server = Server::open(content(&args.folder)?, args.port).map_err(|error| refused(args, &error))?;
    let address = server.address();
    // The end of a server is an interruption, so it is no failure.
    interrupt::ends_normally();
    output::print(&format!("{address}\n"))?;
    say!(
        "serving {} to this machine (Ctrl-C ends it)",
        args.folder.display()
    );
    if args.open {
        open(&address);
    }
    server.serve()
}

fn refused(args: &ViewArgs, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::AddrInUse => Failure::arguments(format!(
            "port {} is in use: name another, or leave out --port",
            args.port
        )),
        io::ErrorKind::PermissionDenied if args.port > 0 => {
            Failure::arguments(format!("port {} may not be used: {error}", args.port))
        }
        _ => Failure::arguments(format!("cannot serve {}: {error}", args.folder.display())),
    }
}

/// Finds out what a folder holds, as `paceline report` does.
fn content(folder: &Path) -> Result<Content, Failure> {
    let (kind, runs) = if folder.join("sweep.json").is_file() {
        read_plan(folder)?;
        (Kind::Sweep, Vec::new())
    } else {
        let runs = runs_in(folder)?;
        let names = runs
            .iter()
            .map(|run| run.to_string_lossy().into_owned())
            .collect();
        let kind = if runs == [PathBuf::new()] {
            Kind::Run
        } else {
            Kind::Comparison
        };
        for path in runs.iter().map(|run| folder.join(run)) {
            if !path.join("summary.json").is_file() {
                let path = if kind == Kind::Run {
                    folder.to_path_buf()
                } else {
                    path
                };
                return Err(Failure::arguments(ReadError::NotARun { path }));
            }
        }
        (kind, names)
    };
    Ok(Content {
        folder: folder.to_path_buf(),
        kind,
        runs,
        meanings: meanings(),
        render: Box::new(|folder| render(folder).map_err(|failure| failure.to_string())),
    })
}

/// Renders the page that `paceline report` writes.
fn render(folder: &Path) -> Result<String, Failure> {
    if folder.join("sweep.json").is_file() {
        let runs = read_plan(folder)?.runs().len();
        if runs > IN_MEMORY_MAX {
            return Err(Failure::arguments(format!(
                "a sweep of {runs} runs has tables, and no page"
            )));
        }
        return report::render_sweep(&SweepData::read(folder)?).map_err(Failure::run);
    }
    let folders = [folder.to_path_buf()];
    let runs = read_runs(&folders, Some(folder))?;
    if let Some(repeats) = repeats_in(folder)? {
        let pages = report::repeats_pages(&repeats, &runs);
        if let Some((_, page)) = pages.into_iter().find(|(name, _)| name == "report.html") {
            return page.map_err(Failure::run);
        }
    }
    report::render(&runs).map_err(Failure::run)
}

/// Returns the meanings of columns, which the page shows at their heads.
fn meanings() -> Value {
    let tables = TABLES.iter().map(|table| {
        let columns = table
            .columns
            .iter()
            .map(|column| (column.name.to_string(), json!(column.meaning)));
        let columns: Map<String, Value> = columns.collect();
        (
            table.name.to_string(),
            json!({ "about": table.about, "columns": columns }),
        )
    });
    Value::Object(tables.collect())
}

/// Asks the system to open an address. Without a program for that, the user opens it.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if command.spawn().is_err() {
        say!("there is no {program} to open the page with: open the address yourself");
    }
}
