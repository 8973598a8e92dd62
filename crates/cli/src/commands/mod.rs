//! One file per command.

mod bench;
mod collect;
mod compare;
mod completions;
mod demo;
mod diff;
mod explain;
mod generate;
mod list;
mod models;
mod report;
pub(crate) mod reproduce;
mod run;
mod sweep;
mod train;
mod why;

pub(crate) use collect::CollectArgs;
pub(crate) use diff::DiffArgs;
pub(crate) use report::ReportArgs;
pub(crate) use sweep::SweepArgs;
pub(crate) use train::TrainArgs;
pub(crate) use why::WhyArgs;

use crate::args::Command;
use crate::failure::Ended;

/// Does what was asked for.
pub(crate) fn dispatch(command: Command) -> Ended {
    match command {
        Command::Demo(args) => demo::demo(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Collect(args) => collect::collect(&args),
        Command::List(args) => list::list(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Generate(args) => generate::generate(&args),
        Command::Report(args) => report::report(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Train(args) => train::train(&args),
        Command::Why(args) => why::why(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::BenchWorkload(args) => bench::measure(&args),
    }
}
