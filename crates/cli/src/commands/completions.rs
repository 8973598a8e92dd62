//! `paceline completions`.

use clap::CommandFactory as _;

use crate::args::{Cli, CompletionsArgs};
use crate::failure::{Done, Ended};
use crate::output;

/// Prints a script that completes this command's arguments.
pub(super) fn completions(args: &CompletionsArgs) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "paceline", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Done::All)
}
