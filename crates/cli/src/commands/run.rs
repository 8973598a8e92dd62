//! `paceline run`: one run.

use clap::Args;
use paceline_lab::results::{RunStatus, flow_rows};
use paceline_lab::run::{self, Finished, RunError, execute};
use paceline_lab::table;
use paceline_report::write_run;
use paceline_scenario::Resolved;

use crate::args::{BucketArgs, ChangeArgs, INPUT_HELP, OutputArgs, SayArgs, ThreadArgs};
use crate::failure::{Done, Ended};
use crate::progress::Meter;
use crate::{interrupt, output};

const EXAMPLES: &str = "\
Examples:
  paceline run incast-20
  paceline run incast-20 --scheme dcqcn --set cc.dcqcn.rate-ai=40Mbps --seed 2 --out results/mine
  paceline run mix/config.txt
  paceline run results/incast-20-hpcc-1 --out results/again    the same run, the same bytes
  paceline run incast-16 --json --quiet | jq .fct_slowdown.p99

Exit status: 0 done, 1 the run failed, 2 input or arguments are wrong, 130 interrupted (what ran is
kept, marked partial).";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArgs {
    #[arg(value_name = "INPUT", help = INPUT_HELP)]
    input: String,
    /// Congestion control scheme, instead of the scenario's
    #[arg(long, value_name = "NAME", help_heading = "Scenario")]
    scheme: Option<String>,
    #[command(flatten)]
    changes: ChangeArgs,
    #[command(flatten)]
    buckets: BucketArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    threads: ThreadArgs,
}

/// Runs one scenario; prints its table or summary.
pub(super) fn run(args: &RunArgs) -> Ended {
    let buckets = args.buckets.asked(args.say)?;
    let input = paceline_lab::load(&args.input, &args.changes.overrides(args.scheme.as_deref()))?;
    let folder = (args.output.out.clone())
        .unwrap_or_else(|| output::default_folder(&input.name, &input.scheme, input.seed));
    output::check_folder(&folder, args.output.force)?;
    if !args.say.quiet {
        output::odd_inputs([&input]);
    }
    let mut finished = watched(&input, args.say)?;
    account_for_slowest(&input, &mut finished, args.say)?;
    write_run(&folder, &input, &finished, args.output.writing())?;
    let summary = &finished.summary;
    if args.say.json {
        output::print_json(summary)?;
    } else {
        let flows = [flow_rows(&input, &finished.outcome).collect()];
        let by_size = output::by_size(buckets, &table::row_names(&[summary]), &flows);
        let width = output::stdout_width();
        output::print(&(table::comparison(&[summary], width) + &by_size))?;
    }
    if !args.say.quiet {
        eprint!("{}", output::warnings(&[summary]));
        eprintln!("results in {}", folder.display());
    }
    Ok(ending(&[&finished]))
}

/// Runs the input to its end, or until the user stops it, and shows how far it is.
pub(super) fn watched(input: &Resolved, say: SayArgs) -> Result<Finished, RunError> {
    interrupt::listen();
    let meter = Meter::new(std::slice::from_ref(input), say);
    execute(input, &mut |now| {
        meter.update(0, now);
        interrupt::control()
    })
}

/// The slowest flows are accounted for too, and that is said where it takes time or is not done.
fn account_for_slowest(input: &Resolved, finished: &mut Finished, say: SayArgs) -> Result<(), RunError> {
    let mut told = say.quiet;
    let missing = run::account_for_slowest(input, finished, &mut |_| {
        if !std::mem::replace(&mut told, true) {
            eprintln!(
                "running once more, for the accounts of the slowest flows ([record] accounts = \"off\" saves it)"
            );
        }
        interrupt::control()
    })?;
    if missing > 0 && !say.quiet {
        eprintln!(
            "{missing} of the {} slowest flows have no account of their time: `paceline why` runs the scenario again \
             for them",
            run::SLOWEST
        );
    }
    Ok(())
}

/// Whether the user cut any of these short.
pub(super) fn ending(runs: &[&Finished]) -> Done {
    let partial = |run: &&Finished| run.summary.status == RunStatus::Partial;
    if runs.iter().any(partial) {
        Done::Interrupted
    } else {
        Done::All
    }
}
