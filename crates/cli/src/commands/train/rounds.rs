//! Training of policies in rounds: Aurora's and SPINE's.

use std::time::Instant;

use paceline_lab::run::Control;
use paceline_learn::page::{self, PolicyPage};
use paceline_learn::rounds::{Options, TrainedPolicy, Update};
use paceline_learn::{Checkpoints, Error, ModelFiles, aurora, spine};
use serde_json::{Value, json};

use super::args::PolicyArgs;
use super::policy::{self, Policy, finish};
use super::session::Session;
use crate::failure::Ended;
use crate::interrupt;

/// A scheme whose policy is trained in rounds.
pub(super) struct Scheme {
    name: &'static str,
    options: fn() -> Options,
    quick: fn() -> Options,
    train: fn(&Options, &Checkpoints, Watch<'_>) -> Result<TrainedPolicy, Error>,
    files: fn(&str, &TrainedPolicy, &str) -> Result<ModelFiles, Error>,
    page: fn(&PolicyPage<'_, TrainedPolicy>) -> Result<String, Error>,
}

type Watch<'a> = &'a mut dyn FnMut(&Update) -> Control;

pub(super) const AURORA: Scheme = Scheme {
    name: "aurora",
    options: aurora::options,
    quick: aurora::quick,
    train: aurora::train,
    files: aurora::files,
    page: page::aurora,
};

pub(super) const SPINE: Scheme = Scheme {
    name: "spine",
    options: spine::options,
    quick: spine::quick,
    train: spine::train,
    files: spine::files,
    page: page::spine,
};

/// Trains a policy, writes its folder and prints the results.
pub(super) fn train(scheme: &Scheme, args: &PolicyArgs, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let options = options(scheme, args, session);
    let begun = Instant::now();
    let mut watch = |update: &Update| {
        if update.trial.is_some() && !session.say.quiet {
            say!("{}", line(update, &options));
        }
        interrupt::control()
    };
    let trained = (scheme.train)(&options, &session.checkpoints, &mut watch)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = policy::name(scheme.name, options.seed);
    let command = &session.command;
    let page = PolicyPage {
        trained: &trained,
        command: command.clone(),
        facts: facts(&trained),
    };
    let done = format!(
        "{} rounds, {} decisions",
        trained.updates.len() - 1,
        trained.decisions()
    );
    let page = (scheme.page)(&page)?;
    let policy = Policy {
        scheme: scheme.name,
        files: (scheme.files)(&name, &trained, command)?,
        record: record(&trained, &name, command),
        page: Some(page),
        message: policy::message(&done, wall_s, trained.stopped, session),
        name,
        stopped: trained.stopped,
    };
    finish(&policy, session, kept)
}

fn options(scheme: &Scheme, args: &PolicyArgs, session: &Session) -> Options {
    let options = match args.quick {
        true => (scheme.quick)(),
        false => (scheme.options)(),
    };
    Options {
        seed: session.seed(),
        threads: session.threads,
        rounds: args.rounds.map_or(options.rounds, |rounds| rounds as usize),
        ..options
    }
}

/// Formats the progress of a round.
fn line(update: &Update, options: &Options) -> String {
    let triggered = update.triggered.map_or_else(String::new, |share| {
        format!(", {:.1} % of intervals trigger", 100.0 * share)
    });
    format!(
        "round {:>4} of {}: reward {:>8.3}, in trials {:>8.3}, best {:>8.3}, deviation of actions {:.2}{triggered}",
        update.round,
        options.rounds,
        update.reward,
        update.trial.unwrap_or(f64::NAN),
        update.best,
        update.deviation
    )
}

/// Lists the training's settings, for its page.
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

/// Returns the content of `training.json`.
fn record(trained: &TrainedPolicy, name: &str, command: &str) -> Value {
    let update = |update: &Update| {
        let mut line = json!({
            "round": update.round, "reward": update.reward, "trial": update.trial, "best": update.best,
            "unexplained": update.unexplained, "deviation": update.deviation, "decisions": update.decisions,
        });
        if let Some(share) = update.triggered {
            line["triggered"] = share.into();
        }
        line
    };
    json!({
        "what": name,
        "command": command,
        "seed": trained.options.seed,
        "rounds": trained.options.rounds,
        "decisions": trained.decisions(),
        "updates": trained.updates.iter().map(update).collect::<Vec<_>>(),
        "partial": trained.stopped,
        "version": paceline_learn::version(),
    })
}
