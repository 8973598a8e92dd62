//! DECC's loop of runs and refinements.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use paceline_congestion::learned::{Model, ModelRef};
use paceline_lab::InputWarnings;
use paceline_lab::files::{RunData, Writing};
use paceline_lab::results::RunStatus;
use paceline_lab::run::{Resources, execute_on};
use paceline_learn::continual::{self, Continued, Deployed, Deploys, Event, Options, Start};
use paceline_learn::experience::Experience;
use paceline_learn::page::{self, PolicyPage};
use paceline_learn::{decc, search};
use paceline_report::write_run;
use paceline_scenario::{Overrides, Resolved};
use serde_json::{Value, json};

use super::args::{ContinualArgs, Deploy};
use super::policy::{self, Left, leave};
use super::refine;
use super::session::Session;
use crate::failure::{Ended, Failure};
use crate::progress::Meter;
use crate::{destination, interrupt, output, text};

/// Executes the episodes, writes the folder and prints the results.
pub(super) fn continual(args: &ContinualArgs, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let options = options(args, session);
    let first = decc::base(args.from.as_deref().unwrap_or(options.deploys.first()))?;
    let law = search::start_of(&first)?;
    // Resolved once before the first episode, so that a scenario that cannot be used is refused at once.
    let before_all = input(args, 1, &deployed_first(&first), session)?;
    Experience::check(&before_all).map_err(Failure::arguments)?;
    if !session.say.quiet {
        output::input_warnings(&InputWarnings::of([&before_all]));
    }
    // The checkpoint belongs to the resolved scenario: an edited file would mix two networks.
    let scenario = paceline_congestion::learned::sha256(before_all.toml.as_bytes());
    let begun = Instant::now();
    let mut run = |number: u32, deployed: &Deployed| run(args, number, deployed, session);
    let mut reported = None;
    let mut watch = |event: &Event<'_>| {
        if !session.say.quiet {
            for line in lines(event, &options, &mut reported) {
                say!("{line}");
            }
        }
        interrupt::control()
    };
    let command = &session.command;
    let done = continual::continual(
        &options,
        Start {
            first: &first,
            scenario: &scenario,
            command,
        },
        &mut run,
        &session.checkpoints,
        &mut watch,
    )?;
    let page = page::continual(
        &PolicyPage {
            trained: &done,
            command: command.clone(),
            facts: policy::facts([
                ("scenario", before_all.name.clone()),
                ("first model", done.first.clone()),
                ("seed", options.seed.to_string()),
                (
                    "episodes",
                    format!("{} of {}", done.episodes.len(), options.episodes),
                ),
                ("generations of an episode", options.generations.to_string()),
            ]),
        },
        &law.values,
    )?;
    let made = made(&done)?;
    let files: Vec<(String, &[u8])> = made
        .iter()
        .map(|(name, bytes)| (name.clone(), &**bytes))
        .collect();
    let runs: Vec<PathBuf> = done
        .episodes
        .iter()
        .map(|episode| run_of(episode.number))
        .collect();
    let left = Left {
        files: &files,
        record: &record(&done, &before_all, command),
        page: Some(&page),
        carried: &runs,
        message: &message(&done, begun.elapsed().as_secs_f64(), &session.folder),
        stopped: done.stopped,
    };
    leave(&left, session, kept)
}

fn options(args: &ContinualArgs, session: &Session) -> Options {
    let options = Options {
        deploys: match args.deploy {
            Some(Deploy::Trees) => Deploys::Trees,
            Some(Deploy::Law) | None => Deploys::Law,
        },
        seed: session.seed(),
        threads: session.threads,
        ..Options::default()
    };
    let options = if args.policy.quick {
        options.quick()
    } else {
        options
    };
    Options {
        episodes: args.episodes.unwrap_or(options.episodes),
        generations: args.policy.rounds.unwrap_or(options.generations),
        ..options
    }
}

