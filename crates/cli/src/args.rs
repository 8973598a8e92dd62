//! What several commands may be told.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use paceline_kernel::Span;
use paceline_lab::files::{self, Writing};
use paceline_lab::results::Buckets;
use paceline_lab::run::cores;
use paceline_scenario::{Fidelity, InputFormat, Overrides};

use crate::failure::Failure;

pub(crate) const INPUT_HELP: &str = "A scenario (.toml), a config.txt of HPCC's ns-3 simulator or a relative, the folder of \
                          either (also of an earlier run), or the name of a scenario that ships";

/// What changes a scenario.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scenario")]
pub(crate) struct ChangeArgs {
    /// Change one value, with the types and checks of the file; may be repeated
    #[arg(long, value_name = "PATH.TO.KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of every random stream [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Simulated time after which the run ends [default: the scenario's]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Option<Span>,
    /// Whose behaviour: exact time and no quirks, or HPCC's, the Bolt authors' or the TCD authors'
    /// ns-3 simulator, quirk by quirk, or an InfiniBand simulator
    /// [default: exact, and for a config.txt that of its simulator]
    #[arg(long, value_name = "MODE")]
    pub(crate) fidelity: Option<Mode>,
    /// Program that a config.txt was written for, where its keys do not tell
    #[arg(long, value_name = "PROGRAM", value_parser = input_format())]
    pub(crate) input_format: Option<InputFormat>,
    /// Shuffle simultaneous events, to see what hangs on their order
    #[arg(long, value_name = "SEED")]
    pub(crate) shuffle_ties: Option<u64>,
    /// Check every invariant while running (slower)
    #[arg(long)]
    pub(crate) check: bool,
}

/// Reads the name of a program.
fn input_format() -> impl TypedValueParser<Value = InputFormat> {
    PossibleValuesParser::new(InputFormat::ALL.map(InputFormat::name))
        .try_map(|name| name.parse::<InputFormat>())
}

/// Whose behaviour a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Exact,
    Ns3Hpcc,
    BoltNs3,
    TcdNs3,
    IbOmnet,
}

impl ChangeArgs {
    /// As the scenario crate takes them.
    pub(crate) fn overrides(&self, scheme: Option<&str>, threads: ThreadArgs) -> Overrides {
        Overrides {
            set: self.set.clone(),
            scheme: scheme.map(str::to_string),
            seed: self.seed,
            duration: self.duration,
            fidelity: self.fidelity.map(|mode| match mode {
                Mode::Exact => Fidelity::Exact,
                Mode::Ns3Hpcc => Fidelity::Ns3Hpcc,
                Mode::BoltNs3 => Fidelity::BoltNs3,
                Mode::TcdNs3 => Fidelity::TcdNs3,
                Mode::IbOmnet => Fidelity::IbOmnet,
            }),
            input_format: self.input_format,
            shuffle_ties: self.shuffle_ties,
            check: self.check,
            threads: threads.threads.and_then(NonZeroU32::new),
            streams: true,
            ..Overrides::default()
        }
    }
}

const OUT_HELP: &str = "Folder for the results [default: results/<name>-<scheme>-<seed>; with a number \
                        behind it where that has another run]";

/// Where results go.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    #[arg(short, long, value_name = "DIR", help = OUT_HELP)]
    pub(crate) out: Option<PathBuf>,
    /// Replace the folder of an earlier run
    #[arg(long)]
    pub(crate) force: bool,
    /// The table of flows as flows.csv or flows.parquet; perfetto adds timeline.json, which
    /// ui.perfetto.dev shows: flows, collectives, pauses, queues. May be a list
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT,..",
        value_delimiter = ',',
        default_value = "csv"
    )]
    pub(crate) format: Vec<Format>,
}

/// Formats of what runs write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Parquet,
    Perfetto,
}

impl OutputArgs {
    /// How results are to be written.
    pub(crate) fn writing(&self) -> Writing {
        let format = match self.format.contains(&Format::Parquet) {
            true => files::Format::Parquet,
            false => files::Format::Csv,
        };
        Writing {
            force: self.force,
            format,
            timeline: self.format.contains(&Format::Perfetto),
            until: None,
        }
    }
}

const BUCKETS_HELP: &str = "Also print the FCT slowdown by size of flow: in so many buckets of equally \
                            many flows (20), between sizes (1KB,10KB,1MB), or as HPCC's script \
                            does (fct-analysis: flows not labelled incast, 20 groups of 5 %)";

/// How slowdown by size is shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct BucketArgs {
    #[arg(long, value_name = "BUCKETS", help = BUCKETS_HELP)]
    pub(crate) buckets: Option<Buckets>,
}

impl BucketArgs {
    /// The buckets, unless the output is JSON: that has its own.
    pub(crate) fn asked(&self, say: SayArgs) -> Result<Option<&Buckets>, Failure> {
        if say.json && self.buckets.is_some() {
            return Err(Failure::arguments(
                "--buckets is about the table, and --json prints none: choose one of them",
            ));
        }
        Ok(self.buckets.as_ref())
    }
}

/// What is said while and after running.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct SayArgs {
    /// Print the summary as JSON, and nothing else, on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress, no hints: results and errors only
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How many runs at a time.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct JobArgs {
    /// Runs side by side [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: Option<u32>,
}

impl JobArgs {
    /// The number of runs side by side.
    pub(crate) fn count(self) -> usize {
        self.jobs.map_or_else(cores, |jobs| jobs as usize)
    }
}

/// How many threads inside a run.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct ThreadArgs {
    /// Threads of a run, which is cut into as many parts; of several runs side by side each has its
    /// share of the cores [default: the scenario's, or 1]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
}

/// The most seeds of a comparison: each is a run of each scheme, and what comes of all is held.
const MOST_REPEATS: u32 = 10_000;

/// A number of seeds.
pub(crate) fn repeats(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(count) if (1..=MOST_REPEATS).contains(&count) => Ok(count),
        _ => Err(format!("expected a number of seeds from 1 to {MOST_REPEATS}")),
    }
}

/// A number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above zero, such as 0.5".to_string()),
    }
}
