//! Prints a resolved input: `cargo run --example resolve -- INPUT [path.to.key=value ...]`.

#![allow(clippy::disallowed_macros, reason = "the scenario is its result")]

use paceline_scenario::{Overrides, load};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let input = arguments.next().unwrap_or_default();
    let overrides = Overrides {
        set: arguments.collect(),
        ..Overrides::default()
    };
    match load(&input, &overrides) {
        Ok(resolved) => {
            for warning in &resolved.warnings {
                eprintln!("warning: {warning}");
            }
            print!("{}", resolved.toml);
        }
        Err(error) => {
            eprint!(
                "{}",
                error.render(&miette::GraphicalReportHandler::new(), usize::MAX)
            );
            std::process::exit(2);
        }
    }
}
