//! On-policy training: retrains a predictor on runs with the predictor in the loop.

use paceline_learn::dataset::{self, Recorded, Source};
use paceline_learn::on_policy::{OnPolicy, Options as Plan, PAIRS};
use paceline_learn::train::Network;
use paceline_scenario::Resolved;

use super::args::{DataArgs, NetworkArgs};
use super::data::{self, Data};
use super::network::{self, Fitted};
use super::session::Session;
use crate::failure::Failure;
use crate::interrupt;
use crate::progress::Meter;

/// Results of all finished rounds.
pub(super) struct Ended {
    /// The last predictor and its data; taken by the caller.
    pub(super) fitted: Option<Fitted>,
    pub(super) data: Option<Data>,
    /// State with the results of each round.
    pub(super) state: OnPolicy,
    /// Runs with the last predictor in the loop; empty if interrupted.
    pub(super) check: Vec<Recorded>,
    /// Number of requested rounds that are not finished.
    pub(super) missing: usize,
}

/// Executes the rounds. Returns `None` if interrupted before the first predictor.
pub(super) fn train(
    args: &NetworkArgs,
    network: Network,
    rounds: usize,
    session: &Session,
) -> Result<Option<Ended>, Failure> {
    let Some(first) = data::record(&args.data, session)? else {
        return Ok(None);
    };
    // Too uniform runs are refused before the first round, which takes minutes.
    data::check(&first)?;
    let plan = Plan {
        courses: courses(&args.data, session),
        pairs: args.data.pairs.unwrap_or(PAIRS),
        ..Plan::new(rounds, session.seed())
    };
    let mut state = OnPolicy::new(plan, first);
    let mut last = None;
    while !state.is_done() {
        let number = state.laps().len();
        let Some(recorded) = run(&state.sources()?, session)? else {
            break;
        };
        let dataset = state.draw(recorded)?;
        if !session.say.quiet {
            say!("on-policy round {number} of {rounds}");
        }
        let options = network::options(args, network, &dataset, Some(number), session)?;
        let slot = format!("{network}-{number}");
        let slot = session.checkpoints.slot(&slot);
        let Some(fitted) = network::fit(&dataset, &options, None, slot, session.say)? else {
            break;
        };
        // An interrupted round is discarded, unless it is the first.
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
        true => run(&state.sources()?, session)?.unwrap_or_default(),
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

/// Lists the scenarios with the controller: those of the arguments, or the thesis's.
fn courses(args: &DataArgs, session: &Session) -> Vec<Source> {
    if args.scenarios.is_empty() {
        return vec![Source::tuned()];
    }
    let course = |scenario: &String| Source {
        scenario: scenario.clone(),
        scheme: Some("lstm-pid".into()),
        settings: args.set.clone(),
        seed: session.chosen_seed,
        fidelity: None,
        order: None,
        model: None,
    };
    args.scenarios.iter().map(course).collect()
}

/// Executes the runs of a round. Returns `None` if interrupted.
fn run(sources: &[Source], session: &Session) -> Result<Option<Vec<Recorded>>, Failure> {
    if sources.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let inputs: Vec<Resolved> = sources.iter().map(Source::load).collect::<Result<_, _>>()?;
    let meter = Meter::new(&inputs, session.say);
    let runs = dataset::record_runs(sources, session.threads, &|run, now| {
        meter.update(run, now);
        interrupt::control()
    });
    drop(meter);
    match runs {
        Err(paceline_learn::Error::Stopped(_)) => Ok(None),
        runs => Ok(Some(runs?)),
    }
}
