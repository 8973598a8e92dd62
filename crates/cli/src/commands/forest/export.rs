//! `paceline forest export`: a forest as C.

use std::path::PathBuf;

use clap::Args;
use paceline_forest::c;

use crate::failure::{Done, Ended, Failure};

const EXAMPLES: &str = "\
Examples:
  paceline forest export whole.json -o policy.h

The header is C99, uses only integers and needs no library. Its comment documents inputs, size and
operations per decision. Its decisions equal the forest's, bit for bit.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExportArgs {
    /// Forest file or built-in forest
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Writes the forest as a C header.
pub(super) fn export(args: &ExportArgs) -> Ended {
    let out = super::file(args.out.as_deref(), args.force, &args.model)?;
    let forest = super::read(&args.model)?;
    let header = c::header(&forest)
        .map_err(|error| Failure::arguments(format!("{}: {error}", args.model.display())))?;
    super::write(out.as_ref(), &header)?;
    Ok(Done::All)
}
