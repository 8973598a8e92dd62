//! Commands, one file each.

mod bench;
mod check;
mod compare;
mod completions;
mod convert;
mod demo;
mod diff;
mod explain;
#[cfg(feature = "training")]
mod folder;
#[cfg(feature = "training")]
mod forest;
mod generate;
mod list;
mod merge;
mod model_jobs;
mod mpi;
mod plot;
mod query;
mod report;
mod reproduce;
mod run;
mod sweep;
mod table;
#[cfg(feature = "training")]
mod train;
mod tune;
mod view;
mod why;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::failure::Ended;
use crate::interrupt;
use crate::ranks;

const EXAMPLES: &str = "\
Examples:
  paceline demo                                      an incast under four schemes, in seconds
  paceline run incast-20 --scheme dcqcn              a built-in scenario
  paceline run my.toml --set cc.hpcc.eta=0.9         your own scenario, with one parameter changed
  paceline run mix/config.txt --scheme dcqcn         your ns-3 experiment, under another scheme
  paceline list scenarios                            scenarios to start from";

/// Exact, deterministic simulation of congestion management in lossless data-centre networks.
#[derive(Debug, Parser)]
#[command(name = "paceline", version = paceline_lab::version(), after_help = EXAMPLES, disable_help_subcommand = true)]
#[command(max_term_width = 100, infer_long_args = false)]
struct Cli {
    /// Use memory in pages of the usual size: to measure what huge pages are worth
    #[arg(long, global = true, hide = true)]
    no_huge_pages: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a 20-to-1 incast demo under several schemes
    Demo(demo::DemoArgs),
    /// Run one scenario
    Run(run::RunArgs),
    /// Compare schemes on the same flows
    Compare(compare::CompareArgs),
    /// Check a trace or a scenario without running it
    Check(check::CheckArgs),
    /// Run a grid of parameter values, with several seeds each
    Sweep(sweep::SweepArgs),
    /// Search for the best values of parameters
    Tune(tune::TuneArgs),
    /// Merge the shards of a sweep
    Merge(merge::MergeArgs),
    /// List built-in schemes, scenarios, topologies, workloads and models
    List(list::ListArgs),
    /// Explain a scheme, topology, workload, mechanism, key, model or trace
    Explain(explain::ExplainArgs),
    /// Convert a GOAL trace between text and binary
    Convert(convert::ConvertArgs),
    /// Generate topology and flow files, also for ns-3
    Generate(generate::GenerateArgs),
    /// Render a report of finished runs
    Report(report::ReportArgs),
    /// Open a run, comparison or sweep in a local page
    View(view::ViewArgs),
    /// Plot runs or a sweep as SVG, PDF or CSV
    Plot(plot::PlotArgs),
    /// Make a table for a paper from sweeps, comparisons or reproductions
    Table(table::TableArgs),
    /// Rerun a published experiment and compare the results
    Reproduce(reproduce::ReproduceArgs),
    /// Train a learned scheme
    #[cfg(feature = "training")]
    Train(train::TrainArgs),
    /// Distil, import, verify and export boosted trees
    #[cfg(feature = "training")]
    Forest(forest::ForestArgs),
    /// Break down a flow's completion time, hop by hop
    Why(why::WhyArgs),
    /// Compare the inputs and results of two runs
    Diff(diff::DiffArgs),
    /// Answer a question about a run in SQL
    Query(query::QueryArgs),
    /// Measure simulation speed on this machine
    Bench(bench::BenchArgs),
    /// Show which MPI library a run on several ranks would use, and what a round costs
    Mpi(mpi::MpiArgs),
    /// Print shell completions
    Completions(completions::CompletionsArgs),
    /// Measure one speed workload, in this process
    #[command(hide = true)]
    BenchWorkload(bench::BenchWorkloadArgs),
}

impl Command {
    /// Returns the name of a command that several processes must not run at the same time with the same arguments.
    fn is_done_once(&self) -> Option<&'static str> {
        match self {
            Self::Demo(_) => Some("demo"),
            Self::Compare(_) => Some("compare"),
            Self::Sweep(args) if !args.is_shard() => Some("sweep"),
            Self::Tune(_) => Some("tune"),
            Self::Reproduce(_) => Some("reproduce"),
            #[cfg(feature = "training")]
            Self::Train(_) => Some("train"),
            _ => None,
        }
    }
}

/// Lets every option of a command, and of its subcommands, take a negative number.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    command.mut_subcommands(with_negative_numbers)
}

/// Parses the command line. Negative numbers are accepted as values, so that errors about them are specific, and
/// errors of number parsers are rephrased.
fn parse() -> Command {
    let parsed = Cli::command()
        .mut_subcommands(with_negative_numbers)
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(parsed) => {
            if parsed.no_huge_pages {
                paceline_kernel::memory::without_huge_pages();
            }
            parsed.command
        }
        Err(error) => in_words(&error),
    }
}

/// Ends the program with clap's error, rephrased if it is technical.
fn in_words(error: &clap::Error) -> ! {
    // All ranks of a launcher have the same arguments, and one of them speaks.
    if ranks::is_copy() {
        std::process::exit(0);
    }
    if let Some(why) = left_out(error) {
        crate::say::text(&format!("error: {why}\n"));
        std::process::exit(error.exit_code());
    }
    // These texts are the standard library's, which clap passes on.
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

/// Explains an unknown command or fidelity that this build omits.
fn left_out(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let word = |kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.as_str()),
        _ => None,
    };
    #[cfg(not(feature = "training"))]
    if let Some(command @ ("train" | "forest")) = word(ContextKind::InvalidSubcommand) {
        return Some(format!(
            "`paceline {command}`: {}",
            crate::features::without("training")
        ));
    }
    let fidelity = word(ContextKind::InvalidValue)?;
    paceline_scenario::guest::left_out(fidelity).map(|why| format!("fidelity `{fidelity}`: {why}"))
}

/// Runs the command of the command line.
pub(crate) fn dispatch() -> Ended {
    let command = parse();
    interrupt::listen();
    if let Some(name) = command.is_done_once() {
        ranks::refuse_copies(name)?;
    }
    match command {
        Command::Demo(args) => demo::demo(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Check(args) => check::check(&args),
        Command::Convert(args) => convert::convert(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Tune(args) => tune::tune(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::List(args) => list::list(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Generate(args) => generate::generate(&args),
        Command::Table(args) => table::table(&args),
        Command::Report(args) => report::report(&args),
        Command::View(args) => view::view(&args),
        Command::Plot(args) => plot::plot(&args),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        #[cfg(feature = "training")]
        Command::Train(args) => train::train(&args),
        #[cfg(feature = "training")]
        Command::Forest(args) => forest::forest(&args),
        Command::Why(args) => why::why(&args),
        Command::Diff(args) => diff::diff(&args),
        Command::Query(args) => query::query(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Mpi(args) => mpi::mpi(&args),
        Command::Completions(args) => completions::completions(&args, Cli::command()),
        Command::BenchWorkload(args) => bench::measure(&args),
    }
}
