//! `paceline forest import`: conversion of CatBoost models.

use std::path::PathBuf;

use clap::Args;
use paceline_forest::catboost;

use crate::failure::{Done, Ended, Failure};

const EXAMPLES: &str = "\
Examples:
  paceline forest import catboost.json -o forest.json
  paceline forest import catboost.json --fraction 13 -o whole.json
                                                     in fixed point, for export as C

In Python: CatBoostRegressor(..).fit(x, y).save_model(\"catboost.json\", format=\"json\"). Trees
must be oblivious, CatBoost's default, and all features numeric. Without --fraction, thresholds stay
32-bit floating-point numbers and predictions equal CatBoost's.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ImportArgs {
    /// CatBoost model, saved as JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Name of the forest [default: the file name]
    #[arg(long)]
    name: Option<String>,
    /// Quantise features to 16-bit fixed point with BITS fractional bits
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u8).range(0..=15))]
    fraction: Option<u8>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Reads a CatBoost model and writes a forest.
pub(super) fn import(args: &ImportArgs) -> Ended {
    let out = super::file(args.out.as_deref(), args.force, &args.file)?;
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let name = args.name.as_deref().unwrap_or(&stem);
    let forest = catboost::read(&super::bytes(&args.file)?, name, args.fraction)
        .map_err(|error| Failure::arguments(format!("{}: {error}", args.file.display())))?;
    super::write(out.as_ref(), &forest.to_json())?;
    Ok(Done::All)
}
