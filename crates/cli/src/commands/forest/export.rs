//! `paceline forest export`: a forest as C.

use std::path::PathBuf;

use clap::Args;
use paceline_forest::c;

use crate::failure::{Done, Ended, Failure};

const EXAMPLES: &str = "\
Examples:
  paceline forest export whole.json -o policy.h

The header is C99, of whole numbers only, and needs no library; its comment says what it reads,
its size, and the operations of a decision. It decides as the forest does, to the last bit.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExportArgs {
    /// A forest's file
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Where the header goes [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
}

/// Writes the header.
pub(super) fn export(args: &ExportArgs) -> Ended {
    let forest = super::read(&args.model)?;
    let header = c::header(&forest)
        .map_err(|error| Failure::arguments(format!("{}: {error}", args.model.display())))?;
    super::write(args.out.as_deref(), args.force, &header)?;
    Ok(Done::All)
}
