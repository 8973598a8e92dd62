//! `paceline sweep`: a grid of values with several seeds per point.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use paceline_lab::sweep::{
    self, Job, Keep, Overview, Plan, Ran, Row, Shard, Status, Study, SweepData, Tables,
};
use paceline_report::{write_run_into, write_sweep_page};
use paceline_scenario::Warning;
use serde::Serialize;

use crate::args::{ChangeArgs, INPUT_HELP, JobArgs, SayArgs, ThreadArgs};
use crate::failure::{Done, Ended, Failure};
use crate::progress::SweepMeter;
use crate::{destination, interrupt, output};

const EXAMPLES: &str = "\
Examples:
  paceline sweep incast-16 --over cc.scheme=hpcc,dcqcn,timely --repeats 5
  paceline sweep fat320-hadoop30-2ms --over cc.scheme=hpcc,dcqcn \\
      --over workload.background.poisson.load=0.1,0.3,0.5 --repeats 5
  paceline sweep my.toml                             the grid of its [sweep] table:
      [sweep]
      \"cc.scheme\" = [\"hpcc\", \"dcqcn\"]
      \"network.ecn.pmax\" = { from = 0.1, to = 0.5, steps = 5 }
      repeats = 5
  paceline sweep incast-16 --over network.ecn.kmin,network.ecn.kmax=[5KB,50KB],[100KB,400KB]
                                                     keys that vary in step
  paceline sweep results/my-sweep-1 -o again         the same again, from its folder alone
  paceline sweep my.toml --print-slurm | sbatch      the same as a job array

--over case=shallow,deep chooses among the scenario's [[sweep.case]] tables.

All points of the grid use the same seeds and therefore the same flows, so differences between
schemes are paired. All points are checked before the first run. A failed run is a row with its
message. Repeat the command to resume an interrupted sweep; finished runs are not repeated.

Shards count from 1, like the tasks of --array=1-N. (A Kubernetes indexed job uses
--shard $((JOB_COMPLETION_INDEX + 1))/N.) Shards may share a folder; `paceline merge` merges them.

Exit status: 0 done, 1 a run failed, 2 input or arguments are wrong, 130 interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SweepArgs {
    #[arg(value_name = "INPUT", help = format!("{INPUT_HELP}; or the folder of a sweep, to do it again"))]
    input: String,
    /// Values to sweep for a key; overrides the file; may be repeated
    #[arg(long, value_name = "PATH.TO.KEY=V1,V2,..", help_heading = "Grid")]
    over: Vec<String>,
    /// Number of consecutive seeds per point [default: the file's, or 1]
    #[arg(long, value_name = "N", help_heading = "Grid", value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
    /// Congestion control scheme [default: the scenario's]
    #[arg(long, value_name = "NAME", help_heading = "Scenario")]
    scheme: Option<String>,
    #[command(flatten)]
    changes: ChangeArgs,
    /// Folder for the results; resumes an earlier sweep [default: results/NAME-sweep-SEED]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Discard an earlier sweep in the folder
    #[arg(long, help_heading = "Output", conflicts_with = "shard")]
    force: bool,
    /// Files to keep of each run
    #[arg(long, value_enum, default_value_t = KeepFiles::Summary, help_heading = "Output")]
    keep: KeepFiles,
    /// Write the sweep as an experiment for `reproduce`, without running it
    #[arg(long, value_name = "FOLDER", help_heading = "Output", conflicts_with_all = ["shard", "print_slurm"])]
    save_experiment: Option<PathBuf>,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    jobs: JobArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Run only shard I of N
    #[arg(long, value_name = "I/N", help_heading = "Machine")]
    shard: Option<Shard>,
    /// Print a Slurm array script and exit [default: tasks of about 5 minutes]
    #[arg(
        long,
        value_name = "TASKS",
        help_heading = "Machine",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        conflicts_with_all = ["shard", "force", "json"],
    )]
    print_slurm: Option<usize>,
}

impl SweepArgs {
    /// Returns true if the command runs one shard of several.
    pub(super) fn is_shard(&self) -> bool {
        self.shard.is_some()
    }
}

/// How much of each run is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KeepFiles {
    /// Summary, scenario and flows
    Summary,
    /// All files that `paceline run` writes
    All,
}

impl From<KeepFiles> for Keep {
    fn from(kept: KeepFiles) -> Self {
        match kept {
            KeepFiles::Summary => Self::Summary,
            KeepFiles::All => Self::All,
        }
    }
}

