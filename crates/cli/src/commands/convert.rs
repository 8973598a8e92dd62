//! `paceline convert`: conversion of GOAL traces between text and binary.

use std::path::PathBuf;

use clap::Args;
use paceline_lab::files::OutFile;
use paceline_traces::goal;

use crate::failure::{Done, Ended};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline convert app.goal app.bin      text to binary, as LogGOPSim's converter writes it
  paceline convert app.bin copy.goal     binary to text";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ConvertArgs {
    /// A GOAL trace, text or binary
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// File to write: text if its name ends in .goal or .txt, otherwise binary
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Converts a trace. The file is written completely or not at all.
pub(super) fn convert(args: &ConvertArgs) -> Ended {
    // Refuses an existing file before it reads a trace, which may be long.
    let to = OutFile::new(&args.to, args.force, &[&args.from])?;
    let (program, cautions) = goal::read(&args.from).map_err(output::trouble)?;
    for caution in cautions {
        say!("warning: {}", caution.text);
    }
    let is_text = args
        .to
        .extension()
        .is_some_and(|extension| extension == "goal" || extension == "txt");
    to.write(|out| match is_text {
        true => goal::write_text(&program, out),
        false => goal::write_binary(&program, out),
    })?;
    Ok(Done::All)
}
