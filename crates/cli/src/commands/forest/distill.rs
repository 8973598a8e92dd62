//! `paceline forest distill`: distil a policy into boosted trees.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use paceline_congestion::learned::Model;
use paceline_lab::files::Folder;
use paceline_lab::run::Control;
use paceline_learn::distill::{self, DistilledPolicy, JUDGED, Judged, Options};
use serde_json::{Value, json};

use super::super::folder::{forest_page, write_json, write_page};
use super::super::sweep::shell;
use crate::args::{JobArgs, SayArgs};
use crate::failure::{Done, Ended, Failure};
use crate::{destination, output, text};

const EXAMPLES: &str = "\
Examples:
  paceline forest distill adpg                    rebuild the built-in 300 trees (minutes)
  paceline forest distill adpg --trees 1000
  paceline forest distill decc-net-q4             distil DECC's quantised network
  paceline forest distill adpg --quick -o mine    smoke test (seconds)
  paceline run rl-cc --set cc.adpg.model=mine/adpg-tree-300.json
  paceline forest prove mine/adpg-tree-300.json
  paceline forest export mine/adpg-tree-300.json -o adpg.h

Each round runs the trees, labels their states with the policy's actions (DAgger), and fits new
trees to all rounds. The best round is kept. Finally, policy and trees are evaluated on unseen
networks and seeds. The same command gives the same trees, bit for bit, on any number of threads.

The folder: the trees (.json, one file), training.json, report.html. Exit status: 0 done, 1 a run
failed or output cannot be written, 2 input or arguments are wrong, 130 interrupted: nothing is
written.";

#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DistillArgs {
    /// Built-in model or model file of a policy (ADPG, or a network of DECC)
    #[arg(value_name = "MODEL")]
    model: String,
    /// Number of trees
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trees: u32,
    /// Tree depth
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=10))]
    depth: u32,
    /// Imitation rounds with the trees in control [default: 4; 2 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: Option<u32>,
    /// Seed of scenarios and validation rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Smoke test: distil for a few seconds
    #[arg(long)]
    quick: bool,
    /// Folder for the results [default: results/distill-NAME; a suffix is added if it exists]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,
    /// Replace the folder of an earlier one
    #[arg(long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    say: SayArgs,
    #[command(flatten)]
    jobs: JobArgs,
}

impl DistillArgs {
    fn options(&self) -> Options {
        let options = Options {
            trees: self.trees as usize,
            depth: self.depth as usize,
            seed: self.seed,
            threads: self.jobs.count(),
            ..Options::default()
        };
        let options = if self.quick { options.quick() } else { options };
        Options {
            rounds: self.rounds.map_or(options.rounds, |rounds| rounds as usize),
            ..options
        }
    }

    /// Returns the command that reproduces the trees, without options for output and machine.
    fn command(&self) -> String {
        let mut words = ["paceline", "forest", "distill", &self.model]
            .map(String::from)
            .to_vec();
        let mut add = |option: &str, value: Option<u64>| {
            words.extend(value.map(|value| format!("{option}={value}")));
        };
        let unless = |value: u32, default: u32| (value != default).then_some(u64::from(value));
        add("--trees", unless(self.trees, 300));
        add("--depth", unless(self.depth, 6));
        add("--rounds", self.rounds.map(u64::from));
        add("--seed", (self.seed != 1).then_some(self.seed));
        words.extend(self.quick.then(|| "--quick".to_string()));
        shell(&words)
    }
}

/// Distils the policy, writes the folder, and prints the results.
pub(super) fn distill(args: &DistillArgs) -> Ended {
    let teacher = paceline_scenario::find_model(&args.model).map_err(Failure::arguments)?;
    let default = format!("results/distill-{}", teacher.card().name);
    let folder = destination::choose_new(args.out.as_ref(), Path::new(&default), args.force);
    // Before the distillation, which takes minutes.
    output::check_folder(&folder, args.force)?;
    let begun = Instant::now();
    // The network's suffixes are dropped: trees of `decc-net-q4` are called `decc-tree-300`.
    let of = teacher.card().name.replace("-net", "").replace("-q4", "");
    let name = format!("{of}-tree-{}", args.trees);
    let mut watch = |said: &str| {
        if !args.say.quiet {
            say!("{said}");
        }
        Control::Continue
    };
    let command = args.command();
    let distilled = distill::distill(&name, &teacher, &args.options(), &command, &mut watch)?;
    write(&folder, args.force, &teacher, &distilled, &command)?;
    match args.say.json {
        true => output::print_json(&record(&teacher, &distilled, &command))?,
        false => output::print(&table(&distilled))?,
    }
    if !args.say.quiet && !args.say.json {
        let path = folder.display();
        say!(
            "{} trees in {:.1} s, in {path}\nuse them  paceline run rl-cc --scheme {scheme} --set \
             cc.{scheme}.model={path}/{name}.json",
            args.trees,
            begun.elapsed().as_secs_f64(),
            scheme = teacher.card().kind
        );
    }
    Ok(Done::All)
}

fn write(
    path: &Path,
    force: bool,
    teacher: &Model,
    distilled: &DistilledPolicy,
    command: &str,
) -> Result<(), Failure> {
    let folder = Folder::create(path, force)?;
    if let Some(forest) = distilled.model.forest() {
        let (name, text) = (format!("{}.json", forest.parts().name), forest.to_json());
        folder.write(Path::new(&name), |out| out.write_all(text.as_bytes()))?;
        write_page(&folder, &forest_page(forest, command.to_string())?)?;
    }
    write_json(&folder, &record(teacher, distilled, command))?;
    folder.commit()?;
    Ok(())
}

/// Returns the content of `training.json`.
fn record(teacher: &Model, distilled: &DistilledPolicy, command: &str) -> Value {
    let options = &distilled.options;
    let rounds = distilled.rounds.iter().map(|round| {
        json!({ "round": round.number, "worth": round.worth, "error": round.error, "rows": round.rows })
    });
    json!({
        "version": paceline_learn::version(),
        "what": distilled.model.card().name,
        "status": "completed",
        "command": command,
        "teacher": { "name": teacher.card().name, "sha256": teacher.card().weights_sha256 },
        "sha256": distilled.model.card().weights_sha256,
        "options": {
            "trees": options.trees, "depth": options.depth, "rounds": options.rounds,
            "learning_rate": options.learning_rate, "seed": options.seed, "episode_ms": options.episode_ms,
        },
        "rounds": rounds.collect::<Vec<_>>(),
        "best": distilled.best,
        "judged": distilled.judged,
    })
}

/// Returns a table by round, and one of policy and trees on unseen scenarios.
fn table(distilled: &DistilledPolicy) -> String {
    let head = ["round", "decides", "worth", "off the teacher by", "decisions"].map(String::from);
    let round = |round: &paceline_forest::distill::Round| {
        let who = match round.number {
            0 => "teacher",
            number if number == distilled.best => "forest, kept",
            _ => "forest",
        };
        vec![
            round.number.to_string(),
            who.to_string(),
            format!("{:.5}", round.worth),
            format!("{:.4}", round.error),
            round.rows.to_string(),
        ]
    };
    let mut rows = vec![head.to_vec()];
    rows.extend(distilled.rounds.iter().map(round));
    let mut text = text::table(&rows);
    let mut rows = vec![JUDGED.map(String::from).to_vec()];
    rows.extend(distilled.judged.iter().flat_map(Judged::rows));
    text.push_str("\nwhere nothing learned, mean over seeds and half of the 95 % interval\n");
    text.push_str(&text::table(&rows));
    text
}
