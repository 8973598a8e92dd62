//! Training of the predictors with several seeds, on runs in which they predict.

use paceline_congestion::learned::ModelRef;
use paceline_lab::run::Control;
use paceline_learn::dataset::{self, Dataset, Source, Trace, apart_from_orders};
use paceline_learn::on_policy::{self, OnPolicy};
use paceline_learn::train::{self, Network, Options, Trained, Weights, flat, shaped};

use super::{From, PREDICTORS, ROUNDS, SEEDS, TEST, VALIDATION};
use crate::steps::watched::in_chunks;
use crate::{Done, Metrics, Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "on-policy predictors",
    title: "training predictors on runs that they predict in",
    work,
};

/// Returns the trainings of this step: for each network the seeds without a built-in model, and off-policy training.
fn jobs() -> Vec<From> {
    let of = |from: From| match from {
        From::OnPolicy(network, _) => (2..=SEEDS).map(|seed| From::OnPolicy(network, seed)).collect(),
        From::OffPolicy(_) => vec![from],
        From::Last | From::Oracle => Vec::new(),
    };
    PREDICTORS.iter().flat_map(|predictor| of(predictor.1)).collect()
}

/// Returns the network and the name of the list with its weights, seed by seed.
fn list(from: From) -> Option<(Network, String)> {
    match from {
        From::OnPolicy(network, _) => Some((network, network.name().to_string())),
        From::OffPolicy(network) => Some((network, format!("{} off-policy", network.name()))),
        From::Last | From::Oracle => None,
    }
}

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    work.inform(0.0, "recording")?;
    let go = |_: usize, _: &paceline_fabric::Progress| Control::Continue;
    let first = dataset::record(&Source::thesis(), work.jobs, &go).map_err(StepError::of)?;
    let jobs = jobs();
    let trained = in_chunks(&jobs, work, 0.05..1.0, "training", &|job| weights(*job, &first))?;
    let mut numbers = Metrics::default();
    for ((_, name), weights) in jobs.iter().filter_map(|&job| list(job)).zip(trained) {
        let series = numbers.series.entry(name).or_default();
        for value in flat(&weights) {
            series.push((series.len() as f64, f64::from(value)));
        }
    }
    Ok(numbers)
}

/// Returns the final weights of `paceline train NETWORK --on-policy ROUNDS --seed SEED`. Fails if a training run has
/// an order that is used for selecting or judging.
fn weights(job: From, first: &[Trace]) -> Result<Weights, StepError> {
    let (network, seed, rounds) = match job {
        From::OnPolicy(network, seed) => (network, seed as u64, ROUNDS),
        From::OffPolicy(network) => (network, 1, 0),
        From::Last | From::Oracle => return Err(StepError::of("nothing to train")),
    };
    let mut state = OnPolicy::new(on_policy::Options::new(rounds, seed), first.to_vec());
    while !state.is_done() {
        let sources = state.sources().map_err(StepError::of)?;
        let recorded = dataset::record_runs(&sources, 1, &|_, _| Control::Continue).map_err(StepError::of)?;
        let data = state.draw(recorded).map_err(StepError::of)?;
        apart_from_orders(&data.origins, TEST.chain(VALIDATION)).map_err(StepError::of)?;
        let trained = fit(network, seed, state.laps().len(), &data)?;
        state.finish(data, trained);
    }
    let last = state.laps().last().expect("round 0 is one");
    Ok(last.trained.weights.clone())
}

fn fit(network: Network, seed: u64, round: usize, data: &Dataset) -> Result<Trained, StepError> {
    let options = Options {
        seed,
        ..Options::new(network)
    };
    let options = on_policy::options(options, round, data.pairs.len());
    train::train(data, &options, &mut |_| Control::Continue).map_err(StepError::of)
}

/// Returns the model of a prediction; the models of seed 1 are built in.
pub(super) fn model(done: &Done, from: From) -> Result<ModelRef, StepError> {
    let missing = || StepError::of(format!("there is no model of {from:?}"));
    let (network, name) = list(from).ok_or_else(missing)?;
    let (index, of) = match from {
        From::OnPolicy(_, 1) => return shipped(network),
        From::OnPolicy(_, seed) => (seed - 2, SEEDS - 1),
        _ => (0, 1),
    };
    let series = done.step(STEP.name).and_then(|numbers| numbers.series.get(&name));
    let series = series.into_iter().flatten();
    let values: Vec<f32> = series.map(|&(_, value)| value as f32).collect();
    let values = values.chunks_exact((values.len() / of).max(1)).nth(index);
    let options = Options::new(network);
    let trained = Trained {
        weights: shaped(network.shapes(options.hidden), values.ok_or_else(missing)?),
        options,
        rounds: Vec::new(),
        stopped: false,
    };
    on_policy::model(&trained, &trained.weights, ROUNDS).map_err(StepError::of)
}

/// Returns the built-in model, after checking in its card that no training run has an order used for selecting or
/// judging.
fn shipped(network: Network) -> Result<ModelRef, StepError> {
    let name = format!("rtt-{}", network.name());
    let model = ModelRef::new(&name);
    let card = model.model().map(|model| model.card());
    let sources = card.map_or(&[][..], |card| &card.data.sources);
    let judged = |order: u64| TEST.chain(VALIDATION).any(|other| other == order);
    match sources.iter().find(|source| source.order.is_none_or(judged)) {
        Some(source) => {
            let order = source.order.map_or_else(
                || "a run without a shuffled order".to_string(),
                |order| format!("the run in order {order}"),
            );
            Err(StepError::of(format!(
                "{name} learned from {order}, by which is judged"
            )))
        }
        None => Ok(model),
    }
}
