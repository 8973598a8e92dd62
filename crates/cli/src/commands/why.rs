//! `paceline why`: where one flow's time went.

use std::path::Path;

use clap::Args;
use paceline_lab::files::{FlowTime, flow_times};
use paceline_lab::report::RunData;
use paceline_lab::results::{FlowRow, RunStatus, flow_rows};
use paceline_lab::why::{Why, nothing_to_tell};
use paceline_scenario::{Overrides, Resolved};

use crate::args::SayArgs;
use crate::failure::{Done, Ended, Failure};
use crate::{output, text};

const EXAMPLES: &str = "\
Examples:
  paceline why results/incast-16-hpcc-1 7       flow 7 of a run (the flow_id of its flows.csv)
  paceline why link-flap 12                     of a scenario: it is run for that
  paceline why results/demo/dcqcn 3 --json | jq '.parts[] | select(.stage == \"sender\")'

A flow's completion time is its sender's time until the packet whose acknowledgement was the last
began to leave, then that packet's way, hop by hop, and the acknowledgement's way back. These parts
sum to the completion time exactly. A run's folder has them in flow_time.csv for up to 1000 flows
([record] accounts); for others the run's scenario is run again, which gives the same run.

What a sender waits for: `window`, `pacing`: its scheme; `paused`: PFC, where the scheme would have
sent; `nic`: its NIC was busy with other packets; `recovery`: acknowledgements that did not come;
`unreachable`: a path.

Exit status: 0 done, 2 there is no such run or flow, 130 interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WhyArgs {
    /// A run's folder; or what `run` takes, which is then run
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The flow's id: its place in order of start, from 0
    #[arg(value_name = "FLOW")]
    pub(crate) flow: u32,
    #[command(flatten)]
    pub(crate) say: SayArgs,
}

/// Tells where a flow's time went.
pub(super) fn why(args: &WhyArgs) -> Ended {
    let folder = Path::new(&args.run);
    if folder.join("comparison.json").is_file() {
        return Err(several_runs(folder));
    }
    if !folder.join("summary.json").is_file() {
        return again(args);
    }
    let data = RunData::read(folder).map_err(Failure::arguments)?;
    let row = find(&data.flows, args.flow)?;
    let partial = data.summary.status == RunStatus::Partial;
    if let Some(why) = Why::new(row, &data.flow_times) {
        return show(&why, args);
    }
    if !args.say.quiet {
        let then = if partial {
            ": running its scenario again, to its end this time"
        } else {
            ": running its scenario again for that"
        };
        eprintln!("the run has no account of the time of flow {}{then}", args.flow);
    }
    again(args)
}

/// Runs the input with an account of the flow.
fn again(args: &WhyArgs) -> Ended {
    let accounts = |flows: &str| Overrides {
        set: vec![format!("record.accounts={flows}")],
        ..Overrides::default()
    };
    // First without: a flow that does not exist is an error of the arguments, not of the scenario.
    let plain = paceline_lab::load(&args.run, &accounts("\"off\""))?;
    known(args.flow, plain.run.flows.len())?;
    let input = paceline_lab::load(&args.run, &accounts(&format!("[{}]", args.flow)))?;
    let finished = super::run::watched(&input, args.say)?;
    let times = flow_times(&finished.outcome);
    let rows: Vec<FlowRow<'_>> = flow_rows(&input, &finished.outcome).collect();
    tell(&input, &rows, &times, args)?;
    Ok(super::run::ending(&[&finished]))
}

fn tell(input: &Resolved, rows: &[FlowRow<'_>], times: &[FlowTime], args: &WhyArgs) -> Result<(), Failure> {
    let row = find(rows, args.flow)?;
    let why = Why::new(row, times).ok_or_else(|| {
        // A flow that began as the run ended took no time.
        let reason = nothing_to_tell(row).unwrap_or("it started as the run ended");
        Failure::arguments(format!(
            "flow {} of `{}` has no time to account for: {reason}",
            args.flow, input.name
        ))
    })?;
    show(&why, args).map(|_| ())
}

/// The flow's row.
fn find<'a, 'b>(rows: &'a [FlowRow<'b>], flow: u32) -> Result<&'a FlowRow<'b>, Failure> {
    known(flow, rows.len())?;
    let row = &rows[flow as usize];
    match nothing_to_tell(row) {
        None => Ok(row),
        Some(reason) => Err(Failure::arguments(format!(
            "flow {flow} has no time to account for: {reason}"
        ))),
    }
}

fn known(flow: u32, count: usize) -> Result<(), Failure> {
    match count {
        0 => Err(Failure::arguments(format!(
            "there is no flow {flow}: the run has no flows"
        ))),
        count if flow as usize >= count => Err(Failure::arguments(format!(
            "there is no flow {flow}: the run has {count}, 0 to {} (flow_id in flows.csv)",
            count - 1
        ))),
        _ => Ok(()),
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
    let width = output::stdout_width();
    let story = text::paragraph(&why.story, width);
    output::print(&format!("{story}\n{}", why.tables(width)))?;
    Ok(Done::All)
}
