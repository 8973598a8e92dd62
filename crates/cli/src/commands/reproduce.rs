//! `paceline reproduce`: published tables and figures compared with our results, built in or from folders.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::results::RunStatus;
use paceline_lab::sweep::{Shard, Stored};
use paceline_reproduce::{
    self as reproduce, Counts, Done as Runs, DoneRun, NotRun, Plan, Reproduction, RunRequest, StepError,
    Unfinished,
};
use paceline_scenario::sweep::Axis;
use paceline_scenario::{Diagnostics, Overrides, Resolved};

use super::plot::experiment;
use crate::args::{JobArgs, SayArgs};
use crate::failure::{Done, Ended, Failure};
use crate::progress::{Meter, StepMeter};
use crate::{destination, input, interrupt, output, text};

const EXAMPLES: &str = "\
Examples:
  paceline reproduce                                   list the experiments
  paceline reproduce thesis-table6                     seconds
  paceline reproduce thesis-table8 hpcc-fct --jobs 4   minutes
  paceline reproduce all --force --json | jq '.[] | select(.ok == false)'
  paceline reproduce --new my-paper --from incast-16   an experiment of your own
  paceline reproduce --check my-paper                  find mistakes before the first run
  paceline reproduce my-paper --record --markdown      run it, keep the outcome, print tables

Four kinds of evidence are counted separately:
  published          the paper printed the value
  authors-simulator  the authors' simulator computed the value
  property           an order, a bound or a direction, of the paper or ours
  shown              printed without a verdict

--json prints a list of {id, case, metric, unit, paper, ours, tolerance, ok, kind, source, because,
quote}. `paper` and `ours` are numbers, or texts for orderings. `ours` is null if it was not run,
`ok` is null without a verdict, `source` names the origin of the value. `quote` has the paper's
words: where, text, means. Choices made after seeing results are listed too, with kind `choice`,
the fields `case`, `tried` and `changed`.

Several machines with one folder: give each `--shard I/N --out DIR`, then repeat the command without it.

Repeat the command to resume an interrupted reproduction. Finished runs are reused if code and
scenario are unchanged; training between runs and tables is repeated.

Exit status: 0 done, even with differences; 1 a run failed, or with --strict a value differs; 2 arguments
are wrong, 130 interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReproduceArgs {
    /// Experiments to rerun, folders with an experiment.toml, or `all` [default: list them]
    #[arg(value_name = "ID|FOLDER")]
    ids: Vec<String>,
    /// Check experiments without running them
    #[arg(long, conflicts_with_all = ["strict", "record", "markdown"])]
    check: bool,
    /// Fail if a value or an ordering misses its tolerance
    #[arg(long)]
    strict: bool,
    /// Write the outcome next to the experiment, in its folder
    #[arg(long)]
    record: bool,
    /// Write a new experiment to start from
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["ids", "check", "strict", "record", "markdown"], help_heading = "New")]
    new: Option<PathBuf>,
    /// Scenario of the new experiment
    #[arg(
        long,
        value_name = "INPUT",
        requires = "new",
        default_value = "incast-16",
        help_heading = "New"
    )]
    from: String,
    /// Schemes that it compares
    #[arg(
        long,
        value_name = "A,B,..",
        requires = "new",
        value_delimiter = ',',
        default_value = "dcqcn,hpcc",
        help_heading = "New"
    )]
    schemes: Vec<String>,
    /// Folder for the page and the runs [default: results/reproduce; a suffix is added if it exists]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace an earlier folder
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Print Markdown tables
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    markdown: bool,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    jobs: JobArgs,
    /// Execute only the runs of shard I of N; the same command without it then does the rest
    #[arg(
        long,
        value_name = "I/N",
        help_heading = "Machine",
        conflicts_with_all = ["new", "check", "record", "strict", "markdown", "force", "json"]
    )]
    shard: Option<Shard>,
}

/// An experiment, and its folder unless it is built in.
struct Chosen {
    one: Reproduction,
    folder: Option<PathBuf>,
}

