//! The `paceline` command, with the schemes that ship.

use std::process::ExitCode;

fn main() -> ExitCode {
    paceline::Schemes::new().main()
}
