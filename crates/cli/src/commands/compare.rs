//! `paceline compare`: several schemes with the same flows and seed.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use paceline_lab::InputWarnings;
use paceline_lab::compare::{self, One};
use paceline_lab::files::Writing;
use paceline_lab::repeats::Repeats;
use paceline_lab::results::{Buckets, FlowRows, RunStatus, Summary};
use paceline_lab::run::{self, Finished, RunError};
use paceline_lab::sweep::Stored;
use paceline_lab::table;
use paceline_report::{together, write_compared};
use paceline_reproduce as reproduce;
use paceline_scenario::Resolved;
use paceline_scenario::sweep::{Axis, AxisValue};

use super::report;
use crate::args::{BucketArgs, ChangeArgs, INPUT_HELP, JobArgs, OutputArgs, SayArgs, ThreadArgs, repeats};
use crate::destination::{self, Destination};
use crate::failure::{Done, Ended, Failure};
use crate::progress::{Meter, share_text};
use crate::{input, interrupt, output, say};

const EXAMPLES: &str = "\
Examples:
  paceline compare incast-20 --schemes hpcc,dcqcn,timely,dctcp
  paceline compare incast-20 --schemes dcqcn,dcqcn:g=0.1:increase-timer=55us,hpcc:eta=0.9
  paceline compare mix/config.txt --schemes hpcc,dctcp --jobs 2
  paceline compare fat320-hadoop30-2ms --schemes hpcc,dctcp --repeats 5 --buckets fct-analysis

A scheme with parameters in its name is a variant: SCHEME:PARAMETER=VALUE, and more after further
colons. `explain SCHEME` lists the parameters.

All schemes get the same flows and the same seed. Each uses its own defaults for [cc] and for
marking thresholds, unless the scenario sets them in [cc.<scheme>] or [network.ecn]. A config.txt
configures the scheme of its CC_MODE. The others get the values of HPCC's public launcher for this
link speed: no window for DCQCN and TIMELY, a window and a marking step for DCTCP.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompareArgs {
    #[arg(value_name = "INPUT", help = INPUT_HELP)]
    input: String,
    /// Schemes to compare, with parameters after colons
    #[arg(long, value_name = "A,B,..", value_delimiter = ',', required = true)]
    schemes: Vec<String>,
    /// Number of consecutive seeds per scheme; adds means, intervals and paired differences
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = repeats)]
    repeats: u32,
    /// Show published values next to the results [default: those of the scenario, if any]
    #[arg(long, value_name = "TABLE")]
    published: Option<Table>,
    /// Write the comparison as an experiment for `reproduce`, without running it
    #[arg(long, value_name = "FOLDER")]
    save_experiment: Option<PathBuf>,
    #[command(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    buckets: BucketArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    jobs: JobArgs,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Published values to show next to the results: see `list reproductions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Table {
    ThesisTable6,
    None,
}

/// Runs a scenario under each scheme, and prints a table.
pub(super) fn compare(args: &CompareArgs) -> Ended {
    let buckets = args.buckets.asked(args.say)?;
    let inputs = inputs(args)?;
    let first = &inputs[0][0];
    // Saved before a folder is chosen: nothing runs, so there are no results to keep.
    if let Some(folder) = &args.save_experiment {
        let schemes = inputs
            .iter()
            .map(|seeds| AxisValue::Text(seeds[0].scheme.clone()));
        let axis = Axis::of_key("cc.scheme", schemes.collect());
        let seeds: Vec<u64> = inputs[0].iter().map(|input| input.seed).collect();
        let base = args.changes.overrides(Some(&first.scheme), args.threads);
        let named = inputs.iter().flatten().flat_map(|input| input.named.clone());
        let written = Stored::of(&args.input, &base, named.collect())?;
        return super::reproduce::save(
            folder,
            (&args.input, &base),
            (&[axis], &seeds, &written),
            None,
            args.say,
        );
    }
    let default = output::default_folder(&first.name, "compare", first.seed);
    let (asked, force) = (args.output.out.as_ref(), args.output.force);
    let writing = args.output.writing();
    // With --check the run itself is the purpose, so earlier results do not replace it.
    let same = |folder: &Path| !args.changes.check && destination::is_comparison(folder, &inputs, writing);
    let (folder, is_there) = match destination::choose(asked, &default, force, same)? {
        Destination::New(folder) => (folder, false),
        Destination::Existing(folder) => (folder, true),
    };
    let published = match args.published {
        Some(Table::ThesisTable6) => true,
        Some(Table::None) => false,
        None => reproduce::in_thesis_table6(&first.name),
    };
    let comparison = Comparison {
        inputs,
        folder: &folder,
        writing,
        jobs: args.jobs.count(),
        say: args.say,
        published,
        buckets,
    };
    if is_there {
        comparison.show_again()?;
        if !args.say.quiet {
            destination::print_there(&folder);
        }
        return Ok(Done::All);
    }
    let (done, folder) = comparison.run()?;
    if !args.say.quiet {
        say!(
            "results in {}, with a report to look at: {}",
            folder.display(),
            folder.join("report.html").display()
        );
    }
    Ok(done)
}

