//! `paceline run`: executes one scenario.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use paceline_fabric::Exchange;
use paceline_fabric::outcome::Repeats;
use paceline_lab::InputWarnings;
use paceline_lab::files::RunData;
use paceline_lab::results::{Buckets, FlowRows, RunStatus, Summary};
use paceline_lab::run::{self, Finished, Resources, RunError, execute_on};
use paceline_lab::table;
#[cfg(feature = "training")]
use paceline_learn::experience::Experience;
#[cfg(feature = "training")]
use paceline_learn::{decc, search};
use paceline_report::write_run;
use paceline_scenario::Resolved;

use super::sweep::shell;
use crate::args::{BucketArgs, ChangeArgs, INPUT_HELP, OutputArgs, SayArgs, ThreadArgs};
use crate::destination::{self, Destination};
use crate::failure::{Done, Ended, Failure};
use crate::interrupt;
use crate::output;
use crate::progress::Meter;
use crate::ranks::{self, Ranks};
use crate::say;

const EXAMPLES: &str = "\
Examples:
  paceline run incast-20
  paceline run incast-20 --scheme dcqcn --set cc.dcqcn.g=0.0625 --seed 2 --out results/mine
  paceline run mix/config.txt
  paceline run results/incast-20-hpcc-1 --out results/again    the same run, the same bytes
  paceline run incast-16 --json --quiet | jq .fct_slowdown.p99
  paceline run many-to-one-16 --scheme decc --upload experience   for `train decc refine`
  mpirun -n 4 paceline run my.toml                 one network on four machines, the same bytes

Exit status: 0 done, 1 the run failed, 2 input or arguments are wrong, 130 interrupted (results so
far are kept, marked partial).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArgs {
    #[arg(value_name = "INPUT", help = INPUT_HELP)]
    input: String,
    /// Congestion control scheme [default: the scenario's]
    #[arg(long, value_name = "NAME", help_heading = "Scenario")]
    scheme: Option<String>,
    #[command(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    buckets: BucketArgs,
    /// Print a Slurm script that divides the run among RANKS nodes, and do not run
    #[arg(long, value_name = "RANKS", help_heading = "Output", conflicts_with = "json")]
    print_slurm: Option<NonZeroU32>,
    /// Write experience of a run under decc into a folder, for training
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    upload: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Runs one scenario, and prints its table or summary; under `mpirun`, with the other ranks.
pub(super) fn run(args: &RunArgs) -> Ended {
    if let Some(ranks) = args.print_slurm {
        output::print(&slurm(&load(args)?, ranks))?;
        return Ok(Done::All);
    }
    match &ranks::connect()? {
        None => run_as_first(args, None),
        Some(ranks) if ranks.rank() == 0 => ranks.ended(run_as_first(args, Some(ranks))),
        Some(ranks) => assist(args, ranks),
    }
}

/// Returns a script for `sbatch`: this command with a rank on each of several nodes.
fn slurm(input: &Resolved, ranks: NonZeroU32) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut own = std::env::args().skip(1);
    while let Some(word) = own.next() {
        match word.strip_prefix("--print-slurm") {
            Some("") => drop(own.next()),
            Some(value) if value.starts_with('=') => {}
            _ => words.push(word),
        }
    }
    format!(
        "#!/bin/bash\n\
         #SBATCH --job-name=paceline-{name}\n\
         #SBATCH --ntasks={ranks}\n\
         #SBATCH --ntasks-per-node=1\n\
         #SBATCH --cpus-per-task={threads}\n\
         # One network on {ranks} nodes, {parts} on each. `paceline mpi` says which MPI library it uses.\n\
         set -eu\n\
         mpirun -n \"$SLURM_NTASKS\" paceline {words} --quiet\n",
        name = input.name,
        threads = input.threads,
        parts = match input.threads {
            1 => "one part".to_owned(),
            threads => format!("{threads} parts"),
        },
        words = shell(&words),
    )
}

