//! `paceline tune`: a search for the best values of parameters.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use paceline_lab::InputWarnings;
use paceline_lab::files::write_file;
use paceline_lab::table::{Column, render};
use paceline_lab::tune::{self, Found, Job, Options, ParameterResult, change};
use paceline_report::render_tune;

use crate::args::{ChangeArgs, INPUT_HELP, JobArgs, SayArgs, ThreadArgs};
use crate::failure::{Done, Ended, Failure};
use crate::progress::SweepMeter;
use crate::{destination, interrupt, output};

const EXAMPLES: &str = "\
Examples:
  paceline tune my.toml --scheme dcqcn --objective fct_slowdown.p99 \\
      --over network.ecn.kmin=5KB..400KB --over network.ecn.kmax=5KB..2MB \\
      --over network.ecn.pmax=0.01..1 --over cc.dcqcn.rate-ai=5Mbps..400Mbps
  paceline tune my.toml --over network.ecn.kmin,network.ecn.kmax=2KB..200KB \\
      --objective queue_bytes.max --limit 'makespan_us<=1.01x'
                                                     two keys with one value, and a limit
  paceline tune my.toml --scheme dcqcn --over cc.dcqcn.flavour=nic,paper \\
      --objective rate_while_active_gbps:max --against queue_bytes.max
                                                     a list of values

Ranges have units. They are logarithmic from a ratio of 10 between their ends; :log and :linear behind
a range say otherwise. A list is searched in its order. A candidate that the scenario refuses, such as
a Kmin above Kmax, ranks last and is counted.

Every candidate runs with the same seeds as the scenario as written. Its score is the mean logarithm
of the ratio in the objective. A limit holds for the mean over the seeds; 1.01x is a multiple of the
scenario's own mean. Measures are the numbers of summary.json, as in `paceline sweep`.

After the search the best candidate and the scenario run with held-out seeds. The 95 % interval of
their ratio decides: better, no difference shown, or worse. Profiles on these seeds show which
parameters are flat. Repeat the command to resume an interrupted search.

Exit status: 0 done, 1 a run failed, 2 input or arguments are wrong, 130 interrupted.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TuneArgs {
    #[arg(value_name = "INPUT", help = INPUT_HELP)]
    input: String,
    /// Range or values of a key; may be repeated
    #[arg(long, value_name = "KEY=LOW..HIGH", help_heading = "Search", required = true)]
    over: Vec<String>,
    /// Measure to improve, with :min or :max [direction: that of the comparison tables, or min]
    #[arg(
        long,
        value_name = "MEASURE",
        help_heading = "Search",
        allow_hyphen_values = true
    )]
    objective: String,
    /// Condition on the mean of a measure; may be repeated
    #[arg(long, value_name = "MEASURE<=VALUE", help_heading = "Search")]
    limit: Vec<String>,
    /// Second measure of the trade-off [default: fct_slowdown.mean]
    #[arg(
        long,
        value_name = "MEASURE",
        help_heading = "Search",
        allow_hyphen_values = true
    )]
    against: Option<String>,
    /// Number of candidates [default: 60 per parameter]
    #[arg(long, value_name = "N", help_heading = "Search")]
    trials: Option<usize>,
    /// Number of consecutive seeds per candidate
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Search")]
    repeats: u32,
    /// Number of further seeds for the check after the search
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "Search")]
    held_out: u32,
    /// Congestion control scheme [default: the scenario's]
    #[arg(long, value_name = "NAME", help_heading = "Scenario")]
    scheme: Option<String>,
    #[command(flatten)]
    changes: ChangeArgs,
    /// Folder for the results; resumes an earlier search [default: results/NAME-tune-SEED]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Discard an earlier search in the folder
    #[arg(long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    jobs: JobArgs,
    #[command(flatten)]
    threads: ThreadArgs,
}

impl TuneArgs {
    /// Returns the arguments that define the search, without those on where or how to run it.
    fn words(&self) -> Vec<String> {
        let mut words = vec![self.input.clone()];
        let mut add = |option: &str, value: &str| words.extend([option.to_string(), value.to_string()]);
        self.over.iter().for_each(|over| add("--over", over));
        add("--objective", &self.objective);
        self.limit.iter().for_each(|limit| add("--limit", limit));
        let changes = &self.changes;
        let numbers = [
            ("--trials", self.trials.map(|count| count.to_string())),
            ("--repeats", Some(self.repeats.to_string())),
            ("--held-out", Some(self.held_out.to_string())),
            ("--against", self.against.clone()),
            ("--scheme", self.scheme.clone()),
            ("--seed", changes.seed.map(|seed| seed.to_string())),
            (
                "--duration",
                changes.duration.map(|duration| duration.to_string()),
            ),
            (
                "--fidelity",
                changes.fidelity.map(|fidelity| fidelity.name().to_string()),
            ),
        ];
        for (option, value) in numbers {
            value.iter().for_each(|value| add(option, value));
        }
        changes.set.iter().for_each(|set| add("--set", set));
        words
            .iter()
            .map(|word| super::sweep::shell(std::slice::from_ref(word)))
            .collect()
    }
}