fn deployed_first(model: &Arc<Model>) -> Deployed {
    Deployed {
        name: model.card().name.clone(),
        model: Arc::clone(model),
        files: Vec::new(),
    }
}

/// Returns the path of an episode's run within the training's folder.
fn run_of(number: u32) -> PathBuf {
    Path::new(&format!("episode-{number}")).join("run")
}

/// Resolves the scenario of an episode with the episode's seed and the deployed model.
fn input(
    args: &ContinualArgs,
    number: u32,
    deployed: &Deployed,
    session: &Session,
) -> Result<Resolved, Failure> {
    let path = match deployed.files.is_empty() {
        true => args.from.clone().unwrap_or_else(|| deployed.name.clone()),
        false => format!("models/{}", deployed.name),
    };
    let mut set = args.set.clone();
    set.push(format!("cc.decc.model={path}"));
    // Experience includes a latency percentile. Recording it does not change the run.
    set.push("record.latency=true".into());
    // The deployed model is not on disk yet, so it is passed under the name that the scenario has for it.
    let at_hand = ModelRef::read_from(&*path, Arc::clone(&deployed.model));
    let overrides = Overrides {
        set,
        scheme: Some("decc".into()),
        seed: Some(session.seed() + u64::from(number) - 1),
        duration: args.every,
        models: (!deployed.files.is_empty())
            .then_some(at_hand)
            .into_iter()
            .collect(),
        ..Overrides::default()
    };
    let mut input = paceline_lab::load(&args.scenario, &overrides)?;
    // A run's folder has to contain the files that its scenario names.
    let files = deployed.files.iter();
    (input.files).extend(files.map(|(ending, bytes)| (format!("{path}.{ending}"), bytes.clone())));
    Ok(input)
}

/// Runs an episode, or reads it if it was finished before an interruption. Returns `None` if interrupted.
fn run(
    args: &ContinualArgs,
    number: u32,
    deployed: &Deployed,
    session: &Session,
) -> Result<Option<Experience>, Failure> {
    let input = input(args, number, deployed, session)?;
    let failed = |error: String| Failure::run(format!("episode {number}: {error}"));
    let folder = session.checkpoints.path_of(&run_of(number))?;
    if let Some(there) = folder
        .as_ref()
        .filter(|folder| destination::is_run(folder, &input, Writing::default()))
    {
        let data = RunData::read(there).map_err(Failure::arguments)?;
        return Experience::of(&input, &data.summary, &data.flows)
            .map(Some)
            .map_err(failed);
    }
    let meter = Meter::new(std::slice::from_ref(&input), session.say);
    let scratch = folder.as_deref().map(output::scratch);
    let resources = Resources {
        threads: input.threads,
        on_cut: &|cut| meter.print_cut("the run", input.threads, cut),
        ranks: None,
        scratch,
    };
    let finished = execute_on(&input, resources, &mut |now| {
        meter.update(0, now);
        interrupt::control()
    })?;
    drop(meter);
    if finished.summary.status == RunStatus::Partial {
        return Ok(None);
    }
    let experience = Experience::of(&input, &finished.summary, &finished.flows).map_err(failed)?;
    if let Some(folder) = folder {
        let force = folder.exists();
        write_run(
            &folder,
            &input,
            &finished,
            Writing {
                force,
                ..Writing::default()
            },
        )?;
    }
    Ok(Some(experience))
}

