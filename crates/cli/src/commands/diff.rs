//! `paceline diff`: differences between two runs, in inputs and in results.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::diff::Diff;
use paceline_lab::files::RunData;

use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline diff results/incast-16-hpcc-1 results/mine
  paceline diff results/demo/hpcc results/demo/dcqcn     two runs of a comparison
  paceline diff results/demo/hpcc results/demo/dcqcn --json | jq .results

Paceline compares all keys of scenario.toml, including defaults, and all values of summary.json
except host measurements. If both runs have the same flows, it compares them one by one.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DiffArgs {
    /// Folder of a run
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Folder of another run
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Print only JSON, on standard output
    #[arg(long)]
    json: bool,
}

/// Compares two runs and prints the differences.
pub(super) fn diff(args: &DiffArgs) -> Ended {
    let read = |folder: &Path| RunData::read(folder).map_err(Failure::arguments);
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let diff = Diff::of(&a, &b).map_err(Failure::arguments)?;
    if args.json {
        output::print_json(&diff)?;
    } else {
        let names = [args.a.display().to_string(), args.b.display().to_string()];
        let text = diff.text([&names[0], &names[1]], output::stdout_width());
        output::print(&text)?;
    }
    Ok(Done::All)
}