/// Executes the runs that the chosen experiments need, each once, prints their tables and writes the page.
pub(super) fn reproduce(args: &ReproduceArgs) -> Ended {
    if let Some(folder) = &args.new {
        return new(args, folder);
    }
    if args.ids.is_empty() {
        return super::list::list_reproductions(args.say.json);
    }
    let all = chosen(&args.ids)?;
    let chosen: Vec<&Reproduction> = all.iter().map(|chosen| &chosen.one).collect();
    let figures = experiment::check(&chosen)?;
    if args.check {
        return check(&all, args.say);
    }
    if args.record
        && let Some(one) = all.iter().find(|one| one.folder.is_none())
    {
        let text = format!("`{}` is built in: --record is for folders", one.one.id);
        return Err(Failure::arguments(text));
    }
    let default = Path::new("results/reproduce");
    let stopped = |folder: &Path| reproduce::is_unfinished(folder, &chosen);
    let folder = destination::choose_or_go_on(args.out.as_ref(), default, args.force, stopped);
    // Opened before anything runs: a folder that cannot be written should not be found out after hours.
    let unfinished = Unfinished::open(&folder, &chosen, args.force, args.shard.is_some())?;
    let kept = interrupt::keep_in_files();
    let (mut runs, mut failure) = run_all(&chosen, args, &unfinished)?;
    if let Some(shard) = args.shard {
        let whole = !interrupt::asked();
        let _kept = kept.written(whole);
        if !args.say.quiet {
            let (path, runs) = (folder.display(), runs.runs.len());
            say!(
                "shard {shard}: {runs} runs in {path}; when all shards are done: paceline reproduce {} --out {path}",
                args.ids.join(" ")
            );
        }
        return match (failure, whole) {
            (Some(failure), _) => Err(failure),
            (None, true) => Ok(Done::All),
            (None, false) => Ok(Done::Interrupted),
        };
    }
    let stopped = match interrupt::asked() {
        true => true,
        false => step_all(&chosen, args, &unfinished, &mut runs, &mut failure),
    };
    let _kept = kept.written(!interrupt::asked());
    let ended = |status| runs.runs.iter().filter(|run| run.status == Some(status)).count();
    let (finished, partial) = (ended(RunStatus::Completed), ended(RunStatus::Partial));
    let done = match stopped || partial > 0 {
        true => Done::Interrupted,
        false => Done::All,
    };
    let whole = done == Done::All && failure.is_none();
    let mut drawn = Vec::new();
    for figure in figures.iter().filter(|_| whole) {
        // Tables and other figures are written even if one cannot be drawn.
        match experiment::draw(figure, &runs, &folder) {
            Ok(one) => drawn.push(one),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    // Its lock is released first, since the results may replace the folder.
    drop(unfinished);
    reproduce::write(&folder, &chosen, &runs, &drawn, whole)?;
    print_undefined(&chosen, &runs, args.say);
    if args.record && whole {
        for Chosen { one, folder } in &all {
            let folder = folder.as_deref().unwrap_or(Path::new("."));
            reproduce::record(one, &runs, folder)?;
        }
    }
    show(&chosen, &runs, args, &folder)?;
    if !whole && !args.say.quiet {
        let all = plan(&chosen).iter().filter(|need| !need.flows_only).count();
        say!("{finished} of {all} runs are finished; repeat the command to resume");
    }
    // One failed run does not hide the results of the others, so it is reported after them.
    if let Some(failure) = failure {
        return Err(failure);
    }
    if args.strict && done == Done::All {
        all_are_kept(&chosen, &runs)?;
    }
    Ok(done)
}

/// Saves an experiment over a scenario, which draws `figure`, if there is one.
pub(super) fn save(
    folder: &Path,
    (name, overrides): (&str, &Overrides),
    (axes, seeds, written): (&[Axis], &[u64], &Stored),
    figure: Option<&toml::Table>,
    say: SayArgs,
) -> Ended {
    let overrides = &Overrides {
        over: Vec::new(),
        ..overrides.clone()
    };
    let split = |text: &String| {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        (key.trim().to_string(), value.trim().to_string())
    };
    let duration = overrides
        .duration
        .map(|duration| ("duration".to_string(), duration.to_string()));
    let base = reproduce::Base {
        input: &paceline_lab::load(name, overrides)?,
        written,
        set: overrides.set.iter().map(split).chain(duration).collect(),
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = format!("paceline {}", arguments.join(" "));
    reproduce::save_experiment(folder, &base, axes, seeds, figure, &command)?;
    if !say.quiet {
        say!("{0} is an experiment: `paceline reproduce {0}`", folder.display());
    }
    Ok(Done::All)
}

/// Writes a template for a new experiment.
fn new(args: &ReproduceArgs, folder: &Path) -> Ended {
    let schemes = input::schemes(&args.schemes)?;
    // The scenario is loaded first, so that errors in it are found before anything is written.
    paceline_lab::load(&args.from, &Overrides::default())?;
    let is_file = Path::new(&args.from).is_file();
    let scenario = match Path::new(&args.from).file_name() {
        Some(name) if is_file => name.to_string_lossy().into_owned(),
        _ => args.from.clone(),
    };
    let text = reproduce::template(&scenario, &schemes);
    reproduce::begin(folder, &args.from, &text).map_err(Failure::arguments)?;
    if !args.say.quiet {
        say!(
            "{} is ready: edit it, then `paceline reproduce {}`",
            folder.join("experiment.toml").display(),
            folder.display()
        );
    }
    Ok(Done::All)
}

/// Checks experiments without running them.
fn check(all: &[Chosen], say: SayArgs) -> Ended {
    let mut faults = 0;
    for Chosen { one, folder } in all {
        let found = reproduce::check(one, folder.as_deref())?;
        faults += found.faults.len();
        let mut text = format!("{}: {}\n", one.id, found.summary);
        found
            .faults
            .iter()
            .for_each(|fault| text.push_str(&format!("  ✗ {fault}\n")));
        if !say.quiet {
            found
                .notes
                .iter()
                .for_each(|note| text.push_str(&format!("  {note}\n")));
        }
        output::print(&text)?;
    }
    match faults {
        0 => Ok(Done::All),
        _ => Err(Failure::arguments(format!(
            "{faults} criteria judge nothing, or say no reason"
        ))),
    }
}

/// Resolves the requested experiments, each once.
fn chosen(ids: &[String]) -> Result<Vec<Chosen>, Failure> {
    let mut chosen: Vec<Chosen> = Vec::new();
    for id in ids {
        let path = Path::new(id);
        let is_folder = id.contains(std::path::MAIN_SEPARATOR) || path.join("experiment.toml").exists();
        let built_in = |one: &Reproduction| Chosen {
            one: one.clone(),
            folder: None,
        };
        let found: Vec<Chosen> = match (id.as_str(), reproduce::find(id)) {
            ("all", _) => {
                let said = |(id, one): (&str, Result<&'static Reproduction, &Diagnostics>)| {
                    one.inspect_err(|why| say!("warning: `{id}` is left out: {}", why.first()))
                        .ok()
                };
                reproduce::shipped().filter_map(said).map(built_in).collect()
            }
            (_, Some(one)) if !is_folder => vec![built_in(one)],
            _ if is_folder => vec![Chosen {
                one: reproduce::read_folder(path)?,
                folder: Some(path.to_path_buf()),
            }],
            _ => match reproduce::shipped().find(|(name, _)| name == id) {
                Some((_, Err(why))) => return Err(why.clone().into()),
                _ => return Err(unknown(id)),
            },
        };
        for one in found {
            match chosen.iter().find(|known| known.one.id == one.one.id) {
                Some(known) if known.folder != one.folder => {
                    let text = format!("two experiments are called `{}`: rename a folder", one.one.id);
                    return Err(Failure::arguments(text));
                }
                Some(_) => {}
                None => chosen.push(one),
            }
        }
    }
    Ok(chosen)
}

fn unknown(id: &str) -> Failure {
    let names: Vec<&str> = reproduce::names().collect();
    let hint = text::among_many(id, names.iter().copied());
    Failure::arguments(format!(
        "no reproduction is called `{id}`: {hint} `paceline list reproductions` has all {}",
        names.len()
    ))
}

/// Lists the runs that `chosen` need, each once.
fn plan(chosen: &[&Reproduction]) -> Vec<RunRequest> {
    Plan::of(chosen.iter().flat_map(|one| one.needs())).needs
}

/// Executes the missing runs of `chosen`. The first failure is returned together with the runs, so that these can be
/// shown.
fn run_all(
    chosen: &[&Reproduction],
    args: &ReproduceArgs,
    unfinished: &Unfinished,
) -> Result<(Runs, Option<Failure>), Failure> {
    // Some requests only need the flows of a scenario, which exist without a simulation.
    let (mut simulated, mut rest): (Vec<_>, Vec<_>) =
        plan(chosen).into_iter().partition(|need| !need.flows_only);
    if let Some(shard) = args.shard {
        simulated = shard.of(&simulated).into_iter().cloned().collect();
        rest.clear();
    }
    let mut ended: Vec<Option<DoneRun>> = Vec::with_capacity(simulated.len());
    let (mut left, mut inputs): (Vec<RunRequest>, Vec<Resolved>) = (Vec::new(), Vec::new());
    for need in simulated {
        let input = need.load()?;
        let there = unfinished.take(&need, &input)?;
        if there.is_none() {
            left.push(need);
            inputs.push(input);
        }
        ended.push(there);
    }
    // Warnings come before the progress bar, which would overwrite them.
    for text in reproduce::overruled(&inputs) {
        say!("warning: {text}");
    }
    let there = ended.iter().flatten().count();
    if there > 0 && !args.say.quiet {
        say!("{there} of {} runs are there", ended.len());
    }
    let results = if inputs.is_empty() {
        Vec::new()
    } else {
        let meter = Meter::new(&inputs, args.say);
        let progress = |i: usize, now: &_| {
            meter.update(i, now);
            interrupt::control()
        };
        let keep = |run| unfinished.keep(run);
        reproduce::run_each(&left, &inputs, args.jobs.count(), &progress, &keep)
    };
    let mut failure = None;
    let lacking = ended.iter_mut().filter(|run| run.is_none());
    for (slot, result) in lacking.zip(results) {
        match result {
            Ok(run) => *slot = Some(run),
            Err(NotRun::Stopped) => {}
            Err(error) => failure = failure.or(Some(Failure::from(error))),
        }
    }
    let mut runs = Runs {
        runs: ended.into_iter().flatten().collect(),
        ..Runs::default()
    };
    for need in rest {
        runs.runs.push(DoneRun::input_of(need)?);
    }
    Ok((runs, failure))
}

/// Executes the steps of `chosen`, and keeps the first failure. Returns true if interrupted.
fn step_all(
    chosen: &[&Reproduction],
    args: &ReproduceArgs,
    unfinished: &Unfinished,
    runs: &mut Runs,
    failure: &mut Option<Failure>,
) -> bool {
    let mut meter = StepMeter::new(args.say);
    let steps = chosen.iter().flat_map(|one| one.steps.iter().copied());
    let errors = reproduce::run_steps(
        steps,
        runs,
        args.jobs.count(),
        unfinished,
        &mut |step, share, words| {
            meter.update(step, share, words);
            interrupt::control()
        },
    );
    let mut stopped = false;
    for (step, error) in errors {
        match error {
            StepError::Stopped => stopped = true,
            StepError::Failed(why) if failure.is_none() => {
                *failure = Some(Failure::run(format!("{}: {why}", step.title)));
            }
            StepError::Failed(_) => {}
        }
    }
    stopped
}

fn show(chosen: &[&Reproduction], runs: &Runs, args: &ReproduceArgs, folder: &Path) -> Result<(), Failure> {
    if args.say.json {
        output::print_json(&reproduce::entries(chosen, runs))?;
    } else if args.markdown {
        let texts: Vec<String> = chosen.iter().map(|one| reproduce::markdown(one, runs)).collect();
        output::print(&texts.join("\n"))?;
    } else {
        let width = output::stdout_width();
        let texts: Vec<String> = chosen
            .iter()
            .map(|one| reproduce::text(one, runs, width))
            .collect();
        let all = format!("{}\n{}", texts.join("\n"), counts(chosen, runs));
        output::print_raw(&output::coloured(&all))?;
    }
    if !args.say.quiet {
        let page = folder.join("index.html");
        say!(
            "results in {}, with a page to look at: {}",
            folder.display(),
            page.display()
        );
    }
    Ok(())
}

/// Warns about values that are not numbers because they divide by zero.
fn print_undefined(chosen: &[&Reproduction], runs: &Runs, say: SayArgs) {
    let undefined = chosen.iter().flat_map(|one| {
        one.undefined(runs)
            .into_iter()
            .map(|cell| (one.id.as_str(), cell))
    });
    for (id, cell) in undefined.filter(|_| !say.quiet) {
        say!("warning: {id}: {cell} is not a number: it divides by zero");
    }
}

/// Returns one line per reproduction with the numbers of values that meet their criteria, by kind of evidence, and a
/// total line if there are several.
fn counts(chosen: &[&Reproduction], runs: &Runs) -> String {
    let line = |name: &str, counts: Counts| {
        let judged = counts.judged();
        let mark = match judged.judged {
            0 => " ",
            _ if judged.is_good() => "✓",
            _ => "✗",
        };
        vec![format!("{mark} {name}"), counts.text()]
    };
    let one = |one: &&Reproduction| line(&one.id, Counts::of(&one.records(runs)));
    let mut rows: Vec<Vec<String>> = chosen.iter().map(one).collect();
    if chosen.len() > 1 {
        rows.push(line("all", Counts::of(&reproduce::records(chosen, runs))));
    }
    text::columns(&rows, output::stdout_width())
}

/// Fails if a value or ordering is not within its tolerance.
fn all_are_kept(chosen: &[&Reproduction], runs: &Runs) -> Result<(), Failure> {
    let count = Counts::of(&reproduce::records(chosen, runs)).judged();
    if count.ok == count.judged {
        return Ok(());
    }
    let (differ, judged) = (count.judged - count.ok, count.judged);
    let message = format!("{differ} of {judged} values and orderings are not within their tolerances");
    Err(Failure::run(message))
}