/// Runs a sweep or the rest of one, and prints a table.
pub(super) fn sweep(args: &SweepArgs) -> Ended {
    let mut overrides = args.changes.overrides(args.scheme.as_deref(), args.threads);
    overrides.over.clone_from(&args.over);
    let study = Study::of(&args.input, overrides, args.repeats)?;
    let plan = study.plan(args.jobs.count())?;
    if !args.say.quiet {
        output::input_warnings(&plan.input_warnings);
    }
    if let Some(folder) = &args.save_experiment {
        let mut base = study.overrides.clone();
        base.scheme.get_or_insert(plan.points[0].scheme.clone());
        let grid = (&plan.axes[..], &plan.seeds[..], &plan.stored);
        return super::reproduce::save(folder, (&study.input, &base), grid, None, args.say);
    }
    let default = output::default_folder(&plan.scenario, "sweep", plan.seeds[0]);
    // Another grid of the same scenario must not overwrite existing results.
    let folder = destination::choose_or_go_on(args.out.as_ref(), &default, args.force, |folder| {
        sweep::goes_on(folder, &plan)
    });
    if let Some(tasks) = args.print_slurm {
        output::print(&slurm(args, &plan, &folder, tasks))?;
        return Ok(Done::All);
    }
    let job = Job {
        study: &study,
        plan: &plan,
        folder: &folder,
        shard: args.shard.unwrap_or(Shard::WHOLE),
        keep: args.keep.into(),
        write: write_run_into,
        jobs: args.jobs.count(),
        force: args.force,
    };
    let _kept = interrupt::keep_in_files();
    let meter = SweepMeter::new(&plan.scenario, args.say);
    let ran = job.run(&meter)?;
    // The progress bar would overwrite the table.
    drop(meter);
    finish(&job, ran, args.say)
}

/// Writes and prints the results so far.
fn finish(job: &Job<'_>, ran: Ran, say: SayArgs) -> Ended {
    let runs = job.plan.runs().len();
    let ended = sweep::count_rows(job.folder, job.plan);
    let path = job.folder.display();
    // The shard that ends last finds all rows, so it can write the tables.
    let tables = match ended == runs || job.shard == Shard::WHOLE {
        true => Some(sweep::write_tables(job.folder)?),
        false => None,
    };
    if let Some(tables) = &tables {
        show_tables(job.folder, tables, say, output::is_about_run)?;
    } else if say.json {
        print_json(&SweepData::read(job.folder)?)?;
    }
    if tables.is_none() && !say.quiet {
        say!(
            "shard {}: {} runs in {path}; when all shards are done: paceline merge {}",
            job.shard,
            ran.there + ran.completed + ran.failed,
            quoted(&path.to_string())
        );
    }
    if ran.left > 0 {
        say!("{ended} of {runs} runs are finished; repeat the command to resume");
        return Ok(Done::Interrupted);
    }
    match &tables {
        Some(tables) => failures(tables),
        None => failures_of(&SweepData::read(job.folder)?),
    }
}

/// Writes the page of a sweep whose tables are written, prints its table or JSON with the warnings selected by `which`,
/// and says where the results are. A large sweep has neither page nor table.
pub(super) fn show_tables(
    folder: &Path,
    tables: &Tables,
    say: SayArgs,
    which: impl Fn(&Warning) -> bool,
) -> Result<(), Failure> {
    let path = folder.display();
    match tables {
        Tables::Whole(data) => {
            write_sweep_page(folder, data)?;
            show(data, say, which)?;
            if !say.quiet {
                say!(
                    "results in {path}: report.html to look at, all numbers in results.csv, means over seeds in points.csv"
                );
            }
        }
        Tables::Large(overview) => {
            match say.json {
                true => output::print_json(&Counts::of(overview))?,
                false => output::print(&format!("{}\n", overview.line()))?,
            }
            if !say.quiet {
                let warnings = overview.warnings.iter().filter(|(warning, _)| which(warning));
                let warnings: Vec<String> = warnings
                    .map(|(warning, runs)| format!("{warning} ({runs} runs)"))
                    .take(6)
                    .collect();
                output::print_warnings(&warnings);
                say!(
                    "results in {path}: all numbers in results.parquet, means over seeds in points.parquet; more than {} \
                     runs have no page",
                    sweep::IN_MEMORY_MAX
                );
            }
        }
    }
    Ok(())
}

/// JSON of a large sweep, whose rows are in its files.
#[derive(Serialize)]
struct Counts {
    completed: usize,
    failed: usize,
    missing: usize,
}

impl Counts {
    fn of(overview: &Overview) -> Self {
        Self {
            completed: overview.completed,
            failed: overview.failed,
            missing: overview.missing,
        }
    }
}

/// Prints the table of a sweep or its JSON, and the warnings selected by `which`.
fn show(data: &SweepData, say: SayArgs, which: impl Fn(&Warning) -> bool) -> Result<(), Failure> {
    if say.json {
        print_json(data)?;
    } else {
        output::print(&sweep::table(data))?;
    }
    if !say.quiet {
        output::print_warnings(&sweep::warnings(data, which));
    }
    Ok(())
}

fn print_json(data: &SweepData) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Whole<'a> {
        plan: &'a Plan,
        rows: Vec<&'a Row>,
        /// Notes about seeds and axes without effect.
        notes: Vec<sweep::Note>,
    }
    output::print_json(&Whole {
        plan: &data.plan,
        rows: data.in_order().map(|(_, row)| row).collect(),
        notes: sweep::notes(data),
    })
}

