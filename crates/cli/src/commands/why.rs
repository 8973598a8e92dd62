//! `paceline why`: where one flow's time went, and which flows were slow.

use std::path::Path;

use clap::Args;
use paceline_kernel::Time;
use paceline_lab::files::{RunData, flow_times};
use paceline_lab::results::{FlowRow, FlowRows, FlowState, RunStatus};
use paceline_lab::why::{CloseLook, Slow, Why, nothing_to_tell, slowest, slowest_table};
use paceline_scenario::{Overrides, Resolved};

use crate::args::SayArgs;
use crate::failure::{Done, Ended, Failure};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline why results/incast-16-hpcc-1         the slowest flows of a run, and what most of their time went to
  paceline why results/incast-16-hpcc-1 7       flow 7 (the flow_id of its flows.csv)
  paceline why link-flap 12                     of a scenario: it is run for that
  paceline why results/demo/dcqcn 3 --json | jq '.deeper.causes'

A flow's completion time is its sender's time until the packet whose acknowledgement was the last
began to leave, then that packet's way, hop by hop, and the acknowledgement's way back. These parts
sum to the completion time exactly. A run's folder has them in flow_time.csv for up to 1000 flows
([record] accounts), the slowest among them.

For one flow the run's scenario is run again, to the flow's end, which gives the same run, to look
closely: what lowered the sender's rate or window, when, from what to what, and by which port's marks,
telemetry or waits; for whose packets its own waited there; which port was behind the pauses that held
it back, and whose bytes stood there; and for which flows it waited before it started. --brief leaves
that out and runs nothing again. What was found is kept in the run's folder, why/FLOW.json and
why/FLOW.csv: asked again, the answer is the same and comes at once.

In fidelities bolt-ns3 and tcd-ns3 nothing of this is accounted for: the list has the slowest flows without what
their time went to, and of one flow it says how long it took.

What a sender waits for: `window`, `pacing`: its scheme; `paused`: PFC, where the scheme would have
sent; `nic`: its NIC was busy with other packets; `recovery`: acknowledgements that did not come;
`unreachable`: a path.

Exit status: 0 done, 2 there is no such run or flow, 130 interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WhyArgs {
    /// A run's folder; or what `run` takes, which is then run
    #[arg(value_name = "RUN")]
    run: String,
    /// The flow's id: its place in order of start, from 0 [default: the slowest flows, in a list]
    #[arg(value_name = "FLOW")]
    flow: Option<u32>,
    /// How many of the slowest flows are listed
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "flow", value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// Of a flow, only what the run's folder has
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    say: SayArgs,
}

/// Tells where time went: that of a flow, or those of the slowest.
pub(super) fn why(args: &WhyArgs) -> Ended {
    let folder = Path::new(&args.run);
    if folder.join("comparison.json").is_file() {
        return Err(several_runs(folder));
    }
    let data = if folder.join("summary.json").is_file() {
        Some(RunData::read(folder).map_err(Failure::arguments)?)
    } else {
        None
    };
    match (args.flow, &data) {
        (Some(flow), Some(data)) => of_finished(flow, data, args),
        (Some(flow), None) => again(flow, None, args),
        (None, Some(data)) => list_of_finished(data, args),
        (None, None) => list_again(args, &all_of),
    }
}

