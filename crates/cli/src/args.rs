//! What the command line may say.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use paceline_kernel::Span;
use paceline_lab::files::{self, Writing};
use paceline_lab::results::Buckets;
use paceline_scenario::{Fidelity, Overrides};

use crate::commands::reproduce::ReproduceArgs;
use crate::commands::{CollectArgs, DiffArgs, ReportArgs, SweepArgs, TrainArgs, WhyArgs};
use crate::failure::Failure;

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
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what this is: a 20-to-1 incast under several schemes
    Demo(DemoArgs),
    /// Run one scenario
    Run(RunArgs),
    /// Run the same flows and seed under several schemes, side by side
    Compare(CompareArgs),
    /// Run a grid of values, each with several seeds
    Sweep(SweepArgs),
    /// Merge the parts of a sweep that were run as shards
    Collect(CollectArgs),
    /// List what is built in
    List(ListArgs),
    /// Explain a scheme, topology, workload, mechanism or model, with its parameters
    Explain(ExplainArgs),
    /// Write topology and flow files, for this program or for ns-3
    Generate(GenerateArgs),
    /// Render the report of finished runs again
    Report(ReportArgs),
    /// Run what a published table or figure shows, and put ours beside it
    Reproduce(ReproduceArgs),
    /// Train a learned scheme: its predictor, or its gains
    Train(TrainArgs),
    /// Tell where one flow's time went, part by part and hop by hop
    Why(WhyArgs),
    /// Compare two runs: what differs in their inputs and in their results
    Diff(DiffArgs),
    /// Measure the speed of the simulator on this machine
    Bench(BenchArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Measure one speed workload, in this process
    #[command(hide = true)]
    BenchWorkload(BenchWorkloadArgs),
}

pub(crate) const INPUT_HELP: &str = "A scenario (.toml), a config.txt of HPCC's ns-3 simulator, the folder of \
                          either (also of an earlier run), or the name of a scenario that ships";

const DEMO_EXAMPLES: &str = "\
Examples:
  paceline demo
  paceline demo --scale 0.1 --schemes hpcc,timely-patched";

#[derive(Debug, Args)]
#[command(after_help = DEMO_EXAMPLES)]
pub(crate) struct DemoArgs {
    /// Factor on the sizes of the flows (200, 200, 150 MB, and 17 of 5 MB)
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive)]
    pub(crate) scale: f64,
    /// Schemes to compare
    #[arg(
        long,
        value_name = "A,B,..",
        value_delimiter = ',',
        default_value = "hpcc,dcqcn,timely,dctcp"
    )]
    pub(crate) schemes: Vec<String>,
    /// Folder for the results; an earlier demo there is replaced
    #[arg(
        long,
        value_name = "DIR",
        default_value = "results/demo",
        help_heading = "Output"
    )]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) say: SayArgs,
    #[command(flatten)]
    pub(crate) jobs: JobArgs,
}

const RUN_EXAMPLES: &str = "\
Examples:
  paceline run incast-20
  paceline run incast-20 --scheme dcqcn --set cc.dcqcn.rate-ai=40Mbps --seed 2 --out results/mine
  paceline run mix/config.txt
  paceline run results/incast-20-hpcc-1 --out results/again    the same run, the same bytes
  paceline run incast-16 --json --quiet | jq .fct_slowdown.p99

Exit status: 0 done, 1 the run failed, 2 input or arguments are wrong, 130 interrupted (what ran is
kept, marked partial).";

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    #[arg(value_name = "INPUT", help = INPUT_HELP)]
    pub(crate) input: String,
    /// Congestion control scheme, instead of the scenario's
    #[arg(long, value_name = "NAME", help_heading = "Scenario")]
    pub(crate) scheme: Option<String>,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    #[command(flatten)]
    pub(crate) buckets: BucketArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) say: SayArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  paceline compare incast-20 --schemes hpcc,dcqcn,timely,dctcp
  paceline compare mix/config.txt --schemes hpcc,dctcp --jobs 2
  paceline compare fat320-hadoop30-2ms --schemes hpcc,dctcp --repeats 5 --buckets fct-analysis

Every scheme gets the same flows and the same seed. [cc] and the marking thresholds are each
scheme's own defaults, except for what the scenario gives itself: a [cc.<scheme>] block, or
[network.ecn]. A config.txt configures the scheme of its CC_MODE; the others get the values that
HPCC's public launcher uses at this link speed (no window for DCQCN and TIMELY, a window and a
marking step for DCTCP).";

#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    #[arg(value_name = "INPUT", help = INPUT_HELP)]
    pub(crate) input: String,
    /// Schemes to compare
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', required = true)]
    pub(crate) schemes: Vec<String>,
    /// Runs of each scheme, with seeds one above the other: means with confidence intervals, and
    /// the differences from the first scheme seed by seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeats: u32,
    /// Put published values beside ours [default: where the scenario has some]
    #[arg(long, value_name = "TABLE")]
    pub(crate) beside: Option<Beside>,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    #[command(flatten)]
    pub(crate) buckets: BucketArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) say: SayArgs,
    #[command(flatten)]
    pub(crate) jobs: JobArgs,
    #[command(flatten)]
    pub(crate) threads: ThreadArgs,
}

/// Published values to show beside ours: see `list reproductions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Beside {
    ThesisTable6,
    None,
}

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
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<Span>,
    /// Whose behaviour: exact time and no quirks, or HPCC's or the Bolt authors' ns-3 simulator,
    /// quirk by quirk
    /// [default: exact, and ns3-hpcc for a config.txt]
    #[arg(long, value_name = "MODE")]
    pub(crate) fidelity: Option<Mode>,
    /// Shuffle simultaneous events, to see what hangs on their order
    #[arg(long, value_name = "SEED")]
    pub(crate) shuffle_ties: Option<u64>,
    /// Check every invariant while running (slower)
    #[arg(long)]
    pub(crate) check: bool,
}

