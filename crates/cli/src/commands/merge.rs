//! `paceline merge`: merges the shards of a sweep.

use std::path::PathBuf;

use clap::Args;
use paceline_lab::sweep::{self, Collected};

use super::sweep::{failures, shell, show_tables};
use crate::args::SayArgs;
use crate::failure::{Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline sweep my.toml --shard 1/2                  one machine
  paceline sweep my.toml --shard 2/2                  another machine with the same folder
  paceline merge results/my-sweep-1
  paceline sweep my.toml --shard 1/2 --out node1/sweep
  paceline sweep my.toml --shard 2/2 --out node2/sweep
  paceline merge node1/sweep node2/sweep --out results/all

The folders must be shards of one sweep, run by the same code (paceline --version). A run that is in
several folders must be equal in all of them.

Exit status: 0 complete, 1 runs failed or are missing (they are listed), 2 folders do not match.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MergeArgs {
    /// Folders written by `paceline sweep`
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Folder for the merged sweep; may be a DIR [default: the only DIR, or results/NAME-sweep-SEED]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace the folder of an earlier sweep
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Allow results of different versions or code
    #[arg(long)]
    mix_versions: bool,
    #[command(flatten)]
    say: SayArgs,
}

/// Merges the folders of a sweep, and prints one table.
pub(super) fn merge(args: &MergeArgs) -> Ended {
    let out = match (&args.out, args.folders.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [folder]) => folder.clone(),
        (None, folders) => {
            let plan = sweep::read_plan(&folders[0])?;
            output::default_folder(&plan.scenario, "sweep", plan.seeds[0])
        }
    };
    let Collected { tables, missing } = sweep::collect(&args.folders, &out, args.mix_versions, args.force)?;
    // Shown even if runs are missing: the others are results, too.
    show_tables(&out, &tables, args.say, |_| true)?;
    if missing.is_empty() {
        return failures(&tables);
    }
    const SHOWN: usize = 10;
    let plan = tables.plan();
    let all = plan.points.len() * plan.seeds.len();
    let mut text = format!("{} of {all} runs are missing:", missing.len());
    for &(point, seed) in missing.iter().take(SHOWN) {
        text.push_str(&format!("\n  {} seed {seed}", sweep::describe(plan, point)));
    }
    if missing.len() > SHOWN {
        text.push_str(&format!("\n  and {} more", missing.len() - SHOWN));
    }
    let words = [
        plan.arguments.clone(),
        vec!["--out".into(), out.display().to_string()],
    ]
    .concat();
    text.push_str(&format!("\nthis runs them: paceline sweep {}", shell(&words)));
    Err(Failure::run(text))
}
