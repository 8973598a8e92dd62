//! Arguments of the predictors' training.

use std::path::PathBuf;

use clap::Args;

use super::CommonArgs;
use super::line::CommandLine;
use crate::args::JobArgs;

/// Options of `paceline train lstm`, `gru`, `rnn` and `ar3`.
#[derive(Clone, Debug, Args)]
pub(in crate::commands::train) struct NetworkArgs {
    #[command(flatten)]
    pub(in crate::commands::train) data: DataArgs,
    /// Training rounds [default: 19]
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(in crate::commands::train) rounds: Option<u32>,
    /// Batch size [default: 10]
    #[arg(long, value_name = "N", help_heading = "Training", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::commands::train) batch: Option<u32>,
    /// Learning rate of Adam [default: 0.001]
    #[arg(long, value_name = "RATE", help_heading = "Training", value_parser = crate::args::positive)]
    pub(in crate::commands::train) learning_rate: Option<f64>,
    /// Compare all networks and baselines on the same pairs
    #[arg(long, help_heading = "Training")]
    pub(in crate::commands::train) compare: bool,
    /// Retraining rounds on data collected with the predictor in the loop
    #[arg(
        long,
        value_name = "ROUNDS",
        help_heading = "Training",
        conflicts_with = "data",
        value_parser = clap::value_parser!(u32).range(1..=50)
    )]
    pub(in crate::commands::train) on_policy: Option<u32>,
    /// Start from the weights of a model, training folder or checkpoint
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Training",
        conflicts_with_all = ["compare", "on_policy"]
    )]
    pub(in crate::commands::train) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::commands::train) common: CommonArgs,
    #[command(flatten)]
    pub(in crate::commands::train) jobs: JobArgs,
}

/// Sources of the training data.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Data")]
pub(in crate::commands::train) struct DataArgs {
    /// Scenarios to run and record [default: those of the built-in model]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub(in crate::commands::train) scenarios: Vec<String>,
    /// Schemes to run each scenario with [default: each scenario's]
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', requires = "scenarios")]
    pub(in crate::commands::train) schemes: Vec<String>,
    /// Set one key of all --scenarios; may be repeated
    #[arg(long, value_name = "PATH.TO.KEY=VALUE", requires = "scenarios")]
    pub(in crate::commands::train) set: Vec<String>,
    /// Train on a dataset.parquet or a recorded run; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with = "scenarios")]
    pub(in crate::commands::train) data: Vec<PathBuf>,
    /// Number of training pairs, half of them from transients
    /// [default: 19058, as in the thesis; 60000 with --on-policy]
    #[arg(long, value_name = "N")]
    pub(in crate::commands::train) pairs: Option<usize>,
}

impl NetworkArgs {
    /// Adds the options that the model depends on.
    pub(super) fn add_to(&self, line: &mut CommandLine) {
        line.list("--scenarios", &self.data.scenarios);
        line.list("--schemes", &self.data.schemes);
        self.data
            .set
            .iter()
            .for_each(|set| line.option("--set", Some(set)));
        let paths = self.data.data.iter();
        paths.for_each(|path| line.option("--data", Some(path.display())));
        line.option("--pairs", self.data.pairs);
        line.option("--rounds", self.rounds);
        line.option("--batch", self.batch);
        line.option("--learning-rate", self.learning_rate);
        line.option("--seed", self.common.seed);
        line.option("--on-policy", self.on_policy);
        line.option("--resume", self.resume.as_ref().map(|path| path.display()));
    }
}
