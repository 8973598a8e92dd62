//! Training a network of DECC.

use std::time::Instant;

use paceline_learn::Checkpoints;
use paceline_learn::decc::{self, By, Options, TrainedPolicy, Update};
use serde_json::{Value, json};

use super::args::{Learner, TrainArgs};
use super::policy::{self, Policy, finish};
use crate::failure::Ended;
use crate::interrupt;

/// Trains, writes and shows.
pub(super) fn train(args: &TrainArgs, checkpoints: &Checkpoints) -> Ended {
    let kept = interrupt::keep();
    let options = options(args);
    let begun = Instant::now();
    let mut watch = |update: Option<&Update>| {
        if let Some(update) = update.filter(|_| !args.say.quiet) {
            say!("{}", line(update, &options));
        }
        interrupt::control()
    };
    let trained = decc::train(&options, checkpoints, &mut watch)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = name(&options);
    let done = format!("{} steps, {} decisions", trained.steps, trained.decisions);
    let policy = Policy {
        scheme: "decc",
        files: decc::files(&name, &trained, &args.command())?,
        name,
        record: record(&trained, &args.command()),
        page: None,
        told: policy::told(&done, (wall_s, trained.stopped), false, args),
        stopped: trained.stopped,
    };
    finish(&policy, args, checkpoints, kept)
}

fn name(options: &Options) -> String {
    let name = if options.stages.is_empty() {
        "decc-clone"
    } else {
        "decc"
    };
    policy::name(name, options.seed)
}

fn options(args: &TrainArgs) -> Options {
    let options = Options {
        seed: args.seed(),
        by: match args.by {
            Some(Learner::Ppo) => By::Proximal,
            Some(Learner::Td3 | Learner::CmaEs) | None => By::Gradients,
        },
        threads: args.jobs.count(),
        ..Options::default()
    };
    let options = if args.quick { options.quick() } else { options };
    match args.clone {
        true => Options {
            critics: 0,
            stages: Vec::new(),
            ..options
        },
        false => options,
    }
}

/// How far it is.
fn line(update: &Update, options: &Options) -> String {
    let mut line = format!(
        "step {:>6} of {}, {}: loss {:.5}",
        update.step,
        options.steps(),
        update.stage,
        update.loss
    );
    if let (Some((policy, rule)), Some(best)) = (update.trial, update.best) {
        line.push_str(&format!(
            "; reward in trials {policy:.5}, best {best:.5}, the rule's {rule:.5}"
        ));
    }
    line
}

/// `training.json`.
fn record(trained: &TrainedPolicy, command: &str) -> Value {
    let update = |update: &Update| {
        json!({
            "stage": update.stage, "step": update.step, "loss": update.loss,
            "reward": update.trial.map(|(policy, _)| policy),
            "reward_of_rule": update.trial.map(|(_, rule)| rule),
            "best": update.best,
        })
    };
    let options = &trained.options;
    json!({
        "what": name(options),
        "command": command,
        "seed": options.seed,
        "by": options.by.name(),
        "stages": options.stages.iter().map(|stage| stage.name).collect::<Vec<_>>(),
        "steps": options.steps(),
        "steps_done": trained.steps,
        "decisions": trained.decisions,
        "updates": trained.updates.iter().map(update).collect::<Vec<_>>(),
        "partial": trained.stopped,
        "version": env!("CARGO_PKG_VERSION"),
    })
}
