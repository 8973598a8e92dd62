//! Arguments that trainings of policies share.

use clap::{Arg, Args};

use super::CommonArgs;
use super::line::CommandLine;
use crate::args::JobArgs;

/// Options of a policy's training.
#[derive(Clone, Debug, Args)]
pub(in crate::commands::train) struct PolicyArgs {
    /// Number of training rounds
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(in crate::commands::train) rounds: Option<u32>,
    /// Smoke test: train for a few seconds
    #[arg(long, help_heading = "Training")]
    pub(in crate::commands::train) quick: bool,
    #[command(flatten)]
    pub(in crate::commands::train) common: CommonArgs,
    #[command(flatten)]
    pub(in crate::commands::train) jobs: JobArgs,
}

/// Returns a change that adds a training's default to the help of `--rounds`.
pub(super) fn rounds(default: &'static str) -> impl FnOnce(Arg) -> Arg {
    move |arg| arg.help(format!("Number of training rounds [default: {default}]"))
}

impl PolicyArgs {
    /// Adds the options that the policy depends on.
    pub(super) fn add_to(&self, line: &mut CommandLine) {
        line.option("--rounds", self.rounds);
        line.option("--seed", self.common.seed);
        line.flag("--quick", self.quick);
    }
}
