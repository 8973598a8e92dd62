//! One file per command.

mod bench;
mod compare;
mod completions;
mod demo;
mod explain;
mod generate;
mod list;
mod report;
pub(crate) mod reproduce;
mod run;

use crate::args::Command;
use crate::failure::Ended;

/// Does what was asked for.
pub(crate) fn dispatch(command: Command) -> Ended {
    match command {
        Command::Demo(args) => demo::demo(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::List(args) => list::list(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Generate(args) => generate::generate(&args),
        Command::Report(args) => report::report(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::BenchWorkload(args) => bench::measure(&args),
    }
}