/// Runs the share of a rank other than the first.
fn assist(args: &RunArgs, ranks: &Ranks) -> Ended {
    let input = ranks.meet(load(args))?;
    if !ranks.goes() {
        return Ok(Done::All);
    }
    let _kept = interrupt::keep_runs();
    let ran = run::assist(&input, ranks.exchange(), input.threads, &mut |_| {
        interrupt::control()
    });
    match ran.map_err(Failure::from) {
        Ok(()) => {
            ranks.part();
            Ok(Done::All)
        }
        // The first rank fails alike, and prints it.
        Err(Failure::Arguments(_)) => {
            ranks.part();
            Err(Failure::Elsewhere)
        }
        Err(failure) => {
            say!("rank {}:", ranks.rank());
            failure.print();
            ranks.mpi().abort(1)
        }
    }
}

fn load(args: &RunArgs) -> Result<Resolved, Failure> {
    let mut overrides = args.changes.overrides(args.scheme.as_deref(), args.threads);
    if args.upload.is_some() {
        // Experience includes a latency percentile. Recording it does not change the run.
        overrides.set.push("record.latency=true".into());
    }
    Ok(paceline_lab::load(&args.input, &overrides)?)
}

/// Runs one scenario, alone or as the first of several ranks.
fn run_as_first(args: &RunArgs, ranks: Option<&Ranks>) -> Ended {
    let buckets = args.buckets.asked(args.say)?;
    let loaded = load(args);
    let input = match ranks {
        None => loaded?,
        Some(ranks) => ranks.meet(loaded)?,
    };
    // Experience that cannot be used is found before the run, not after hours.
    check_upload(args, &input)?;
    let default = output::default_folder(&input.name, &input.scheme, input.seed);
    let (asked, force) = (args.output.out.as_ref(), args.output.force);
    let writing = args.output.writing();
    // With `--check`, the run must be executed again.
    let same = |folder: &Path| !args.changes.check && destination::is_run(folder, &input, writing);
    let folder = match destination::choose(asked, &default, force, same)? {
        Destination::New(folder) => folder,
        Destination::Existing(folder) => return again(args, &input, &folder, buckets),
    };
    // Likewise a folder that cannot be written.
    output::check_folder(&folder, args.output.force)?;
    if !args.say.quiet {
        output::input_warnings(&InputWarnings::of([&input]));
    }
    let scratch = Some(output::scratch(&folder));
    let kept = interrupt::keep_runs();
    if let Some(ranks) = ranks {
        ranks.go();
    }
    let mut finished = watched(&input, scratch, args.say, ranks.map(Ranks::exchange))?;
    account_for_slowest(&input, &mut finished, scratch, args.say)?;
    let is_whole = finished.summary.status != RunStatus::Partial;
    let _kept = kept.written(is_whole);
    let written = write_run(&folder, &input, &finished, interrupt::written(writing, is_whole))?;
    interrupt::print_written(&folder, &written);
    show(args, &finished.summary, &finished.flows, buckets)?;
    upload(args, &input, &finished.summary, &finished.flows)?;
    if !args.say.quiet {
        if let Some(repeats) = finished
            .outcome
            .repeats
            .as_ref()
            .and_then(|repeats| tell_repeats(repeats, &finished.summary))
        {
            say!("{repeats}");
        }
        let repeated = finished.flows.repeated();
        if repeated > 0 && !args.output.expand {
            let all = finished.flows.len();
            say!(
                "{repeated} of {all} flows are as earlier ones, later: flow_repeats.csv says when, unique_flows has the \
                 others; --expand writes all, and fct.txt"
            );
        }
        say!("results in {}", written.folder.display());
        if let Some(hint) = hint_at_threads(&input, &finished) {
            say!("{hint}");
        }
    }
    // Results are written and shown first: they show how far the jobs came.
    if finished.summary.status == RunStatus::Stuck {
        let jobs = finished.summary.jobs.iter();
        let stuck = jobs.flat_map(|job| {
            job.stuck
                .first()
                .map(|why| format!("job `{}` cannot go on: {why}", job.label))
        });
        return Err(Failure::run(stuck.collect::<Vec<_>>().join("\n")));
    }
    Ok(ending(&[&finished]))
}

