//! `paceline why`: where one flow's time went, and which flows were slow.

use clap::Args;
use paceline_lab::run::{Finished, RunError};
use paceline_lab::why::{Asker, Question, SlowAnswer, Why, slowest_table};
use paceline_scenario::Resolved;

use crate::args::SayArgs;
use crate::failure::{Done, Ended, Failure};
use crate::interrupt::Kept;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline why results/incast-16-hpcc-1         the slowest flows of a run, and what most of their time went to
  paceline why results/incast-16-hpcc-1 7       flow 7 (the flow_id of its flows.csv)
  paceline why results/incast-16-hpcc-1 incast   the slowest flows of a label: of a workload, or a job
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
`unreachable`: a path. Under credits it is not paused but waits for `credit`.

Exit status: 0 done, 2 there is no such run or flow, 130 interrupted.";

/// So many of the slowest flows are listed unless the user says otherwise.
const LISTED: u32 = 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WhyArgs {
    /// A run's folder; or what `run` takes, which is then run
    #[arg(value_name = "RUN")]
    run: String,
    /// The flow's id: its place in order of start, from 0; or a label: the slowest of its flows [default: the slowest
    /// of all, in a list]
    #[arg(value_name = "FLOW|LABEL")]
    flow: Option<String>,
    /// How many of the slowest flows are listed [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Of a flow, only what the run's folder has
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    say: SayArgs,
}

/// Tells where time went: that of a flow, or those of the slowest.
pub(super) fn why(args: &WhyArgs) -> Ended {
    let flow = args
        .flow
        .as_deref()
        .map(|flow| flow.parse::<u32>().map_err(|_| flow));
    if let (Some(Ok(flow)), Some(_)) = (flow, args.top) {
        return Err(Failure::arguments(format!(
            "--top is about lists, and flow {flow} is one flow: leave one of them out"
        )));
    }
    let question = Question {
        run: &args.run,
        top: args.top.unwrap_or(LISTED) as usize,
        brief: args.brief,
        label: match flow {
            Some(Err(label)) => Some(label),
            _ => None,
        },
    };
    let mut user = User {
        say: args.say,
        kept: None,
    };
    let partial = match flow {
        Some(Ok(flow)) => {
            let answer = question.flow(flow, &mut user)?;
            show(&answer.why(), args)?;
            answer.partial
        }
        _ => {
            let answer = question.slowest(&mut user)?;
            list(&answer, args)?;
            answer.partial
        }
    };
    Ok(if partial { Done::Interrupted } else { Done::All })
}

/// Whoever asked, at the terminal.
struct User {
    say: SayArgs,
    /// As long as there is an answer to be told.
    kept: Option<Kept>,
}

impl Asker for User {
    fn run(&mut self, input: &Resolved) -> Result<Finished, RunError> {
        let (finished, kept) = super::run::watched(input, None, self.say)?;
        self.kept = kept.unless_whole();
        Ok(finished)
    }

    fn tell(&mut self, text: &str) {
        if !self.say.quiet {
            say!("{text}");
        }
    }
}

fn list(SlowAnswer { slow, flows, .. }: &SlowAnswer, args: &WhyArgs) -> Result<(), Failure> {
    if args.say.json {
        return output::print_json(slow);
    }
    if slow.is_empty() {
        return Err(Failure::arguments("no flow of this run has sent anything"));
    }
    let of = match &args.flow {
        Some(label) => format!(" of {label}"),
        None => String::new(),
    };
    let head = match slow.len() {
        all if all == *flows => format!("all {flows} flows{of}, the slowest first"),
        1 => format!("the slowest of {flows} flows{of}"),
        some => format!("the {some} slowest of {flows} flows{of}"),
    };
    output::print(&format!(
        "{head}\n{}\nmore on one of them: {}\n",
        slowest_table(slow),
        slow[0].command
    ))
}

fn show(why: &Why<'_>, args: &WhyArgs) -> Result<(), Failure> {
    if args.say.json {
        return output::print_json(why);
    }
    output::print(&why.text(output::stdout_width()))
}
