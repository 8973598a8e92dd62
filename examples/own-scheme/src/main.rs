//! Paceline with a scheme of its own: BCN.

// ANCHOR: main
mod bcn;

use std::process::ExitCode;

fn main() -> ExitCode {
    paceline::Schemes::new().with::<bcn::Params>().main()
}
// ANCHOR_END: main
