//! Training Aurora's policy.

use std::time::Instant;

use paceline_learn::Checkpoints;
use paceline_learn::aurora::{self, Options, TrainedPolicy, Update};
use paceline_learn::page::{self, PolicyPage};
use serde_json::{Value, json};

use super::args::TrainArgs;
use super::policy::{self, Policy, finish};
use crate::failure::Ended;
use crate::interrupt;

/// Trains, writes and shows.
pub(super) fn train(args: &TrainArgs, checkpoints: &Checkpoints) -> Ended {
    let kept = interrupt::keep();
    let options = options(args);
    let begun = Instant::now();
    let mut watch = |update: &Update| {
        if update.trial.is_some() && !args.say.quiet {
            say!("{}", line(update, &options));
        }
        interrupt::control()
    };
    let trained = aurora::train(&options, checkpoints, &mut watch)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = policy::name("aurora", options.seed);
    let page = PolicyPage {
        trained: &trained,
        command: args.command(),
        facts: facts(&trained),
    };
    let done = format!(
        "{} rounds, {} decisions",
        trained.updates.len() - 1,
        trained.decisions()
    );
    let policy = Policy {
        scheme: "aurora",
        files: aurora::files(&name, &trained, &args.command())?,
        record: record(&trained, &name, &args.command()),
        page: Some(page::aurora(&page)?),
        told: policy::told(&done, (wall_s, trained.stopped), true, args),
        name,
        stopped: trained.stopped,
    };
    finish(&policy, args, checkpoints, kept)
}

fn options(args: &TrainArgs) -> Options {
    let options = Options {
        seed: args.seed(),
        threads: args.jobs.count(),
        ..Options::default()
    };
    let options = if args.quick { options.quick() } else { options };
    Options {
        rounds: args.rounds.map_or(options.rounds, |rounds| rounds as usize),
        ..options
    }
}

/// How far it is.
fn line(update: &Update, options: &Options) -> String {
    format!(
        "round {:>4} of {}: reward {:>8.3}, in trials {:>8.3}, best {:>8.3}, deviation of actions {:.2}",
        update.round,
        options.rounds,
        update.reward,
        update.trial.unwrap_or(f64::NAN),
        update.best,
        update.deviation
    )
}

/// What it was made of, for its page.
fn facts(trained: &TrainedPolicy) -> Vec<(String, String)> {
    let options = &trained.options;
    policy::facts([
        ("seed", options.seed.to_string()),
        (
            "rounds",
            format!("{} of {}", trained.updates.len() - 1, options.rounds),
        ),
        ("decisions", trained.decisions().to_string()),
    ])
}

/// `training.json`.
fn record(trained: &TrainedPolicy, name: &str, command: &str) -> Value {
    let update = |update: &Update| {
        json!({
            "round": update.round, "reward": update.reward, "trial": update.trial, "best": update.best,
            "unexplained": update.unexplained, "deviation": update.deviation, "decisions": update.decisions,
        })
    };
    json!({
        "what": name,
        "command": command,
        "seed": trained.options.seed,
        "rounds": trained.options.rounds,
        "decisions": trained.decisions(),
        "updates": trained.updates.iter().map(update).collect::<Vec<_>>(),
        "partial": trained.stopped,
        "version": env!("CARGO_PKG_VERSION"),
    })
}