/// Resolves the runs, scheme by scheme, each with the same seeds.
fn inputs(args: &CompareArgs) -> Result<Vec<Vec<Resolved>>, Failure> {
    let schemes = input::schemes(&args.schemes)?;
    let changes = args.changes.overrides(None, args.threads);
    Ok(compare::inputs(&args.input, &changes, &schemes, args.repeats)?)
}

/// The parts of a run that are printed.
type Shown<'a> = (&'a Summary, &'a FlowRows);

/// Runs to compare, and the output of the comparison.
pub(super) struct Comparison<'a> {
    /// Runs by scheme, each with the same seeds.
    pub(super) inputs: Vec<Vec<Resolved>>,
    pub(super) folder: &'a Path,
    pub(super) writing: Writing,
    pub(super) jobs: usize,
    pub(super) say: SayArgs,
    /// True to show published values of the 20-to-1 incast.
    pub(super) published: bool,
    /// Buckets of slowdown by flow size, if requested.
    pub(super) buckets: Option<&'a Buckets>,
}

impl Comparison<'_> {
    /// Executes all runs, writes the results, and prints the table. Returns the folder that was written.
    pub(super) fn run(&self) -> Result<(Done, PathBuf), Failure> {
        let mut path = self.folder.to_path_buf();
        output::check_folder(self.folder, self.writing.force)?;
        if !self.say.quiet {
            output::input_warnings(&InputWarnings::of(self.inputs.iter().flatten()));
            let all: Vec<&Resolved> = self.inputs.iter().flatten().collect();
            // All results stay in memory until the last run has ended.
            output::memory(&all, all.len());
            self.print_threads();
        }
        // From here on an interruption keeps what has run so far.
        let kept = interrupt::keep_runs();
        let (finished, failure) = compare::run_all(&self.inputs, &mut |inputs| self.run_some(inputs));
        let ended = |one: &One<'_>| one.run.summary.status != RunStatus::Partial;
        let is_whole = finished.iter().all(ended);
        let _kept = kept.written(is_whole);
        if !finished.is_empty() {
            let repeats = together(&self.inputs, &finished);
            let how = interrupt::written(self.writing, is_whole);
            let written = write_compared(self.folder, &finished, repeats.as_ref(), how)?;
            interrupt::print_written(self.folder, &written);
            path = written.folder;
            let shown: Vec<Shown<'_>> = finished
                .iter()
                .map(|one| (&one.run.summary, &one.run.flows))
                .collect();
            self.show(&shown, repeats.as_ref())?;
            if !self.say.quiet {
                unaccounted(&finished);
            }
        }
        let runs: Vec<&Finished> = finished.iter().map(|one| &one.run).collect();
        // Reported last, so that one failed run does not hide the results of the others.
        failure.map_or_else(
            || Ok((super::run::ending(&runs), path)),
            |error| Err(error.into()),
        )
    }

    fn run_some(&self, inputs: &[&Resolved]) -> Vec<Result<Finished, RunError>> {
        let meter = Meter::new(inputs, self.say);
        // Partitioning is only reported for the first seed.
        let first_seed = self.inputs[0][0].seed;
        let on_cut = |i: usize, cut| {
            let input: &Resolved = inputs[i];
            if input.seed == first_seed {
                meter.print_cut(&input.scheme, input.threads, cut);
            }
        };
        let scratch = Some(output::scratch(self.folder));
        run::compare_accounted(inputs, self.jobs, scratch, &on_cut, &|i, now| {
            meter.update(i, now);
            interrupt::control()
        })
    }

    /// Reports if runs get fewer threads than requested because of parallel runs.
    fn print_threads(&self) {
        let asked = self.inputs.iter().map(|repeats| repeats[0].threads).max();
        let (asked, runs) = (asked.unwrap_or(1), self.inputs.len());
        let each = run::threads_each(asked, runs, self.jobs);
        if each < asked {
            say!("{}", share_text(self.jobs.min(runs), each));
        }
    }

    /// Prints the results of an identical earlier comparison.
    fn show_again(&self) -> Result<(), Failure> {
        if !self.say.quiet {
            output::input_warnings(&InputWarnings::of(self.inputs.iter().flatten()));
        }
        let repeats = report::repeats_in(self.folder)?;
        let runs = report::read_runs(&[self.folder.to_path_buf()], None)?;
        let shown: Vec<Shown<'_>> = runs.iter().map(|run| (&run.summary, &run.flows)).collect();
        self.show(&shown, repeats.as_ref())
    }

    fn show(&self, runs: &[Shown<'_>], repeats: Option<&Repeats>) -> Result<(), Failure> {
        // If all seeds give the same run, only one of them is shown.
        let listed = |(summary, _): &&Shown<'_>| {
            repeats.is_none_or(|repeats| {
                let mut known = repeats
                    .runs
                    .iter()
                    .map(|run| (&run.summary.scheme, run.summary.seed));
                known.any(|known| known == (&summary.scheme, summary.seed))
            })
        };
        let runs: Vec<Shown<'_>> = runs.iter().filter(listed).copied().collect();
        let summaries: Vec<&Summary> = runs.iter().map(|(summary, _)| *summary).collect();
        let together = repeats.filter(|repeats| repeats.seed_matters);
        let width = output::stdout_width();
        match repeats {
            Some(repeats) if self.say.json => output::print_json(repeats)?,
            None if self.say.json => output::print_json(&summaries)?,
            _ => {
                let mut text = match together {
                    Some(repeats) => table::repeats(repeats, width),
                    None => table::comparison(&summaries, width) + &details(&summaries),
                };
                text.push_str(&self.by_size(&runs));
                // Published values refer to single runs.
                if self.published && together.is_none() {
                    text.push_str(&reproduce::beside_thesis_table6(&summaries));
                }
                output::print(&text)?;
            }
        }
        if !self.say.quiet {
            match repeats {
                Some(repeats) => output::print_warnings(&repeats.told_of(output::is_about_run)),
                None => say::text(&output::warnings(&summaries)),
            }
        }
        Ok(())
    }

    /// Returns the slowdown by flow size under each scheme, over all seeds.
    fn by_size(&self, runs: &[Shown<'_>]) -> String {
        if self.buckets.is_none() {
            return String::new();
        }
        let schemes = || runs.chunk_by(|(a, _), (b, _)| a.scheme == b.scheme);
        let summaries: Vec<&Summary> = schemes().map(|runs| runs[0].0).collect();
        let flows: Vec<Vec<FlowRows>> = schemes()
            .map(|runs| runs.iter().map(|(_, flows)| (*flows).clone()).collect())
            .collect();
        output::by_size(self.buckets, &table::row_names(&summaries), &flows)
    }
}

/// Returns the table of collectives, if there are any.
fn details(summaries: &[&Summary]) -> String {
    if summaries.iter().all(|summary| summary.collectives.is_empty()) {
        return String::new();
    }
    output::details(summaries)
}

/// Reports the number of runs whose slowest flows have no accounts, because recording them would take too long.
fn unaccounted(runs: &[One<'_>]) {
    let is_long = |one: &&One<'_>| {
        let (accounts, flows) = (one.run.outcome.accounts.len(), one.run.flows.len());
        one.run.summary.packet_hops > run::AGAIN_MAX && accounts > 0 && accounts < flows
    };
    match runs.iter().filter(is_long).count() {
        0 => {}
        long => say!(
            "{long} of {} runs have accounts of a sample of their flows, not of the slowest: `paceline why` runs them \
             again for that",
            runs.len()
        ),
    }
}

/// Returns true if a comparison was interrupted.
pub(super) const fn interrupted(done: Done) -> bool {
    matches!(done, Done::Interrupted)
}
