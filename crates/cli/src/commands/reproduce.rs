//! `paceline reproduce`: published tables and figures, ours alongside them.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::results::RunStatus;
use paceline_reproduce::{
    self as reproduce, Counts, Done as Runs, DoneRun, NotRun, Plan, Reproduction, RunRequest, StepError,
    Unfinished,
};
use paceline_scenario::Resolved;

use crate::args::{JobArgs, SayArgs};
use crate::failure::{Done, Ended, Failure};
use crate::progress::{Meter, StepMeter};
use crate::{interrupt, output, place, text};

const EXAMPLES: &str = "\
Examples:
  paceline reproduce                                   list the experiments
  paceline reproduce thesis-table6                     seconds
  paceline reproduce thesis-table8 hpcc-fct --jobs 4   minutes
  paceline reproduce all --force --json | jq '.[] | select(.ok == false)'

Four kinds of evidence are counted separately:
  published          the paper printed the value
  authors-simulator  the authors' simulator computed the value
  property           an order, a bound or a direction, of the paper or ours
  shown              printed without a verdict

--json prints a list of {id, case, metric, unit, paper, ours, tolerance, ok, kind, source, because}.
`paper` and `ours` are numbers, or texts for orderings. `ours` is null if it was not run, `ok` is
null without a verdict, `source` names the origin of the value. Choices made after seeing results
are listed too, with kind `choice`, the fields `case`, `tried` and `changed`.

Repeat the command to resume an interrupted reproduction. Finished runs are reused if version and
scenario are unchanged; training between runs and tables is repeated.

Exit status: 0 done, even with differences; 1 a run failed, or with --check a value differs; 2 arguments
are wrong, 130 interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReproduceArgs {
    /// Experiments to rerun, or `all` [default: list them]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Fail if a value or an ordering misses its tolerance
    #[arg(long)]
    check: bool,
    /// Folder for the page and the runs [default: results/reproduce; a suffix is added if it exists]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace an earlier folder
    #[arg(long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    jobs: JobArgs,
}

/// Runs what the chosen ones need, each run once; prints their tables and writes the page.
pub(super) fn reproduce(args: &ReproduceArgs) -> Ended {
    if args.ids.is_empty() {
        return super::list::list_reproductions(args.say.json);
    }
    let chosen = chosen(&args.ids)?;
    let default = Path::new("results/reproduce");
    let stopped = |folder: &Path| reproduce::is_unfinished(folder, &chosen);
    let folder = place::choose_or_go_on(args.out.as_ref(), default, args.force, stopped);
    let unfinished = Unfinished::open(&folder, &chosen, args.force)?;
    let kept = interrupt::keep_in_files();
    let (mut runs, mut failure) = run_all(&chosen, args, &unfinished)?;
    let stopped = match interrupt::asked() {
        true => true,
        false => step_all(&chosen, (args, &unfinished), &mut runs, &mut failure),
    };
    let _kept = kept.unless_whole();
    let ended = |status| runs.runs.iter().filter(|run| run.status == Some(status)).count();
    let (finished, partial) = (ended(RunStatus::Completed), ended(RunStatus::Partial));
    let done = match stopped || partial > 0 {
        true => Done::Interrupted,
        false => Done::All,
    };
    let whole = done == Done::All && failure.is_none();
    drop(unfinished);
    reproduce::write(&folder, &chosen, &runs, whole)?;
    show(&chosen, &runs, args, &folder)?;
    if !whole && !args.say.quiet {
        let all = plan(&chosen).iter().filter(|need| !need.flows_only).count();
        say!("{finished} of {all} runs are finished; repeat the command to resume");
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if args.check && done == Done::All {
        check(&chosen, &runs)?;
    }
    Ok(done)
}

/// The reproductions that were asked for, each once.
fn chosen(ids: &[String]) -> Result<Vec<&'static Reproduction>, Failure> {
    let mut chosen: Vec<&Reproduction> = Vec::new();
    for id in ids {
        let found: Vec<&Reproduction> = match (id.as_str(), reproduce::find(id)) {
            ("all", _) => reproduce::registry().collect(),
            (_, Some(one)) => vec![one],
            (_, None) => return Err(unknown(id)),
        };
        for one in found {
            if !chosen.iter().any(|known| known.id == one.id) {
                chosen.push(one);
            }
        }
    }
    Ok(chosen)
}

fn unknown(id: &str) -> Failure {
    let names: Vec<&str> = reproduce::registry().map(|one| one.id).collect();
    let hint = text::among_many(id, names.iter().copied());
    Failure::arguments(format!(
        "no reproduction is called `{id}`: {hint} `paceline list reproductions` has all {}",
        names.len()
    ))
}

/// The runs that `chosen` need, each once.
fn plan(chosen: &[&Reproduction]) -> Vec<RunRequest> {
    Plan::of(chosen.iter().flat_map(|one| one.needs())).needs
}

/// Runs what `chosen` need and is not there yet; the first failure, if any, is told when the others are shown.
fn run_all(
    chosen: &[&Reproduction],
    args: &ReproduceArgs,
    unfinished: &Unfinished,
) -> Result<(Runs, Option<Failure>), Failure> {
    let (simulated, rest): (Vec<_>, Vec<_>) = plan(chosen).into_iter().partition(|need| !need.flows_only);
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
    for (place, result) in lacking.zip(results) {
        match result {
            Ok(run) => *place = Some(run),
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

/// Does the steps of `chosen`; the first failure is told when the others are shown. Whether it was
/// interrupted.
fn step_all(
    chosen: &[&Reproduction],
    (args, unfinished): (&ReproduceArgs, &Unfinished),
    runs: &mut Runs,
    failure: &mut Option<Failure>,
) -> bool {
    let mut meter = StepMeter::new(args.say);
    let steps = chosen.iter().flat_map(|one| one.steps.iter().copied());
    let with = (args.jobs.count(), unfinished as &dyn reproduce::Keeps);
    let errors = reproduce::run_steps(steps, runs, with, &mut |step, share, words| {
        meter.update(step, share, words);
        interrupt::control()
    });
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

/// A line per reproduction: how many values of each kind of evidence keep their criteria; of several, all
/// together in the last.
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
    let one = |one: &&Reproduction| line(one.id, Counts::of(&one.records(runs)));
    let mut rows: Vec<Vec<String>> = chosen.iter().map(one).collect();
    if chosen.len() > 1 {
        rows.push(line("all", Counts::of(&reproduce::records(chosen, runs))));
    }
    text::columns(&rows, output::stdout_width())
}

/// An error if something differs.
fn check(chosen: &[&Reproduction], runs: &Runs) -> Result<(), Failure> {
    let count = Counts::of(&reproduce::records(chosen, runs)).judged();
    if count.ok == count.judged {
        return Ok(());
    }
    let (differ, judged) = (count.judged - count.ok, count.judged);
    let message = format!("{differ} of {judged} values and orderings are not within their tolerances");
    Err(Failure::run(message))
}