/// Returns the failure of a sweep that lists its failed runs.
pub(super) fn failures(tables: &Tables) -> Ended {
    match tables {
        Tables::Whole(data) => failures_of(data),
        Tables::Large(overview) => {
            let described = overview.failures.iter().map(|(point, seed, message)| {
                let point = sweep::describe(&overview.plan, *point);
                (format!("{point} seed {seed}"), message.as_str())
            });
            let runs = overview.completed + overview.failed + overview.missing;
            list_failures(described, overview.failed, runs)
        }
    }
}

fn failures_of(data: &SweepData) -> Ended {
    let failed: Vec<_> = data
        .in_order()
        .filter(|(_, row)| row.status == Status::Failed)
        .collect();
    let described = failed.iter().map(|(point, row)| {
        let message = row.message.as_deref().unwrap_or("no message");
        (format!("{} seed {}", data.describe(*point), row.seed), message)
    });
    list_failures(described, failed.len(), data.plan.runs().len())
}

fn list_failures<'a>(failed: impl Iterator<Item = (String, &'a str)>, count: usize, runs: usize) -> Ended {
    const SHOWN: usize = 5;
    if count == 0 {
        return Ok(Done::All);
    }
    let mut text = format!("{count} of {runs} runs failed:");
    for (run, message) in failed.take(SHOWN) {
        text.push_str(&format!("\n  {run}: {message}"));
    }
    if count > SHOWN {
        text.push_str("\n  the others are in results.csv");
    }
    Err(Failure::run(text))
}

/// Quotes words for a POSIX shell.
pub(super) fn shell(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns a script for `sbatch`. Short runs share a task, since an array's task takes seconds to start.
fn slurm(args: &SweepArgs, plan: &Plan, folder: &Path, tasks: usize) -> String {
    /// Largest number of tasks by default, which Slurm accepts unless it is configured otherwise.
    const TASKS_MAX: usize = 1000;
    /// Estimated seconds of a task by default.
    const TASK_S: f64 = 300.0;
    let all = plan.runs();
    let runs = all.len();
    // The folder of a sweep is swept again, wherever the scenario was that its arguments name.
    let words = [std::slice::from_ref(&args.input), &plan.arguments[1..]].concat();
    let cpus = args.jobs.jobs.unwrap_or(1) as usize;
    let seconds: f64 = all.iter().map(|&(_, point, _)| plan.seconds[point]).sum();
    let by_time = (seconds / (TASK_S * cpus as f64)).ceil() as usize;
    let tasks = match tasks {
        0 => by_time.clamp(1, TASKS_MAX.min(runs.max(1))),
        asked => asked.min(runs).max(1),
    };
    let path = quoted(&folder.display().to_string());
    let keep = if args.keep == KeepFiles::All {
        " --keep all"
    } else {
        ""
    };
    let threads = args.threads.threads.map(|count| format!(" --threads {count}"));
    let task_s = seconds / (tasks * cpus) as f64;
    format!(
        "#!/bin/bash\n\
         #SBATCH --job-name=paceline-{name}\n\
         #SBATCH --array=1-{tasks}\n\
         #SBATCH --cpus-per-task={cpus}\n\
         #SBATCH --time={minutes}\n\
         #SBATCH --mem={megabytes}M\n\
         # {runs} runs of about {each} in {parts} of about {task}, by an estimate: time and memory have room.\n\
         # A task that is killed and submitted again resumes.\n\
         set -eu\n\
         # The first task submits what follows the last: the table, the page and results.csv.\n\
         if [ \"$SLURM_ARRAY_TASK_ID\" = 1 ]; then\n    \
         sbatch --job-name=paceline-merge --time=60 --dependency=afterany:\"$SLURM_ARRAY_JOB_ID\" \\\n        \
         --wrap {merge}\n\
         fi\n\
         paceline sweep {words}{keep}{threads} --out {path} \\\n    \
         --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\" --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\" --quiet\n",
        name = plan.scenario,
        // In minutes. The estimate may be wrong by three, and a node slower than this machine.
        minutes = 10 + (10.0 * task_s / 60.0).ceil() as u64,
        megabytes = (2 * cpus as u64 * plan.memory).div_ceil(100_000_000) * 100,
        parts = if tasks == 1 {
            "one task".to_string()
        } else {
            format!("{tasks} tasks")
        },
        each = about(seconds / runs.max(1) as f64),
        task = about(task_s),
        threads = threads.unwrap_or_default(),
        words = shell(&words),
        merge = quoted(&format!("paceline merge {path}")),
    )
}

/// Formats an estimated time with one digit.
fn about(seconds: f64) -> String {
    let digit = |value: f64| {
        let unit = 10_f64.powf(value.max(1.0).log10().floor());
        (value / unit).round() * unit
    };
    match seconds {
        s if s < 0.95 => format!("{} ms", digit(s * 1e3).max(1.0)),
        s if s < 95.0 => format!("{} s", digit(s)),
        s if s < 5700.0 => format!("{} min", digit(s / 60.0)),
        s => format!("{} h", digit(s / 3600.0)),
    }
}
