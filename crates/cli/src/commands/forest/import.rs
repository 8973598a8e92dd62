//! `paceline forest import`: a forest that CatBoost trained.

use std::path::PathBuf;

use clap::Args;
use paceline_forest::catboost;

use crate::failure::{Done, Ended, Failure};

const EXAMPLES: &str = "\
Examples:
  paceline forest import catboost.json -o forest.json
  paceline forest import catboost.json --fraction 13 -o whole.json
                                                     in whole numbers, to be exported as C

In Python: CatBoostRegressor(..).fit(x, y).save_model(\"catboost.json\", format=\"json\"). Its trees
have to be oblivious, as they are by default, and its features numbers. Without --fraction
thresholds stay 32-bit floating-point numbers, and predictions are CatBoost's.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ImportArgs {
    /// What CatBoost saved as JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where the forest goes [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Its name [default: that of the file]
    #[arg(long)]
    name: Option<String>,
    /// Take features onto a grid of 16 bits, so many of them behind the point
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(0..=15))]
    fraction: Option<u8>,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// Reads one kind of file and writes the other.
pub(super) fn import(args: &ImportArgs) -> Ended {
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let name = args.name.as_deref().unwrap_or(&stem);
    let forest = catboost::read(&super::bytes(&args.file)?, name, args.fraction)
        .map_err(|error| Failure::arguments(format!("{}: {error}", args.file.display())))?;
    super::write(args.out.as_deref(), args.force, &forest.to_json())?;
    Ok(Done::All)
}
