//! Arguments that several commands share.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use paceline_kernel::Span;
use paceline_lab::files::{self, Writing};
use paceline_lab::results::Buckets;
use paceline_lab::run::cores;
use paceline_scenario::{Fidelity, InputFormat, Memoise, Overrides};

use crate::failure::Failure;

pub(crate) const INPUT_HELP: &str = "A scenario (.toml), an ns-3 config.txt, the folder of either (also of an earlier run), or \
                          the name of a built-in scenario";

/// What changes a scenario.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scenario")]
pub(crate) struct ChangeArgs {
    /// Set one key of the scenario; may be repeated
    #[arg(long, value_name = "PATH.TO.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of every random stream [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Stop after this much simulated time [default: the scenario's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Option<Span>,
    /// Simulate exactly, or bug-for-bug like a reference simulator [default: exact; for a config.txt its simulator]
    #[arg(long, value_name = "MODE", value_parser = fidelity())]
    pub(crate) fidelity: Option<Fidelity>,
    /// Simulator that a config.txt was written for, if its keys are ambiguous
    #[arg(long, value_name = "PROGRAM", value_parser = input_format())]
    pub(crate) input_format: Option<InputFormat>,
    /// Shuffle simultaneous events, to see which results depend on their order
    #[arg(long, value_name = "SEED")]
    pub(crate) shuffle_ties: Option<u64>,
    /// Check all invariants while running, and a tenth of the phases taken from memory (slower)
    #[arg(long)]
    pub(crate) check: bool,
}

/// Returns a parser for names of fidelities.
fn fidelity() -> impl TypedValueParser<Value = Fidelity> {
    PossibleValuesParser::new(Fidelity::names().iter().copied()).try_map(|name| name.parse::<Fidelity>())
}

/// Returns a parser for names of input formats.
fn input_format() -> impl TypedValueParser<Value = InputFormat> {
    PossibleValuesParser::new(InputFormat::ALL.map(InputFormat::name))
        .try_map(|name| name.parse::<InputFormat>())
}

impl ChangeArgs {
    /// Converts the arguments to the scenario crate's overrides.
    pub(crate) fn overrides(&self, scheme: Option<&str>, threads: ThreadArgs) -> Overrides {
        Overrides {
            set: self.set.clone(),
            scheme: scheme.map(str::to_string),
            seed: self.seed,
            duration: self.duration,
            fidelity: self.fidelity,
            input_format: self.input_format,
            shuffle_ties: self.shuffle_ties,
            check: self.check,
            threads: threads.threads.and_then(NonZeroU32::new),
            memoise: match (threads.memoise, self.check) {
                (MemoiseWhen::Off, _) => Memoise::Off,
                (MemoiseWhen::On, true) => Memoise::Check,
                (MemoiseWhen::On, false) => Memoise::On,
            },
            streams: true,
            ..Overrides::default()
        }
    }
}

const OUT_HELP: &str = "Folder for the results [default: results/<name>-<scheme>-<seed>; a suffix is added \
                        if it exists]";

/// Where results go.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    #[arg(short, long, value_name = "DIR", help = OUT_HELP)]
    pub(crate) out: Option<PathBuf>,
    /// Replace the folder of an earlier run
    #[arg(long)]
    pub(crate) force: bool,
    /// Write flows as CSV or Parquet; perfetto adds timeline.pftrace for ui.perfetto.dev; may be a list
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT,..",
        value_delimiter = ',',
        default_value = "csv"
    )]
    pub(crate) format: Vec<Format>,
    /// Write flows of alike iterations each time, not once; only matters where they are many
    #[arg(long)]
    pub(crate) expand: bool,
}

/// Formats of what runs write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Parquet,
    Perfetto,
}

impl OutputArgs {
    /// Converts the arguments to settings for the output.
    pub(crate) fn writing(&self) -> Writing {
        let format = match self.format.contains(&Format::Parquet) {
            true => files::Format::Parquet,
            false => files::Format::Csv,
        };
        Writing {
            force: self.force,
            format,
            timeline: self.format.contains(&Format::Perfetto),
            expand: self.expand,
            waiting: None,
        }
    }
}

const BUCKETS_HELP: &str = "Also print FCT slowdown by flow size: a number of buckets with equally many flows \
                            (20), size boundaries (1KB,10KB,1MB), or fct-analysis for the groups of \
                            HPCC's script";

/// How slowdown by size is shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct BucketArgs {
    #[arg(long, value_name = "BUCKETS", help = BUCKETS_HELP)]
    pub(crate) buckets: Option<Buckets>,
}

impl BucketArgs {
    /// Returns the buckets. They are an error with JSON, which has its own.
    pub(crate) fn asked(&self, say: SayArgs) -> Result<Option<&Buckets>, Failure> {
        if say.json && self.buckets.is_some() {
            return Err(Failure::arguments(
                "--buckets changes the table, and --json prints none: use one of them",
            ));
        }
        Ok(self.buckets.as_ref())
    }
}

/// What is said while and after running.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SayArgs {
    /// Print only the summary, as JSON, on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only results and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How many runs at a time.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct JobArgs {
    /// Number of runs in parallel; never changes results [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: Option<u32>,
}

impl JobArgs {
    /// Returns the number of parallel runs, by default the number of cores.
    pub(crate) fn count(self) -> usize {
        self.jobs.map_or_else(cores, |jobs| jobs as usize)
    }
}

/// How many threads inside a run.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct ThreadArgs {
    /// Number of threads per run; never changes results [default: the scenario's, or 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Take phases of jobs by traces that come again from memory; never changes results
    #[arg(long, value_name = "WHEN", default_value = "on")]
    memoise: MemoiseWhen,
}

/// Whether phases are taken from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MemoiseWhen {
    /// Wherever the network is in a state in which it was before.
    On,
    /// All phases are simulated.
    Off,
}

/// Maximum number of seeds in a comparison: all results are held in memory.
const MOST_REPEATS: u32 = 10_000;

/// Parses a number of seeds.
pub(crate) fn repeats(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count) if (1..=MOST_REPEATS).contains(&count) => Ok(count),
        _ => Err(format!("expected a number of seeds from 1 to {MOST_REPEATS}")),
    }
}

/// Parses a positive, finite number.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above zero, such as 0.5".to_string()),
    }
}