/// A flow of a run that has a folder.
fn of_finished(flow: u32, data: &RunData, args: &WhyArgs) -> Ended {
    let row = &find(&data.flows, flow)?;
    if !data.fidelity().accounts() {
        return show(
            &Why::unaccounted(row, data.end_ps(), data.fidelity().name()),
            args,
        );
    }
    let known = Why::new(row, &data.flow_times);
    // To its end an interrupted run would be another one.
    let partial = data.summary.status == RunStatus::Partial;
    if let Some(why) = &known
        && (args.brief || partial)
    {
        return show(why, args);
    }
    if known.is_none() && args.brief {
        return Err(Failure::arguments(format!(
            "the run's folder has no account of the time of flow {flow}: leave out --brief, and its scenario is run \
             again"
        )));
    }
    let folder = Path::new(&args.run);
    let kept = CloseLook::read(folder, &data.summary, flow).filter(|_| !partial);
    if let Some(why) = kept.as_ref().and_then(|look| Why::close(row, look)) {
        if !args.say.quiet {
            eprintln!("as kept in {}", CloseLook::file(folder, flow).display());
        }
        return show(&why, args);
    }
    if !args.say.quiet {
        let then = match (known.is_some(), partial) {
            (true, _) => format!("running the scenario again, to look closely at flow {flow}"),
            (false, true) => {
                format!(
                    "the run has no account of flow {flow}: running its scenario again, to its end this time"
                )
            }
            (false, false) => {
                format!("the run has no account of flow {flow}: running its scenario again for that")
            }
        };
        eprintln!("{then}");
    }
    again(flow, (!partial).then_some((row, data)), args)
}

