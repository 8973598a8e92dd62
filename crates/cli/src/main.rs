//! The `paceline` command with its built-in parts.

use std::process::ExitCode;

fn main() -> ExitCode {
    paceline::main_with(paceline::Extension::new())
}
