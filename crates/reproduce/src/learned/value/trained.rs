//! The predictors of the trial, each trained with several seeds on runs that it predicts in.

use crate::{Done, Numbers, Step, StepError, Work};
use paceline_congestion::learned::ModelRef;
use paceline_lab::run::Control;

use super::super::watched::in_chunks;
use super::{ROUNDS, SEEDS, TEST, VALIDATION};
use paceline_learn::dataset::{self, Dataset, Source, Trace, apart_from_orders};
use paceline_learn::on_policy::{self, OnPolicy};
use paceline_learn::train::{self, Network, Options, Trained, Weights, flat, shaped};

/// A kind of predictor that learns: the one that ships, which has seed 1, and the series of the weights of others.
pub(super) struct Kind {
    pub(super) network: Network,
    shipped: &'static str,
    /// With seeds 2 to 5, where there are such.
    others: Option<[&'static str; SEEDS - 1]>,
    /// As the thesis trains: on runs of other controllers.
    off: &'static str,
}

macro_rules! kind {
    ($network:ident, $name:literal, $others:expr) => {
        Kind {
            network: Network::$network,
            shipped: concat!("rtt-", $name),
            others: $others,
            off: concat!($name, " off-policy"),
        }
    };
}

macro_rules! others {
    ($name:literal) => {
        Some([
            concat!($name, " 2"),
            concat!($name, " 3"),
            concat!($name, " 4"),
            concat!($name, " 5"),
        ])
    };
}

pub(super) const KINDS: [Kind; 4] = [
    kind!(Lstm, "lstm", others!("lstm")),
    kind!(Gru, "gru", None),
    kind!(Rnn, "rnn", None),
    kind!(Ar3, "ar3", others!("ar3")),
];

pub(super) const STEP: Step = Step {
    name: "on-policy predictors",
    title: "training predictors on runs that they predict in",
    work,
};

/// What is trained: a kind, with the seed of this place; without one off-policy.
#[derive(Clone, Copy)]
struct Job {
    kind: usize,
    seed: Option<usize>,
}

fn work(work: &mut Work<'_>) -> Result<Numbers, StepError> {
    work.tell(0.0, "recording")?;
    let go = |_: usize, _: &paceline_fabric::Progress| Control::Continue;
    let first = dataset::record(&Source::thesis(), work.jobs, &go).map_err(StepError::of)?;
    let twice = || KINDS.iter().enumerate().filter(|(_, kind)| kind.others.is_some());
    let seeds = (1..SEEDS).map(Some).chain([None]);
    let jobs: Vec<Job> = seeds
        .flat_map(|seed| twice().map(move |(kind, _)| Job { kind, seed }))
        .collect();
    let trained = in_chunks(&jobs, work, (0.05..1.0, "training"), &|job| {
        let network = KINDS[job.kind].network;
        match job.seed {
            Some(seed) => on_policy_weights(network, seed as u64 + 1, ROUNDS, &first),
            None => on_policy_weights(network, 1, 0, &first),
        }
    })?;
    let mut numbers = Numbers::default();
    for (job, weights) in jobs.iter().zip(trained) {
        let points = flat(&weights)
            .enumerate()
            .map(|(place, value)| (place as f64, f64::from(value)));
        numbers
            .series
            .insert(name_of(job.kind, job.seed)?, points.collect());
    }
    Ok(numbers)
}

/// The series of what is trained here.
fn name_of(kind: usize, seed: Option<usize>) -> Result<&'static str, StepError> {
    let kind = &KINDS[kind];
    let Some(seed) = seed else {
        return Ok(kind.off);
    };
    let name = kind
        .others
        .zip(seed.checked_sub(1))
        .and_then(|(others, place)| others.get(place).copied());
    name.ok_or_else(|| StepError::of(format!("{} is not trained with seed {}", kind.network, seed + 1)))
}

/// The weights that `paceline train NETWORK --on-policy ROUNDS --seed SEED` ends with. Fails if any run that was learned
/// from is in an order by which predictors are chosen or judged.
fn on_policy_weights(
    network: Network,
    seed: u64,
    rounds: usize,
    first: &[Trace],
) -> Result<Weights, StepError> {
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
    let options = on_policy::options(
        Options {
            seed,
            ..Options::new(network)
        },
        round,
        data.pairs.len(),
    );
    train::train(data, &options, &mut |_| Control::Continue).map_err(StepError::of)
}

/// The predictor of a kind and seed, counted from 0; without a seed the one that was trained off-policy. Of the one
/// that ships its card says which runs it learned from: none of them may be one by which is chosen or judged.
pub(super) fn model(done: &Done, kind: usize, seed: Option<usize>) -> Result<ModelRef, StepError> {
    let of = &KINDS[kind];
    if seed == Some(0) {
        let model = ModelRef::new(of.shipped);
        let card = model.model().map(|model| model.card());
        let sources = card.map_or(&[][..], |card| &card.data.sources);
        let judged = |order: u64| TEST.chain(VALIDATION).any(|other| other == order);
        return match sources.iter().find(|source| source.order.is_none_or(judged)) {
            Some(source) => Err(StepError::of(format!(
                "{} learned from a run in order {:?}, by which is judged",
                of.shipped, source.order
            ))),
            None => Ok(model),
        };
    }
    let name = name_of(kind, seed)?;
    let series = done.step(STEP.name).and_then(|numbers| numbers.series.get(name));
    let series = series.ok_or_else(|| StepError::of(format!("there is no predictor `{name}`")))?;
    let values: Vec<f32> = series.iter().map(|&(_, value)| value as f32).collect();
    let options = Options::new(of.network);
    let trained = Trained {
        weights: shaped(of.network.shapes(options.hidden), &values),
        options,
        rounds: Vec::new(),
        stopped: false,
    };
    on_policy::model(&trained, &trained.weights, ROUNDS).map_err(StepError::of)
}
