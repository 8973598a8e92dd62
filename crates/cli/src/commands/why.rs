//! `paceline why`: breaks down the time of flows and jobs.

use clap::Args;
use paceline_lab::run::{Finished, RunError};
use paceline_lab::why::{Asker, Question, SlowAnswer, Why, slowest_table};
use paceline_scenario::Resolved;

use crate::args::SayArgs;
use crate::failure::{Done, Ended, Failure};
use crate::interrupt::{self, InterruptGuard};
use crate::output;

const EXAMPLES: &str = "\
Examples:
  paceline why results/incast-16-hpcc-1          the slowest flows, and where they spent most time
  paceline why results/incast-16-hpcc-1 7        flow 7 (flow_id in flows.csv)
  paceline why results/incast-16-hpcc-1 incast   the slowest flows of a label
  paceline why link-flap 12                      a scenario, which is run first
  paceline why results/demo/dcqcn 3 --json | jq '.deeper.causes'
  paceline why ai-cluster --matrix               which job made which wait
  paceline why training.toml --job training                its critical path
  paceline why training.toml --job training --iteration 2  that of another iteration
  paceline why training.toml --job training --faster host  the same with links twice as fast

The flow completion time has three parts: the sender's time until it sends the packet that was
acknowledged last, that packet's path, hop by hop, and the path of the acknowledgement. The parts
add up to the completion time exactly. flow_time.csv has them for up to 1000 flows, the slowest
included ([record] accounts).

For a single flow, Paceline repeats the run up to the flow's end and observes the causes:
  - each change of the sender's rate or window, and the port whose marks, telemetry or delay caused it
  - the packets of other flows that its packets waited for, per port
  - the congested port behind each pause, and the flows in its queue
  - the flows that had to end before this one could start
A folder by other code (paceline --version) is explained only if this code gives the same events.
--brief skips this. The result is stored in the folder of the run, as why/FLOW.json and
why/FLOW.csv, and shown at once the next time.

Time at the sender:
  window, pacing  limited by the scheme
  paused          stopped by PFC
  nic             the NIC was sending other packets
  recovery        waiting for missing acknowledgements
  unreachable     no path
  credit          no credits

For a job by a trace (GOAL, Chakra, SimAI), --job shows the critical path of its slowest iteration,
or of --iteration N: the computing, messages and collectives that ended one after another until the
last rank was done. Each message is bound by the link where it waited longest or, if it hardly
waited, by the slowest link of its path. Contention is the time by which messages took longer than
alone in the network. critical_path.csv has all of it, in the order of time.

--matrix shows who made whom wait: how long packets of each job, label or host waited in queues while
those of another were transmitted, or a pause that came from them lasted. The columns add up to all
the time that a row's packets waited. blame.csv has it by port. A folder needs record.blame = labels
or hosts; a scenario is run with labels.

The fidelities bolt-ns3 and tcd-ns3 record no breakdown, only completion times.

Exit status: 0 done, 2 no such run or flow, 130 interrupted.";

/// Default number of slowest flows in the list.
const LISTED: u32 = 10;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WhyArgs {
    /// Folder of a run, or a scenario to run first
    #[arg(value_name = "RUN")]
    run: String,
    /// Flow id (in order of start, from 0), or a label for its slowest flows [default: list the slowest flows]
    #[arg(value_name = "FLOW|LABEL")]
    flow: Option<String>,
    /// Number of slowest flows to list [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,
    /// Show the critical path of a job by a trace
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["flow", "top"])]
    job: Option<String>,
    /// Show the critical path of this iteration, from 0 [default: the slowest]
    #[arg(long, value_name = "N", requires = "job")]
    iteration: Option<u32>,
    /// Run again with these links twice as fast (LINK=N: N times): a tier such as host or leaf-spine, or two nodes (3-17, "leaf 1-spine 3")
    #[arg(long, value_name = "LINK", requires = "job", conflicts_with = "brief")]
    faster: Option<String>,
    /// Show who made whom wait in queues: a matrix by job and label, or by host
    #[arg(long, conflicts_with_all = ["flow", "top", "job", "brief"])]
    matrix: bool,
    /// Use only the data in the folder; run nothing again
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    say: SayArgs,
}

/// Explains one flow's time, lists the slowest flows, or explains a job or the waiting matrix.
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
        _ if args.matrix => matrix(&question, args, &mut user)?,
        _ if args.job.is_some() => of_job(&question, args, &mut user)?,
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

/// Prints the matrix of waiting times.
fn matrix(question: &Question<'_>, args: &WhyArgs, user: &mut User) -> Result<bool, Failure> {
    let blames = question.blames(user)?;
    match args.say.json {
        true => output::print_json(&blames)?,
        false => output::print(&blames.text())?,
    }
    Ok(blames.partial)
}

/// Prints a job's critical path, with the links' rates or with some of them faster.
fn of_job(question: &Question<'_>, args: &WhyArgs, user: &mut User) -> Result<bool, Failure> {
    let label = args.job.as_deref().unwrap_or_default();
    let width = output::stdout_width();
    let Some(faster) = &args.faster else {
        let why = question.job(label, args.iteration, user)?;
        match args.say.json {
            true => output::print_json(&why)?,
            false => output::print(&why.text(width))?,
        }
        return Ok(why.partial);
    };
    let (links, factor) = match faster.split_once('=') {
        None => (faster.as_str(), Some(2.0)),
        Some((links, factor)) => (links, factor.parse().ok()),
    };
    let Some(factor) = factor.filter(|factor| (0.001..=1000.0).contains(factor)) else {
        return Err(Failure::arguments(format!(
            "--faster {faster}: expected LINK or LINK=N, with N from 0.001 to 1000"
        )));
    };
    let answer = question.faster(label, args.iteration, links, factor, user)?;
    match args.say.json {
        true => output::print_json(&answer)?,
        false => output::print(&answer.text(width))?,
    }
    Ok(answer.partial)
}

/// The user at the terminal, as the source of runs and the reader of messages.
struct User {
    say: SayArgs,
    /// Keeps an interruption from ending the program before the answer is printed.
    kept: Option<InterruptGuard>,
}

impl Asker for User {
    fn run(&mut self, input: &Resolved) -> Result<Finished, RunError> {
        let kept = interrupt::keep();
        let finished = super::run::watched(input, None, self.say, None)?;
        self.kept = Some(kept.written(!interrupt::asked()));
        Ok(finished)
    }

    fn inform(&mut self, text: &str) {
        if !self.say.quiet {
            say!("{text}");
        }
    }
}

fn list(
    SlowAnswer {
        slow, flows, jobs, ..
    }: &SlowAnswer,
    args: &WhyArgs,
) -> Result<(), Failure> {
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
    let of_job = |job: &String| {
        let run = &args.run;
        format!("critical path of job `{job}`: paceline why {run} --job {job}\n")
    };
    output::print(&format!(
        "{head}\n{}\nmore on one of them: {}\n{}",
        slowest_table(slow),
        slow[0].command,
        jobs.iter().map(of_job).collect::<String>()
    ))
}

fn show(why: &Why<'_>, args: &WhyArgs) -> Result<(), Failure> {
    if args.say.json {
        return output::print_json(why);
    }
    output::print(&why.text(output::stdout_width()))
}
