//! `paceline convert`: conversion of GOAL traces between text and binary, and of jobs by a model to GOAL and Chakra.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::files::OutFile;
use paceline_traces::collective::Rings;
use paceline_traces::program::Program as _;
use paceline_traces::{chakra, goal, model};

use super::model_jobs;
use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline convert app.goal app.bin      text to binary, as LogGOPSim's converter writes it
  paceline convert app.bin copy.goal     binary to text
  paceline convert job.toml job.goal     a scenario's first job by a model, as GOAL
  paceline convert job.toml job.et       as Chakra: job.0.et, job.1.et, .. and job.groups.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ConvertArgs {
    /// A GOAL trace, text or binary, or a scenario with a job by a model
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// File to write: text if its name ends in .goal or .txt, Chakra if it ends in .et, otherwise binary
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

/// Converts a trace. The file is written completely or not at all.
pub(super) fn convert(args: &ConvertArgs) -> Ended {
    if args.to.extension().is_some_and(|extension| extension == "et") {
        return to_chakra(args);
    }
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

/// Writes a job by a model as Chakra: a file for each rank, and one of groups.
fn to_chakra(args: &ConvertArgs) -> Ended {
    let from = args.from.display();
    if !model_jobs::is_scenario(&args.from) {
        return Err(Failure::arguments(format!(
            "{from}: only jobs by a model are written as Chakra: expected a scenario (.toml)"
        )));
    }
    let program = model::program(&model_jobs::plans(&args.from)?[0].plan);
    chakra::check_writable(&program).map_err(output::trouble)?;
    let file = |end: &str| args.to.with_extension(end);
    let out = |path: &Path| OutFile::new(path, args.force, &[&args.from]);
    let ranks = 0..program.ranks();
    // All are checked before one is written.
    let files = ranks.clone().map(|rank| out(&file(&format!("{rank}.et"))));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let groups = out(&file("groups.json"))?;
    let beyond = file(&format!("{}.et", program.ranks()));
    if beyond.exists() {
        return Err(Failure::arguments(format!(
            "{} is there, and the job has {} ranks: readers would take both for one trace",
            beyond.display(),
            program.ranks()
        )));
    }
    for (rank, file) in ranks.zip(&files) {
        file.write(|out| chakra::write_rank(&program, rank, out))?;
    }
    groups.write(|out| chakra::write_groups(&program, out))?;
    say!(
        "{} to {}, with the groups of collectives in {}; in Chakra a rank has one message or collective at a time, and \
         computes for whole microseconds",
        file("0.et").display(),
        file(&format!("{}.et", program.ranks() - 1)).display(),
        file("groups.json").display()
    );
    Ok(Done::All)
}