/// Runs the input with a close look at the flow: where its run is known, to the end of the flow, and keeps what
/// it found in the run's folder.
fn again(flow: u32, of_run: Option<(&FlowRow<'_>, &RunData)>, args: &WhyArgs) -> Ended {
    // First without: a flow that does not exist is an error of the arguments, not of the scenario.
    let mut input = accounted(args, "\"off\"")?;
    let count = input.run.flows.len();
    if flow as usize >= count {
        return Err(unknown(flow, count));
    }
    let accounts = input.fidelity.accounts();
    if accounts {
        input.run_mut().record.closeups = vec![flow];
    }
    let before = of_run.map(|(row, _)| row);
    let completed = before.filter(|row| row.status == FlowState::Completed);
    if let Some(end) = completed.and_then(FlowRow::end_ps) {
        input.run_mut().stop = input.run.stop.min(Time::from_ps(end));
    }
    let (finished, _kept) = super::run::watched(&input, None, args.say)?;
    let row = &find(&finished.flows, flow)?;
    if !accounts {
        let end = finished.outcome.end.as_ps();
        show(&Why::unaccounted(row, end, input.fidelity.name()), args)?;
        return Ok(super::run::ending(&[&finished]));
    }
    let look = CloseLook::of(&input.run, &finished.outcome, row);
    let why = Why::close(row, &look).ok_or_else(|| {
        // A flow that began as the run ended took no time.
        let reason = nothing_to_tell(row).unwrap_or("it started as the run ended");
        Failure::arguments(format!(
            "flow {flow} of `{}` has no time to account for: {reason}",
            input.name
        ))
    })?;
    let ended = super::run::ending(&[&finished]);
    match of_run {
        Some((before, data)) if is_same(before, row, args) && ended == Done::All => {
            keep(&look, data, flow, args);
            // As it is told from then on: with the row of the run's folder.
            show(&Why::close(before, &look).unwrap_or(why), args)?;
        }
        _ => {
            show(&why, args)?;
        }
    }
    Ok(ended)
}

/// Whether a run that was made again is that of the folder; says so if not.
fn is_same(before: &FlowRow<'_>, row: &FlowRow<'_>, args: &WhyArgs) -> bool {
    let same = (before.fct_ps, before.start_ps) == (row.fct_ps, row.start_ps);
    if !same && !args.say.quiet {
        eprintln!(
            "  ! this is not the run of the folder: there the flow took {:?} ps, here {:?}. Was it made by another \
             version, or its folder changed?",
            before.fct_ps, row.fct_ps
        );
    }
    same
}

/// Keeps a close look for the next question; where the folder cannot be written it is told and no more.
fn keep(look: &CloseLook, data: &RunData, flow: u32, args: &WhyArgs) {
    if let Err(error) = look.keep(Path::new(&args.run), &data.summary, flow)
        && !args.say.quiet
    {
        eprintln!("this answer is not kept: {error}");
    }
}

/// The input with accounts of these flows.
fn accounted(args: &WhyArgs, flows: &str) -> Result<Resolved, Failure> {
    let overrides = Overrides {
        set: vec![format!("record.accounts={flows}")],
        ..Overrides::default()
    };
    Ok(paceline_lab::load(&args.run, &overrides)?)
}

/// The slowest flows of a run that has a folder; of those that it has no account of the scenario is run again.
fn list_of_finished(data: &RunData, args: &WhyArgs) -> Ended {
    let slow = slowest(data.flows.rows(), &data.flow_times, args.top as usize, &args.run);
    let missing = slow.iter().filter(|one| one.main.is_none()).count();
    let unaccounted = !data.fidelity().accounts();
    if missing == 0 || args.brief || unaccounted || data.summary.status == RunStatus::Partial {
        return list(&slow, data.flows.len(), args);
    }
    if !args.say.quiet {
        eprintln!(
            "the run has no account of {missing} of its slowest flows: running its scenario again for that"
        );
    }
    let ids: Vec<u32> = slow.iter().map(|one| one.flow.flow_id).collect();
    list_again(args, &|_| ids.clone())
}

/// All flows of an input: which are slow only the run shows.
fn all_of(input: &Resolved) -> Vec<u32> {
    (0..input.run.flows.len() as u32).collect()
}

/// Runs the input with accounts of some flows, and lists the slowest.
fn list_again(args: &WhyArgs, which: &dyn Fn(&Resolved) -> Vec<u32>) -> Ended {
    let mut input = accounted(args, "\"off\"")?;
    if input.fidelity.accounts() {
        input.run_mut().record.accounts = paceline_fabric::spec::Accounted::Flows(which(&input));
    }
    let (finished, _kept) = super::run::watched(&input, None, args.say)?;
    let times = flow_times(&finished.outcome);
    let slow = slowest(finished.flows.rows(), &times, args.top as usize, &args.run);
    list(&slow, finished.flows.len(), args)?;
    Ok(super::run::ending(&[&finished]))
}

fn list(slow: &[Slow<'_>], total: usize, args: &WhyArgs) -> Ended {
    if args.say.json {
        output::print_json(&slow)?;
        return Ok(Done::All);
    }
    if slow.is_empty() {
        return Err(Failure::arguments("no flow of this run has sent anything"));
    }
    let head = match slow.len() {
        all if all == total => format!("all {total} flows, the slowest first"),
        some => format!("the {some} slowest of {total} flows"),
    };
    output::print(&format!(
        "{head}\n{}\nmore on one of them: {}\n",
        slowest_table(slow),
        slow[0].command
    ))?;
    Ok(Done::All)
}

/// The flow's row.
fn find(rows: &FlowRows, flow: u32) -> Result<FlowRow<'_>, Failure> {
    let row = rows.get(flow as usize);
    rows.check().map_err(Failure::run)?;
    let row = row.ok_or_else(|| unknown(flow, rows.len()))?;
    match nothing_to_tell(&row) {
        None => Ok(row),
        Some(reason) => Err(Failure::arguments(format!(
            "flow {flow} has no time to account for: {reason}"
        ))),
    }
}

fn unknown(flow: u32, count: usize) -> Failure {
    match count {
        0 => Failure::arguments(format!("there is no flow {flow}: the run has no flows")),
        count => Failure::arguments(format!(
            "there is no flow {flow}: the run has {count}, 0 to {} (flow_id in flows.csv)",
            count - 1
        )),
    }
}

fn several_runs(folder: &Path) -> Failure {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let runs = entries.filter(|entry| entry.path().join("summary.json").is_file());
    let mut names: Vec<String> = runs
        .map(|entry| folder.join(entry.file_name()).display().to_string())
        .collect();
    names.sort();
    Failure::arguments(format!(
        "{} holds several runs: name one of them: {}",
        folder.display(),
        names.join(", ")
    ))
}

fn show(why: &Why<'_>, args: &WhyArgs) -> Ended {
    if args.say.json {
        output::print_json(why)?;
        return Ok(Done::All);
    }
    output::print(&why.text(output::stdout_width()))?;
    Ok(Done::All)
}
