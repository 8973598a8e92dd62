//! Training ADPG's policy.

use std::time::Instant;

use paceline_learn::adpg::{self, CASES, Options, TrainedPolicy, Update};
use paceline_learn::page::{self, PolicyPage};
use serde_json::{Value, json};

use super::args::PolicyArgs;
use super::policy::{self, Policy, finish};
use super::session::Session;
use crate::failure::Ended;
use crate::interrupt;

/// Number of updates whose mean is one line of output.
const ROW: usize = 50;

/// Trains a policy, writes its folder and prints the results.
pub(super) fn train(args: &PolicyArgs, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let options = options(args, session);
    let begun = Instant::now();
    let mut seen: Vec<Update> = Vec::new();
    let mut watch = |update: &Update| {
        seen.push(*update);
        if (update.number.is_multiple_of(ROW) || update.number == options.updates) && !session.say.quiet {
            say!("{}", line(&seen, &options));
            seen.clear();
        }
        interrupt::control()
    };
    let trained = adpg::train(&options, &session.checkpoints, &mut watch)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = name(&options);
    let page = PolicyPage {
        trained: &trained,
        command: session.command.clone(),
        facts: facts(&trained),
    };
    let done = format!(
        "{} updates from {} decisions",
        trained.updates.len(),
        trained.decisions()
    );
    let policy = Policy {
        scheme: "adpg",
        files: adpg::files(&name, &trained, &session.command)?,
        name,
        record: record(&trained, &session.command),
        page: Some(page::adpg(&page)?),
        message: policy::message(&done, wall_s, trained.stopped, session),
        stopped: trained.stopped,
    };
    finish(&policy, session, kept)
}

fn name(options: &Options) -> String {
    policy::name("adpg", options.seed)
}

fn options(args: &PolicyArgs, session: &Session) -> Options {
    let options = Options {
        seed: session.seed(),
        threads: session.threads,
        ..Options::default()
    };
    let options = if args.quick { options.quick() } else { options };
    Options {
        updates: args.rounds.map_or(options.updates, |updates| updates as usize),
        ..options
    }
}

/// Formats the means of some updates.
fn line(seen: &[Update], options: &Options) -> String {
    let mean = |of: fn(&Update) -> f64| seen.iter().map(of).sum::<f64>() / seen.len().max(1) as f64;
    let last = seen.last().map_or(0, |update| update.number);
    format!(
        "update {last:>5} of {}: loss {:>9.5}, mean square of z {:>9.5}",
        options.updates,
        mean(|update| update.loss),
        mean(|update| update.error)
    )
}

/// Lists the training's settings, for its page.
fn facts(trained: &TrainedPolicy) -> Vec<(String, String)> {
    let options = &trained.options;
    policy::facts([
        ("model", name(options)),
        ("seed", options.seed.to_string()),
        (
            "updates",
            format!("{} of {}", trained.updates.len(), options.updates),
        ),
        ("discount", options.gamma.to_string()),
        ("z counts at most", options.largest.to_string()),
        ("learning rate", options.learning_rate.to_string()),
    ])
}

/// Returns the content of `training.json`.
fn record(trained: &TrainedPolicy, command: &str) -> Value {
    let options = &trained.options;
    let update = |update: &Update| {
        json!({
            "update": update.number, "loss": update.loss, "error": update.error, "errors": update.errors,
            "decisions": update.decisions
        })
    };
    json!({
        "what": name(options),
        "command": command,
        "seed": options.seed,
        "scenarios": CASES.iter().map(|case| case.label).collect::<Vec<_>>(),
        "updates": trained.updates.iter().map(update).collect::<Vec<_>>(),
        "gamma": options.gamma,
        "learning_rate": options.learning_rate,
        "partial": trained.stopped,
        "version": paceline_learn::version(),
    })
}
