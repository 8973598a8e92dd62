//! `paceline check`: errors in an input, found before anything runs.

use std::path::PathBuf;

use clap::Args;
use paceline_lab::InputWarnings;
use paceline_scenario::{Overrides, visible};
use paceline_traces::check::check as check_program;
use paceline_traces::open::{Format, Opened, format, open};

use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline check app.goal                a GOAL trace: messages without a partner, cycles, deadlocks
  paceline check traces/llama            Chakra traces llama.0.et, llama.1.et, ..
  paceline check gpt.txt                 a SimAI workload
  paceline check my.toml                 a scenario with everything it names

Exit status: 0 it can run, 2 it cannot.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    /// Traces (GOAL, Chakra, SimAI), scenarios or configurations
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// GOAL: messages of more bytes than this wait for their receive
    #[arg(long, value_name = "BYTES", default_value_t = 65_535)]
    eager: u64,
}

/// Checks inputs without running them.
pub(super) fn check(args: &CheckArgs) -> Ended {
    let mut faults = 0;
    for path in &args.files {
        let name = path.display().to_string();
        if format(path).is_none() {
            let input = paceline_lab::load(&name, &Overrides::default())?;
            output::input_warnings(&InputWarnings::of([&input]));
            output::print(&format!("{}: a scenario that can run\n", visible(&name)))?;
            continue;
        }
        let Opened {
            program,
            format,
            cautions,
        } = open(path).map_err(output::trouble)?;
        // Chakra sends never wait for their receives.
        let eager = if format == Format::Goal {
            args.eager
        } else {
            u64::MAX
        };
        let report = check_program(&*program, eager);
        let cautions = cautions
            .iter()
            .map(|caution| format!("warning: {}\n", caution.text));
        let text = format!("{name}: {}, {}", format.name(), report.text());
        output::print(&visible_lines(&(cautions.collect::<String>() + &text)))?;
        // The command fails only at the end, so that all inputs are checked.
        faults += usize::from(!report.errors.is_empty());
    }
    match faults {
        0 => Ok(Done::All),
        1 => Err(Failure::arguments("1 input cannot run")),
        several => Err(Failure::arguments(format!("{several} inputs cannot run"))),
    }
}

/// Escapes unprintable characters in each line, since names in files may contain any.
fn visible_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", visible(line))).collect()
}