/// Prints the results that an identical earlier command left.
fn again(args: &RunArgs, input: &Resolved, folder: &Path, buckets: Option<&Buckets>) -> Ended {
    if !args.say.quiet {
        output::input_warnings(&InputWarnings::of([input]));
    }
    let data = RunData::read(folder).map_err(Failure::arguments)?;
    show(args, &data.summary, &data.flows, buckets)?;
    upload(args, input, &data.summary, &data.flows)?;
    if !args.say.quiet {
        destination::print_there(folder);
    }
    Ok(Done::All)
}

/// Rejects `--upload` in builds without training.
#[cfg(not(feature = "training"))]
fn check_upload(args: &RunArgs, _input: &Resolved) -> Result<(), Failure> {
    match &args.upload {
        Some(_) => Err(Failure::arguments(format!(
            "--upload: {}",
            crate::features::without("training")
        ))),
        None => Ok(()),
    }
}

/// Does nothing, since [`check_upload`] rejected the option.
#[cfg(not(feature = "training"))]
fn upload(_: &RunArgs, _: &Resolved, _: &Summary, _: &FlowRows) -> Result<(), Failure> {
    Ok(())
}

/// Checks before the run that experience can be written.
#[cfg(feature = "training")]
fn check_upload(args: &RunArgs, input: &Resolved) -> Result<(), Failure> {
    let Some(folder) = &args.upload else {
        return Ok(());
    };
    Experience::check(input).map_err(|error| Failure::arguments(format!("--upload: {error}")))?;
    match folder.exists() && !folder.is_dir() {
        true => Err(Failure::arguments(format!(
            "--upload: {} exists and is not a folder; expected one, or a new name",
            folder.display()
        ))),
        false => Ok(()),
    }
}

/// Writes the run's experience, if requested and if the run is complete.
#[cfg(feature = "training")]
fn upload(args: &RunArgs, input: &Resolved, summary: &Summary, flows: &FlowRows) -> Result<(), Failure> {
    let Some(folder) = &args.upload else {
        return Ok(());
    };
    if summary.status == RunStatus::Partial {
        say!("no experience is written: the run was interrupted");
        return Ok(());
    }
    let experience = Experience::of(input, summary, flows);
    let experience = experience.map_err(|error| Failure::run(format!("--upload: {error}")))?;
    let path = experience.write(folder)?;
    if !args.say.quiet {
        say!("experience in {}: {}", path.display(), experience.summary());
        if let Some(warning) = experience.warnings() {
            say!("warning: {warning}");
        }
        say!("{}", continued(input, folder));
    }
    Ok(())
}

/// Returns the command that refines the law of the run's model.
#[cfg(feature = "training")]
fn continued(input: &Resolved, folder: &Path) -> String {
    let named = input.run.schemes.first().and_then(|scheme| {
        let models = scheme.config.models();
        models.first().map(|model| model.name().to_string())
    });
    let model = named.filter(|name| decc::base(name).is_ok_and(|model| search::start_of(&model).is_ok()));
    format!(
        "refine its law there  paceline train decc refine {} --experience {}",
        model.as_deref().unwrap_or("MODEL"),
        shell(&[folder.display().to_string()])
    )
}

fn show(
    args: &RunArgs,
    summary: &Summary,
    flows: &FlowRows,
    buckets: Option<&Buckets>,
) -> Result<(), Failure> {
    if args.say.json {
        output::print_json(summary)?;
    } else {
        let by_size = output::by_size(buckets, &table::row_names(&[summary]), &[vec![flows.clone()]]);
        let width = output::stdout_width();
        let jobs = table::job_headline(summary, width);
        output::print(
            &(jobs + &table::comparison(&[summary], width) + &output::details(&[summary]) + &by_size),
        )?;
    }
    if !args.say.quiet {
        say::text(&output::warnings(&[summary]));
    }
    Ok(())
}