/// Runs a search or the rest of one, and prints its result.
pub(super) fn tune(args: &TuneArgs) -> Ended {
    let options = Options {
        input: args.input.clone(),
        overrides: args.changes.overrides(args.scheme.as_deref(), args.threads),
        over: args.over.clone(),
        objective: args.objective.clone(),
        limits: args.limit.clone(),
        against: args.against.clone(),
        repeats: args.repeats,
        held_out: args.held_out,
        trials: args.trials,
        arguments: args.words(),
    };
    let input = paceline_lab::load(&options.input, &options.overrides)?;
    if !args.say.quiet {
        output::input_warnings(&InputWarnings::of([&input]));
    }
    drop(input);
    let _kept = interrupt::keep_in_files();
    let meter = SweepMeter::new(&args.input, args.say);
    let Some(plan) = options.plan(&meter)? else {
        return Ok(Done::Interrupted);
    };
    let default = output::default_folder(&plan.scenario, "tune", plan.seeds[0]);
    let folder = destination::choose_or_go_on(args.out.as_ref(), &default, args.force, |folder| {
        tune::goes_on(folder, &plan)
    });
    let job = Job {
        options: &options,
        plan: &plan,
        folder: &folder,
        jobs: args.jobs.count(),
        force: args.force,
    };
    let found = job.run(&meter)?;
    // The progress bar would overwrite the table.
    drop(meter);
    let Some(found) = found else {
        say!(
            "interrupted: repeat the command to resume the search in {}",
            folder.display()
        );
        return Ok(Done::Interrupted);
    };
    tune::write(&folder, &options, &found)?;
    let page = render_tune(&found).map_err(Failure::run)?;
    write_file(&folder.join("index.html"), |out| out.write_all(page.as_bytes()))?;
    show(&found, &folder, args.say)
}

fn show(found: &Found, folder: &Path, say: SayArgs) -> Ended {
    if say.json {
        output::print_json(found)?;
    } else {
        output::print(&text(found))?;
    }
    if !say.quiet {
        output::print_warnings(&found.warnings);
        say!(
            "results in {}: tuned.toml to run, index.html to look at, all candidates in trials.csv",
            folder.display()
        );
    }
    Ok(Done::All)
}

/// Returns the result as tables.
fn text(found: &Found) -> String {
    let plan = &found.plan;
    let column = |head: &str, cell: &dyn Fn(&ParameterResult) -> String| {
        Column::right("", head, found.parameters.iter().map(cell).collect())
    };
    let effect = |parameter: &ParameterResult| {
        let means = parameter
            .profile
            .iter()
            .filter_map(|point| Some(point.ratio?.mean));
        let most = means
            .map(|mean| 100.0 * (mean - 1.0))
            .fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        if parameter.flat {
            "flat".to_string()
        } else {
            format!("{most:+.1} %")
        }
    };
    let names = found
        .parameters
        .iter()
        .map(|parameter| parameter.name.clone())
        .collect();
    let ranges = plan.parameters.iter().map(tune::Parameter::domain_text).collect();
    let values = render(&[
        Column::left("", "parameter", names),
        column("as written", &|parameter| {
            parameter.written.clone().unwrap_or_else(|| "-".into())
        }),
        column("best", &|parameter| parameter.best.clone()),
        Column::right("", "range", ranges),
        column("largest effect", &effect),
    ]);
    let counts = &found.counts;
    let seeds = |seeds: &[u64]| {
        format!(
            "{} seeds, {} to {}",
            seeds.len(),
            seeds[0],
            seeds[seeds.len() - 1]
        )
    };
    format!(
        "{values}\n{} ({} is better), best over as written:\n  in the search ({}): {}\n  held out ({}): {}\n{} candidates: {} \
         over a limit, {} refused, {} failed\n{}\n",
        plan.objective.measure,
        if plan.objective.maximise { "more" } else { "less" },
        seeds(&plan.seeds),
        change(found.search),
        seeds(&plan.held_out),
        change(found.held_out.ratio),
        counts.trials,
        counts.over_limit,
        counts.refused,
        counts.failed,
        found.verdict.words(),
    )
}
