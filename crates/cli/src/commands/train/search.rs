//! Search for DECC's rate law, or for Swift's parameters.

use std::time::Instant;

use paceline_learn::page::{self, PolicyPage};
use paceline_learn::search::{self, Found, Lines, Options, Subject, Update};
use serde_json::{Value, json};

use super::args::PolicyArgs;
use super::policy::{self, Left, Policy, finish, leave};
use super::session::Session;
use crate::failure::Ended;
use crate::interrupt;

/// Searches, writes the folder and prints the results.
pub(super) fn search(subject: Subject, args: &PolicyArgs, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let options = options(subject, args, session);
    let begun = Instant::now();
    let mut watch = |lines: &Lines, update: Option<&Update>| {
        if !session.say.quiet {
            match update {
                None => say!("{}", first_line(lines)),
                Some(update) => say!("{}", line(update, &options)),
            }
        }
        interrupt::control()
    };
    let found = search::search(&options, &session.checkpoints, &mut watch)?;
    let wall_s = begun.elapsed().as_secs_f64();
    let name = policy::name(
        match subject {
            Subject::Law => "decc-law",
            Subject::Swift => "swift",
        },
        options.seed,
    );
    let record = record(&found, &name, &session.command);
    let page = page::search(&PolicyPage {
        trained: &found,
        command: session.command.clone(),
        facts: policy::facts([
            ("seed", options.seed.to_string()),
            (
                "generations",
                format!("{} of {}", found.updates.len(), options.generations),
            ),
            ("candidates", options.candidates.to_string()),
        ]),
    })?;
    let done = format!(
        "{} generations of {} candidates, cost in trials {:.2} times the reference's",
        found.updates.len(),
        options.candidates,
        found.best()
    );
    let message = policy::message(&done, wall_s, found.stopped, session);
    // Swift has no model file. Its values are also in `training.json`; times are in base round trips.
    if subject == Subject::Swift {
        let axes = subject.axes().iter().zip(&found.values);
        let values: String = axes
            .map(|(axis, value)| format!("{} = {value}\n", axis.name))
            .collect();
        let left = Left {
            files: &[("values.txt".to_string(), values.as_bytes())],
            record: &record,
            page: Some(&page),
            carried: &[],
            message: &format!("{message}its values are in values.txt\n"),
            stopped: found.stopped,
        };
        return leave(&left, session, kept);
    }
    let policy = Policy {
        scheme: "decc",
        files: search::model(&name, &found, &session.command)?,
        record,
        page: Some(page),
        message,
        name,
        stopped: found.stopped,
    };
    finish(&policy, session, kept)
}

fn options(subject: Subject, args: &PolicyArgs, session: &Session) -> Options {
    let options = Options {
        seed: session.seed(),
        threads: session.threads,
        ..Options::new(subject)
    };
    let options = if args.quick { options.quick() } else { options };
    Options {
        generations: args.rounds.unwrap_or(options.generations),
        ..options
    }
}

/// Formats the costs of the baselines.
fn first_line(lines: &Lines) -> String {
    format!(
        "cost over the reference's, in trials: Swift, tuned by search {:.2}; Swift, set by hand {:.2}; at the start {:.2}",
        lines.searched, lines.by_hand, lines.start
    )
}

/// Formats the progress of a generation.
fn line(update: &Update, options: &Options) -> String {
    let mut line = format!(
        "generation {:>3} of {}: best {:.2}, median {:.2}, step {:.3}",
        update.generation, options.generations, update.best, update.median, update.sigma
    );
    if let Some((middle, best)) = update.trial {
        line.push_str(&format!("; in trials {middle:.2}, best {best:.2}"));
    }
    line
}

/// Returns the content of `training.json`.
fn record(found: &Found, name: &str, command: &str) -> Value {
    let options = &found.options;
    let axes = options.subject.axes().iter().zip(&found.values);
    let values: serde_json::Map<String, Value> = axes
        .map(|(axis, value)| (axis.name.to_string(), json!(value)))
        .collect();
    json!({
        "what": name,
        "command": command,
        "seed": options.seed,
        "generations": options.generations,
        "candidates": options.candidates,
        "values": values,
        "cost": found.best(),
        "lines": found.lines,
        "updates": found.updates,
        "partial": found.stopped,
        "version": paceline_learn::version(),
    })
}
