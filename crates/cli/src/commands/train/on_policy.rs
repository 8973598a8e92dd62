//! Training on the runs that the predictor predicts in.

use paceline_learn::Checkpoints;
use paceline_learn::dataset::{self, Dataset, Recorded, Source};
use paceline_learn::on_policy::{OnPolicy, Options as Plan, PAIRS};
use paceline_learn::train::Network;
use paceline_scenario::Resolved;

use super::args::TrainArgs;
use super::data::{self, Data};
use super::network::{self, Fitted};
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Meter;

/// What came of all rounds that are over.
pub(super) struct Ended {
    /// The last predictor, and what it learned from.
    pub(super) fitted: Option<Fitted>,
    pub(super) data: Option<Data>,
    /// The rounds.
    pub(super) state: OnPolicy,
    /// Runs of the loop with the last predictor; none if it was interrupted.
    pub(super) check: Vec<Recorded>,
    /// Rounds that were asked for and are not over.
    pub(super) missing: usize,
}

/// Goes through the rounds; `None` if the user stopped it before there was a predictor.
pub(super) fn train(
    args: &TrainArgs,
    network: Network,
    rounds: usize,
    checkpoints: &Checkpoints,
) -> Result<Option<Ended>, Failure> {
    let Some(first) = data::record(args)? else {
        return Ok(None);
    };
    data::check(&first)?;
    let plan = Plan {
        courses: courses(args),
        pairs: args.pairs.unwrap_or(PAIRS),
        ..Plan::new(rounds, args.seed())
    };
    let mut state = OnPolicy::new(plan, first);
    let mut last = None;
    while !state.is_done() {
        let number = state.laps().len();
        let Some(recorded) = run(&state.sources()?, args)? else {
            break;
        };
        let dataset = state.draw(recorded)?;
        let Some(fitted) = round(args, network, (number, rounds), &dataset, checkpoints)? else {
            break;
        };
        // A round that was cut short is not one, unless there is nothing else.
        if fitted.trained.stopped && number > 0 {
            break;
        }
        let stopped = fitted.trained.stopped;
        state.finish(dataset, fitted.trained.clone());
        last = Some(fitted);
        if stopped {
            break;
        }
    }
    let Some(fitted) = last else {
        return Ok(None);
    };
    let check = match state.is_done() {
        true => run(&state.sources()?, args)?.unwrap_or_default(),
        false => Vec::new(),
    };
    let lap = state.laps().last().expect("a round is over");
    let own = state.laps().iter().flat_map(|lap| &lap.recorded);
    let data = Data {
        dataset: lap.dataset.clone(),
        traces: own.chain(&check).map(|run| run.trace.clone()).collect(),
    };
    Ok(Some(Ended {
        fitted: Some(fitted),
        data: Some(data),
        missing: (rounds + 1) - state.laps().len(),
        state,
        check,
    }))
}

/// The loop: the scenarios that were named, or the thesis's, under the controller.
fn courses(args: &TrainArgs) -> Vec<Source> {
    if args.scenarios.is_empty() {
        return vec![Source::tuned()];
    }
    let course = |scenario: &String| Source {
        scenario: scenario.clone(),
        scheme: Some("lstm-pid".into()),
        settings: args.set.clone(),
        seed: args.seed,
        fidelity: None,
        order: None,
        model: None,
    };
    args.scenarios.iter().map(course).collect()
}

/// Runs what a round records; `None` if the user stopped it.
fn run(sources: &[Source], args: &TrainArgs) -> Result<Option<Vec<Recorded>>, Failure> {
    if sources.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let inputs: Vec<Resolved> = sources.iter().map(Source::load).collect::<Result<_, _>>()?;
    let meter = Meter::new(&inputs, args.say);
    let runs = dataset::record_runs(sources, args.jobs.count(), &|run, now| {
        meter.update(run, now);
        interrupt::control()
    });
    drop(meter);
    match runs {
        Err(paceline_learn::Error::Stopped(_)) => Ok(None),
        runs => Ok(Some(runs?)),
    }
}

/// A round's training; its checkpoint is its own.
fn round(
    args: &TrainArgs,
    network: Network,
    (number, rounds): (usize, usize),
    dataset: &Dataset,
    checkpoints: &Checkpoints,
) -> Result<Option<Fitted>, Failure> {
    let options = network::options(args, network, dataset, Some(number))?;
    if !args.say.quiet {
        say!("on-policy round {number} of {rounds}");
    }
    let slot = format!("{network}-{number}");
    network::fit(dataset, &options, None, (args, (checkpoints, &slot)))
}
