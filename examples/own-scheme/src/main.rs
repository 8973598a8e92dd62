//! Paceline with a scheme of its own: BCN.

// ANCHOR: main
mod bcn;

use std::process::ExitCode;

fn main() -> ExitCode {
    paceline::main_with(paceline::Extension::new().with::<bcn::Params>())
}
// ANCHOR_END: main
