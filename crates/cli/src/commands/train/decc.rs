//! Training DECC's policy.

use std::fs;
use std::time::Instant;

use paceline_learn::decc::{self, By, Options, Reached, TrainedPolicy, Update};
use serde_json::{Value, json};

use super::args::{Learner, TrainArgs};
use super::policy::{self, Policy, finish};
use crate::failure::{Ended, Failure};
use crate::interrupt;

/// Where a training may be resumed from.
const CHECKPOINT: &str = "checkpoint.bin";

/// Trains, writes and shows.
pub(super) fn train(args: &TrainArgs) -> Ended {
    let kept = interrupt::keep();
    let options = options(args);
    let from = earlier(args, &options)?;
    let begun = Instant::now();
    let mut watch = |update: &Update| {
        if !args.say.quiet {
            say!("{}", line(update, &options));
        }
        interrupt::control()
    };
    let mut checkpoint = from.as_ref().map(Reached::to_bytes);
    let mut reached = |reached: &Reached| {
        checkpoint = Some(reached.to_bytes());
        Ok(())
    };
    let trained = decc::train(&options, from, &mut watch, &mut reached)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = name(&options);
    // From a clone whose critics learned nothing no stage can go on.
    let checkpoint = checkpoint.filter(|_| !args.clone);
    let done = format!("{} steps, {} decisions", trained.steps, trained.decisions);
    let policy = Policy {
        scheme: "decc",
        files: decc::files(&name, &trained, &args.command())?,
        name,
        beside: checkpoint.into_iter().map(|bytes| (CHECKPOINT, bytes)).collect(),
        record: record(&trained, &args.command()),
        page: None,
        told: policy::told(&done, (wall_s, trained.stopped), false, args),
        stopped: trained.stopped,
    };
    finish(&policy, args, kept)
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
            Some(Learner::Td3) | None => By::Gradients,
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

/// What the folder of `--resume` reached.
fn earlier(args: &TrainArgs, options: &Options) -> Result<Option<Reached>, Failure> {
    let Some(folder) = &args.resume else {
        return Ok(None);
    };
    let path = folder.join(CHECKPOINT);
    let refuse = |message: String| Failure::arguments(format!("--resume: {}: {message}", path.display()));
    let bytes = fs::read(&path).map_err(|error| refuse(error.to_string()))?;
    let reached = Reached::of_bytes(&bytes).map_err(refuse)?;
    if reached.seed != options.seed {
        return Err(refuse(format!(
            "it is of a training with seed {}; expected {}",
            reached.seed, options.seed
        )));
    }
    if reached.by != options.by {
        return Err(refuse(format!(
            "it is of a training by {}; expected {}",
            reached.by.name(),
            options.by.name()
        )));
    }
    if reached.step > options.steps() {
        return Err(refuse(format!(
            "{} steps are done there, and this training has {}",
            reached.step,
            options.steps()
        )));
    }
    Ok(Some(reached))
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
