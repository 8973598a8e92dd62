//! `paceline convert`: conversion of GOAL traces between text and binary, and of jobs by a model to GOAL.

use std::path::PathBuf;

use clap::Args;
use paceline_lab::files::OutFile;
use paceline_traces::collective::Rings;
use paceline_traces::{goal, model};

use super::model_jobs;
use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline convert app.goal app.bin      text to binary, as LogGOPSim's converter writes it
  paceline convert app.bin copy.goal     binary to text
  paceline convert job.toml job.goal     a scenario's first job by a model, as GOAL";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ConvertArgs {
    /// A GOAL trace, text or binary, or a scenario with a job by a model
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
    let is_text = args
        .to
        .extension()
        .is_some_and(|extension| extension == "goal" || extension == "txt");
    let (program, cautions) = if model_jobs::is_scenario(&args.from) {
        let plan = &model_jobs::plans(&args.from)?[0].plan;
        let (program, rules) = (model::program(plan), model::collective_rules(Rings::One));
        if is_text {
            to.write(|out| goal::write_program(&program, &rules, out))?;
            return Ok(Done::All);
        }
        let mut text = Vec::new();
        goal::write_program(&program, &rules, &mut text)
            .map_err(|error| Failure::arguments(error.to_string()))?;
        goal::read_bytes(&args.from.display().to_string(), &text).map_err(output::trouble)?
    } else {
        goal::read(&args.from).map_err(output::trouble)?
    };
    for caution in cautions {
        say!("warning: {}", caution.text);
    }
    to.write(|out| match is_text {
        true => goal::write_text(&program, out),
        false => goal::write_binary(&program, out),
    })?;
    Ok(Done::All)
}
