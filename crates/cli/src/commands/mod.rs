//! One file per command.

mod bench;
mod compare;
mod completions;
mod demo;
mod diff;
mod distill;
mod explain;
mod folder;
mod forest;
mod generate;
mod list;
mod merge;
mod moved;
mod plot;
mod report;
mod reproduce;
mod run;
mod sweep;
mod train;
mod why;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::failure::Ended;
use crate::interrupt;

const EXAMPLES: &str = "\
Examples:
  paceline demo                                      an incast under four schemes, within seconds
  paceline run incast-20 --scheme dcqcn              a scenario that ships
  paceline run my.toml --set cc.hpcc.eta=0.9         your own, with a parameter changed
  paceline compare mix/config.txt --schemes hpcc,dcqcn
                                                     your ns-3 HPCC experiment, under two schemes
  paceline explain hpcc                              what it does, its parameters, their sources
  paceline list scenarios                            what there is to start from";

/// Exact, deterministic simulation of congestion management in lossless data-centre networks.
#[derive(Debug, Parser)]
#[command(name = "paceline", version, after_help = EXAMPLES, disable_help_subcommand = true)]
#[command(max_term_width = 100, infer_long_args = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what this is: a 20-to-1 incast under several schemes
    Demo(demo::DemoArgs),
    /// Run one scenario
    Run(run::RunArgs),
    /// Run the same flows and seed under several schemes, side by side
    Compare(compare::CompareArgs),
    /// Run a grid of values, each with several seeds
    Sweep(sweep::SweepArgs),
    /// Merge the shards of a sweep
    Merge(merge::MergeArgs),
    /// List what is built in
    List(list::ListArgs),
    /// Explain a scheme, topology, workload, mechanism or model, with its parameters
    Explain(explain::ExplainArgs),
    /// Write topology and flow files, for this program or for ns-3
    Generate(generate::GenerateArgs),
    /// Render the report of finished runs again
    Report(report::ReportArgs),
    /// Draw a figure of runs or of a sweep, as SVG, PDF or CSV
    Plot(plot::PlotArgs),
    /// Run what a published table or figure shows, and put ours beside it
    Reproduce(reproduce::ReproduceArgs),
    /// Train a learned scheme: its predictor, or its gains
    Train(train::TrainArgs),
    /// Make boosted trees of a trained policy: they decide as it does, in whole numbers
    Distill(distill::DistillArgs),
    /// Import, verify and export tree models
    Forest(forest::ForestArgs),
    /// Tell where one flow's time went, part by part and hop by hop
    Why(why::WhyArgs),
    /// Compare two runs: what differs in their inputs and in their results
    Diff(diff::DiffArgs),
    /// Measure the speed of the simulator on this machine
    Bench(bench::BenchArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
    /// Measure one speed workload, in this process
    #[command(hide = true)]
    BenchWorkload(bench::BenchWorkloadArgs),
}

/// What the command line asks for. Numbers below zero are values, so that it is told what is wrong with them; and what a
/// parser of numbers says is told in words.
fn parse() -> Command {
    let each = |command: clap::Command| {
        command.mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
    };
    let command = Cli::command().mut_subcommands(|command| each(command).mut_subcommands(each));
    let parsed = command
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(parsed) => parsed.command,
        Err(error) => in_words(&error),
    }
}

/// Ends the program with what clap says, or with the present name of what was called by a former one.
fn in_words(error: &clap::Error) -> ! {
    let first = std::env::args_os().nth(1);
    if let Some(hint) = moved::hint(error, first.as_ref().and_then(|word| word.to_str())) {
        crate::say::text(&hint);
        std::process::exit(error.exit_code());
    }
    const WORDS: [(&str, &str); 4] = [
        (
            "invalid digit found in string",
            "expected a whole number, not below zero",
        ),
        ("invalid float literal", "expected a number"),
        (
            "number too large to fit in target type",
            "that number is too large",
        ),
        (
            "cannot parse integer from empty string",
            "expected a whole number",
        ),
    ];
    let text = error.to_string();
    match WORDS.iter().find(|(said, _)| text.contains(said)) {
        Some((said, words)) => {
            crate::say::text(&text.replace(said, words));
            std::process::exit(error.exit_code())
        }
        None => error.exit(),
    }
}

/// Does what the command line asks for.
pub(crate) fn dispatch() -> Ended {
    let command = parse();
    interrupt::listen();
    match command {
        Command::Demo(args) => demo::demo(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::List(args) => list::list(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Generate(args) => generate::generate(&args),
        Command::Report(args) => report::report(&args),
        Command::Plot(args) => plot::plot(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Train(args) => train::train(&args),
        Command::Distill(args) => distill::distill(&args),
        Command::Forest(args) => forest::forest(&args),
        Command::Why(args) => why::why(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Completions(args) => completions::completions(&args, Cli::command()),
        Command::BenchWorkload(args) => bench::measure(&args),
    }
}
