//! `paceline completions`.

use clap::Args;
use clap_complete::Shell;

use crate::failure::{Done, Ended};
use crate::output;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  paceline completions bash > ~/.local/share/bash-completion/completions/paceline"
)]
pub(super) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints a script that completes the arguments of `command`.
pub(super) fn completions(args: &CompletionsArgs, mut command: clap::Command) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "paceline", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Done::All)
}
