//! Training of a residual network on DECC's rate law, and cloning of a law into a network.

use std::time::Instant;

use paceline_learn::decc::{self, By, Cloned, Cloning, Options, Round, TrainedPolicy, Update};
use paceline_learn::page::{self, PolicyPage};
use serde_json::{Value, json};

use super::args::{CloneArgs, PaperArgs, PaperVariant, PolicyArgs, ResidualAlgorithm, ResidualArgs};
use super::policy::{self, Policy, finish};
use super::session::Session;
use crate::failure::Ended;
use crate::interrupt;

/// Default rate law to start from.
const LAW: &str = "decc-law";

/// Trains a residual network on top of a rate law.
pub(super) fn residual(args: &ResidualArgs, session: &Session) -> Ended {
    let by = match args.algorithm {
        Some(ResidualAlgorithm::Ppo) => By::Proximal,
        Some(ResidualAlgorithm::Td3) | None => By::Gradients,
    };
    let law = args.from.as_deref().unwrap_or(LAW);
    train(&options(by, &args.policy, session), law, session)
}

/// Trains the policy as the paper prints it. The law is only compared with.
pub(super) fn paper(args: &PaperArgs, session: &Session) -> Ended {
    let by = match args.variant {
        None => By::Printed,
        Some(PaperVariant::NoMemory) => By::Memoryless,
        Some(PaperVariant::OwnReward) => By::OwnReward,
    };
    train(&options(by, &args.policy, session), LAW, session)
}

/// Trains a network, writes its folder and prints the results.
fn train(options: &Options, law: &str, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let law = decc::base(law)?;
    let begun = Instant::now();
    let mut watch = |lines: &(f64, f64), update: Option<&Update>| {
        if !session.say.quiet {
            match update {
                None => say!(
                    "cost over the reference's, in trials: the law {:.3}; Swift, tuned by search {:.3}",
                    lines.0,
                    lines.1
                ),
                Some(update) => say!("{}", line(update, options)),
            }
        }
        interrupt::control()
    };
    let trained = decc::train(options, &law, &session.checkpoints, &mut watch)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = policy::name(options.by.model(), options.seed);
    let done = format!(
        "{} rounds, {} decisions; cost in trials {:.3}, the law's {:.3}",
        trained.updates.len(),
        trained.decisions,
        trained.best(),
        trained.lines.0
    );
    let page = page::residual(&PolicyPage {
        trained: &trained,
        command: session.command.clone(),
        facts: policy::facts([
            ("seed", options.seed.to_string()),
            (
                "rounds",
                format!("{} of {}", trained.updates.len(), options.rounds),
            ),
            ("decisions", trained.decisions.to_string()),
        ]),
    })?;
    let policy = Policy {
        scheme: "decc",
        files: decc::files(&name, &trained, &session.command)?,
        record: record(&trained, &name, &session.command),
        page: Some(page),
        message: policy::message(&done, wall_s, trained.stopped, session),
        name,
        stopped: trained.stopped,
    };
    finish(&policy, session, kept)
}

fn options(by: By, args: &PolicyArgs, session: &Session) -> Options {
    let options = Options {
        seed: session.seed(),
        threads: session.threads,
        ..Options::new(by)
    };
    let options = if args.quick { options.quick() } else { options };
    Options {
        rounds: args.rounds.map_or(options.rounds, |rounds| rounds as usize),
        ..options
    }
}

/// Formats the progress of a training round.
fn line(update: &Update, options: &Options) -> String {
    let mut line = format!(
        "round {:>3} of {}: loss {:.4}, reward {:.4}, weights moved by {:.1} %",
        update.round,
        options.rounds,
        update.loss,
        update.reward,
        100.0 * update.moved
    );
    if let Some((policy, best)) = update.trial {
        line.push_str(&format!("; cost in trials {policy:.3}, best {best:.3}"));
    }
    line
}

/// Returns the content of `training.json`.
fn record(trained: &TrainedPolicy, name: &str, command: &str) -> Value {
    let options = &trained.options;
    json!({
        "what": name,
        "command": command,
        "seed": options.seed,
        "algorithm": options.by.name(),
        "rounds": options.rounds,
        "decisions": trained.decisions,
        "cost": trained.best(),
        "cost_before": trained.first,
        "cost_of_law": trained.lines.0,
        "cost_of_swift": trained.lines.1,
        "updates": trained.updates,
        "partial": trained.stopped,
        "version": paceline_learn::version(),
    })
}

/// Clones a law into a network, writes its folder and prints the results.
pub(super) fn clone(args: &CloneArgs, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let CloneArgs { model, policy: args } = args;
    let teacher = decc::base(model)?;
    let options = Cloning {
        seed: session.seed(),
        threads: session.threads,
        ..Cloning::default()
    };
    let options = if args.quick { options.quick() } else { options };
    let options = Cloning {
        rounds: args.rounds.map_or(options.rounds, |rounds| rounds as usize),
        ..options
    };
    let begun = Instant::now();
    let mut watch = |teacher: f64, round: Option<&Round>| {
        if !session.say.quiet {
            match round {
                None => say!("cost over the reference's, in trials: the teacher {teacher:.3}"),
                Some(round) => say!(
                    "round {:>3} of {}: off the teacher by {:.4}, cost in trials {:.3}",
                    round.number,
                    options.rounds,
                    round.off,
                    round.cost
                ),
            }
        }
        interrupt::control()
    };
    let cloned = decc::clone(&options, &teacher, &session.checkpoints, &mut watch)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = policy::name("decc-net", options.seed);
    let done = format!(
        "{} rounds, {} decisions; cost in trials {:.3}, the teacher's {:.3}",
        cloned.rounds.len(),
        cloned.decisions,
        cloned.best(),
        cloned.teacher
    );
    let page = page::clone(&PolicyPage {
        trained: &cloned,
        command: session.command.clone(),
        facts: policy::facts([
            ("seed", options.seed.to_string()),
            ("rounds", format!("{} of {}", cloned.rounds.len(), options.rounds)),
            ("decisions", cloned.decisions.to_string()),
        ]),
    })?;
    let policy = Policy {
        scheme: "decc",
        files: decc::files_of_clone(&name, &cloned, &session.command)?,
        record: record_of_clone(&cloned, &name, &session.command),
        page: Some(page),
        message: policy::message(&done, wall_s, cloned.stopped, session),
        name,
        stopped: cloned.stopped,
    };
    finish(&policy, session, kept)
}

/// Returns the content of `training.json` for a clone.
fn record_of_clone(cloned: &Cloned, name: &str, command: &str) -> Value {
    json!({
        "what": name,
        "command": command,
        "seed": cloned.options.seed,
        "decisions": cloned.decisions,
        "cost": cloned.best(),
        "cost_of_teacher": cloned.teacher,
        "rounds": cloned.rounds,
        "partial": cloned.stopped,
        "version": paceline_learn::version(),
    })
}