/// Whose behaviour a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Exact,
    Ns3Hpcc,
    BoltNs3,
}

impl ChangeArgs {
    /// As the scenario crate takes them.
    pub(crate) fn overrides(&self, scheme: Option<&str>) -> Overrides {
        Overrides {
            set: self.set.clone(),
            scheme: scheme.map(str::to_string),
            seed: self.seed,
            duration: self.duration,
            fidelity: self.fidelity.map(|mode| match mode {
                Mode::Exact => Fidelity::Exact,
                Mode::Ns3Hpcc => Fidelity::Ns3Hpcc,
                Mode::BoltNs3 => Fidelity::BoltNs3,
            }),
            shuffle_ties: self.shuffle_ties,
            check: self.check,
            ..Overrides::default()
        }
    }
}

const OUT_HELP: &str = "Folder for the results [default: results/<name>-<scheme>-<seed>]";

/// Where results go.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    #[arg(long, value_name = "DIR", help = OUT_HELP)]
    pub(crate) out: Option<PathBuf>,
    /// Replace the folder of an earlier run
    #[arg(long)]
    pub(crate) force: bool,
    /// Format of the table of flows: flows.csv or flows.parquet
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub(crate) format: Format,
}

/// Formats of the table of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Parquet,
}

impl OutputArgs {
    /// How results are to be written.
    pub(crate) fn writing(&self) -> Writing {
        let format = match self.format {
            Format::Csv => files::Format::Csv,
            Format::Parquet => files::Format::Parquet,
        };
        Writing {
            force: self.force,
            format,
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
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(cores, |jobs| jobs as usize)
    }
}

/// How many threads inside a run.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct ThreadArgs {
    /// Threads inside one run; results do not depend on it (this version uses one)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: u32,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Of which kind
    #[arg(value_enum)]
    pub(crate) what: Listed,
    /// Print a JSON list
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `list` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Congestion control schemes and their variants
    Schemes,
    /// Scenarios that ship
    Scenarios,
    /// Topology generators
    Topologies,
    /// Workload generators and distributions of flow sizes
    Workloads,
    /// Published tables and figures that `reproduce` puts beside ours
    Reproductions,
    /// Trained models that ship
    Models,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A scheme, topology, workload, distribution, scenario, mechanism or model; or a model's file
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    pub(crate) what: Generated,
}

const TOPOLOGY_EXAMPLES: &str = "\
Examples:
  paceline generate topology fat-tree k=8 rate=200Gbps -o fat8.txt
  paceline generate topology incast-20 --format toml        the topology of a scenario";

const FLOWS_EXAMPLES: &str = "\
Examples:
  paceline generate flows poisson sizes=websearch load=0.5 to=10ms --topology hpcc-fat -o flow.txt
  paceline generate flows all-reduce size=8MB --topology star,hosts=8 -o ring.csv
  paceline generate flows incast receiver=16 fan-in=15 size=1MB --topology star,hosts=16
  paceline generate flows fat320-hadoop30-2ms --seed 7 -o flow.txt    the flows of a scenario";

#[derive(Debug, Subcommand)]
pub(crate) enum Generated {
    /// Write a topology
    #[command(after_help = TOPOLOGY_EXAMPLES)]
    Topology {
        /// A generator (`paceline list topologies`), or a scenario
        name: String,
        #[command(flatten)]
        parameters: ParameterArgs,
        #[command(flatten)]
        file: FileArgs,
    },
    /// Write flows
    #[command(after_help = FLOWS_EXAMPLES)]
    Flows {
        /// A generator (`paceline list workloads`), or a scenario
        name: String,
        #[command(flatten)]
        parameters: ParameterArgs,
        /// Between which hosts: a topology generator with its parameters
        #[arg(long, value_name = "NAME[,KEY=VALUE,..]", default_value = "star")]
        topology: String,
        /// Seed of the random streams
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// No flow starts later than this
        #[arg(long, value_name = "TIME")]
        duration: Option<Span>,
        #[command(flatten)]
        file: FileArgs,
    },
}

/// Parameters of a generator.
#[derive(Clone, Debug, Args)]
pub(crate) struct ParameterArgs {
    /// Parameters of the generator (`paceline explain NAME`)
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// The same as an option
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// Where a generated file goes.
#[derive(Clone, Debug, Args)]
pub(crate) struct FileArgs {
    /// Format [default: that of FILE's ending, .toml or .csv, otherwise ns3]; csv is for flows alone: a
    /// trace, which can say what waits for what
    #[arg(long, value_enum)]
    pub(crate) format: Option<FileFormat>,
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Formats of topologies and flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    Ns3,
    Toml,
    Csv,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Runs of each workload; the median counts [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: Option<u32>,
    /// Smaller workloads, one run of each [unless --runs says otherwise]
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these workloads, by number or name
    #[arg(long, value_name = "A,B,..", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Measure this scenario or config.txt in the place of fat320-hadoop30-2ms
    #[arg(long, value_name = "INPUT")]
    pub(crate) input: Option<String>,
    #[command(flatten)]
    pub(crate) say: SayArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BenchWorkloadArgs {
    pub(crate) name: String,
    #[arg(long)]
    pub(crate) quick: bool,
    #[arg(long)]
    pub(crate) input: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  paceline completions bash > ~/.local/share/bash-completion/completions/paceline"
)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above zero, such as 0.5".to_string()),
    }
}