/// Returns progress lines. `reported` is the half of the compression that was reported last.
fn lines(event: &Event<'_>, options: &Options, reported: &mut Option<usize>) -> Vec<String> {
    match event {
        Event::Begins(number, model) => {
            vec![format!(
                "episode {number} of {}: `{model}` runs",
                options.episodes
            )]
        }
        Event::Ran(experience) => {
            let summary = format!("  experience: {}", experience.summary());
            let warning = experience.warnings().map(|text| format!("warning: {text}"));
            [summary].into_iter().chain(warning).collect()
        }
        Event::Judged(costs) => vec![format!(
            "  before all, on seeds that neither taught nor chose: {:.3} in the new network, {:.3} in the old ones",
            costs.experience, costs.old
        )],
        Event::Refined(step) => vec![format!("  {}", refine::line(step, options.generations))],
        Event::Stays => vec!["  no trial was better than the law before: what runs stays".into()],
        Event::Cloned(round) => vec![format!(
            "  clone, round {}: off the law by {:.4}, cost in trials {:.3}",
            round.number, round.off, round.cost
        )],
        Event::Compressed(done, of) => {
            let half = 2 * done / of;
            let new = reported.replace(half) != Some(half) && half > 0;
            let line = || format!("  compression: {} % of its steps", 50 * half);
            new.then(line).into_iter().collect()
        }
        Event::Distils(said) => vec![format!("  trees: {said}")],
        Event::Ended(episode) => vec![format!(
            "  `{}` is deployed: cost {:.3} in the new network, {:.3} in the old ones",
            episode.deployed, episode.costs.0.experience, episode.costs.0.old
        )],
    }
}

/// Lists the files of models and experience, with their names.
fn made(done: &Continued) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut files = Vec::new();
    for episode in &done.episodes {
        let met = &episode.experience;
        files.push((
            format!("experience/{}", met.file_name()),
            met.text()?.into_bytes(),
        ));
        for model in &episode.models {
            for (ending, bytes) in &model.files {
                files.push((
                    format!("episode-{}/{}.{ending}", episode.number, model.name),
                    bytes.clone(),
                ));
            }
        }
    }
    Ok(files)
}

/// Returns the final message for the terminal.
fn message(done: &Continued, wall_s: f64, folder: &Path) -> String {
    let forgotten = done.forgotten();
    let mut rows = vec![page::continual_head().map(String::from).to_vec()];
    let each = done.episodes.iter().zip(&forgotten);
    rows.extend(each.map(|(episode, forgotten)| page::continual_row(episode, *forgotten)));
    let early = if done.stopped { ", stopped early" } else { "" };
    let mut said = format!(
        "{}{}\n{} episodes in {wall_s:.1} s{early}; look at {}\n",
        text::table(&rows),
        done.summary(),
        done.episodes.len(),
        folder.join("report.html").display()
    );
    for warning in done.warnings() {
        said.push_str(&format!("warning: {warning}\n"));
    }
    let last = done
        .episodes
        .iter()
        .rev()
        .find_map(|episode| Some((episode.number, episode.models.last()?)));
    if let Some((number, model)) = last {
        said.push_str(&format!(
            "a run uses what is deployed with\n  --scheme decc --set cc.decc.model={}\n",
            folder
                .join(format!("episode-{number}"))
                .join(&model.name)
                .display()
        ));
    }
    said
}

/// Returns the content of `training.json`.
fn record(done: &Continued, input: &Resolved, command: &str) -> Value {
    let options = &done.options;
    let forgotten = done.forgotten();
    let costs =
        |(deployed, law): &(search::Costs, search::Costs)| json!({ "deployed": deployed, "law": law });
    let episode = |(episode, forgotten): (&continual::Episode, &f64)| {
        json!({
            "episode": episode.number,
            "experience": episode.experience,
            "generations": episode.steps,
            "trials": { "before": episode.trials.0, "after": episode.trials.1 },
            "law": episode.law,
            "models": episode.models.iter().map(|made| &made.name).collect::<Vec<_>>(),
            "deployed": episode.deployed,
            "judged": costs(&episode.costs),
            "forgotten_percent": forgotten,
        })
    };
    json!({
        "what": "decc, continual",
        "command": command,
        "scenario": input.name,
        "seed": options.seed,
        "first": done.first,
        "deploys": options.deploys,
        "generations": options.generations,
        "before": done.before.as_ref().map(costs),
        "episodes": done.episodes.iter().zip(&forgotten).map(episode).collect::<Vec<_>>(),
        "partial": done.stopped,
        "version": paceline_learn::version(),
    })
}