/// Runs the input until its end or an interruption, and shows the progress. Data that does not fit in memory goes to
/// `scratch`.
pub(super) fn watched(
    input: &Resolved,
    scratch: Option<&Path>,
    say: SayArgs,
    ranks: Option<&Arc<dyn Exchange>>,
) -> Result<Finished, RunError> {
    if !say.quiet {
        output::memory(&[input], 1);
    }
    let meter = Meter::new(std::slice::from_ref(input), say);
    let resources = Resources {
        threads: input.threads,
        on_cut: &|cut| meter.print_cut("the run", input.threads, cut),
        ranks,
        scratch,
    };
    execute_on(input, resources, &mut |now| {
        meter.update(0, now);
        interrupt::control()
    })
}

/// Describes the phases taken from memory, or the reason if there are none.
fn tell_repeats(repeats: &Repeats, summary: &Summary) -> Option<String> {
    /// Number of phases up to which no repetition is expected.
    const FEW: u64 = 8;
    if repeats.taken > 0 {
        return Some(format!(
            "{} of {} phases came again and were taken from memory, {:.1} % of the events (repeats.json)",
            repeats.taken,
            repeats.taken + repeats.simulated,
            100.0 * repeats.events_taken as f64 / summary.events.max(1) as f64
        ));
    }
    let repeated = summary.jobs.iter().any(|job| job.iterations.total > 1);
    if let Some(why) = repeats.why_not {
        return repeated.then(|| format!("all iterations were simulated: {why}"));
    }
    if let Some(why) = repeats.only_at_rest
        && (repeated || repeats.simulated > FEW)
    {
        return Some(format!(
            "no phase came again, and states with packets under way cannot be compared: {why} (repeats.json)"
        ));
    }
    let differs = repeats.differs().filter(|_| repeats.simulated > FEW)?;
    Some(format!(
        "no phase came again: the network was in {} states, each once; they differ most in their {differs} (repeats.json)",
        repeats.states.len()
    ))
}

/// Suggests `--threads` after a long run on one thread while cores were idle.
fn hint_at_threads(input: &Resolved, finished: &Finished) -> Option<String> {
    /// Minimum duration of a run for the suggestion, s.
    const LONG_S: f64 = 5.0;
    let summary = &finished.summary;
    if input.threads > 1 || summary.wall_s <= LONG_S || summary.status == RunStatus::Partial {
        return None;
    }
    let idle = run::idle_cores();
    let parts = if idle > 0 {
        run::parts_possible(input, idle + 1)
    } else {
        1
    };
    (parts > 1).then(|| threads_hint(idle, parts))
}

fn threads_hint(idle: usize, parts: usize) -> String {
    let (cores, are) = if idle == 1 {
        ("core", "is")
    } else {
        ("cores", "are")
    };
    format!(
        "{idle} {cores} {are} idle: --threads {parts} cuts this run into {parts} parts, with the same results"
    )
}

/// Records accounts of the slowest flows, and reports if that takes a second run or is skipped.
fn account_for_slowest(
    input: &Resolved,
    finished: &mut Finished,
    scratch: Option<&Path>,
    say: SayArgs,
) -> Result<(), RunError> {
    let mut announced = say.quiet;
    let resources = Resources {
        threads: input.threads,
        scratch,
        ..Resources::ONE_THREAD
    };
    let missing = run::account_for_slowest(input, finished, resources, &mut |_| {
        if !std::mem::replace(&mut announced, true) {
            say!(
                "running once more, for the accounts of the slowest flows ([record] accounts = \"off\" saves it)"
            );
        }
        interrupt::control()
    })?;
    if missing > 0 && !say.quiet {
        say!(
            "{missing} of the {} slowest flows have no account of their time: `paceline why` runs the scenario again \
             for them",
            run::SLOWEST
        );
    }
    Ok(())
}

/// Returns [`Done::Interrupted`] if the user interrupted any of the runs, or the steps after them.
pub(super) fn ending(runs: &[&Finished]) -> Done {
    let partial = |run: &&Finished| run.summary.status == RunStatus::Partial;
    if interrupt::asked() || runs.iter().any(partial) {
        Done::Interrupted
    } else {
        Done::All
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cores_are_told() {
        assert_eq!(
            threads_hint(3, 4),
            "3 cores are idle: --threads 4 cuts this run into 4 parts, with the same results"
        );
        assert!(threads_hint(1, 2).starts_with("1 core is idle: --threads 2 cuts"));
    }
}
