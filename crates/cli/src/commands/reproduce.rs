//! `paceline reproduce`: published tables and figures, ours beside them.

use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::results::RunStatus;
use paceline_reproduce::{self as reproduce, Counts, Done as Runs, DoneRun, Plan, Reproduction, StepError};
use paceline_scenario::Resolved;

use crate::args::{JobArgs, SayArgs};
use crate::failure::{Done, Ended, Failure};
use crate::progress::{Meter, StepMeter};
use crate::{interrupt, output, place, text};

const EXAMPLES: &str = "\
Examples:
  paceline reproduce                                   what there is
  paceline reproduce thesis-table6                     seconds
  paceline reproduce thesis-table8 hpcc-fct --jobs 4   minutes
  paceline reproduce all --force --json | jq '.[] | select(.ok == false)'

Four kinds of evidence are counted apart: as published (a paper printed the value, and ours is
within its tolerance), as the authors' simulator (runs of it gave the value), properties (an
order, a bound or a direction, claimed by the paper or asked for by us), and shown (printed, not
judged). --json prints a list of {id, case, metric, unit, paper, ours, tolerance, ok, kind,
source, because}: paper and ours are numbers, or for orderings texts; ours is null where it was
not run, ok where nothing is judged; kind is published, authors-simulator, property or shown,
source whose word it is. What was chosen after results had been seen stands in the list too: kind
is choice, case what was chosen, tried and changed say the rest.

Exit status: 0 done, whatever differs; 1 a run failed, or with --check something differs; 2
arguments are wrong, 130 interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReproduceArgs {
    /// Which tables and figures; `all` for all [default: list what there is]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Fail when a value or an ordering is not within its tolerance
    #[arg(long)]
    check: bool,
    /// Folder for the page and the runs [default: results/reproduce; with a number behind it where
    /// there is an earlier one]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace the folder of earlier reproductions
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
    let folder = place::choose(args.out.as_ref(), default, args.force, |_| false)?;
    output::check_folder(&folder, args.force)?;
    let kept = interrupt::keep();
    let (mut runs, mut failure) = run_all(&chosen, args)?;
    let stopped = match interrupt::asked() {
        true => true,
        false => step_all(&chosen, args, &mut runs, &mut failure),
    };
    let _kept = kept.unless_whole();
    reproduce::write(&folder, &chosen, &runs, args.force)?;
    show(&chosen, &runs, args, &folder)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let partial = |run: &DoneRun| run.status == Some(RunStatus::Partial);
    let done = match stopped || runs.runs.iter().any(partial) {
        true => Done::Interrupted,
        false => Done::All,
    };
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
    let hint = match text::nearest(id, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.join(", ")),
    };
    Failure::arguments(format!("no reproduction is called `{id}`: {hint}"))
}

/// Runs what `chosen` need; the first failure, if any, is told when the others are shown.
fn run_all(chosen: &[&Reproduction], args: &ReproduceArgs) -> Result<(Runs, Option<Failure>), Failure> {
    let plan = Plan::of(chosen.iter().flat_map(|one| one.needs()));
    let (simulated, rest): (Vec<_>, Vec<_>) = plan.needs.into_iter().partition(|need| !need.flows_only);
    let inputs: Vec<Resolved> = simulated
        .iter()
        .map(|need| need.load())
        .collect::<Result<_, _>>()?;
    let results = if inputs.is_empty() {
        Vec::new()
    } else {
        let meter = Meter::new(&inputs, args.say);
        reproduce::run_each(&simulated, &inputs, args.jobs.count(), &|i, now| {
            meter.update(i, now);
            interrupt::control()
        })
    };
    let mut runs = Runs::default();
    let mut failure = None;
    for result in results {
        match result {
            Ok(run) => runs.runs.push(run),
            Err(error) => failure = failure.or(Some(Failure::from(error))),
        }
    }
    for need in rest {
        runs.runs.push(DoneRun::input_of(need)?);
    }
    Ok((runs, failure))
}

/// Does the steps of `chosen`; the first failure is told when the others are shown. Whether it was
/// interrupted.
fn step_all(
    chosen: &[&Reproduction],
    args: &ReproduceArgs,
    runs: &mut Runs,
    failure: &mut Option<Failure>,
) -> bool {
    let mut meter = StepMeter::new(args.say);
    let steps = chosen.iter().flat_map(|one| one.steps.iter().copied());
    let errors = reproduce::run_steps(steps, runs, args.jobs.count(), &mut |step, share, words| {
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
        eprintln!(
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
