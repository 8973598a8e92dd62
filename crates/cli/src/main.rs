//! The `paceline` command, with what ships.

use std::process::ExitCode;

fn main() -> ExitCode {
    paceline::main_with(paceline::Extension::new())
}
