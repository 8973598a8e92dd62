//! `paceline convert`: a GOAL trace in its other form.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use clap::Args;
use paceline_traces::goal;

use crate::failure::{Done, Ended, Failure};
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

/// Converts a trace. The file appears whole or not at all.
pub(super) fn convert(args: &ConvertArgs) -> Ended {
    let to = args.to.display();
    if args.to.exists() && !args.force {
        return Err(Failure::arguments(format!("{to} exists; --force replaces it")));
    }
    let (program, cautions) = goal::read(&args.from).map_err(output::trouble)?;
    for caution in cautions {
        say!("warning: {}", caution.text);
    }
    let failed = |error: std::io::Error| Failure::run(format!("cannot write {to}: {error}"));
    let part = args.to.with_extension("part");
    let file = File::create(&part).map_err(failed)?;
    let mut out = BufWriter::new(file);
    let is_text = args
        .to
        .extension()
        .is_some_and(|extension| extension == "goal" || extension == "txt");
    let written = match is_text {
        true => goal::write_text(&program, &mut out),
        false => goal::write_binary(&program, &mut out),
    };
    let written = written
        .and_then(|()| out.flush())
        .and_then(|()| std::fs::rename(&part, &args.to));
    if let Err(error) = written {
        // The part is of no use; that it cannot be removed changes nothing in what is told.
        let _ = std::fs::remove_file(&part);
        return Err(failed(error));
    }
    Ok(Done::All)
}
