//! Refinement of DECC's rate law in networks of recorded experience.

use std::time::Instant;

use paceline_learn::decc;
use paceline_learn::experience::Gathered;
use paceline_learn::page::{self, PolicyPage};
use paceline_learn::search::{self, Costs, Options, Refined, Start, Step};
use serde_json::{Value, json};

use super::args::RefineArgs;
use super::policy::{self, Policy, finish};
use super::session::Session;
use crate::failure::{Ended, Failure};
use crate::interrupt;

/// Name of a model that starts a search without a law.
const NONE: &str = "none";

/// Refines the law, writes its folder and prints the results.
pub(super) fn refine(args: &RefineArgs, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let options = options(args, session);
    let start = start(args)?;
    if !session.say.quiet {
        for warning in &start.experience.warnings {
            say!("warning: {warning}");
        }
        say!("{}", met(&start));
    }
    let begun = Instant::now();
    let mut watch = |costs: &Costs, step: Option<&Step>| {
        if !session.say.quiet {
            match step {
                None => say!(
                    "cost over the reference's, in trials, at the start: {:.3} in the networks of the experience, {:.3} in the old ones",
                    costs.experience,
                    costs.old
                ),
                Some(step) => say!("{}", line(step, options.generations)),
            }
        }
        interrupt::control()
    };
    let mut refined = search::refine(&options, &start, &session.checkpoints, &mut watch)?;
    // An interrupted search is judged when it is complete.
    if !refined.stopped {
        refined.judge(&start)?;
    }
    let wall_s = begun.elapsed().as_secs_f64();
    let name = policy::name("decc-refined", options.seed);
    let done = format!(
        "{}\n{} generations of {} candidates",
        refined.summary(),
        refined.steps.len(),
        options.candidates
    );
    let page = page::refined(
        &PolicyPage {
            trained: &refined,
            command: session.command.clone(),
            facts: policy::facts([
                (
                    "law",
                    start.law.as_ref().map_or(NONE, |law| &law.name).to_string(),
                ),
                ("experience", format!("{} runs", start.experience.each.len())),
                ("experience, SHA-256", start.experience.sha256.clone()),
                ("seed", options.seed.to_string()),
                (
                    "generations",
                    format!("{} of {}", refined.steps.len(), options.generations),
                ),
                ("candidates", options.candidates.to_string()),
            ]),
        },
        &start,
    )?;
    let policy = Policy {
        scheme: "decc",
        files: search::refined_model(&name, &refined, &start, &session.command)?,
        record: record(&refined, &start, &name, &session.command),
        page: Some(page),
        message: policy::message(&done, wall_s, refined.stopped, session),
        name,
        stopped: refined.stopped,
    };
    finish(&policy, session, kept)
}

/// Loads the law to refine, and the experience.
fn start(args: &RefineArgs) -> Result<Start, Failure> {
    let law = match args.model.as_str() {
        NONE => None,
        model => Some(search::start_of(&*decc::base(model)?)?),
    };
    Ok(Start {
        experience: Gathered::read(&args.experience)?,
        law,
        first: None,
    })
}

fn options(args: &RefineArgs, session: &Session) -> Options {
    let options = Options {
        seed: session.seed(),
        threads: session.threads,
        ..Options::refining()
    };
    let options = if args.policy.quick {
        options.quick()
    } else {
        options
    };
    Options {
        generations: args.policy.rounds.unwrap_or(options.generations),
        ..options
    }
}

/// Summarises the experience in one line.
fn met(start: &Start) -> String {
    let each = &start.experience.each;
    let range = |of: &dyn Fn(&paceline_learn::experience::Met) -> f64| {
        let values = each.iter().map(|one| of(&one.network));
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        match low == high {
            true => format!("{low}"),
            false => format!("{low} to {high}"),
        }
    };
    format!(
        "experience of {} runs under {}: {} Gbit/s, base round trips of {} us, up to {} flows to a host; a search like it starts {}",
        each.len(),
        start.experience.models().join(", "),
        range(&|met| met.gbps),
        range(&|met| (100.0 * met.base_rtt_us).round() / 100.0),
        range(&|met| f64::from(met.flows.max)),
        match &start.law {
            Some(law) if law.cloned => format!(
                "at the law that `{0}` was cloned from, and ends with a law: clone, compress and distil it to replace `{0}`",
                law.name
            ),
            Some(law) => format!("at `{}`", law.name),
            None => "from nothing, in these networks alone".to_string(),
        }
    )
}

/// Formats the progress of a generation.
pub(super) fn line(step: &Step, generations: u32) -> String {
    let mut line = format!(
        "generation {:>3} of {}: best {:.2}, median {:.2}, step {:.3}",
        step.generation, generations, step.best, step.median, step.sigma
    );
    if let Some(trial) = &step.trial {
        let share = match trial.share < 1.0 {
            true => format!(" at {} of the way to the middle", trial.share),
            false => String::new(),
        };
        let kept = if trial.kept { "kept" } else { "not kept" };
        line.push_str(&format!(
            "; in trials{share} {:.3} in the experience's networks, {:.3} in the old ones: {kept}",
            trial.costs.experience, trial.costs.old
        ));
    }
    line
}

/// Returns the content of `training.json`.
fn record(refined: &Refined, start: &Start, name: &str, command: &str) -> Value {
    let options = &refined.options;
    let axes = options.subject.axes().iter().zip(&refined.values);
    let values: serde_json::Map<String, Value> = axes
        .map(|(axis, value)| (axis.name.to_string(), json!(value)))
        .collect();
    let both = |(before, after): &(Costs, Costs)| json!({ "before": before, "after": after, "forgotten_percent": after.forgotten(before) });
    json!({
        "what": name,
        "command": command,
        "seed": options.seed,
        "law": start.law.as_ref().map(|law| &law.name),
        "law_sha256": start.law.as_ref().map(|law| &law.sha256),
        "experience": start.experience.each,
        "experience_sha256": start.experience.sha256,
        "generations": options.generations,
        "candidates": options.candidates,
        "values": values,
        "trials": both(&refined.trials),
        "judged": refined.judged.as_ref().map(both),
        "steps": refined.steps,
        "partial": refined.stopped,
        "version": paceline_learn::version(),
    })
}
